import { messagedPlatforms } from '../../core/contract/schemas/platform.ts'
import { newId } from '../../core/ids.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { field, findRecord, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'
import { lockPasses, withWalletVersionBump } from '../passes/pass-change.ts'
import { walletTables } from '../passes/wallet-tables.ts'

const MOVE = mapping({
  id: field.text,
  /** The new address, which is the webServiceURL in packages. */
  url: field.text,
  passesASecond: field.inColumn('passes_per_second', field.number),
  startedAt: field.time,
  /** The end of the first round, in which `take` returns every held pass once; null before. */
  toldAt: field.inColumn('completed_at', field.optionalTime),
})

/** A move of the phones of a workspace to another address (decisions/0020). */
export interface StoredMove extends RecordOf<typeof MOVE> {}

/** The progress of a move. A phone is counted once for each of its passes, in one state. */
export interface MoveProgress {
  /** The number of passes that `take` has returned. */
  passes: number
  /** The number of phones that downloaded the package with the new address. */
  moved: number
  /** The number of phones that have not downloaded the package since a push. */
  silent: number
  /** The number of phones whose last push was rejected. */
  refused: number
  /** The number of phones that have had no push yet. */
  waiting: number
}

interface Row extends RowOf<typeof MOVE> {
  taken_at: number
  position: string | null
}

/**
 * The maximum number of held passes that `take` reads. It is higher than MOST, because an earlier round might have
 * returned most of these passes.
 */
const CHUNK = 5_000

/** The maximum number of passes that `take` returns, regardless of the time since the last call. */
const MOST = 1_000

/**
 * The time between rounds, in milliseconds. A later round finds phones that have registered with an old package since
 * the previous round.
 */
const ROUND_MS = 60_000

export class Moves extends Repository {
  /** Starts a move. Replaces the existing move of the workspace, if any. */
  async insert(workspaceId: string, given: Pick<StoredMove, 'url' | 'passesASecond'>, at: Date): Promise<void> {
    const now = at.getTime()
    const move = MOVE.write({ ...given, id: newId(at), startedAt: at, toldAt: null })
    await this.db('moves')
      .insert({ ...move, workspace_id: workspaceId, taken_at: now - 1_000, position: null, round_at: now })
      .onConflict('workspace_id')
      .merge()
  }

  async find(workspaceId: string): Promise<StoredMove | undefined> {
    return findRecord(this.db('moves').where({ workspace_id: workspaceId }), MOVE.read)
  }

  async setPace(workspaceId: string, passesASecond: number): Promise<void> {
    await this.db('moves').where({ workspace_id: workspaceId }).update({ passes_per_second: passesASecond })
  }

  /** Ends the move of a workspace. Its packages contain this server's address again. */
  async delete(workspaceId: string): Promise<void> {
    await this.db('moves').where({ workspace_id: workspaceId }).delete()
    await this.db('moved_passes').where({ workspace_id: workspaceId }).delete()
  }

  async findDueWorkspace(at: Date, after?: string): Promise<string | undefined> {
    const due = this.db('moves').where('round_at', '<=', at.getTime())
    if (after !== undefined) due.where('workspace_id', '>', after)
    return (await due.orderBy('workspace_id').first('workspace_id'))?.workspace_id
  }

  /**
   * Raises the wallet versions of the next passes to push, at the pace of the move, and returns the IDs of these
   * passes. Returns no IDs while another process does this.
   */
  async take(workspaceId: string, at: Date): Promise<string[]> {
    const now = at.getTime()
    const own = () => this.db('moves').where({ workspace_id: workspaceId })
    const move: Row | undefined = await own().where('round_at', '<=', now).forUpdate().skipLocked().first()
    if (!move) return []
    const room = Math.min(MOST, Math.floor((move.passes_per_second * (now - move.taken_at)) / 1000))
    if (room < 1) return []
    const held = this.db({ held: 'held_passes' })
      .leftJoin({ moved: 'moved_passes' }, 'moved.pass_id', 'held.pass_id')
      .where('held.workspace_id', workspaceId)
      .where('held.apple', '>', 0)
      .orderBy('held.pass_id')
      .limit(CHUNK)
    if (move.position !== null) held.where('held.pass_id', '>', move.position)
    const heldPasses: { pass_id: string; move_id: string | null }[] = await held.select('held.pass_id', 'moved.move_id')
    const left = heldPasses.filter(({ move_id }) => move_id !== move.id).map(({ pass_id }) => pass_id)
    const ids = left.slice(0, room)
    await this.bump(workspaceId, move.id, ids, at)
    const isOver = ids.length === left.length && heldPasses.length < CHUNK
    await own().update({
      taken_at: now,
      position: isOver ? null : ids.length < left.length ? ids.at(-1)! : heldPasses.at(-1)!.pass_id,
      ...(isOver && { round_at: now + ROUND_MS, completed_at: move.completed_at ?? now }),
    })
    return ids
  }

