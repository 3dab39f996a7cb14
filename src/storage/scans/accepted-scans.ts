import type { Knex } from 'knex'
import type { ScanContext } from '../../core/contract/schemas/scan-shapes.ts'
import type { CountedRange, RedemptionHistory, RedemptionPlan } from '../../core/rules/redemption/redemption-plan.ts'
import { overlaps, type Range } from '../../core/rules/redemption/redemption-windows.ts'
import { insertRows, selectForEach } from '../db/bulk-rows.ts'
import { joinEach, toDate } from '../db/dialect.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import { bytesOfHex } from '../db/values.ts'
import { toHex } from '../passes/identifiers.ts'

const ACCEPTED = mapping({
  scanId: field.text,
  passId: field.text,
  projectId: field.optionalText,
  templateId: field.text,
  /** Empty for a scan without a context. */
  scanContextKey: { read: (key: string | null) => key, write: (key: string | null) => key ?? NO_CONTEXT },
  scannedAt: field.time,
  /** The window whose limit was debited, if several windows matched. */
  debitedWindow: field.optionalText,
  /** The validity date as YYYY-MM-DD, if the scan was evaluated as of a date. Such a scan has no time of day. */
  validityDate: field.optionalText,
})

export interface NewAcceptedScan extends RecordOf<typeof ACCEPTED> {}

const USES = mapping({
  count: field.number,
  lastAt: field.optionalTime,
  contextCount: field.number,
  contextLastAt: field.optionalTime,
})

export interface UseCounts extends RecordOf<typeof USES> {}

export const NO_USES: UseCounts = { count: 0, lastAt: null, contextCount: 0, contextLastAt: null }

export interface AskedHistory extends Pick<RedemptionPlan, 'realTime' | 'scanContextKey'> {
  passId: string
  /** The digest of the scanned code, to detect stale codes. */
  digest?: Uint8Array | undefined
}

export interface FoundHistory {
  history: Omit<RedemptionHistory, 'counts'>
  isStaleCode: boolean
}

export interface AskedCounts {
  passId: string
  plan: Pick<RedemptionPlan, 'counted' | 'windows'>
}

const FOUND = mapping({
  total: field.number,
  firstAt: field.optionalTime,
  lastAt: field.optionalTime,
  inContext: field.number,
  contextFirstAt: field.optionalTime,
  contextLastAt: field.optionalTime,
  previousAt: field.optionalTime,
  nextAt: field.optionalTime,
})

interface HistoryRow extends RowOf<typeof FOUND> {
  n: number
  is_stale: boolean | 0 | 1
}

interface PlaceRow {
  n: number
  context: string | null
  device_id: string | null
}

interface SegmentRow {
  n: number
  debited_window: string | null
  uses: number
  first_at: number
}

/** The uses that policies count: accepted, not reversed scans. Scans without a context form a separate context. */
export class AcceptedScans extends Repository {
  async insert(workspaceId: string, scans: NewAcceptedScan[]): Promise<void> {
    const rows = scans.map((scan) => ({ ...ACCEPTED.write(scan), workspace_id: workspaceId }))
    await insertRows(this.db, 'accepted_scans', rows)
  }

  /** Whether the scan was accepted and not reversed. */
  async isCounted(workspaceId: string, scanId: string): Promise<boolean> {
    const row = await this.db('accepted_scans').where({ workspace_id: workspaceId, scan_id: scanId }).first('scan_id')
    return row !== undefined
  }

  /** Deletes an accepted scan. Returns false if there is none, because the scan was reversed or never accepted. */
  async delete(workspaceId: string, scanId: string): Promise<boolean> {
    return (await this.db('accepted_scans').where({ workspace_id: workspaceId, scan_id: scanId }).delete()) > 0
  }

  /** Returns the history of a pass for an evaluation. See `listHistories` and `listRangeCounts`. */
  async findHistory(workspaceId: string, passId: string, plan: RedemptionPlan): Promise<RedemptionHistory> {
    const [found] = await this.listHistories(workspaceId, [{ passId, ...plan }])
    const [counts] = await this.listRangeCounts(workspaceId, [{ passId, plan }])
    return { ...found!.history, counts: counts! }
  }

