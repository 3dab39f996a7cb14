import type { Knex } from 'knex'
import { NIL_UUID } from '../../core/uuid.ts'

/** The projects that a reader is bound to, by their ids; undefined where it sees its whole workspace. */
export type ProjectScope = readonly string[] | undefined

/** No project has it: what is narrowed to nothing finds nothing. */
const NO_PROJECT = NIL_UUID

/** Leaves of a query what belongs to the projects of a scope. */
export function withinProjects<Q extends Knex.QueryBuilder>(query: Q, scope: ProjectScope, column: string): Q {
  return (scope ? query.whereIn(column, scope) : query) as Q
}

/**
 * The filter by project of a list as a scope leaves it: of those asked for the ones that may be seen, or all of these where
 * none was asked for. Never empty, since an empty filter would leave everything.
 */
export function narrowProjects(scope: ProjectScope, asked: string[] | undefined): string[] | undefined {
  if (!scope) return asked
  const seen = scope.filter((id) => asked === undefined || asked.includes(id))
  return seen.length > 0 ? seen : [NO_PROJECT]
}
