import type { Knex } from 'knex'
import type { PassStatus } from '../../core/contract/schemas/common.ts'
import type { Platform } from '../../core/contract/schemas/platform.ts'
import { idBound } from '../../core/ids.ts'
import { beginningOf, MAX_KEY_CHARACTERS } from '../../core/rules/lists/cursor.ts'
import { foldCase, indexedText } from '../../core/rules/lists/search.ts'
import { beginningColumn, boundColumn, containsTerm, joinPasses, knowsDistribution } from '../db/dialect.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list-query.ts'
import { COUNTED_AS_NONE, countsOf } from '../operations/counters.ts'
import { whereGroupKey } from './groups-repository.ts'
import { heldPasses, holding, whereStale } from './held-passes.ts'
import { issuingPasses, lapsedPasses, type StoredPass, selectPass, toPass, UNISSUED } from './pass-row.ts'

/** The comparison of a label. `prefix` and `contains` ignore case. */
export type LabelMatch = 'exact' | 'prefix' | 'contains'

export interface NumericFilter {
  comparison: '=' | '>=' | '<='
  value: number
}

/** The filters of the list of passes. Values of one filter are alternatives. All filters must match. */
export interface PassListRequest extends ListRequest {
  status?: PassStatus[] | undefined
  externalPassId?: string[] | undefined
  search?: string[] | undefined
  /** Project IDs, or the text `null` for passes without a project. */
  projectId?: string[] | undefined
  templateId?: string[] | undefined
  groupKey?: string[] | undefined
  variable?: { name: string; value: string }[] | undefined
  /** Dates as YYYY-MM-DD. */
  validOn?: string[] | undefined
  redeemed?: boolean[] | undefined
  redeemedContext?: string[] | undefined
  /** Whether a wallet holds the pass. If `platform` is given, only wallets of these platforms count. */
  installed?: boolean[] | undefined
  /** If `installed` is not given, a wallet of one of these platforms must hold the pass. */
  platform?: Platform[] | undefined
  /** Whether a wallet of these platforms that holds the pass lacks its newest version. */
  stale?: boolean[] | undefined
  label?: string[] | undefined
  labelMatch?: LabelMatch[] | undefined
  revision?: NumericFilter[] | undefined
  templateVersion?: NumericFilter[] | undefined
  created?: { from?: Date; to?: Date } | undefined
}

export async function listPasses(
  db: Knex,
  workspaceId: string,
  request: PassListRequest,
  at: Date,
): Promise<ListPage<StoredPass>> {
  const facts = {
    now: at.getTime(),
    isSwept: await isSwept(db, workspaceId, request, at),
    issuing: await listIssuing(db, workspaceId, request),
    leaving: await listLeaving(db, workspaceId, request),
  }
  const { query, id } = leadingRows(db, workspaceId, request, facts)
  for (const [name, condition] of Object.entries(conditions(db, facts)) as [keyof PassListRequest, Condition][]) {
    const values = request[name] as unknown[] | undefined
    if (!values) continue
    query.where((or) => {
      for (const value of new Set(values)) or.orWhere((and) => condition(and, value as never, request))
    })
  }
  if (request.created?.from) query.where(id, '>=', idBound(request.created.from.getTime()))
  if (request.created?.to) query.where(id, '<', idBound(request.created.to.getTime() + 1))
  const count = isCounted(request) ? () => countPasses(db, workspaceId, request, facts) : undefined
  return listPage(db, query, specFor(id), request, toPass, (rows) => selectPass(db, rows), count)
}

/** Returns the rows that the list iterates over, and the name of the pass ID in them. */
function leadingRows(db: Knex, workspaceId: string, request: PassListRequest, facts: Facts) {
  if (request.variable?.length) return passesWithVariables(db, workspaceId, request.variable)
  if (isLedByHeld(db, request)) return { query: heldPasses(db, workspaceId, request.platform), id: 'held.pass_id' }
  return { query: passesOfStatuses(db, workspaceId, request, facts), id: 'passes.id' }
}

/** Filters that each match few passes. */
const NARROW = ['externalPassId', 'search', 'projectId', 'templateId', 'groupKey', 'label'] as const

/**
 * Whether to iterate over the passes that wallets hold. Such passes can be few, and without statistics SQLite would scan all
 * passes to find them. PostgreSQL decides for itself.
 */
