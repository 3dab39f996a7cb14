import type { Knex } from 'knex'
import { validationError } from '../../core/errors.ts'
import {
  type Cursor,
  decodeCursor,
  encodeCursor,
  fingerprint,
  isCut,
  type KeyType,
} from '../../core/rules/lists/cursor.ts'
import { beginningColumn, isPostgres } from './dialect.ts'
import { countRows } from './repository.ts'

/** The parameters of every list endpoint. All other query parameters are filters. */
export interface ListRequest {
  limit: number
  cursor?: string | undefined
  offset?: number | undefined
  sortBy: string
  sortDir: 'asc' | 'desc'
}

export type PageRequest = Omit<ListRequest, 'sortBy' | 'sortDir'>

/** The order of lists that offer no other sort keys. */
export const NEWEST_FIRST = { sortBy: 'createdAt', sortDir: 'desc' } as const

/** Returns the specification of a list that is sorted by ID, which ascends with the time of creation. */
export function byId(name: string): ListSpec {
  return { name, id: `${name}.id`, sorts: { createdAt: { key: `${name}.id` } } }
}

export interface Sort {
  /** The key as SQL; null only if `isNullable`. Unless `isComputed`, an index has the workspace ID, key, and row ID. */
  key: string
  /**
   * Whether the key can be null. Rows without a key sort last in ascending order. The index omits them to save space.
   */
  isNullable?: true
  /**
   * The type of the key if it is neither a number nor the ID. Use `beginning` for long text that can change: only its
   * beginning is compared. The cursor contains the whole beginning, so the next page begins at the right row even if
   * the last row was renamed or deleted.
   */
  type?: 'text' | 'beginning'
  /**
   * Set if no index has the key, for example because it depends on other tables. Pages after the first then start at an
   * offset.
   */
  isComputed?: true
  /** Joins the tables that the key depends on. */
  join?: (query: Knex.QueryBuilder) => Knex.QueryBuilder
}

export interface ListSpec {
  /** The name of the table. Cursors depend on the name, so that a cursor of another list is rejected. */
  name: string
  /** The SQL of the ID, which orders rows with the same key. If the key is this SQL, rows are sorted only by ID. */
  id: string
  sorts: Record<string, Sort>
}

/** A page of a list. `nextCursor` is null on the last page. */
export interface ListPage<Row> {
  rows: Row[]
  total: number
  limit: number
  offset: number
  nextCursor: string | null
  hasMore: boolean
}

/**
 * Returns a page of a filtered query that selects nothing yet. Uses keyset pagination, so that a later page does not
 * cost more than the first page. Finds the IDs of the page before it joins other tables, so that joins read only the
 * rows of the page and cannot mislead the planner.
 * @param read converts a row of the page
 * @param select adds columns and joins to the query for the rows of the page. Selects all columns of the table by
 * default. A join must match exactly one row per row of the page
 * @param count returns the total, by default by counting rows. Called only without a cursor, if `totalOf` needs it
 * @throws ApiError VALIDATION_ERROR for a cursor that is malformed or of another list
 */
export async function listPage<Row extends { id: string }, Item>(
  db: Knex,
  filtered: Knex.QueryBuilder,
  spec: ListSpec,
  request: ListRequest,
  read: (row: Row) => Item,
  select = (query: Knex.QueryBuilder): Knex.QueryBuilder => query.select(`${spec.name}.*`),
  count: () => Promise<number> = () => countRows(filtered),
): Promise<ListPage<Item>> {
  const { limit, cursor: _, offset: __, sortBy, sortDir, ...filters } = request
  const sort = sortOf(db, spec.sorts[sortBy]!)
  const keyType = keyTypeOf(sort, spec)
  const { cursor, offset, listKey } = findPlace(request, { list: [spec.name, sortBy, sortDir], filters, keyType })

  const after = cursor && !sort.isComputed ? { key: await wholeKey(db, spec, sort, cursor), id: cursor.id } : undefined
  const order: Order = { sort, id: spec.id, direction: sortDir, after }
  const column = spec.sorts[sortBy]!.key
  const page = sort.isNullable
    ? inParts(db, filtered, column, order, offset + limit + 1)
    : inOrder(db, filtered, order, sort.key)
  page.limit(limit + 1)
  if (!after && offset > 0) page.offset(offset)

  const rows: (Row & { sort_key: string | number })[] = await select(
    db.from(page.as('page')).join(spec.name, `${spec.name}.id`, 'page.page_id'),
  )
    .select('page.sort_key')
    .orderBy(['page.sort_key', 'page.page_id'].map((column) => ({ column, order: sortDir })))
  const total = cursor?.total ?? (await totalOf({ limit, offset, found: rows.length }, count))
  const hasMore = rows.length > limit
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const nextCursor =
    hasMore && last
      ? encodeCursor(
          { total, offset: offset + shown.length, id: last.id, key: keyType === 'none' ? null : last.sort_key },
          listKey,
        )
      : null
  return { rows: shown.map(read), total, limit, offset, nextCursor, hasMore }
}

interface Order {
  sort: Sort
  id: string
  direction: 'asc' | 'desc'
  after: { key: Cursor['key']; id: string } | undefined
}

/**
 * Selects the ID and the sort key of rows, in the order of the list.
 * @param shown the SQL of the key in the result
 */
function inOrder(
  db: Knex,
  filtered: Knex.QueryBuilder,
  { sort, id, direction, after }: Order,
  shown: string,
): Knex.QueryBuilder {
  const rows = filtered
    .clone()
    .select({ page_id: db.raw(id), sort_key: db.raw(shown) })
    .orderByRaw(orderOf(sort, id, direction))
  sort.join?.(rows)
  if (after) continueAfter(rows, sort, id, direction, after.key, after.id)
  return rows
}

