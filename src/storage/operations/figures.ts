import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Knex } from 'knex'
import { insertRows } from '../db/bulk-rows.ts'
import { forUpdate, forUpdateSkipLocked, isPostgres, rowsOf } from '../db/dialect.ts'
import { HOUR_MS } from './counters.ts'
import { scanSource } from './figure-sources.ts'

/** So often something happened in an hour. */
export interface Figure {
  /** Hours since 1970. */
  hour: number
  /** What happened, and after a slash which of its kind. */
  figure: string
  n: number
}

/** A row of either table: a figure, or a block of them. */
interface StoredFigure extends Figure {
  packed: Uint8Array | null
}

/** A figure of a project, on its way into the database. */
export interface NewFigure extends Figure {
  projectId: string
}

/** Where the figures of scans were not what the ledger comes to. */
export interface FigureDifference extends Omit<Figure, 'n'> {
  counted: number
  expected: number
}

/** Hours of a block: four weeks. */
const BLOCK_HOURS = 28 * 24

/** Rows of a project that one transaction packs. */
const MOST_ROWS = 1_000

/** What was counted of projects by the hour: most of it by triggers, as it happened (decisions/0005). */
export class Figures {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /**
   * How often each figure of a project happened from an hour on and before another, in each of some buckets of hours.
   * @param buckets the first hour of each, ascending; the first one begins with `from`, or before
   */
  async sums(
    workspaceId: string,
    projectId: string,
    { from, until }: { from: number; until: number },
    buckets: readonly number[],
  ): Promise<Map<string, number[]>> {
    // One statement: what is packed meanwhile stands in one of the two tables at any moment.
    const sql = `select hour, figure, n, ${this.noBytes} as packed from figures
        where workspace_id = :workspaceId and project_id = :projectId and hour >= :from and hour < :until
      union all select block, '', 0, packed from packed_figures
        where workspace_id = :workspaceId and project_id = :projectId and block >= :first and block <= :last`
    const values = { workspaceId, projectId, from, until, first: blockOf(from), last: blockOf(until - 1) }
    const sums = new Map<string, number[]>()
    const bucketOf = finder(buckets)
    const adding = (figure: string) => {
      const ofFigure = sums.get(figure) ?? new Array<number>(buckets.length).fill(0)
      sums.set(figure, ofFigure)
      return (hour: number, n: number) => {
        // A block begins before the first hour, and ends after the last.
        if (hour >= from && hour < until) ofFigure[bucketOf(hour)]! += n
      }
    }
    for (const { packed, ...row } of rowsOf<StoredFigure>(this.db, await this.db.raw(sql, values))) {
      const { hour, figure, n } = toFigure(row)
      if (packed) readBlock(packed, hour, adding)
      else adding(figure)(hour, n)
    }
    return sums
  }

  /** Counts what no trigger sees, in the transaction that does it. */
  async insert(workspaceId: string, counted: NewFigure[]): Promise<void> {
    if (counted.length === 0) return
    let slot = 0
    if (isPostgres(this.db)) {
      const [row] = rowsOf<{ slot: number }>(this.db, await this.db.raw('select count_slot() as slot'))
      slot = row!.slot
    }
    const rows = counted.map(({ projectId: project_id, hour, figure, n }) => ({
      workspace_id: workspaceId,
      project_id,
      hour,
      figure,
      slot,
      n,
    }))
    const merge = `on conflict (workspace_id, project_id, hour, figure, slot) do update set n = figures.n + excluded.n`
    await insertRows(this.db, 'figures', rows, merge)
  }

  /** Packs what one project has from before an hour; false where nothing is left. What somebody counts in meanwhile stays. */
  async pack(before: number): Promise<boolean> {
    const oldest = await this.db('figures').where('hour', '<', before).orderBy('hour').first()
    if (!oldest) return false
    const { workspace_id, project_id } = oldest
    const block = blockOf(oldest.hour)
    const key = { workspace_id, project_id, block }
    // First, so that two take turns.
    await this.db('packed_figures')
      .insert({ ...key, packed: pack([], block) })
      .onConflict(Object.keys(key))
      .ignore()
    const stored = await forUpdate(this.db, this.db('packed_figures').where(key)).first('packed')
    const chosen = this.db('figures')
      .where({ workspace_id, project_id })
      .where('hour', '<', Math.min(before, (block + 1) * BLOCK_HOURS))
      .orderBy(['hour', 'figure', 'slot'])
      .limit(MOST_ROWS)
    const rows: (Figure & { slot: number })[] = await forUpdateSkipLocked(this.db, chosen).select(
      'hour',
      'figure',
      'slot',
      'n',
    )
    if (rows.length === 0) return false
    const keys = rows.map(({ hour, figure, slot }) => [hour, figure, slot])
    for (let from = 0; from < keys.length; from += CHUNK) {
      await this.db('figures')
        .where({ workspace_id, project_id })
        .whereIn(['hour', 'figure', 'slot'], keys.slice(from, from + CHUNK))
        .delete()
    }
    await this.db('packed_figures')
      .where(key)
      .update({ packed: pack([...unpack(stored.packed, block), ...rows], block) })
    return true
  }

