import type { Knex } from 'knex'
import type { PassStatus } from '../../../core/contract/schemas/common.ts'
import type { parsePassFilter } from '../../../core/contract/schemas/pass-filter.ts'
import type { Platform } from '../../../core/contract/schemas/platform.ts'
import { idBound } from '../../../core/ids.ts'
import { beginningOf, MAX_KEY_CHARACTERS } from '../../../core/rules/lists/cursor.ts'
import { foldCase, indexedText } from '../../../core/rules/lists/search.ts'
import { isUnissued, passStatuses } from '../../../core/rules/pass/pass-status.ts'
import { beginningColumn, boundColumn, containsTerm, rowContainsTerm } from '../../db/dialect.ts'
import { COUNTED_AS_NONE } from '../../operations/counters.ts'
import { whereGroupKey } from '../groups-repository.ts'
import { holding, whereStale } from '../held-passes.ts'
import { issuingPasses, lapsedPasses, UNISSUED } from '../pass-row.ts'

/** The filters of passes. A pass must match every filter. The values of a filter are alternatives. */
export interface PassFilters extends Partial<ReturnType<typeof parsePassFilter>> {
  status?: PassStatus[] | undefined
}

type ValueOf<Name extends keyof PassFilters> = NonNullable<PassFilters[Name]> extends (infer Value)[] ? Value : never

export type Variable = ValueOf<'variable'>

/** Restricts a query to the passes that match a filter. The query must read few passes, such as a chunk. */
export type Matcher = (passes: Knex.QueryBuilder) => Knex.QueryBuilder

export async function createMatcher(db: Knex, workspaceId: string, filters: PassFilters, at: Date): Promise<Matcher> {
  const facts = await findFacts(db, workspaceId, filters, at)
  return (passes) => {
    for (const [name, values] of valuesByName(filters.variable ?? [])) whereVariable(db, passes, name, values)
    return whereFilters(db, passes, filters, facts, { id: 'passes.id', isContained: rowContainsTerm })
  }
}

/** Adds the conditions of all filters except `variable`. `id` is the column of the pass ID in the query. */
export function whereFilters(
  db: Knex,
  query: Knex.QueryBuilder,
  filters: PassFilters,
  facts: Facts,
  { id, isContained = containsTerm }: { id: string; isContained?: typeof containsTerm },
): Knex.QueryBuilder {
  const named = Object.entries(conditions(db, facts, isContained)) as [keyof PassFilters, Condition][]
  for (const [name, condition] of named) {
    const values = filters[name] as unknown[] | undefined
    if (!values) continue
    query.where((or) => {
      for (const value of new Set(values)) or.orWhere((and) => condition(and, value as never, filters))
    })
  }
  if (filters.created?.from) query.where(id, '>=', idBound(filters.created.from.getTime()))
  if (filters.created?.to) query.where(id, '<', idBound(filters.created.to.getTime() + 1))
  return query
}

/** Groups the values by variable name, in the form in which they are indexed. */
export function valuesByName(pairs: Variable[]): Map<string, string[]> {
  const values = new Map<string, Set<string>>()
  for (const { name, value } of pairs) {
    const key = indexedText(name)
    values.set(key, (values.get(key) ?? new Set()).add(indexedText(value)))
  }
  return new Map([...values].map(([name, some]) => [name, [...some]]))
}

export function whereVariable(db: Knex, query: Knex.QueryBuilder, name: string, values: string[]): void {
  const rows = db('pass_variables')
    .whereRaw('pass_variables.workspace_id = passes.workspace_id and pass_variables.pass_id = passes.id')
    .where({ name })
    .whereIn('value', values)
  query.whereExists(rows.select(db.raw('1')).limit(1))
}

/** The facts about a workspace on which conditions depend. */
export interface Facts {
  now: number
  /** Whether every expired pass of the workspace is stored as EXPIRED, so that an index finds them all. */
  isSwept: boolean
  issuing: string[]
  /** Deleted projects that passes still refer to. */
  leaving: string[]
}

export async function findFacts(db: Knex, workspaceId: string, filters: PassFilters, at: Date): Promise<Facts> {
  return {
    now: at.getTime(),
    isSwept: await isSwept(db, workspaceId, filters, at),
    issuing: await listIssuing(db, workspaceId, filters),
    leaving: await listLeaving(db, workspaceId, filters),
  }
}

