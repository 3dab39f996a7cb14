import type { Knex } from 'knex'
import { groupBy } from '../../core/group-by.ts'
import { commonStep } from '../../core/rules/lists/buckets.ts'
import { isOneOf } from '../db/bulk-rows.ts'
import { Repository } from '../db/repository.ts'
import { COUNTED_AS_NONE, countsOf, GATE_CHARACTERS, gateOf } from '../operations/counters.ts'

export interface ScanStatsRequest {
  projectId?: string[] | undefined
  templateId?: string[] | undefined
  scanContextKey?: string[] | undefined
  scanContextFrom?: string[] | undefined
  scanContextUntil?: string[] | undefined
  scanned?: { from?: Date; to?: Date } | undefined
}

export interface ScanFigures {
  totalPasses: number
  redeemed: number
  totalScans: number
  totalDenied: number
  lastScanAt: Date | null
}

export interface GateFigures {
  /** The first 100 characters of the gate's name; null for scans without a gate. */
  gate: string | null
  totalScans: number
  totalDenied: number
  reversed: number
  /** Accepted exits from zones, minus the exits that were reversed at this gate. */
  exits: number
}

export interface TimeStatsRequest extends ScanStatsRequest {
  /** Names of gates. Only the first 100 characters are compared, because the counters store only these. */
  gate?: string[] | undefined
}

const NONE: ScanFigures = { totalPasses: 0, redeemed: 0, totalScans: 0, totalDenied: 0, lastScanAt: null }

export class ScanStats extends Repository {
  /**
   * Returns the statistics by project ID, in ascending order. Passes and scans without a project are last, under null.
   * After a project is deleted, its scans still count under its ID, and its passes count under null. Reads counters,
   * with two exceptions: scans in a time window, and passes accepted in a time window, in a range of contexts, or in
   * several contexts.
   */
  async counts(workspaceId: string, request: ScanStatsRequest): Promise<Map<string | null, ScanFigures>> {
    const filters = await withoutNeedlessBounds(this.db, workspaceId, this.narrowed(request))
    const [passes, redeemed, scans] = await Promise.all([
      sumByProject(narrowed(countsOf(this.db, workspaceId, 'passes'), 'counts', filters)),
      countRedeemed(this.db, workspaceId, filters),
      sumScans(this.db, workspaceId, filters),
    ])
    const named = [...passes, ...redeemed].map(({ project_id }) => project_id)
    const known = await existing(this.db, workspaceId, [...new Set(named)])
    const present = (projectId: string | null) => (projectId !== null && known.has(projectId) ? projectId : null)
    const parts = [
      ...passes.map(({ project_id, n }) => ({ id: present(project_id), totalPasses: n })),
      ...redeemed.map(({ project_id, n }) => ({ id: present(project_id), redeemed: n })),
      ...scans
        .filter(({ result }) => result !== 'reversal')
        .map(({ project_id: id, result, n, last }) => {
          return { id, totalScans: n, totalDenied: result === 'denied' ? n : 0, lastScanAt: new Date(last) }
        }),
    ]
    const byProject = groupBy(parts, ({ id }) => id)
    const figures = new Map([...byProject].map(([id, ofProject]) => [id, sumFigures(ofProject)]))
    // If the request names projects, omit the key null, whose figures count passes of a project that is being deleted.
    if (filters.projectId) figures.delete(null)
    return new Map([...figures].sort(([a], [b]) => (b === null || (a !== null && a < b) ? -1 : 1)))
  }

  /**
   * Returns the statistics of up to `limit` gates, most scans first. Reads counters or, for a time window or a context,
   * counts scans along an index.
   */
  async countsByGate(workspaceId: string, request: ScanStatsRequest, limit: number): Promise<GateFigures[]> {
    const filters = await withoutNeedlessBounds(this.db, workspaceId, this.narrowed(request))
    const { scanContextKey, scanContextFrom, scanContextUntil, scanned } = filters
    const isOfSome = scanContextKey || scanContextFrom || scanContextUntil || scanned?.from || scanned?.to
    const counted = isOfSome
      ? ofScans(narrowed(this.db('scans').where('scans.workspace_id', workspaceId), 'scans', filters), filters).select(
          sums(
            this.db,
            gateOf(this.db, 'scans'),
            (result, reason) =>
              `case when result = '${result}'${reason === 'exit' ? ` and direction = 'out'` : ''} then 1 else 0 end`,
          ),
        )
      : narrowed(countsOf(this.db, workspaceId, 'scans-by-gate'), 'counts', filters).select(
          sums(
            this.db,
            'counts.key',
            (result, reason) => `case when kind like '${result}/${reason}' then n else 0 end`,
          ),
        )
    const rows: (Omit<GateFigures, 'gate'> & { gate: string })[] = await counted
      .groupByRaw('1')
      // Omit gates with a count of zero: all of their scans were erased.
      .havingRaw(`sum(${isOfSome ? 1 : 'n'}) > 0`)
      .orderByRaw('2 desc, 1')
      .limit(limit)
    return rows.map(({ gate, ...figures }) => ({ gate: gate || null, ...figures }))
  }

