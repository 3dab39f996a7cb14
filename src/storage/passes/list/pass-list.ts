import type { Knex } from 'knex'
import type { PassStatus } from '../../../core/contract/schemas/common.ts'
import { isUnissued, passStatuses } from '../../../core/rules/pass/pass-status.ts'
import { joinPasses, knowsDistribution } from '../../db/dialect.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../../db/list-query.ts'
import { countsOf } from '../../operations/counters.ts'
import { heldPasses } from '../held-passes.ts'
import { lapsedPasses, type StoredPass, selectPass, toPass, UNISSUED } from '../pass-row.ts'
import {
  type Facts,
  findFacts,
  type PassFilters,
  type Variable,
  valuesByName,
  whereFilters,
  whereProject,
  whereVariable,
} from './pass-conditions.ts'
import { type PassOwner, whereOwner } from './pass-walk.ts'

export type PassListRequest = ListRequest & PassFilters

export async function listPasses(
  db: Knex,
  workspaceId: string,
  request: PassListRequest,
  at: Date,
): Promise<ListPage<StoredPass>> {
  const facts = await findFacts(db, workspaceId, request, at)
  const { query, id } = leadingRows(db, workspaceId, request, facts)
  whereFilters(db, query, request, facts, { id })
  const count = isCounted(request) ? () => countPasses(db, workspaceId, request, facts) : undefined
  return listPage(db, query, specFor(id), request, toPass, (rows) => selectPass(db, rows), count)
}

/**
 * Returns a function that selects the passes of an owner by a filter, at the time `at`. Uses the indexes of the list,
 * so that a rare value is found fast. To process the passes in chunks, use `matchingInRange`.
 */
export async function selectMatching(
  db: Knex,
  workspaceId: string,
  owner: PassOwner,
  filters: PassFilters,
  at: Date,
): Promise<() => Knex.QueryBuilder> {
  const facts = await findFacts(db, workspaceId, filters, at)
  return () => {
    const { query, id } = filters.variable?.length
      ? passesWithVariables(db, workspaceId, filters.variable)
      : { query: db('passes').where('passes.workspace_id', workspaceId), id: 'passes.id' }
    return whereOwner(whereFilters(db, query, filters, facts, { id }), owner)
  }
}

/** Returns a query for the rows that the list iterates over, and the name of their column with the pass ID. */
function leadingRows(db: Knex, workspaceId: string, request: PassListRequest, facts: Facts) {
  if (request.variable?.length) return passesWithVariables(db, workspaceId, request.variable)
  if (isLedByHeld(db, request)) return { query: heldPasses(db, workspaceId, request.platform), id: 'held.pass_id' }
  return { query: passesOfStatuses(db, workspaceId, request, facts), id: 'passes.id' }
}

/** Filters that each match few passes. */
const NARROW = ['externalPassId', 'search', 'projectId', 'templateId', 'groupKey', 'joinSlug', 'label'] as const

/**
 * Whether to iterate over the passes that wallets hold. With another plan, SQLite would scan all passes to find a few
 * held ones, because its planner does not know the distribution of values. PostgreSQL chooses the faster plan itself.
 */
function isLedByHeld(db: Knex, request: PassListRequest): boolean {
  const { installed, platform, stale, status = ['ISSUED'], sortBy } = request
  if (knowsDistribution(db) || sortBy !== 'createdAt' || NARROW.some((name) => request[name])) return false
  const isAsked = installed ? !installed.includes(false) : platform !== undefined || (stale && !stale.includes(false))
  return isAsked === true && status.includes('ISSUED')
}

/** Whether the counters of database triggers cover all filters of the request. */
function isCounted({ status, projectId, templateId, created, ...request }: PassListRequest): boolean {
  const { limit, cursor, offset, sortBy, sortDir, ...others } = request
  const values = [...Object.values(others), created?.from, created?.to]
  return values.every((value) => value === undefined)
}

/**
 * Counts the passes that match the filters, by visible status. One statement reads both the counters and the passes
 * whose visible status differs from the stored status. With two statements, a pass whose status changes could be
 * counted twice.
 */
async function countPasses(db: Knex, workspaceId: string, request: PassListRequest, facts: Facts): Promise<number> {
  const { templateId, projectId } = request
  const narrowed = (query: Knex.QueryBuilder, table: 'counts' | 'passes') => {
    if (templateId) query.whereIn(`${table}.template_id`, templateId)
    return projectId ? query.where((or) => whereProject(db, or, table, projectId, facts)) : query
  }
  const statuses = new Set(request.status ?? passStatuses)
  const counted = narrowed(countsOf(db, workspaceId, 'passes'), 'counts').select('kind', 'n')
  const lookUp = (kind: 'lapsed' | 'issuing', passes: Knex.QueryBuilder) => {
    const found = narrowed(passes, 'passes').select(db.raw(`'${kind}'`))
    counted.unionAll(found.count('*'))
  }
  if (statuses.has('ISSUED') !== statuses.has('EXPIRED')) lookUp('lapsed', lapsedPasses(db, workspaceId, facts.now))
  if (statuses.has('QUEUED') !== statuses.has('ISSUING') && facts.issuing.length > 0)
    lookUp('issuing', db('passes').whereIn('passes.id', facts.issuing).whereIn('passes.status', UNISSUED))
  const rows: { kind: PassStatus | 'lapsed' | 'issuing'; n: number }[] = await db
    .from(counted.as('counted'))
    .groupBy('kind')
    .select('kind')
    .sum({ n: 'n' })
  const stored = (...kinds: (typeof rows)[number]['kind'][]) =>
    rows.reduce((sum, { kind, n }) => (kinds.includes(kind) ? sum + n : sum), 0)
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
 * Returns the passes of a workspace. For a list by ID with several statuses on SQLite, merges the index entries of each
 * status. Otherwise, SQLite would scan all passes, even if few have these statuses.
 */
function passesOfStatuses(db: Knex, workspaceId: string, { status = [], sortBy }: PassListRequest, facts: Facts) {
  const ofWorkspace = () => db('passes').where('passes.workspace_id', workspaceId)
  const stored = [...new Set(status.flatMap((one) => storedStatuses(one, facts)))]
  if (knowsDistribution(db) || sortBy !== 'createdAt' || stored.length < 2) return ofWorkspace()
  return db.from(db.unionAll(stored.map((one) => ofWorkspace().where('passes.status', one))).as('passes'))
}

/** Returns the stored statuses of passes that have a given status in the API. */
function storedStatuses(status: PassStatus, { isSwept }: Facts): PassStatus[] {
  if (isUnissued(status)) return UNISSUED
  return status === 'EXPIRED' && !isSwept ? ['EXPIRED', 'ISSUED'] : [status]
}

/**
 * Returns the passes of a workspace that have all of the variables. Iterates over an index of the first variable, in
 * the order of the pass IDs, so that a page costs the same for rare and common values.
 */
function passesWithVariables(db: Knex, workspaceId: string, pairs: Variable[]) {
  const [[name, values], ...others] = [...valuesByName(pairs)] as [[string, string[]], ...[string, string[]][]]
  const holding = (value: string) => db('pass_variables').where({ workspace_id: workspaceId, name, value })
  // A pass has one value per name, so the union contains no pass twice.
  const holders = db.unionAll(values.map((value) => holding(value).select('pass_id'))).as('holders')
  const query = joinPasses(db, db.from(holders), 'holders.pass_id').where('passes.workspace_id', workspaceId)
  for (const [name, values] of others) whereVariable(db, query, name, values)
  return { query, id: 'holders.pass_id' }
}