/** Returns `Facts.isSwept`. If no filter for EXPIRED needs the value, returns false without a query. */
async function isSwept(db: Knex, workspaceId: string, filters: PassFilters, at: Date): Promise<boolean> {
  if (!filters.status?.includes('EXPIRED')) return false
  return (await lapsedPasses(db, workspaceId, at.getTime()).first('passes.id')) === undefined
}

/** Returns the passes that workers are issuing (always few). Empty if no filter needs them. */
async function listIssuing(db: Knex, workspaceId: string, filters: PassFilters): Promise<string[]> {
  const isAsked = filters.search || filters.status?.some(isUnissued)
  return isAsked ? issuingPasses(db, workspaceId).pluck('subject') : []
}

/** Returns the (rare) deleted projects that passes still refer to. Empty if no filter needs them. */
async function listLeaving(db: Knex, workspaceId: string, filters: PassFilters): Promise<string[]> {
  if (!filters.projectId?.includes('null')) return []
  return db('jobs').where('workspace_id', workspaceId).whereRaw("kind = 'detach-project'").pluck('subject')
}

type Condition<T = never> = (where: Knex.QueryBuilder, value: T, filters: PassFilters) => void

function conditions(db: Knex, facts: Facts, isContained: typeof containsTerm) {
  const compare =
    (column: string): Condition<ValueOf<'revision'>> =>
    (where, { comparison, value }) =>
      where.whereRaw(`${comparison === '=' ? column : boundColumn(db, column)} ${comparison} ?`, [value])
  return {
    status: (where, status: PassStatus) => whereStatus(db, where, status, facts),
    externalPassId: (where, value: string) => where.where('passes.external_pass_id', value),
    search: (where, text: string) => {
      const term = foldCase(text)
      where.whereRaw(isContained(db, ['label_folded', 'external_folded'], term))
      for (const status of passStatuses)
        if (status.toLowerCase().includes(term)) where.orWhere((or) => whereStatus(db, or, status, facts))
    },
    projectId: (where, value: string) => whereProject(db, where, 'passes', [value], facts),
    templateId: (where, value: string) => where.where('passes.template_id', value),
    groupKey: (where, key: string) => whereGroupKey(db, where, key),
    joinSlug: (where, slug: string) => where.where('passes.join_slug', slug),
    joinSource: (where, source: string) => where.where('passes.join_source', source),
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
      // Without the limit, SQLite 3.51 would turn EXISTS into an inner join, and OFFSET would count rows of the join.
      return isRedeemed ? where.whereExists(scans.limit(1)) : where.whereNotExists(scans)
    },
    installed: (where, isInstalled: boolean, { platform }) =>
      isInstalled ? where.whereExists(holding(db, platform)) : where.whereNotExists(holding(db, platform)),
    platform: (where, platform: Platform, { installed }) => {
      if (!installed) where.whereExists(holding(db, [platform]))
    },
    stale: (where, isStale: boolean, { platform }) => whereStale(db, where, isStale, platform),
    label: (where, text: string, { labelMatch = ['exact'] }) => {
      for (const match of new Set(labelMatch)) where.orWhere((or) => whereLabel(db, or, text, match, isContained))
    },
    revision: compare('passes.revision'),
    templateVersion: compare('passes.template_version'),
  } satisfies Record<Exclude<keyof PassFilters, NoCondition>, Condition<never>>
}

/** The filters without an entry in `conditions`: they change another condition, or are applied separately. */
type NoCondition = 'redeemedContext' | 'labelMatch' | 'variable' | 'created'

/**
 * Adds the condition on the visible status. ISSUED passes past their expiry count as EXPIRED, even before a schedule
 * marks them. An unissued pass counts as ISSUING while a worker holds its job.
 */
function whereStatus(db: Knex, where: Knex.QueryBuilder, status: PassStatus, { now, isSwept, issuing }: Facts): void {
  if (isUnissued(status)) {
    where.whereIn('passes.status', UNISSUED)
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
export function whereProject(
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

function whereLabel(
  db: Knex,
  where: Knex.QueryBuilder,
  text: string,
  match: ValueOf<'labelMatch'>,
  isContained: typeof containsTerm,
): void {
  // Use the index of the beginning of labels. Long labels can have the same beginning, so also compare the whole label.
  const key = beginningColumn(db, 'passes.label')
  const beginning = [...text].slice(0, MAX_KEY_CHARACTERS).join('')
  if (match === 'contains') where.whereRaw(isContained(db, ['label_folded'], foldCase(text)))
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
