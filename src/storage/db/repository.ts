import type { Knex } from 'knex'
import { NIL_UUID } from '../../core/uuid.ts'
import type { StoreListener } from '../operations/store-events.ts'

/** The IDs of the projects that a caller can access; `undefined` if the caller can access the whole workspace. */
export type ProjectScope = readonly string[] | undefined

/** The arguments of a repository: a connection or transaction, a listener, and the accessible projects. */
export interface Connected extends StoreListener {
  db: Knex
  scope?: ProjectScope
}

export abstract class Repository {
  protected readonly connected: Connected
  protected readonly db: Knex
  /** The projects to which queries are limited. Repositories whose rows belong to no project ignore the scope. */
  protected readonly scope: ProjectScope
  /** Reports, after the commit, that jobs of a queue are due. */
  protected readonly onDue: Required<StoreListener>['onDue']
  /** Reports an event after the commit. */
  protected readonly emit: Required<StoreListener>['onEvent']

  constructor(connected: Connected) {
    this.connected = connected
    this.db = connected.db
    this.scope = connected.scope
    this.onDue = connected.onDue ?? rejectWrite
    this.emit = connected.onEvent ?? rejectWrite
  }

  protected inScope<Q extends Knex.QueryBuilder>(query: Q, column: string): Q {
    return (this.scope ? query.whereIn(column, this.scope) : query) as Q
  }

  /**
   * Restricts the project filter of a list to the scope: the requested projects that are in scope, or the whole scope
   * if none is requested. If no requested project is in scope, returns an ID that no project has, because an empty list
   * would not restrict anything.
   */
  protected narrow(asked: string[] | undefined): string[] | undefined {
    if (!this.scope) return asked
    const seen = this.scope.filter((id) => asked === undefined || asked.includes(id))
    return seen.length > 0 ? seen : [NIL_UUID]
  }
}

/** Restricts a query to the rows whose column has one of the values, which can include null. */
export function whereOneOrNull(
  query: Knex.QueryBuilder,
  column: string | Knex.Raw,
  values: readonly (string | null)[],
): void {
  const known = values.filter((value) => value !== null)
  query.where((either) => {
    either.whereIn(column as string, known)
    if (known.length < values.length) either.orWhereNull(column as string)
  })
}

export async function countRows(query: Knex.QueryBuilder): Promise<number> {
  const { n } = await query.clone().count({ n: '*' }).first()
  return n
}

/** Inserts a row, unless a row with the same unique key exists. Returns whether the row was inserted. */
export async function insertNew(db: Knex, table: string, row: object, key: string[]): Promise<boolean> {
  const inserted = await db(table).insert(row).onConflict(key).ignore().returning(key)
  return inserted.length > 0
}

function rejectWrite(): never {
  throw new Error('Jobs and events must be written inside a transaction')
}
