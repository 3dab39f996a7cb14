import type { Knex } from 'knex'
import { isOneOf } from '../db/bulk-rows.ts'
import { bindIds, boundColumn, forUpdate, isAmong, isChosen } from '../db/dialect.ts'
import { runPrepared } from '../db/prepared.ts'
import type { PassRow } from '../passes/pass-row.ts'
import { IN_ORDER, whereOfIdentities } from '../passes/registrations.ts'

/**
 * A place in the order in which changes were announced. Several passes of a device can share a tag: with a pass, the passes of
 * the tag with a greater id are behind the place.
 */
export interface DevicePlace {
  tag: number
  passId?: string | undefined
}

/** The passes of a device that changed behind a place. */
export interface ChangedPasses {
  serialNumbers: string[]
  /** Passes for which the device was not noted as having asked for the last `FRESH_MS`. */
  toNote: string[]
  /** The place behind the last of them; where the list began, if there are none. */
  place: DevicePlace
}

/** The most passes in one list. The rest follows when the device asks from the place of the list. */
const LIST_LIMIT = 1_000

/** A device that asks again within this time, in milliseconds, causes no write. */
const FRESH_MS = 10_000

interface ListedRow extends Pick<PassRow, 'id' | 'serial_number' | 'imported_serial_number'> {
  tag: number
  listed_at: number | null
}

/**
 * The passes of devices, as the PassKit web service lists them: those that a device registered, and those that it registered
 * before they went to another holder. Reads without a workspace: the device id, which nobody else knows, stands for the person.
 */
export class DeviceLists {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** The number of passes of a device in all workspaces, up to `max`. */
  async countAll(deviceId: string, max: number): Promise<number> {
    const sql = ['apple_registrations', 'former_registrations'].map(
      (table) => `select 1 from ${table} where device_id = :deviceId`,
    )
    const [row] = await runPrepared<{ n: number | string }>(
      this.db,
      'count-of-device',
      { deviceId, max },
      () => `select count(*) as n from (${sql.join(' union all ')} limit :max) as passes`,
    )
    return Number(row!.n)
  }

  /** The number of passes of each device in a workspace; a device without one is left out. */
  async countPasses(workspaceId: string, deviceIds: string[]): Promise<Map<string, number>> {
    const sql = ['apple_registrations', 'former_registrations'].map(
      (table) => `select device_id from ${table}
        where ${boundColumn(this.db, 'workspace_id')} = :workspaceId and ${isAmong(this.db, 'device_id', 'deviceIds', 'text')}`,
    )
    const values = { workspaceId, deviceIds: bindIds(this.db, deviceIds) }
    const rows = await runPrepared<{ device_id: string; n: number | string }>(
      this.db,
      'count-of-devices',
      values,
      () => `select device_id, count(*) as n from (${sql.join(' union all ')}) as passes group by device_id`,
    )
    return new Map(rows.map(({ device_id, n }) => [device_id, Number(n)]))
  }

  /**
   * The next passes of the device, by serial number, that were announced behind a place; without a place all of them, also those
   * that never changed. Those that went to another holder are among them: they are void.
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
      // Nothing is noted of the devices of former holders.
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
    // A full list may end within a tag.
    const passId = rows.length === LIST_LIMIT ? last!.id : undefined
    return {
      serialNumbers: rows.map((row) => row.imported_serial_number ?? row.serial_number ?? row.id),
      toNote: rows.filter(({ listed_at }) => Math.abs(at.getTime() - (listed_at ?? 0)) >= FRESH_MS).map(({ id }) => id),
      place: last ? { tag: last.tag, passId } : (since ?? { tag: 0 }),
    }
  }

  /** Whether a tag was never given out. */
  async isAhead(tag: number): Promise<boolean> {
    const row = await this.db('sequences').where({ name: 'update-tag' }).first('value')
    return row.value < tag
  }

  /** The device asked what changed: the next fetch of one of these is most likely its own. */
  async setListed(deviceId: string, passIds: string[], at: Date): Promise<void> {
    const ofDevice = () => this.db('apple_registrations').where({ device_id: deviceId })
    const some = isOneOf(this.db, 'pass_id', passIds)
    const listed = forUpdate(this.db, ofDevice().whereRaw(some).orderBy(IN_ORDER)).select('pass_id')
    const chosen = ofDevice().whereRaw(isChosen(this.db, 'pass_id', listed))
    await chosen.update({ listed_at: at.getTime() })
  }
}