/** The replacement for a null key in a page and its cursor: the last code point, which sorts after every key. */
const ABSENT = '\u{10FFFF}'

/**
 * Selects rows with a key (in the order of the key's index) and rows without one (in the order of their IDs) as two
 * parts. If the first part fills the page, the database does not read the second part.
 * @param limit the maximum number of rows of each part
 */
function inParts(
  db: Knex,
  filtered: Knex.QueryBuilder,
  column: string,
  order: Order,
  limit: number,
): Knex.QueryBuilder {
  const { id, direction, after } = order
  const present = (begin: Order['after']) =>
    inOrder(db, filtered.clone().whereNotNull(column), { ...order, after: begin }, order.sort.key)
  const absent = (begin: Order['after']) =>
    inOrder(
      db,
      filtered.clone().whereNull(column),
      { sort: { key: id }, id, direction, after: begin && { ...begin, key: null } },
      isPostgres(db) ? 'chr(1114111)' : 'char(1114111)',
    )
  const parts = direction === 'asc' ? [present, absent] : [absent, present]
  const begun = after && (after.key === ABSENT ? absent : present)
  const [first, ...others] = begun ? parts.slice(parts.indexOf(begun)) : parts
  const queries = [first!(after), ...others.map((part) => part(undefined))]
  const limited = queries.map((query, n) => db.from(query.limit(limit).as(`part_${n}`)).select('page_id', 'sort_key'))
  return db.from(db.unionAll(limited).as('parts')).select('page_id', 'sort_key')
}

interface PagePlace {
  /** The cursor of the request; `undefined` for the first page and for a page at an offset. */
  cursor: Cursor | undefined
  offset: number
  /** The key that creates and verifies cursors of this list with these filters. */
  listKey: Buffer
}

/**
 * Returns the start of the page that a cursor or an offset specifies.
 * @param list identifies the list in addition to its filters, for example by name and sort
 * @param keyType the type of the keys in its cursors
 * @throws ApiError VALIDATION_ERROR if both a cursor and an offset are given, or if the cursor is malformed or of
 * another list
 */
export function findPlace(
  { cursor: text, offset }: PageRequest,
  { list, filters, keyType }: { list: readonly unknown[]; filters: object; keyType: KeyType },
): PagePlace {
  if (text !== undefined && offset) {
    throw validationError([{ path: ['offset'], message: 'Give either a cursor or an offset' }])
  }
  const listKey = fingerprint([...list, Object.entries(filters).sort(byName).map(canonicalise)])
  const cursor = text === undefined ? undefined : readCursor(text, listKey, keyType)
  return { cursor, offset: cursor?.offset ?? offset ?? 0, listKey }
}

/**
 * Returns the total of a list. Counts only if more rows follow the page, or if the page is empty at an offset. If more
 * rows follow, the total is at least `offset + found`, even if rows are deleted before the count.
 * @param page `found` is the number of rows after `offset`, up to one more than `limit`
 */
export async function totalOf(
  { limit, offset, found }: { limit: number; offset: number; found: number },
  count: () => Promise<number>,
): Promise<number> {
  if (found > limit) return Math.max(await count(), offset + found)
  return found > 0 || offset === 0 ? offset + found : Math.min(await count(), offset)
}

function orderOf({ key }: Sort, id: string, direction: 'asc' | 'desc'): string {
  return key === id ? `${id} ${direction}` : `${key} ${direction}, ${id} ${direction}`
}

function sortOf(db: Knex, sort: Sort): Sort {
  return sort.type === 'beginning' ? { ...sort, key: beginningColumn(db, sort.key) } : sort
}

function keyTypeOf({ key, type, isComputed }: Sort, spec: ListSpec): KeyType {
  if (isComputed || key === spec.id) return 'none'
  return type === undefined ? 'integer' : 'text'
}

function continueAfter(
  query: Knex.QueryBuilder,
  sort: Sort,
  id: string,
  direction: 'asc' | 'desc',
  key: Cursor['key'],
  lastId: string,
): void {
  const comparison = direction === 'asc' ? '>' : '<'
  if (key === null) query.whereRaw(`${id} ${comparison} ?`, [lastId])
  else query.whereRaw(`(${sort.key}, ${id}) ${comparison} (:key, :lastId)`, { key, lastId })
}

function readCursor(text: string, listKey: Buffer, type: KeyType): Cursor {
  const cursor = decodeCursor(text, listKey, type)
  if (cursor) return cursor
  throw validationError([
    { path: ['cursor'], message: 'Is not a cursor of this list with this sort and these filters; start without one' },
  ])
}

/** Returns the key of the last row. If the cursor has only the beginning of a long key, reads the key from the row. */
async function wholeKey(db: Knex, { name }: ListSpec, { key, type }: Sort, cursor: Cursor): Promise<Cursor['key']> {
  if (type !== 'text' || !isCut(cursor.key)) return cursor.key
  const row: { whole: string } | undefined = await db(name)
    .where(`${name}.id`, cursor.id)
    .first({ whole: db.raw(key) })
  // A long key changes only if its pass is erased. In this case, use the beginning of the key from the cursor.
  return row?.whole.startsWith(cursor.key) ? row.whole : cursor.key
}

/**
 * Sorts the values of a filter and removes duplicates, so that a cursor stays valid if a request repeats the values in
 * another order.
 */
function canonicalise([name, value]: [string, unknown]): [string, unknown] {
  return [name, Array.isArray(value) ? [...new Set(value.map((one) => JSON.stringify(one)))].sort() : value]
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1
}
