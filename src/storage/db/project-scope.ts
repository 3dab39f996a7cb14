import type { Knex } from 'knex'
import { NIL_UUID } from '../../core/uuid.ts'

/** The IDs of the projects that a caller can access; undefined if it can access the whole workspace. */
export type ProjectScope = readonly string[] | undefined

/** The ID of no project. An empty result is filtered by it. */
const NO_PROJECT = NIL_UUID

/** Restricts a query to the projects of a scope. */
export function withinProjects<Q extends Knex.QueryBuilder>(query: Q, scope: ProjectScope, column: string): Q {
  return (scope ? query.whereIn(column, scope) : query) as Q
}

/**
 * Restricts the project filter of a list to a scope: the requested projects that are in scope, or the whole scope if none is
 * requested. Never returns an empty list, because an empty filter would not restrict anything.
 */
export function narrowProjects(scope: ProjectScope, asked: string[] | undefined): string[] | undefined {
  if (!scope) return asked
  const seen = scope.filter((id) => asked === undefined || asked.includes(id))
  return seen.length > 0 ? seen : [NO_PROJECT]
}