function isLedByHeld(db: Knex, request: PassListRequest): boolean {
  const { installed, platform, stale, status = ['ISSUED'], sortBy } = request
  if (knowsDistribution(db) || sortBy !== 'createdAt' || NARROW.some((name) => request[name])) return false
  const isAsked = installed ? !installed.includes(false) : platform !== undefined || (stale && !stale.includes(false))
  return isAsked === true && status.includes('ISSUED')
}

/** Whether all filters of the request are covered by the counters that triggers maintain. */
function isCounted({ status, projectId, templateId, created, ...request }: PassListRequest): boolean {
  const { limit, cursor, offset, sortBy, sortDir, ...others } = request
  const values = [...Object.values(others), created?.from, created?.to]
  return values.every((value) => value === undefined)
}

/**
 * Counts the passes that match the filters, by visible status. Differences between stored and visible statuses are resolved in
 * the same statement, so that a pass whose status changes is not counted twice.
 */
async function countPasses(db: Knex, workspaceId: string, request: PassListRequest, facts: Facts): Promise<number> {
  const { templateId, projectId } = request
  const narrowed = (query: Knex.QueryBuilder, table: 'counts' | 'passes') => {
    if (templateId) query.whereIn(`${table}.template_id`, templateId)
    return projectId ? query.where((or) => whereProject(db, or, table, projectId, facts)) : query
  }
  const statuses = new Set(request.status ?? STATUSES)
  const counted = narrowed(countsOf(db, workspaceId, 'passes'), 'counts').select('kind', 'n')
  const lookUp = (kind: 'lapsed' | 'issuing', passes: Knex.QueryBuilder) => {
    const found = narrowed(passes, 'passes').select(db.raw(`'${kind}'`))
    counted.unionAll(found.count('*'))
  }
  if (statuses.has('ISSUED') !== statuses.has('EXPIRED')) lookUp('lapsed', lapsedPasses(db, workspaceId, facts.now))
  if (statuses.has('QUEUED') !== statuses.has('ISSUING') && facts.issuing.length > 0)
    lookUp('issuing', db('passes').whereIn('passes.id', facts.issuing).whereIn('passes.status', UNISSUED))
  const rows: { kind: PassStatus | 'lapsed' | 'issuing'; n: number | string }[] = await db
    .from(counted.as('counted'))
    .groupBy('kind')
    .select('kind')
    .sum({ n: 'n' })
  const stored = (...kinds: (typeof rows)[number]['kind'][]) =>
    rows.reduce((sum, { kind, n }) => (kinds.includes(kind) ? sum + Number(n) : sum), 0)
  const seen: Record<PassStatus, number> = {
    QUEUED: stored(...UNISSUED) - stored('issuing'),
    ISSUING: stored('issuing'),
    ISSUED: stored('ISSUED') - stored('lapsed'),
    EXPIRED: stored('EXPIRED') + stored('lapsed'),
    VOID: stored('VOID'),
    FAILED: stored('FAILED'),
  }
  return [...statuses].reduce((sum, status) => sum + seen[status], 0)
}

/** Returns the sort keys of the list. IDs ascend with the time of creation, so `createdAt` sorts by ID. */
function specFor(id: string): ListSpec {
  return {
    name: 'passes',
    id,
    sorts: {
      createdAt: { key: id },
      updatedAt: { key: 'passes.updated_at' },
      label: { key: 'passes.label', type: 'beginning' },
      externalPassId: { key: 'passes.external_pass_id', type: 'text' },
      status: { key: 'passes.status', type: 'text' },
      expiresAt: { key: 'passes.expiry_key' },
      templateName: {
        key: 'templates.name',
        isComputed: true,
        join: (query) => query.join('templates', 'templates.id', 'passes.template_id'),
      },
      templateVersion: { key: 'passes.template_version', isComputed: true },
      revision: { key: 'passes.revision', isComputed: true },
      groupKey: { key: 'passes.group_key', type: 'beginning', isNullable: true },
    },
  }
}

/**
 * Returns the passes of a workspace. For a list ordered by ID on SQLite, merges the index entries of several statuses. By
 * default, SQLite would scan all passes in that order, even if few have one of the statuses.
 */
function passesOfStatuses(db: Knex, workspaceId: string, { status = [], sortBy }: PassListRequest, facts: Facts) {
  const ofWorkspace = () => db('passes').where('passes.workspace_id', workspaceId)
  const stored = [...new Set(status.flatMap((one) => storedStatuses(one, facts)))]
  if (knowsDistribution(db) || sortBy !== 'createdAt' || stored.length < 2) return ofWorkspace()
  return db.from(db.unionAll(stored.map((one) => ofWorkspace().where('passes.status', one))).as('passes'))
}

