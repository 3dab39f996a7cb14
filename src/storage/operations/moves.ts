import type { Knex } from 'knex'
import { newId } from '../../core/ids.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { forUpdateSkipLocked, toDate } from '../db/dialect.ts'
import { lockPasses, withWalletVersionBump } from '../passes/pass-change.ts'

/** Phones of a workspace are sent to another address (decisions/0020). */
export interface StoredMove {
  id: string
  /** What packages name as their webServiceURL. */
  url: string
  passesASecond: number
  startedAt: Date
  /** When all passes that phones hold were first told of; null while some wait. */
  toldAt: Date | null
}

/** How far the phones have come; each is counted once. */
export interface MoveProgress {
  /** Passes that were told of so far. */
  passes: number
  /** Fetched the package that names the new address. */
  moved: number
  /** Were pushed for it, and did not come. */
  silent: number
  /** Cannot be pushed, as was last tried. */
  refused: number
  /** Their turn, or their push, is still to come. */
  waiting: number
}

interface Row {
  id: string
  url: string
  passes_per_second: number
  started_at: number
  taken_at: number
  position: string | null
  round_at: number
  completed_at: number | null
}

/** Rows of passes that one turn looks at: most of them may have been told of. */
const LOOKED = 5_000

/** Passes of a turn, however long nobody took one. */
const MOST = 1_000

/** Between rounds: phones that came meanwhile may hold a package of before. */
const ROUND_MS = 60_000

/** Where phones are sent to another address, and which passes were told of it. */
export class Moves {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** Begins a move, in the place of one to another address. */
  async insert(
    workspaceId: string,
    { url, passesASecond }: Pick<StoredMove, 'url' | 'passesASecond'>,
    at: Date,
  ): Promise<void> {
    const now = at.getTime()
    const row: Row = {
      id: newId(at),
      url,
      passes_per_second: passesASecond,
      started_at: now,
      taken_at: now - 1_000,
      position: null,
      round_at: now,
      completed_at: null,
    }
    await this.db('moves')
      .insert({ workspace_id: workspaceId, ...row })
      .onConflict('workspace_id')
      .merge()
  }

  /** The move of a workspace, where it has one. */
  async find(workspaceId: string): Promise<StoredMove | undefined> {
    const row: Row | undefined = await this.db('moves').where({ workspace_id: workspaceId }).first()
    return (
      row && {
        id: row.id,
        url: row.url,
        passesASecond: row.passes_per_second,
        startedAt: new Date(row.started_at),
        toldAt: toDate(row.completed_at),
      }
    )
  }

  /** Goes on at another pace. */
  async setPace(workspaceId: string, passesASecond: number): Promise<void> {
    await this.db('moves').where({ workspace_id: workspaceId }).update({ passes_per_second: passesASecond })
  }

  /** Ends it: packages name this server again. */
  async delete(workspaceId: string): Promise<void> {
    await this.db('moves').where({ workspace_id: workspaceId }).delete()
    await this.db('moved_passes').where({ workspace_id: workspaceId }).delete()
  }

  /** The first workspace after one whose phones are to be told something; of all without one. */
  async findDueWorkspace(at: Date, after?: string): Promise<string | undefined> {
    const due = this.db('moves').where('round_at', '<=', at.getTime())
    if (after !== undefined) due.where('workspace_id', '>', after)
    return (await due.orderBy('workspace_id').first('workspace_id'))?.workspace_id
  }

