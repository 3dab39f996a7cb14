import type { Page } from '../../core/contract/common.ts'
import { jsonLines, moreHint, type PageFormat } from '../arguments/list.ts'
import { count, writeOut } from '../command/output.ts'
import { type ListShape, sorter, tableFormat } from './shape.ts'

/** What the flags of a list say of how it is written. */
export interface ListStyle {
  columns?: string | undefined
  sort?: string | undefined
  csv: boolean
  jsonl: boolean
  'raw-cells': boolean
  all?: boolean
}

/** A list and how it is shown. */
export interface ShownList<T> {
  /** One page, or every one. */
  pages: AsyncIterable<Page<T>>
  shape: ListShape<T>
  flags: ListStyle
  json: boolean
  /** Columns of the terminal; undefined where there is none. */
  width: number | undefined
  /** Whether --json writes a row a line where every page is asked for, rather than all of them as one page. */
  streamsJson?: boolean
  /** What a row is, and several. */
  noun: readonly [one: string, many: string]
  /** What to do where there is nothing at all. */
  empty: string
  /** The filters of the list: where one is set, an empty list says so. */
  query?: object
  note: (message: string) => void
}

/**
 * Writes a list page by page, and says beneath it what is not shown. To be sorted, all that is shown is held.
 * @returns what --json prints; undefined where it is printed already
 * @throws UsageError for a column that there is none of
 */
export async function showList<T>(list: ShownList<T>): Promise<Page<T> | undefined> {
  const { flags, json, note, shape } = list
  const isStreamed = flags.jsonl || !json || (list.streamsJson === true && flags.all === true)
  const write = isStreamed ? await formatOf(list) : undefined
  const sort = flags.sort === undefined ? undefined : sorter(shape, flags.sort)
  const held: T[] = []
  let shown = 0
  let last: Page<T> | undefined
  for await (const page of list.pages) {
    last = page
    shown += page.items.length
    if (!write || sort) for (const item of page.items) held.push(item)
    else if (isWorthWriting(list, page) && !(await writeOut(write(page.items)))) return undefined
  }
  if (!last) return undefined
  const items = sort ? sort(held) : held
  if (write && sort && isWorthWriting(list, last) && !(await writeOut(write(items)))) return undefined
  note(shown === 0 && !last.hasMore ? emptyText(list) : (moreHint(last) ?? countText(list, shown)))
  if (write) return undefined
  return flags.all ? { ...last, items, total: shown, limit: shown, offset: 0 } : { ...last, items }
}

/** A list that comes whole. */
export async function* onePage<T>(items: T[]): AsyncGenerator<Page<T>> {
  yield { items, total: items.length, limit: items.length, offset: 0, nextCursor: null, hasMore: false }
}

async function formatOf<T>({ flags, json, shape, width }: ShownList<T>): Promise<PageFormat<T>> {
  if (json || flags.jsonl) return jsonLines
  const names = flags.columns?.split(',').map((name) => name.trim())
  if (!flags.csv) return tableFormat(shape, { names, width })
  const { csvOf } = await import('./csv.ts')
  return csvOf(shape, { names, header: true, rawCells: flags['raw-cells'] })
}

/** An empty table is titles over nothing; CSV keeps its header. */
function isWorthWriting<T>({ flags }: ShownList<T>, page: Page<T>): boolean {
  return flags.csv || page.items.length > 0
}

function emptyText<T>({ noun, empty, query = {} }: ShownList<T>): string {
  const isFiltered = Object.values(query).some((value) => value !== undefined)
  return isFiltered ? `No ${noun[0]} matches. Leave out a filter to see more.` : `There is no ${noun[0]} yet. ${empty}`
}

function countText<T>({ noun }: ShownList<T>, shown: number): string {
  return `${count(shown)} ${shown === 1 ? noun[0] : noun[1]}`
}
