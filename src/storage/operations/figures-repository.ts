import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Knex } from 'knex'
import { insertRows } from '../db/bulk-rows.ts'
import { findCountSlot, rowsOf, takeTurns } from '../db/dialect.ts'
import { Repository } from '../db/repository.ts'
import { asJson, noBytes } from '../db/values.ts'
import { HOUR_MS, hourOf as hourIn } from './counters.ts'

/** The number of occurrences of an event in an hour. */
export interface Figure {
  /** The hour, counted from 1970. */
  hour: number
  /** The kind of event and, after a slash, its subkind. */
  figure: string
  n: number
}

/** A row of `figures` (`packed` is null), or of `packed_figures` (`hour` is the number of its block of 28 days). */
interface StoredFigure extends Figure {
  packed: Uint8Array | null
}

export interface NewFigure extends Figure {
  projectId: string
}

export interface FigureDifference extends Omit<Figure, 'n'> {
  counted: number
  expected: number
}

const BLOCK_HOURS = 28 * 24

/** The maximum number of rows of a project that one transaction packs. */
const MOST_ROWS = 1_000

/** The hourly figures of projects. Database triggers maintain most of these figures (decisions/0005). */
export class Figures extends Repository {
  /**
   * Sums the counts of a project in a range of hours. For each kind of event, returns one sum per bucket of hours.
   * @param buckets the first hour of each bucket, ascending. The first bucket begins at or before `from`
   */
  async sums(
    workspaceId: string,
    projectId: string,
    { from, until }: { from: number; until: number },
    buckets: readonly number[],
  ): Promise<Map<string, number[]>> {
    // Read both tables in one statement. Otherwise, concurrent packing could move figures between two reads.
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
        // Skip the hours of a packed block that are outside the requested range.
        if (hour >= from && hour < until) ofFigure[bucketOf(hour)]! += n
      }
    }
    for (const { packed, hour, figure, n } of rowsOf<StoredFigure>(this.db, await this.db.raw(sql, values))) {
      if (packed) readBlock(packed, hour, adding)
      else adding(figure)(hour, n)
    }
    return sums
  }

  /** Adds figures that no trigger maintains. Call it in the transaction of the event. */
  async insert(workspaceId: string, counted: NewFigure[]): Promise<void> {
    if (counted.length === 0) return
    const slot = await findCountSlot(this.db)
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

  /**
   * Packs figures of one project from hours before `before`. Returns false if there are no such figures. A later call
   * packs figures that are added concurrently.
   */
  async pack(before: number): Promise<boolean> {
    const oldest = await this.db('figures').where('hour', '<', before).orderBy('hour').first()
    if (!oldest) return false
    const { workspace_id, project_id } = oldest
    const block = blockOf(oldest.hour)
    const key = { workspace_id, project_id, block }
    // Create the row first, so that it can be locked. Otherwise, a concurrent call could overwrite the block.
    await this.db('packed_figures')
      .insert({ ...key, packed: pack([], block) })
      .onConflict(Object.keys(key))
      .ignore()
    const stored = await this.db('packed_figures').where(key).forUpdate().first('packed')
    const chosen = this.db('figures')
      .where({ workspace_id, project_id })
      .where('hour', '<', Math.min(before, (block + 1) * BLOCK_HOURS))
      .orderBy(['hour', 'figure', 'slot'])
      .limit(MOST_ROWS)
    const rows: (Figure & { slot: number })[] = await chosen
      .forUpdate()
      .skipLocked()
      .select('hour', 'figure', 'slot', 'n')
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
   * Corrects the scan figures of a project from its ledger and returns the differences. Other figures cannot be
   * recounted, because the rows that they count are not kept as long.
   */
  async recountScans(workspaceId: string, projectId: string): Promise<FigureDifference[]> {
    // Run one recount at a time. Otherwise, two concurrent recounts would add the difference twice.
    await takeTurns(this.db, RECOUNT_LOCK)
    const { parts, isCounted } = scanSource()
    const [, , hour, figure] = parts('one')
    // Read the scans and their figures in one statement. Otherwise, a concurrent scan would cause a difference.
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
      if (!row.packed) add(row, row.expected)
      else for (const one of unpack(row.packed, row.hour)) if (one.figure.startsWith('scans/')) add(one, 0)
    }
    const differences = [...all.values()].filter(({ counted, expected }) => counted !== expected)
    const missing = differences.map(({ counted, expected, ...one }) => ({ ...one, n: expected - counted, projectId }))
    await this.insert(workspaceId, missing)
    return differences
  }

  async deleteOfProject(workspaceId: string, projectId: string): Promise<void> {
    const ofProject = { workspace_id: workspaceId, project_id: projectId }
    await this.db('figures').where(ofProject).delete()
    await this.db('packed_figures').where(ofProject).delete()
  }

  private get noBytes(): string {
    return noBytes(this.db)
  }
}

/** Returns a function that finds the bucket of an hour. The function is fast if hours ascend from call to call. */
function finder(buckets: readonly number[]): (hour: number) => number {
  let bucket = 0
  return (hour) => {
    if (hour < buckets[bucket]!) bucket = 0
    while (buckets[bucket + 1]! <= hour) bucket += 1
    return bucket
  }
}

/** The advisory lock of recounts of figures. Its number differs from the locks of migrations and counters. */
const RECOUNT_LOCK = 7_277_440

const CHUNK = 500

/** Returns the hour of a time, counted from 1970. */
export function hourOf(at: Date): number {
  return Math.floor(at.getTime() / HOUR_MS)
}

function blockOf(hour: number): number {
  return Math.floor(hour / BLOCK_HOURS)
}