  /**
   * Counts the attempts and denials per bucket, within the window of the request. `starts` contains the beginnings of
   * the buckets in ascending order. The database counts in equal steps, and a bucket consists of one or more steps.
   */
  async countsByTime(workspaceId: string, request: TimeStatsRequest, starts: readonly number[]) {
    const filters = this.narrowed(request)
    const [first] = starts
    if (first === undefined) return []
    // Write the step as a literal. SQLite would read a parameter as a fraction and not round the quotient down.
    const step = commonStep(starts) || Number.MAX_SAFE_INTEGER
    const scans = narrowed(this.db('scans').where('scans.workspace_id', workspaceId), 'scans', filters)
    if (request.gate) {
      const gates = request.gate.map((gate) => [...gate].slice(0, GATE_CHARACTERS).join(''))
      scans.whereIn(this.db.raw(gateOf(this.db, 'scans')) as never, gates)
    }
    const rows: { step: number; n: number; denied: number }[] = await ofScans(scans, filters)
      .groupBy('step')
      .select(
        this.db.raw(`(scanned_at - ${first}) / ${step} as step`),
        this.db.raw(`count(*) filter (where result <> 'reversal') as n`),
        this.db.raw(`count(*) filter (where result = 'denied') as denied`),
      )
    const buckets = starts.map((start) => ({ at: new Date(start), totalScans: 0, totalDenied: 0 }))
    for (const row of rows) {
      const at = first + row.step * step
      const bucket = buckets[starts.findLastIndex((start) => start <= at)]!
      bucket.totalScans += row.n
      bucket.totalDenied += row.denied
    }
    return buckets
  }

  private narrowed<R extends ScanStatsRequest>(request: R): R {
    return { ...request, projectId: this.narrow(request.projectId) }
  }
}

export function sumFigures(parts: Iterable<Partial<ScanFigures>>): ScanFigures {
  const sum = { ...NONE }
  for (const { totalPasses = 0, redeemed = 0, totalScans = 0, totalDenied = 0, lastScanAt = null } of parts) {
    sum.totalPasses += totalPasses
    sum.redeemed += redeemed
    sum.totalScans += totalScans
    sum.totalDenied += totalDenied
    if (lastScanAt && !(sum.lastScanAt && sum.lastScanAt > lastScanAt)) sum.lastScanAt = lastScanAt
  }
  return sum
}

/** Counts the passes that were accepted, each once per project. */
async function countRedeemed(db: Knex, workspaceId: string, request: ScanStatsRequest): Promise<Row[]> {
  const { scanContextKey, scanContextFrom, scanContextUntil, scanned } = request
  const isRange = scanContextFrom || scanContextUntil || scanned?.from || scanned?.to
  const contexts = [...new Set(scanContextKey)]
  if (isRange || contexts.length > 1) {
    const accepted = db('accepted_scans').where('accepted_scans.workspace_id', workspaceId)
    const passes = ofScans(narrowed(accepted, 'accepted_scans', request), request)
      .distinct('project_id', 'pass_id')
      .as('passes')
    // Count the rows of a distinct subquery, because PostgreSQL would sort all uses for a distinct count.
    const rows: Row[] = await db(passes).groupBy('project_id').select('project_id').count({ n: '*' })
    return rows
  }
  const counter = scanContextKey ? 'redeemed-by-context' : 'redeemed'
  const counted = narrowed(countsOf(db, workspaceId, counter), 'counts', request)
  return sumByProject(scanContextKey ? counted.whereIn('key', contexts) : counted)
}

/** Returns the number of scans and reversals by project, result, and reason; for a time window, without the reasons. */
export async function sumScans(db: Knex, workspaceId: string, request: ScanStatsRequest): Promise<ScanSum[]> {
  const { scanContextKey, scanContextFrom, scanContextUntil, scanned } = request
  if (scanned?.from || scanned?.to) return countRows(db, workspaceId, request)
  const isInContext = scanContextKey || scanContextFrom || scanContextUntil
  const counted = narrowed(countsOf(db, workspaceId, isInContext ? 'scans-by-context' : 'scans'), 'counts', request)
  return readSums(whereContext(counted, 'key', request))
}

async function readSums(counted: Knex.QueryBuilder): Promise<ScanSum[]> {
  const rows: { project_id: string; kind: string; n: number; last: number }[] = await counted
    .groupBy('project_id', 'kind')
    .select('project_id', 'kind')
    .sum({ n: 'n' })
    .max({ last: 'last_at' })
  return rows.map(({ project_id, kind, n, last }) => {
    const [result, reason] = kind.split('/') as [string, string]
    return { project_id: toProjectId(project_id), result, reason, n, last }
  })
}

/**
 * Counts scans with one aggregate per result, so that the database can read a covering index that starts with the
 * project. If the query grouped by result, the database would sort all rows.
 */
