import { isOneOf } from '../db/bulk-rows.ts'
import { bindIds, boundColumn, isAmong, isChosen } from '../db/dialect.ts'
import { runPrepared } from '../db/prepared.ts'
import { Repository } from '../db/repository.ts'
import type { PassRow } from '../passes/pass-row.ts'
import { IN_ORDER, whereOfIdentities } from '../passes/registrations.ts'

/**
 * A position in the list of changed passes of a device, which is sorted by update tag and pass ID. Without a pass ID,
 * the position is after all passes with this tag.
 */
export interface DevicePlace {
  tag: number
  passId?: string | undefined
}

export interface ChangedPasses {
  serialNumbers: string[]
  /** The IDs of passes whose `listed_at` is older than `FRESH_MS`, for `setListed`. */
  toNote: string[]
  /** The position after the last pass; the given position if the list is empty. */
  place: DevicePlace
}

/**
 * The maximum number of passes in a list. The device requests the next passes with the position that the list returned.
 */
const LIST_LIMIT = 1_000

/** The minimum time, in milliseconds, between two updates of the `listed_at` of a pass, to save writes. */
const FRESH_MS = 10_000

interface ListedRow extends Pick<PassRow, 'id' | 'serial_number' | 'imported_serial_number'> {
  tag: number
  listed_at: number | null
}

/**
 * The passes of devices, as the PassKit web service lists them: registered passes, and passes that were registered when
 * they moved to another holder. Queries are not limited to a workspace, because a device can have passes of several
 * workspaces. The device authenticates with its secret ID.
 */
export class DeviceLists extends Repository {
  /** Returns the number of passes of a device in all workspaces, up to `max`. */
  async countAll(deviceId: string, max: number): Promise<number> {
    const sql = ['apple_registrations', 'former_registrations'].map(
      (table) => `select 1 from ${table} where device_id = :deviceId`,
    )
    const [row] = await runPrepared<{ n: number }>(
      this.db,
      'count-of-device',
      { deviceId, max },
      () => `select count(*) as n from (${sql.join(' union all ')} limit :max) as passes`,
    )
    return row!.n
  }

  /** Returns the number of passes of each device in a workspace. Omits devices without any. */
  async countPasses(workspaceId: string, deviceIds: string[]): Promise<Map<string, number>> {
    const sql = ['apple_registrations', 'former_registrations'].map(
      (table) => `select device_id from ${table}
        where ${boundColumn(this.db, 'workspace_id')} = :workspaceId and ${isAmong(this.db, 'device_id', 'deviceIds', 'text')}`,
    )
    const values = { workspaceId, deviceIds: bindIds(this.db, deviceIds) }
    const rows = await runPrepared<{ device_id: string; n: number }>(
      this.db,
      'count-of-devices',
      values,
      () => `select device_id, count(*) as n from (${sql.join(' union all ')}) as passes group by device_id`,
    )
    return new Map(rows.map(({ device_id, n }) => [device_id, n]))
  }

  /**
   * Returns the next passes of the device after a position. Without a position, includes passes that never changed.
   * Includes passes that moved to another holder, which the device downloads as void.
   */
  async listChanged(
    deviceId: string,
    since: DevicePlace | null,
    identityIds: (string | null)[],
    at: Date,
  ): Promise<ChangedPasses> {
    const held = this.db('apple_registrations')
      .join('passes', 'passes.id', 'apple_registrations.pass_id')
      .where({ device_id: deviceId })
      .select('passes.id', 'passes.serial_number', 'passes.imported_serial_number', 'listed_at')
      .select({ tag: 'apple_registrations.update_tag' })
    const former = this.db('former_registrations')
      .join('former_passes', 'former_passes.serial_number', 'former_registrations.serial_number')
      .join('passes', 'passes.id', 'former_passes.pass_id')
      .where({ device_id: deviceId })
      .select('passes.id', 'former_passes.serial_number', 'former_passes.imported_serial_number')
      // A former holder's copy has no `listed_at`. Select the current time instead, so that `toNote` below omits the
      // pass.
      .select(this.db.raw(`${at.getTime()} as listed_at`), { tag: 'former_passes.update_tag' })
    const arms = [
      { query: held, tag: 'apple_registrations.update_tag' },
      { query: former, tag: 'former_passes.update_tag' },
    ]
    for (const { query, tag } of arms) {
      query.where((one) => whereOfIdentities(one, identityIds))
      query.orderBy([tag, 'passes.id']).limit(LIST_LIMIT)
      if (since) {
        const { tag: after, passId = null } = since
        query.whereRaw(`(${tag} > :after or ${tag} = :after and passes.id > :passId)`, { after, passId })
      }
    }
    const found: ListedRow[] = [...(await held), ...(await former)]
    const rows = found.toSorted((a, b) => a.tag - b.tag || (a.id < b.id ? -1 : 1)).slice(0, LIST_LIMIT)
    const last = rows.at(-1)
    // After a full list, continue from its last pass. Otherwise, other passes with the same tag would be skipped.
    const passId = rows.length === LIST_LIMIT ? last!.id : undefined
    return {
      serialNumbers: rows.map((row) => row.imported_serial_number ?? row.serial_number ?? row.id),
      toNote: rows.filter(({ listed_at }) => Math.abs(at.getTime() - (listed_at ?? 0)) >= FRESH_MS).map(({ id }) => id),
      place: last ? { tag: last.tag, passId } : (since ?? { tag: 0 }),
    }
  }

  /** Whether an update tag is higher than every update tag that was assigned. */
  async isAhead(tag: number): Promise<boolean> {
    const row = await this.db('sequences').where({ name: 'update-tag' }).first('value')
    return row.value < tag
  }

  /** Records that the device listed the passes, because this device will probably be the next to download them. */
  async setListed(deviceId: string, passIds: string[], at: Date): Promise<void> {
    const ofDevice = () => this.db('apple_registrations').where({ device_id: deviceId })
    const some = isOneOf(this.db, 'pass_id', passIds)
    const listed = ofDevice().whereRaw(some).orderBy(IN_ORDER).forUpdate().select('pass_id')
    const chosen = ofDevice().whereRaw(isChosen(this.db, 'pass_id', listed))
    await chosen.update({ listed_at: at.getTime() })
  }
}