  /**
   * Passes whose phones are to be pushed now, by the pace of the move: what they show is newer from now on. None while another
   * process takes them.
   */
  async take(workspaceId: string, at: Date): Promise<string[]> {
    const now = at.getTime()
    const own = () => this.db('moves').where({ workspace_id: workspaceId })
    const move: Row | undefined = await forUpdateSkipLocked(this.db, own().where('round_at', '<=', now)).first()
    if (!move) return []
    const room = Math.min(MOST, Math.floor((move.passes_per_second * (now - move.taken_at)) / 1000))
    if (room < 1) return []
    const held = this.db({ held: 'held_passes' })
      .leftJoin({ moved: 'moved_passes' }, 'moved.pass_id', 'held.pass_id')
      .where('held.workspace_id', workspaceId)
      .where('held.apple', '>', 0)
      .orderBy('held.pass_id')
      .limit(LOOKED)
    if (move.position !== null) held.where('held.pass_id', '>', move.position)
    const looked: { pass_id: string; move_id: string | null }[] = await held.select('held.pass_id', 'moved.move_id')
    const left = looked.filter(({ move_id }) => move_id !== move.id).map(({ pass_id }) => pass_id)
    const ids = left.slice(0, room)
    await this.bump(workspaceId, move.id, ids, at)
    const isOver = ids.length === left.length && looked.length < LOOKED
    await own().update({
      taken_at: now,
      position: isOver ? null : ids.length < left.length ? ids.at(-1)! : looked.at(-1)!.pass_id,
      ...(isOver && { round_at: now + ROUND_MS, completed_at: move.completed_at ?? now }),
    })
    return ids
  }

  /** Of Google's objects nothing changes: those that were up to date still are. */
  private async bump(workspaceId: string, moveId: string, passIds: string[], at: Date): Promise<void> {
    if (passIds.length === 0) return
    const rows: { id: string; wallet_version: number }[] = await lockPasses(this.db, workspaceId)
      .whereIn('id', passIds)
      .select('id', 'wallet_version')
    const ids = rows.map(({ id }) => id)
    const ofWorkspace = (table: string) => this.db(table).where({ workspace_id: workspaceId })
    await ofWorkspace('google_objects')
      .whereIn('pass_id', ids)
      .whereRaw('sent_version = (select wallet_version from passes where passes.id = google_objects.pass_id)')
      .increment('sent_version', 1)
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

  /** The newest pass that phones hold of each identity and template, so many at most: what shows whether another server has them all. */
  async listSamples(workspaceId: string, limit: number): Promise<string[]> {
    const held = this.db({ held: 'held_passes' })
      .join('passes', 'passes.id', 'held.pass_id')
      .where('held.workspace_id', workspaceId)
      .where('held.apple', '>', 0)
      // Of an erased one nothing is left to hand over.
      .whereNull('passes.erased_at')
      .groupBy('passes.apple_identity_id', 'passes.template_id')
    const newest: { id: string }[] = await held
      .select(this.db.raw('max(cast(held.pass_id as varchar(36))) as id'))
      .orderBy('id', 'desc')
      .limit(limit)
    return newest.map(({ id }) => id)
  }

  /**
   * How far a move has come. Each package that was fetched since it began names the address, also before its pass was told of. A
   * phone that took the pass away, or that left this server, is counted no more.
   */
  async findProgress(
    workspaceId: string,
    { id, startedAt }: Pick<StoredMove, 'id' | 'startedAt'>,
  ): Promise<MoveProgress> {
    const isMoved = 'phone.fetched_version >= moved.version or phone.fetched_at > ?'
    const isPushed = 'phone.pushed_version >= moved.version'
    const state = `case when ${isMoved} then 'moved' when ${isPushed} then 'silent'
      when moved.version is not null and phone.last_error is not null then 'refused' else 'waiting' end`
    const rows: { state: Exclude<keyof MoveProgress, 'passes'>; n: number | string }[] = await this.db({
      phone: 'apple_registrations',
    })
      .leftJoin({ moved: 'moved_passes' }, (join) => {
        join.on('moved.pass_id', 'phone.pass_id').andOnVal('moved.move_id', id)
      })
      .where('phone.workspace_id', workspaceId)
      .select(this.db.raw(`${state} as state, count(*) as n`, [startedAt.getTime()]))
      .groupByRaw('1')
    const told = await this.db('moved_passes')
      .where({ workspace_id: workspaceId, move_id: id })
      .count({ n: '*' })
      .first()
    const counts = { passes: Number(told?.n), moved: 0, silent: 0, refused: 0, waiting: 0 }
    for (const { state, n } of rows) counts[state] = Number(n)
    return counts
  }
}
