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

export interface Sort {
  /** The key in SQL: never null, indexed behind the workspace and before the id. */
  key: string
  /** The key comes from other tables or has no index: its cursors go on at an offset. */
  isComputed?: true
}

export interface ListSpec {
  /** Distinguishes the cursors of this list from those of others. */
  name: string
  /** The id in SQL, which breaks ties; a sort by the id itself names it as its key. */
  id: string
  /** A column that a join makes equal to the id. A bound must name it too: PostgreSQL infers equalities only. */
  sameAsId?: string
  sorts: Record<string, Sort>
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
 * @param select adds the columns, and joins that neither drop nor multiply rows
 * @throws Problem VALIDATION_ERROR for a cursor that is malformed or of another walk
 */
export async function listPage<Row extends { id: string }>(
  db: Knex,
  filtered: Knex.QueryBuilder,
  spec: ListSpec,
  request: ListRequest,
  select: (query: Knex.QueryBuilder) => Knex.QueryBuilder,
): Promise<ListPage<Row>> {
  const { limit, cursor: cursorText, offset: givenOffset, sortBy, sortDir, ...filters } = request
  if (cursorText !== undefined && givenOffset !== undefined) {
    throw invalid([{ path: ['offset'], message: 'Give either a cursor or an offset' }])
  }
  const walk = fingerprint([spec.name, sortBy, sortDir, Object.entries(filters).sort(byName)])
  const cursor = cursorText === undefined ? undefined : readCursor(cursorText, walk)
  const sort = spec.sorts[sortBy]!
  const offset = cursor?.offset ?? givenOffset ?? 0

  const query = select(filtered.clone())
    .select({ sort_key: db.raw(sort.key) })
    .orderByRaw(orderOf(sort, spec.id, sortDir))
    .limit(limit + 1)
  if (cursor && !sort.isComputed) {
    const key = cursor.key ?? (await readKey(db, filtered, sort, spec.id, cursor.id))
    goOnBehind(query, sort, spec, sortDir, key, cursor.id)
  } else if (offset > 0) {
    query.offset(offset)
  }

  const rows: (Row & { sort_key: string | number })[] = await query
  const total = cursor?.total ?? (await countRows(filtered))
  const hasMore = rows.length > limit
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const nextCursor =
    hasMore && last
      ? encodeCursor({ total, offset: offset + shown.length, id: last.id, key: last.sort_key }, walk)
      : null
  return { rows: shown, total, limit, offset, nextCursor, hasMore }
}

async function countRows(filtered: Knex.QueryBuilder): Promise<number> {
  const row = await filtered.clone().count({ n: '*' }).first()
  return Number(row.n)
}

function orderOf({ key }: Sort, id: string, direction: 'asc' | 'desc'): string {
  return key === id ? `${id} ${direction}` : `${key} ${direction}, ${id} ${direction}`
}

function goOnBehind(
  query: Knex.QueryBuilder,
  sort: Sort,
  { id, sameAsId }: ListSpec,
  direction: 'asc' | 'desc',
  key: string | number,
  lastId: string,
): void {
  const comparison = direction === 'asc' ? '>' : '<'
  if (sort.key !== id) {
    query.whereRaw(`(${sort.key}, ${id}) ${comparison} (?, ?)`, [key, lastId])
    return
  }
  for (const column of [id, sameAsId]) if (column) query.whereRaw(`${column} ${comparison} ?`, [lastId])
}

function readCursor(text: string, walk: string): Cursor {
  const cursor = decodeCursor(text, walk)
  if (cursor === 'malformed') throw invalid([{ path: ['cursor'], message: 'Is no cursor of this service' }])
  if (cursor === 'foreign') {
    throw invalid([{ path: ['cursor'], message: 'Belongs to another list, sort or filter; start without a cursor' }])
  }
  return cursor
}

async function readKey(db: Knex, filtered: Knex.QueryBuilder, sort: Sort, id: string, lastId: string) {
  const row = await filtered
    .clone()
    .whereRaw(`${id} = ?`, [lastId])
    .first({ sort_key: db.raw(sort.key) })
  if (!row) throw invalid([{ path: ['cursor'], message: 'Its row is gone; start without a cursor' }])
  return row.sort_key as string | number
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1
}
