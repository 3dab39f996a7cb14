import type { Knex } from 'knex'
import { joinPasses } from '../../db/dialect.ts'
import type { Matcher } from './pass-conditions.ts'

/** The project or template whose passes a long job processes in chunks, in the order of creation. */
export type PassOwner = { projectId: string } | { templateId: string }

/** A range of pass IDs: greater than `after` (null for no bound), up to and including `upTo` (null for no bound). */
export interface PassRange {
  after: string | null
  upTo: string | null
}

/** Returns the next range with up to `passes` passes. The last range has no upper bound. */
export async function findRange(
  db: Knex,
  workspaceId: string,
  owner: PassOwner,
  after: string | null,
  passes: number,
): Promise<PassRange> {
  const last: { id: string } | undefined = await passesInRange(db, workspaceId, owner, { after, upTo: null })
    .orderBy('passes.id')
    .offset(passes - 1)
    .first('passes.id')
  return { after, upTo: last?.id ?? null }
}

export function passesInRange(db: Knex, workspaceId: string, owner: PassOwner, range: PassRange): Knex.QueryBuilder {
  return whereInRange(whereOwner(db('passes').where('passes.workspace_id', workspaceId), owner), 'passes.id', range)
}

/** Restricts a query to a range of pass IDs. `column` contains the pass ID. */
export function whereInRange(query: Knex.QueryBuilder, column: string, { after, upTo }: PassRange): Knex.QueryBuilder {
  if (after !== null) query.where(column, '>', after)
  if (upTo !== null) query.where(column, '<=', upTo)
  return query
}

export function whereOwner(query: Knex.QueryBuilder, owner: PassOwner): Knex.QueryBuilder {
  return 'projectId' in owner
    ? query.where('passes.project_id', owner.projectId)
    : query.where('passes.template_id', owner.templateId)
}

/**
 * Returns the passes in a range that match a filter. The database reads each pass of the range, so that a range costs
 * the same, regardless of the filter.
 */
export function matchingInRange(
  db: Knex,
  workspaceId: string,
  owner: PassOwner,
  range: PassRange,
  matching: Matcher,
): Knex.QueryBuilder {
  const ids = passesInRange(db, workspaceId, owner, range).select('passes.id')
  return matching(joinPasses(db, db.from(ids.as('range')), 'range.id'))
}
