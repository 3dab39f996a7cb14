import type { Knex } from 'knex'
import { invalid } from '../core/errors.ts'
import { type Cursor, decodeCursor, encodeCursor, fingerprint } from '../core/rules/cursor.ts'

/** What every list endpoint takes (spec 4.1); whatever else stands in the query are its filters. */
export interface ListRequest {
  limit: number
  cursor?: string | undefined
  offset?: number | undefined
  sortBy: string
  sortDir: 'asc' | 'desc'
}

export interface ListSpec {
  /** The table, as the query names it. */
  table: string
  /** Column of each sort, never null, indexed behind the workspace and before the id. */
  sorts: Record<string, string>
}

export interface ListPage<Row> {
  rows: Row[]
  total: number
  limit: number
  offset: number
  nextCursor: string | null
  hasMore: boolean
}

/**
 * One page of a filtered query that selects nothing yet. Keyset pagination: a page costs the same wherever it stands.
 * @throws Problem VALIDATION_ERROR for a cursor that is malformed or of another walk
 */
export async function listPage<Row extends { id: string }>(
  filtered: Knex.QueryBuilder,
  spec: ListSpec,
  request: ListRequest,
  select: (query: Knex.QueryBuilder) => Knex.QueryBuilder,
): Promise<ListPage<Row>> {
  const { limit, cursor: cursorText, offset: givenOffset, sortBy, sortDir, ...filters } = request
  if (cursorText !== undefined && givenOffset !== undefined) {
    throw invalid([{ path: ['offset'], message: 'Give either a cursor or an offset' }])
  }
  const walk = fingerprint([spec.table, sortBy, sortDir, Object.entries(filters).sort(byName)])
  const cursor = cursorText === undefined ? undefined : readCursor(cursorText, walk)
  const column = `${spec.table}.${spec.sorts[sortBy]}`
  const idColumn = `${spec.table}.id`

  const query = select(filtered.clone())
    .select({ sort_key: column })
    .orderBy([
      { column, order: sortDir },
      { column: idColumn, order: sortDir },
    ])
    .limit(limit + 1)
  if (cursor) {
    const key = cursor.key ?? (await readKey(filtered, column, idColumn, cursor.id))
    query.whereRaw(`(??, ??) ${sortDir === 'asc' ? '>' : '<'} (?, ?)`, [column, idColumn, key, cursor.id])
  } else if (givenOffset) {
    query.offset(givenOffset)
  }

  const rows: (Row & { sort_key: string | number })[] = await query
  const total = cursor?.total ?? Number((await filtered.clone().count({ n: '*' }).first()).n)
  const offset = cursor?.offset ?? givenOffset ?? 0
  const hasMore = rows.length > limit
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const nextCursor =
    hasMore && last
      ? encodeCursor({ total, offset: offset + shown.length, id: last.id, key: last.sort_key }, walk)
      : null
  return { rows: shown, total, limit, offset, nextCursor, hasMore }
}

function readCursor(text: string, walk: string): Cursor {
  const cursor = decodeCursor(text, walk)
  if (cursor === 'malformed') throw invalid([{ path: ['cursor'], message: 'Is no cursor of this service' }])
  if (cursor === 'foreign') {
    throw invalid([{ path: ['cursor'], message: 'Belongs to another list, sort or filter; start without a cursor' }])
  }
  return cursor
}

async function readKey(filtered: Knex.QueryBuilder, column: string, idColumn: string, id: string) {
  const row = await filtered.clone().where(idColumn, id).first({ sort_key: column })
  if (!row) throw invalid([{ path: ['cursor'], message: 'Its row is gone; start without a cursor' }])
  return row.sort_key
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1
}