/** The version of the format of a block, which is the first byte of the block. */
const FORM = 1

/**
 * Encodes the figures of a block: for each figure, the length of its name, the name, and the numbers of all hours as
 * variable-length integers. The deflated result is two thirds of the size of deflated JSON.
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
    // Encode negative numbers as odd numbers. If only some slots of a figure are packed, their sum can be negative.
    for (const n of hours)
      for (let rest = n < 0 ? -2 * n - 1 : 2 * n; ; rest = Math.floor(rest / 128)) {
        bytes.push(rest < 128 ? rest : 128 + (rest % 128))
        if (rest < 128) break
      }
  }
  return deflateRawSync(Buffer.from(bytes))
}

/** Returns the figures of a block that are not zero. */
export function unpack(packed: Uint8Array, block: number): Figure[] {
  const figures: Figure[] = []
  readBlock(packed, block, (figure) => (hour, n) => void figures.push({ hour, figure, n }))
  return figures
}

/**
 * Calls `counterOf` for each figure of a block, and calls the returned function for each hour with a value. Builds no
 * list, because a year has 100,000 numbers.
 */
function readBlock(
  packed: Uint8Array,
  block: number,
  counterOf: (figure: string) => (hour: number, n: number) => void,
) {
  const bytes = inflateRawSync(packed)
  if (bytes[0] !== FORM) throw new Error(`Packed figures have the format of a later version: ${bytes[0]}`)
  let at = 1
  while (at < bytes.length) {
    const end = at + 1 + bytes[at]!
    const add = counterOf(bytes.toString('utf8', at + 1, end))
    at = end
    for (let hour = block * BLOCK_HOURS; hour < (block + 1) * BLOCK_HOURS; hour++) {
      let [n, unit] = [0, 1]
      for (; bytes[at]! >= 128; at++, unit *= 128) n += (bytes[at]! - 128) * unit
      n += bytes[at++]! * unit
      if (n !== 0) add(hour, n % 2 === 1 ? -(n + 1) / 2 : n / 2)
    }
  }
}

/** A source of figures: a table whose rows count when they are inserted, or when one of their columns changes. */
export interface FigureSource {
  name: string
  table: string
  /** The SQL for the workspace, project, hour, and figure of a row. */
  parts: (row: string) => [workspace: string, project: string, hour: string, figure: string]
  isCounted: (row: string) => string
  /** Set if updates count instead of inserts: the watched columns, the row's key, and whether a change counts. */
  onUpdate?: { column: string; key: string[]; isChange: (before: string, after: string) => string }
}

const projectOf = (row: string, pass: string) => `(select project_id from passes where passes.id = ${row}.${pass})`

export function figureSources(db: Knex): FigureSource[] {
  const platformOf = (row: string) => `(${asJson(db, `${row}.data`)} ->> 'platform')`
  const ofRegistrations = (figure: string, version: string, at: string): FigureSource => ({
    name: figure,
    table: 'apple_registrations',
    parts: (row) => [`${row}.workspace_id`, projectOf(row, 'pass_id'), hourIn(`${row}.${at}`), `'${figure}'`],
    isCounted: (row) => `${row}.${at} is not null and ${projectOf(row, 'pass_id')} is not null`,
    onUpdate: {
      column: version,
      key: ['device_id', 'pass_id'],
      isChange: (before, after) => `${after}.${version} > ${before}.${version}`,
    },
  })
  return [
    {
      name: 'events',
      table: 'events',
      parts: (row) => [
        `${row}.workspace_id`,
        projectOf(row, 'subject'),
        hourIn(`${row}.created_at`),
        `case ${row}.type when 'pass.issued' then 'issued' when 'pass.voided' then 'voided' when 'pass.updated' then 'updated'
          when 'pass.installed' then 'installed/' || ${platformOf(row)} else 'removed/' || ${platformOf(row)} end`,
      ],
      isCounted: (row) =>
        `${row}.type in ('pass.issued', 'pass.voided', 'pass.updated', 'pass.installed', 'pass.removed')
          and ${projectOf(row, 'subject')} is not null`,
    },
    scanSource(),
    ofRegistrations('pushed', 'pushed_version', 'pushed_at'),
    ofRegistrations('fetched', 'fetched_version', 'fetched_at'),
    {
      name: 'notified',
      table: 'notifications',
      parts: (row) => [`${row}.workspace_id`, projectOf(row, 'pass_id'), hourIn(`${row}.updated_at`), `'notified'`],
      isCounted: (row) => `${isSent(row)} and ${projectOf(row, 'pass_id')} is not null`,
      onUpdate: { column: 'apple_status, google_status', key: ['id'], isChange: (before) => `not ${isSent(before)}` },
    },
  ]
}

function scanSource(): FigureSource {
  return {
    name: 'scanned',
    table: 'scans',
    parts: (row) => [
      `${row}.workspace_id`,
      `${row}.project_id`,
      hourIn(`${row}.scanned_at`),
      `'scans/' || ${reasonCodeOf(row)}`,
    ],
    isCounted: (row) => `${row}.reason is not null and ${row}.project_id is not null`,
  }
}

/** Returns the SQL for the `reasonCode` of a scan: the reason of the device, if a device decided the scan. */
const reasonCodeOf = (
  row: string,
) => `coalesce(${row}.reason_code, case ${row}.reason when 'already_used' then 'already_scanned'
  when 'wrong_project' then 'wrong_scope' when 'unverifiable' then 'stale_identifier' else ${row}.reason end)`

const isSent = (row: string) => `(${row}.apple_status = 'SENT' or ${row}.google_status = 'SENT')`