  /**
   * Raises the wallet version of passes. Objects of messaged platforms do not contain the address. If an object is up
   * to date, this therefore also raises its sent version, so that the object is not sent again.
   */
  private async bump(workspaceId: string, moveId: string, passIds: string[], at: Date): Promise<void> {
    if (passIds.length === 0) return
    const rows: { id: string; wallet_version: number }[] = await lockPasses(this.db, workspaceId)
      .whereIn('id', passIds)
      .select('id', 'wallet_version')
    const ids = rows.map(({ id }) => id)
    const ofWorkspace = (table: string) => this.db(table).where({ workspace_id: workspaceId })
    for (const platform of messagedPlatforms) {
      const { table } = walletTables[platform]
      await ofWorkspace(table)
        .whereIn('pass_id', ids)
        .whereRaw(`sent_version = (select wallet_version from passes where passes.id = ${table}.pass_id)`)
        .increment('sent_version', 1)
    }
    await ofWorkspace('passes')
      .whereIn('id', ids)
      .update(withWalletVersionBump(this.db, {}, at))
    await insertRows(
      this.db,
      'moved_passes',
      rows.map(({ id, wallet_version }) => ({
        pass_id: id,
        workspace_id: workspaceId,
        move_id: moveId,
        version: wallet_version + 1,
      })),
      'on conflict (pass_id) do update set move_id = excluded.move_id, version = excluded.version',
    )
  }

  /**
   * Returns the IDs of up to `limit` passes: for each identity and template, the newest held pass. With these samples,
   * the caller checks whether another server has imported the passes of the workspace.
   */
  async listSamples(workspaceId: string, limit: number): Promise<string[]> {
    const held = this.db({ held: 'held_passes' })
      .join('passes', 'passes.id', 'held.pass_id')
      .where('held.workspace_id', workspaceId)
      .where('held.apple', '>', 0)
      // Exclude erased passes, which are not exported. Otherwise, the other server would seem to lack passes.
      .whereNull('passes.erased_at')
      .groupBy('passes.apple_identity_id', 'passes.template_id')
    const newest: { id: string }[] = await held
      .select(this.db.raw('max(cast(held.pass_id as varchar(36))) as id'))
      .orderBy('id', 'desc')
      .limit(limit)
    return newest.map(({ id }) => id)
  }

  /**
   * Returns the progress of a move. Every package that was downloaded since the start of the move contains the new
   * address, even without a push. Phones that removed the pass or left this server are not counted.
   */
  async findProgress(
    workspaceId: string,
    { id, startedAt }: Pick<StoredMove, 'id' | 'startedAt'>,
  ): Promise<MoveProgress> {
    const isMoved = 'phone.fetched_version >= moved.version or phone.fetched_at > ?'
    const isPushed = 'phone.pushed_version >= moved.version'
    const state = `case when ${isMoved} then 'moved' when ${isPushed} then 'silent'
      when moved.version is not null and phone.last_error is not null then 'refused' else 'waiting' end`
    const rows: { state: Exclude<keyof MoveProgress, 'passes'>; n: number }[] = await this.db({
      phone: 'apple_registrations',
    })
      .leftJoin({ moved: 'moved_passes' }, (join) => {
        join.on('moved.pass_id', 'phone.pass_id').andOnVal('moved.move_id', id)
      })
      .where('phone.workspace_id', workspaceId)
      .select(this.db.raw(`${state} as state, count(*) as n`, [startedAt.getTime()]))
      .groupByRaw('1')
    const passes = await countRows(this.db('moved_passes').where({ workspace_id: workspaceId, move_id: id }))
    const counts = { passes, moved: 0, silent: 0, refused: 0, waiting: 0 }
    for (const { state, n } of rows) counts[state] = n
    return counts
  }
}