  /**
   * Returns the part of each history that every evaluation needs, in the order of `asked`. Reads only counts and the
   * first and last rows of index ranges, with one statement for all passes. If the caller then records the scan, it
   * must lock the passes before this read, or in the same round trip.
   */
  async listHistories(workspaceId: string, asked: AskedHistory[]): Promise<FoundHistory[]> {
    if (asked.length === 0) return []
    const items = asked.map(({ passId, scanContextKey, realTime, digest }) => ({
      pass_id: passId,
      context: scanContextKey ?? NO_CONTEXT,
      at: realTime.getTime(),
      digest: digest ? toHex(digest) : null,
    }))
    const rows = await selectForEach<HistoryRow>(this.db, workspaceId, { ...HISTORY, items }, historySql(this.db))
    const found: FoundHistory[] = []
    for (const row of rows) found[row.n] = { history: FOUND.read(row), isStaleCode: Boolean(row.is_stale) }
    return found
  }

  /**
   * Returns the counts of the windows and periods of each plan, by key, in the order of `asked`. Runs no query if no
   * policy counts by window or period.
   */
  async listRangeCounts(workspaceId: string, asked: AskedCounts[]): Promise<RedemptionHistory['counts'][]> {
    const found = asked.map(({ plan }) => createRangeCounts(plan))
    for (const isKeyless of [false, true]) {
      const segments = asked.flatMap(({ passId, plan }, place) =>
        segmentsOf(plan.counted.filter((range) => range.isKeyless === isKeyless)).map((range) => ({
          ...range,
          passId,
          place,
        })),
      )
      if (segments.length === 0) continue
      const lookup = {
        name: isKeyless ? 'count-keyless-segments' : 'count-segments',
        given: { pass_id: 'uuid', from_at: 'bigint', to_at: 'bigint' } as const,
        items: segments.map(({ passId, from, to }) => ({ pass_id: passId, from_at: from, to_at: to })),
      }
      const rows = await selectForEach<SegmentRow>(this.db, workspaceId, lookup, segmentSql(this.db, isKeyless))
      for (const { n, ...row } of rows) {
        const { place, from, to } = segments[n]!
        found[place]!.add({ ...row, from, to, isKeyless })
      }
    }
    return found.map(({ counts }) => counts)
  }

  /** Returns the uses of each pass, in total and in a context. Omits passes without uses. */
  async listCounts(workspaceId: string, passIds: string[], contextKey: string | null): Promise<Map<string, UseCounts>> {
    const isContext = 'case when scan_context_key = ? then scanned_at end'
    const key = contextKey ?? NO_CONTEXT
    const rows: (RowOf<typeof USES> & { pass_id: string })[] = await this.db('accepted_scans')
      .where({ workspace_id: workspaceId })
      .whereIn('pass_id', passIds)
      .groupBy('pass_id')
      .select('pass_id', {
        count: this.db.raw('count(*)'),
        last_at: this.db.raw('max(scanned_at)'),
        context_count: this.db.raw(`count(${isContext})`, [key]),
        context_last_at: this.db.raw(`max(${isContext})`, [key]),
      })
    return new Map(rows.map((row) => [row.pass_id, USES.read(row)]))
  }

  /** Returns the place of each given use, according to the ledger (see `placeOf`). */
  async listPlaces(workspaceId: string, uses: { passId: string; at: Date }[]): Promise<(string | undefined)[]> {
    if (uses.length === 0) return []
    const lookup = {
      name: 'places-of-use',
      given: { pass_id: 'uuid', at: 'bigint' } as const,
      items: uses.map(({ passId, at }) => ({ pass_id: passId, at: at.getTime() })),
    }
    const first = `(select scan_id ${OF_PASS} and scanned_at = given.at order by scan_id limit 1)`
    const rows = await selectForEach<PlaceRow>(
      this.db,
      workspaceId,
      lookup,
      `select n, scans.context, scans.device_id from given join scans on scans.id = ${first}`,
    )
    const places: (string | undefined)[] = uses.map(() => undefined)
    for (const row of rows) places[row.n] = placeOf(row.context, row.device_id)
    return places
  }
}

/** Returns the gate, lane, and location of a scan; if it has none of these, the ID of its device. */
export function placeOf(context: string | null, deviceId: string | null): string | undefined {
  const { gate, lane, location }: ScanContext = context ? JSON.parse(context) : {}
  return [gate, lane, location].filter(Boolean).join(', ') || deviceId || undefined
}