/** Returns the stored statuses of passes that have a visible status. */
function storedStatuses(status: PassStatus, { isSwept }: Facts): PassStatus[] {
  if (UNISSUED.includes(status)) return UNISSUED
  return status === 'EXPIRED' && !isSwept ? ['EXPIRED', 'ISSUED'] : [status]
}

/**
 * Returns the passes of a workspace that have all of the variables. The query iterates over the passes with the first variable.
 * An index has them in the order of their IDs for each value, so that neither a rare nor a common value reads more than a page.
 */
function passesWithVariables(db: Knex, workspaceId: string, pairs: { name: string; value: string }[]) {
  const valuesByName = new Map<string, Set<string>>()
  for (const { name, value } of pairs) {
    const key = indexedText(name)
    valuesByName.set(key, (valuesByName.get(key) ?? new Set()).add(indexedText(value)))
  }
  const holding = (name: string) => db('pass_variables').where({ workspace_id: workspaceId, name }).select('pass_id')
  const [[name, values], ...others] = [...valuesByName] as [[string, Set<string>], ...[string, Set<string>][]]
  // A pass has one value per name, so no pass is in two of these queries.
  const holders = db.unionAll([...values].map((value) => holding(name).where({ value }))).as('holders')
  const query = joinPasses(db, db.from(holders), 'holders.pass_id').where('passes.workspace_id', workspaceId)
  for (const [name, values] of others) query.whereIn('holders.pass_id', holding(name).whereIn('value', [...values]))
  return { query, id: 'holders.pass_id' }
}

interface Facts {
  now: number
  /** Whether every expired pass of the workspace is stored as EXPIRED, so that an index finds them all. */
  isSwept: boolean
  issuing: string[]
  /** Deleted projects that passes still refer to. */
  leaving: string[]
}

/** Returns `Facts.isSwept`; false if the list has no filter for EXPIRED, so that no query is needed. */
async function isSwept(db: Knex, workspaceId: string, request: PassListRequest, at: Date): Promise<boolean> {
  if (!request.status?.includes('EXPIRED')) return false
  return (await lapsedPasses(db, workspaceId, at.getTime()).first('passes.id')) === undefined
}

/** Returns the passes that workers are issuing, which are always few. Empty if no filter needs them. */
async function listIssuing(db: Knex, workspaceId: string, request: PassListRequest): Promise<string[]> {
  const isAsked = request.search || request.status?.some((status) => status === 'QUEUED' || status === 'ISSUING')
  return isAsked ? issuingPasses(db, workspaceId).pluck('subject') : []
}

/** Returns deleted projects that passes still refer to. They are almost always none. Empty if no filter needs them. */
async function listLeaving(db: Knex, workspaceId: string, request: PassListRequest): Promise<string[]> {
  if (!request.projectId?.includes('null')) return []
  return db('jobs').where('workspace_id', workspaceId).whereRaw("kind = 'detach-project'").pluck('subject')
}

type Condition<T = never> = (where: Knex.QueryBuilder, value: T, request: PassListRequest) => void

function conditions(db: Knex, facts: Facts) {
  const compare =
    (column: string): Condition<NumericFilter> =>
    (where, { comparison, value }) =>
      where.whereRaw(`${comparison === '=' ? column : boundColumn(db, column)} ${comparison} ?`, [value])
  return {
    status: (where, status: PassStatus) => whereStatus(db, where, status, facts),
    externalPassId: (where, value: string) => where.where('passes.external_pass_id', value),
    search: (where, text: string) => {
      const term = foldCase(text)
      where.whereRaw(containsTerm(db, ['label_folded', 'external_folded'], term))
      for (const status of STATUSES)
        if (status.toLowerCase().includes(term)) where.orWhere((or) => whereStatus(db, or, status, facts))
    },
    projectId: (where, value: string) => whereProject(db, where, 'passes', [value], facts),
    templateId: (where, value: string) => where.where('passes.template_id', value),
    groupKey: (where, key: string) => whereGroupKey(db, where, key),
    validOn: (where, date: string) => {
      const started = db('pass_windows')
        .where('start_date', date)
        .whereRaw('pass_windows.workspace_id = passes.workspace_id and pass_windows.pass_id = passes.id')
      where
        .whereRaw('(passes.expiry_date is null or passes.expiry_date >= ?)', [date])
        .where((either) => either.where('passes.has_windows', false).orWhereExists(started.select(db.raw('1'))))
    },
    redeemed: (where, isRedeemed: boolean, { redeemedContext }) => {
      const scans = db('accepted_scans')
        .whereRaw('accepted_scans.workspace_id = passes.workspace_id and accepted_scans.pass_id = passes.id')
        .select(db.raw('1'))
      if (redeemedContext) scans.whereIn('scan_context_key', redeemedContext)
      // The limit keeps SQLite 3.51 from turning EXISTS into an inner join, whose rows OFFSET would count.
      return isRedeemed ? where.whereExists(scans.limit(1)) : where.whereNotExists(scans)
    },
    installed: (where, isInstalled: boolean, { platform }) =>
      isInstalled ? where.whereExists(holding(db, platform)) : where.whereNotExists(holding(db, platform)),
    platform: (where, platform: Platform, { installed }) => {
      if (!installed) where.whereExists(holding(db, [platform]))
    },
    stale: (where, isStale: boolean, { platform }) => whereStale(db, where, isStale, platform),
    label: (where, text: string, { labelMatch = ['exact'] }) => {
      for (const match of new Set(labelMatch)) where.orWhere((or) => whereLabel(db, or, text, match))
    },
    revision: compare('passes.revision'),
    templateVersion: compare('passes.template_version'),
  } satisfies Partial<Record<keyof PassListRequest, Condition<never>>>
}

