import type { Knex } from 'knex'
import { groupBy } from '../../core/group-by.ts'
import { nextNudge } from '../../core/rules/sending/nudging.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { Repository } from '../db/repository.ts'

export interface Nudged {
  devices: number
  /** The passes of the marked devices, without duplicates. */
  passIds: string[]
  /** Whether the caller can continue with further due passes. False if the limit of devices was reached. */
  isMore: boolean
}

interface Row {
  pass_id: string
  version: number
  pushed_at: number
  due_at: number
}

interface Device {
  pass_id: string
  device_id: string
}

export interface DeviceOfPass {
  passId: string
  deviceId: string
}

/** The maximum number of passes per check. */
const PASSES = 500

/** The SQL clause that ignores repeated pushes of a version, so that the row keeps the time of the first push. */
const NEWER = `on conflict (pass_id) do update set version = excluded.version, pushed_at = excluded.pushed_at, due_at = excluded.due_at
  where nudges.version < excluded.version`

/** The number of devices that one statement marks. */
const CHUNK = 500

/**
 * Passes that were pushed to phones, and the next time to check whether the phones downloaded them (decisions/0018).
 */
export class Nudges extends Repository {
  /** Records the pushed versions of passes. Ignores repeated pushes of a version. */
  async insert(workspaceId: string, pushes: { passId: string; version: number }[], at: Date): Promise<void> {
    const versions = new Map(pushes.map(({ passId, version }) => [passId, version]))
    if (versions.size === 0) return
    const rows = [...versions].map(([passId, version]) => ({
      pass_id: passId,
      workspace_id: workspaceId,
      version,
      pushed_at: at.getTime(),
      due_at: nextNudge(at, at)!.getTime(),
    }))
    await insertRows(this.db, 'nudges', rows, NEWER)
  }

  async findDueWorkspace(at: Date, after?: string): Promise<string | undefined> {
    const due = this.db('nudges').whereNotNull('due_at').where('due_at', '<=', at.getTime())
    if (after !== undefined) due.where('workspace_id', '>', after)
    return (await due.orderBy('workspace_id').first('workspace_id'))?.workspace_id
  }

  /**
   * Marks up to `limit` devices of due passes for another push, if Apple accepted the last push but the device did not
   * download the pass. Skips devices with a push since the pass became due or since `pushedBefore`. Passes whose
   * devices exceed the limit stay due.
   */
  async forgetDue(
    workspaceId: string,
    { at, pushedBefore, limit }: { at: Date; pushedBefore: Date; limit: number },
  ): Promise<Nudged> {
    const due = this.db('nudges').where({ workspace_id: workspaceId }).whereNotNull('due_at')
    const rows: Row[] = await due
      .where('due_at', '<=', at.getTime())
      .orderBy(['due_at', 'pass_id'])
      .limit(PASSES)
      .forUpdate()
      .skipLocked()
      .select('pass_id', 'version', 'pushed_at', 'due_at')
    const ids = rows.map(({ pass_id }) => pass_id)
    const silent: Device[] = await this.stale(workspaceId, ids)
      .whereRaw('apple_registrations.pushed_version = passes.wallet_version')
      .whereRaw('apple_registrations.pushed_at < nudges.due_at')
      .where('apple_registrations.pushed_at', '<=', pushedBefore.getTime())
      .orderBy(['apple_registrations.pass_id', 'apple_registrations.device_id'])
      .limit(limit + 1)
      .forUpdate('apple_registrations')
      .skipLocked()
      .select('apple_registrations.pass_id', 'apple_registrations.device_id')
    const first = silent[limit]?.pass_id
    const forgotten = silent.slice(0, limit)
    const devices = forgotten.map((row) => ({ passId: row.pass_id, deviceId: row.device_id }))
    await forgetPushes(this.db, workspaceId, devices, pushedBefore)
    const stale = new Set<string>(await this.stale(workspaceId, ids).distinct().pluck('apple_registrations.pass_id'))
    // If there are more devices than the limit, the pass of the first excess device and all later passes stay due.
    const settled = rows.filter(({ pass_id }) => first === undefined || pass_id < first)
    await this.settle(settled, stale, at)
    const passIds = [...new Set(forgotten.map(({ pass_id }) => pass_id))]
    return { devices: forgotten.length, passIds, isMore: first === undefined && rows.length === PASSES }
  }

  /**
   * Returns the devices that have not downloaded the pushed version of their pass. Omits passes that changed since the
   * push.
   */
  private stale(workspaceId: string, passIds: string[]): Knex.QueryBuilder {
    return this.db('apple_registrations')
      .join('nudges', 'nudges.pass_id', 'apple_registrations.pass_id')
      .join('passes', 'passes.id', 'apple_registrations.pass_id')
      .where('apple_registrations.workspace_id', workspaceId)
      .whereIn('apple_registrations.pass_id', passIds)
      .whereRaw('nudges.version = passes.wallet_version and passes.wallet_version > 1')
      .whereRaw('apple_registrations.fetched_version < passes.wallet_version')
  }

  /** Deletes the rows of passes without outdated devices. Schedules the next check, if any, of the other passes. */
  private async settle(rows: Row[], stale: Set<string>, at: Date): Promise<void> {
    const over = rows.filter(({ pass_id }) => !stale.has(pass_id)).map(({ pass_id }) => pass_id)
    if (over.length > 0) await this.db('nudges').whereIn('pass_id', over).delete()
    const waiting = rows.filter(({ pass_id }) => stale.has(pass_id))
    const byDue = groupBy(waiting, ({ pushed_at }) => nextNudge(new Date(pushed_at), at)?.getTime() ?? null)
    for (const [due_at, due] of byDue) {
      const ids = due.map(({ pass_id }) => pass_id)
      await this.db('nudges').whereIn('pass_id', ids).update({ due_at })
    }
  }
}

/**
 * Marks the devices whose last push was at or before `pushedBefore` as not pushed, so that the next job of their passes
 * pushes to them again. Returns the pass of each marked device.
 */
export async function forgetPushes(
  db: Knex,
  workspaceId: string,
  devices: DeviceOfPass[],
  pushedBefore: Date,
): Promise<string[]> {
  const passIds: string[] = []
  for (let from = 0; from < devices.length; from += CHUNK) {
    const keys = devices.slice(from, from + CHUNK).map(({ deviceId, passId }) => [deviceId, passId])
    const forgotten: { pass_id: string }[] = await db('apple_registrations')
      .where({ workspace_id: workspaceId })
      .whereIn(['device_id', 'pass_id'], keys)
      .where('pushed_version', '>', 0)
      .where('pushed_at', '<=', pushedBefore.getTime())
      .update({ pushed_version: 0 })
      .returning('pass_id')
    passIds.push(...forgotten.map(({ pass_id }) => pass_id))
  }
  return passIds
}