const HISTORY = {
  name: 'histories',
  given: { pass_id: 'uuid', context: 'text', at: 'bigint', digest: 'text' },
} as const

export const NO_CONTEXT = ''

const OF_PASS = 'from accepted_scans where workspace_id = given.workspace_id and pass_id = given.pass_id'
const OF_CONTEXT = `${OF_PASS} and scan_context_key = given.context`
const UNDATED = `${OF_PASS} and validity_date is null`

function historySql(db: Knex): string {
  return `select n,
    (select count(*) ${OF_PASS}) as total,
    (select min(scanned_at) ${OF_PASS}) as first_at,
    (select max(scanned_at) ${OF_PASS}) as last_at,
    (select count(*) ${OF_CONTEXT}) as in_context,
    (select min(scanned_at) ${OF_CONTEXT}) as context_first_at,
    (select max(scanned_at) ${OF_CONTEXT}) as context_last_at,
    (select max(scanned_at) ${UNDATED} and scanned_at <= given.at) as previous_at,
    (select min(scanned_at) ${UNDATED} and scanned_at > given.at) as next_at,
    exists (select 1 from pass_identifiers where workspace_id = given.workspace_id
      and digest = ${bytesOfHex(db, 'given.digest')} and pass_id = given.pass_id and active = false) as is_stale
    from given`
}

function segmentSql(db: Knex, isKeyless: boolean): string {
  const within = `accepted_scans.workspace_id = given.workspace_id and accepted_scans.pass_id = given.pass_id
    and scanned_at >= given.from_at and scanned_at < given.to_at ${isKeyless ? `and scan_context_key = '${NO_CONTEXT}'` : ''}`
  return `select n, debited_window, count(*) as uses, min(scanned_at) as first_at
    from given ${joinEach(db, 'accepted_scans', within)} group by n, debited_window`
}

/** The uses in a time segment that were debited to the same window, or to no window. */
export interface SegmentUses extends Range {
  debited_window: string | null
  uses: number
  first_at: number
  isKeyless: boolean
}

/**
 * Splits overlapping ranges into segments at their ends. Omits gaps between ranges. Hundreds of windows can overlap, so
 * counting each use once, in its segment, takes far less work than counting it in each window.
 */
export function segmentsOf(ranges: readonly Range[]): Range[] {
  const changes = new Map<number, number>()
  for (const { from, to } of ranges) {
    changes.set(from, (changes.get(from) ?? 0) + 1)
    changes.set(to, (changes.get(to) ?? 0) - 1)
  }
  const ends = [...changes.keys()].sort((a, b) => a - b)
  let depth = 0
  return ends.slice(0, -1).flatMap((from, n) => {
    depth += changes.get(from)!
    return depth > 0 ? [{ from, to: ends[n + 1]! }] : []
  })
}

/** Adds up the uses of segments into counts of windows and periods. */
export function createRangeCounts({ counted, windows }: Pick<RedemptionPlan, 'counted' | 'windows'>) {
  const counts = new Map(counted.map(({ key }) => [key, { count: 0, firstAt: null as Date | null }]))
  const byKey = new Map(counted.map((range) => [range.key, range]))

  function addTo({ key }: CountedRange, { uses, first_at }: SegmentUses): void {
    const { count, firstAt } = counts.get(key)!
    const isFirst = firstAt === null || first_at < firstAt.getTime()
    counts.set(key, { count: count + uses, firstAt: isFirst ? toDate(first_at) : firstAt })
  }

  return {
    counts: counts as RedemptionHistory['counts'],
    add(segment: SegmentUses): void {
      const key = segment.debited_window
      const debited = key === null ? undefined : windows.get(key)
      const own = debited && byKey.get(key!)
      // If the debited window contains the segment, every other window that contains the segment overlaps the debited
      // window. Of these windows, only the debited window counts the use.
      const ranges = own && overlaps(own, segment) ? [own, ...counted.filter(({ isWindow }) => !isWindow)] : counted
      for (const range of ranges) {
        if (range.isKeyless !== segment.isKeyless || !overlaps(range, segment)) continue
        if (!range.isWindow || range.key === key || !debited || !overlaps(debited, range)) addTo(range, segment)
      }
    },
  }
}
