import { eachPage } from '../../client/client.ts'
import type { Page } from '../../core/contract/schemas/common.ts'
import { jsonLines, moreHint, type PageFormat } from '../arguments/list-flags.ts'
import { counted, writeOut } from '../command/output.ts'
import { untilStopped } from '../command/program.ts'
import type { FollowOptions } from './follow.ts'
import { type ListShape, sorter, tableFormat } from './shape.ts'

export interface ListStyle {
  columns?: string | undefined
  sort?: string | undefined
  csv: boolean
  jsonl: boolean
  'raw-cells': boolean
  all?: boolean
}

export interface Output {
  json: boolean
  /** The width of the terminal; `undefined` without a terminal. */
  width: number | undefined
  note: (message: string) => void
}

export interface ShownList<T> extends Output {
  pages: AsyncIterable<Page<T>>
  shape: ListShape<T>
  flags: ListStyle
  /** Whether `--json` with `--all` writes one row per line instead of one page with all rows. */
  streamsJson?: boolean | undefined
  noun: readonly [one: string, many: string]
  /** The hint if there are no rows at all. */
  empty: string
  /** The filters of the list. If a filter is set, the message for an empty list mentions it. */
  query?: object
}

export interface PagedList<T, Shown = T> extends Omit<ShownList<Shown>, 'pages'> {
  list: (call: { query: object }, options?: { signal: AbortSignal }) => Promise<Page<T>>
  query: object
  flags: ListStyle & { limit?: number | undefined; cursor?: string | undefined; all: boolean; follow?: boolean }
  decorate?: (pages: AsyncIterable<Page<T>>) => AsyncIterable<Page<Shown>>
  /** For `--follow`: returns the time at which the server wrote a row. */
  writtenAt?: (item: T) => string
}

/** Shows one page; with `--all`, every page; with `--follow`, the newest rows and then new rows until Ctrl-C. */
export async function showPages<T, Shown>(paged: PagedList<T, Shown>): Promise<Page<Shown> | undefined> {
  const { list, decorate, writtenAt, ...shown } = paged
  const { flags, query, note } = shown
  const show = (pages: AsyncIterable<Page<T>>) =>
    showList<Shown>({
      ...shown,
      pages: decorate ? decorate(pages) : (pages as AsyncIterable<Page<never>>),
      flags: { ...flags, all: flags.all || flags.follow === true },
    })
  if (!flags.follow || !writtenAt) return show(listPages(list, query, flags))
  const { followPages } = await import('./follow.ts')
  return untilStopped((stop) => {
    const newest: typeof list = (call) => list({ query: { ...query, ...call.query } }, { signal: stop })
    const options = { list: newest, limit: flags.limit, writtenAt, stop, note }
    return show(followPages(options as unknown as FollowOptions<T & { id: string }>))
  })
}

/** Yields the page at `cursor` or, with `all`, this page and all later pages. Holds only one page in memory. */
export async function* listPages<T>(
  list: (call: { query: object }) => Promise<Page<T>>,
  query: object,
  { limit, cursor, all }: { limit?: number | undefined; cursor?: string | undefined; all: boolean },
): AsyncGenerator<Page<T>> {
  for await (const page of eachPage(list, { ...query, limit: all ? 100 : limit, cursor })) {
    yield page
    if (!all) return
  }
}

/**
 * Writes a list page by page, followed by a hint about rows not shown. Sorting holds all shown rows in memory.
 * @returns the value for `--json`; `undefined` if it was already printed
 * @throws UsageError for an unknown column
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
  note(shown === 0 && !last.hasMore ? emptyText(list) : (moreHint(last) ?? counted(shown, ...list.noun)))
  if (write) return undefined
  return flags.all ? { ...last, items, total: shown, limit: shown, offset: 0 } : { ...last, items }
}

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

/** Whether to write a page. A table without rows is not written, but a CSV file needs its header. */
function isWorthWriting<T>({ flags }: ShownList<T>, page: Page<T>): boolean {
  return flags.csv || page.items.length > 0
}

function emptyText<T>({ noun, empty, query = {} }: ShownList<T>): string {
  const isFiltered = Object.values(query).some((value) => value !== undefined)
  return isFiltered ? `No ${noun[0]} matches. Remove a filter to see more.` : `There is no ${noun[0]} yet. ${empty}`
}