const STATUSES: PassStatus[] = ['QUEUED', 'ISSUING', 'ISSUED', 'VOID', 'FAILED', 'EXPIRED']

/**
 * Adds the condition on the visible status. ISSUED passes past their expiry count as EXPIRED, even before a schedule marks
 * them. An unissued pass is ISSUING while a worker holds its job.
 */
function whereStatus(db: Knex, where: Knex.QueryBuilder, status: PassStatus, { now, isSwept, issuing }: Facts): void {
  if (status === 'QUEUED' || status === 'ISSUING') {
    where.whereIn('passes.status', ['QUEUED', 'ISSUING'])
    if (status === 'ISSUING') where.whereIn('passes.id', issuing)
    else if (issuing.length > 0) where.whereNotIn('passes.id', issuing)
    return
  }
  where.where('passes.status', status)
  if (status === 'ISSUED') where.whereRaw(`${boundColumn(db, 'passes.expiry_key')} > ?`, [now])
  if (status === 'EXPIRED' && !isSwept) {
    where.orWhere((or) => or.where('passes.status', 'ISSUED').where('passes.expires_at', '<=', now))
  }
}

/** Adds the condition on the project. Passes of a deleted project count as passes without a project. */
function whereProject(
  db: Knex,
  where: Knex.QueryBuilder,
  table: 'passes' | 'counts',
  values: string[],
  { leaving }: Facts,
): void {
  const column = `${table}.project_id`
  for (const value of new Set(values)) {
    if (value !== 'null') {
      const project = db('projects').where('id', value).select(db.raw('1')).limit(1)
      where.orWhere((and) => and.where(column, value).whereExists(project))
      continue
    }
    if (table === 'passes') where.orWhereNull(column)
    else where.orWhere(column, COUNTED_AS_NONE)
    if (leaving.length > 0) where.orWhereIn(column, leaving)
  }
}

function whereLabel(db: Knex, where: Knex.QueryBuilder, text: string, match: LabelMatch): void {
  // Compare the indexed sort key, and the label itself if the key is only its beginning.
  const key = beginningColumn(db, 'passes.label')
  const beginning = [...text].slice(0, MAX_KEY_CHARACTERS).join('')
  if (match === 'contains') where.whereRaw(containsTerm(db, ['label_folded'], foldCase(text)))
  else if (match === 'exact') where.whereRaw(`${key} = ?`, [beginningOf(text)]).where('passes.label', text)
  else {
    whereBegins(where, key, beginning)
    if (beginning !== text) whereBegins(where, 'passes.label', text)
  }
}

function whereBegins(where: Knex.QueryBuilder, key: string, text: string): void {
  where.whereRaw(`${key} >= ?`, [text])
  const end = afterPrefix(text)
  if (end !== undefined) where.whereRaw(`${key} < ?`, [end])
}

/** Returns the smallest text, by code point, that is greater than every text with the prefix. */
function afterPrefix(prefix: string): string | undefined {
  const points = [...prefix].map((char) => char.codePointAt(0)!)
  while (points.length > 0) {
    const last = points.pop()!
    if (last === 0x10ffff) continue
    // Skip surrogates, which are not characters: U+E000 follows U+D7FF.
    return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
  }
  return undefined
}