  /**
   * Makes the figures of scans of a project what its ledger comes to, and returns what differed. Of the others nothing that
   * they could be counted by is kept as long as they are.
   */
  async recountScans(workspaceId: string, projectId: string): Promise<FigureDifference[]> {
    // Two that add the same would make it wrong again.
    if (isPostgres(this.db)) await this.db.raw('select pg_advisory_xact_lock(?)', [RECOUNT_LOCK])
    const { parts, isCounted } = scanSource()
    const [, , hour, figure] = parts('one')
    // One statement, which sees the scans and what was counted of them in one moment: others may go on.
    const sql = `select hour, figure, n, ${this.noBytes} as packed, 0 as expected from figures
        where workspace_id = :workspaceId and project_id = :projectId and figure like 'scans/%'
      union all select block, '', 0, packed, 0 from packed_figures
        where workspace_id = :workspaceId and project_id = :projectId
      union all select ${hour}, ${figure}, 0, ${this.noBytes}, count(*) from scans one
        where workspace_id = :workspaceId and project_id = :projectId and ${isCounted('one')} group by 1, 2`
    const rows = rowsOf<StoredFigure & { expected: number }>(
      this.db,
      await this.db.raw(sql, { workspaceId, projectId }),
    )
    const all = new Map<string, FigureDifference>()
    const add = ({ hour, figure, n }: Figure, expected: number) => {
      const key = `${hour} ${figure}`
      const known = all.get(key) ?? { hour, figure, counted: 0, expected: 0 }
      all.set(key, { hour, figure, counted: known.counted + n, expected: known.expected + expected })
    }
    for (const row of rows) {
      if (!row.packed) add(toFigure(row), Number(row.expected))
      else for (const one of unpack(row.packed, row.hour)) if (one.figure.startsWith('scans/')) add(one, 0)
    }
    const differences = [...all.values()].filter(({ counted, expected }) => counted !== expected)
    const missing = differences.map(({ hour, figure, counted, expected }) => ({ hour, figure, n: expected - counted }))
    await this.insert(
      workspaceId,
      missing.map((one) => ({ ...one, projectId })),
    )
    return differences
  }

  /** Forgets what was counted of a project. */
  async deleteOfProject(workspaceId: string, projectId: string): Promise<void> {
    const ofProject = { workspace_id: workspaceId, project_id: projectId }
    await this.db('figures').where(ofProject).delete()
    await this.db('packed_figures').where(ofProject).delete()
  }

  private get noBytes(): string {
    return isPostgres(this.db) ? 'cast(null as bytea)' : 'null'
  }
}

/** Says which bucket an hour is in, quickly for hours that ascend, as those of a block do. */
function finder(buckets: readonly number[]): (hour: number) => number {
  let bucket = 0
  return (hour) => {
    if (hour < buckets[bucket]!) bucket = 0
    while (buckets[bucket + 1]! <= hour) bucket += 1
    return bucket
  }
}

/** Another program's than those of migrations and of counts. */
const RECOUNT_LOCK = 7_277_440

/** PostgreSQL's counts of rows are texts. */
function toFigure({ hour, figure, n }: Figure): Figure {
  return { hour: Number(hour), figure, n: Number(n) }
}

const CHUNK = 500

/** The hour that a moment is in, counted from 1970. */
export function hourOf(at: Date): number {
  return Math.floor(at.getTime() / HOUR_MS)
}

function blockOf(hour: number): number {
  return Math.floor(hour / BLOCK_HOURS)
}

/** The form of a block: where another becomes better, its first byte tells. */
const FORM = 1

/**
 * Figures of the hours of a block in few bytes: a name with its length, then the number of each hour, all of them whole
 * numbers of as many bytes as they need; deflated. Two thirds of the same as JSON.
 */
export function pack(figures: Figure[], block: number): Buffer {
  const byName = new Map<string, number[]>()
  for (const { hour, figure, n } of figures) {
    const hours = byName.get(figure) ?? new Array<number>(BLOCK_HOURS).fill(0)
    hours[hour - block * BLOCK_HOURS]! += n
    byName.set(figure, hours)
  }
  const bytes = [FORM]
  for (const [figure, hours] of [...byName].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const name = Buffer.from(figure)
    bytes.push(name.length, ...name)
    // Below zero is a part of a sum, as slots are: odd numbers.
    for (const n of hours)
      for (let rest = n < 0 ? -2 * n - 1 : 2 * n; ; rest = Math.floor(rest / 128)) {
        bytes.push(rest < 128 ? rest : 128 + (rest % 128))
        if (rest < 128) break
      }
  }
  return deflateRawSync(Buffer.from(bytes))
}

/** The figures of a block that are not nothing. */
export function unpack(packed: Uint8Array, block: number): Figure[] {
  const figures: Figure[] = []
  readBlock(packed, block, (figure) => (hour, n) => void figures.push({ hour, figure, n }))
  return figures
}

/** Tells each figure of a block, and then each hour of it that has some: a year is a hundred thousand numbers. */
function readBlock(packed: Uint8Array, block: number, tell: (figure: string) => (hour: number, n: number) => void) {
  const bytes = inflateRawSync(packed)
  if (bytes[0] !== FORM) throw new Error(`Figures are packed in a form of a later version: ${bytes[0]}`)
  let at = 1
  while (at < bytes.length) {
    const end = at + 1 + bytes[at]!
    const tellHour = tell(bytes.toString('utf8', at + 1, end))
    at = end
    for (let hour = block * BLOCK_HOURS; hour < (block + 1) * BLOCK_HOURS; hour++) {
      let [n, unit] = [0, 1]
      for (; bytes[at]! >= 128; at++, unit *= 128) n += (bytes[at]! - 128) * unit
      n += bytes[at++]! * unit
      if (n !== 0) tellHour(hour, n % 2 === 1 ? -(n + 1) / 2 : n / 2)
    }
  }
}