async function countRows(db: Knex, workspaceId: string, request: ScanStatsRequest): Promise<ScanSum[]> {
  const scans = narrowed(db('scans').where('scans.workspace_id', workspaceId), 'scans', request)
  const figures = RESULTS.flatMap((result) => [
    db.raw(`count(*) filter (where result = '${result}') as ${result}`),
    db.raw(`max(scanned_at) filter (where result = '${result}') as last_${result}`),
  ])
  const rows: Record<string, number>[] = await ofScans(scans, request)
    .groupBy('project_id')
    .select('project_id', ...figures)
  return rows.flatMap((row) =>
    RESULTS.flatMap((result) => {
      const project_id = row.project_id as unknown as string | null
      return row[result] === 0
        ? []
        : [{ project_id, result, reason: '', n: row[result]!, last: row[`last_${result}`]! }]
    }),
  )
}

const RESULTS = ['accepted', 'denied', 'reversal'] as const

/** Removes time bounds that exclude no scan, so that the counters can be used. */
async function withoutNeedlessBounds(
  db: Knex,
  workspaceId: string,
  request: ScanStatsRequest,
): Promise<ScanStatsRequest> {
  const { scanned } = request
  const isCutting = async (bound: Date | undefined, comparison: '<' | '>') =>
    bound !== undefined &&
    (await db('scans')
      .where('workspace_id', workspaceId)
      .where('scanned_at', comparison, bound.getTime())
      .first('id')) !== undefined
  return {
    ...request,
    scanned: {
      ...((await isCutting(scanned?.from, '<')) && { from: scanned!.from! }),
      ...((await isCutting(scanned?.to, '>')) && { to: scanned!.to! }),
    },
  }
}

async function sumByProject(counted: Knex.QueryBuilder): Promise<Row[]> {
  const rows: { project_id: string; n: number }[] = await counted
    .groupBy('project_id')
    .select('project_id')
    .sum({ n: 'n' })
  return rows.flatMap(({ project_id, n }) => (n === 0 ? [] : [{ project_id: toProjectId(project_id), n }]))
}

function toProjectId(counted: string): string | null {
  return counted === COUNTED_AS_NONE ? null : counted
}

async function existing(db: Knex, workspaceId: string, ids: (string | null)[]): Promise<Set<string>> {
  const given = ids.filter((id) => id !== null)
  const projects = db('projects').where({ workspace_id: workspaceId })
  return new Set(await projects.whereRaw(isOneOf(db, 'id', given)).pluck('id'))
}

interface Row {
  project_id: string | null
  n: number
}

interface ScanSum extends Row {
  result: string
  /** Empty for a reversal, and for a request with a time window. */
  reason: string
  last: number
}

function narrowed(query: Knex.QueryBuilder, table: string, { projectId, templateId }: ScanStatsRequest) {
  if (projectId) query.whereIn(`${table}.project_id`, projectId)
  if (templateId) query.whereIn(`${table}.template_id`, templateId)
  return query
}

function ofScans(query: Knex.QueryBuilder, request: ScanStatsRequest): Knex.QueryBuilder {
  const { scanned } = request
  whereContext(query, 'scan_context_key', request)
  if (scanned?.from) query.where('scanned_at', '>=', scanned.from.getTime())
  if (scanned?.to) query.where('scanned_at', '<=', scanned.to.getTime())
  return query
}

function whereContext(query: Knex.QueryBuilder, column: string, request: ScanStatsRequest): Knex.QueryBuilder {
  const { scanContextKey, scanContextFrom, scanContextUntil } = request
  if (scanContextKey) query.whereIn(column, scanContextKey)
  // Exclude scans without a context from a range. Their key is empty, so `<=` would include them.
  if (scanContextFrom) whereAnyBound(query, column, '>=', scanContextFrom)
  if (scanContextUntil) whereAnyBound(query, column, '<=', scanContextUntil).whereNot(column, '')
  return query
}

/** Adds the condition that a column is within at least one of the bounds, in the text order of the database. */
function whereAnyBound(
  query: Knex.QueryBuilder,
  column: string,
  comparison: '>=' | '<=',
  keys: string[],
): Knex.QueryBuilder {
  return query.where((or) => {
    for (const key of keys) or.orWhere(column, comparison, key)
  })
}

/**
 * @param of returns the SQL for the number of scans with `result` that a row counts. With the reason `exit`, it counts
 * only exits from zones; with `%`, all scans.
 */
function sums(db: Knex, gate: string, of: (result: string, reason: '%' | 'exit') => string): Knex.Raw {
  const sum = (result: string, reason: '%' | 'exit' = '%') => `sum(${of(result, reason)})`
  return db.raw(`${gate} as gate, ${sum('accepted')} + ${sum('denied')} as "totalScans", ${sum('denied')} as "totalDenied",
    ${sum('reversal')} as reversed, ${sum('accepted', 'exit')} - ${sum('reversal', 'exit')} as exits`)
}
