import { Flags } from '@oclif/core'
import { eachPage } from '../../client/client.ts'
import type { Page } from '../../core/contract/common.ts'
import { formatRows } from '../bulk/csv.ts'
import { count } from '../command/output.ts'
import { named } from './named.ts'

/** Flags of every command that lists. */
export const listFlags = {
  limit: Flags.integer({ summary: 'How many to show, 1 to 100 (20).', min: 1, max: 100, exclusive: ['all'] }),
  cursor: Flags.string({ summary: 'Go on from the nextCursor of an earlier page.', exclusive: ['all'] }),
  all: Flags.boolean({ summary: 'Show every one, page after page.' }),
}

/** A filter whose values are alternatives. */
export function filterFlag(summary: string) {
  return Flags.string({ summary: `${summary} Repeatable.`, multiple: true, multipleNonGreedy: true })
}

export const projectFilter = named('project', filterFlag('Only those of this project; none for those without one.'), {
  mayBeNone: true,
})

/** The interface calls the absence of a project null. */
export function projectQuery(projects: string[] | undefined): { projectId?: string[] } {
  return projects ? { projectId: projects.map((project) => (project === 'none' ? 'null' : project)) } : {}
}

interface ListFlags {
  limit?: number | undefined
  cursor?: string | undefined
  all: boolean
}

type List<T, Q> = (call: { query: Q & { limit?: number; cursor?: string } }) => Promise<Page<T>>

/** One page, or with --all every page behind it: no more than one is held at a time. */
export async function* listPages<T, Q extends object>(
  list: List<T, Q>,
  query: Q,
  flags: ListFlags,
): AsyncGenerator<Page<T>> {
  const limit = flags.all ? 100 : flags.limit
  const from = { ...query, ...(limit && { limit }), ...(flags.cursor && { cursor: flags.cursor }) }
  for await (const page of eachPage(list, from)) {
    yield page
    if (!flags.all) return
  }
}

/** One page, or all of them as one. */
export async function listPage<T, Q extends object>(list: List<T, Q>, query: Q, flags: ListFlags): Promise<Page<T>> {
  const items: T[] = []
  for await (const page of listPages(list, query, flags)) {
    if (!flags.all) return page
    for (const item of page.items) items.push(item)
  }
  return { items, total: items.length, limit: items.length, offset: 0, nextCursor: null, hasMore: false }
}

/** What stands beneath a page that is not the whole list; undefined beneath the last. */
export function moreHint(page: Page<unknown>): string | undefined {
  if (!page.hasMore) return undefined
  const shown = page.offset + page.items.length
  return `${count(shown)} of ${count(page.total)} shown. --all shows every one; --cursor ${page.nextCursor} goes on.`
}

/** How a page of a list is written; called for one page after another. */
export type PageFormat<T> = (items: readonly T[]) => string

/** NDJSON: one item a line. */
export function jsonLines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}

export type CsvColumn<T> = readonly [title: string, value: (item: T) => string | number | null]

/** CSV, quoted where it must be; its header stands above the first page, or not at all where rows stand there already. */
export function csvFormat<T>(
  columns: readonly CsvColumn<T>[],
  { header, rawCells }: { header: boolean; rawCells: boolean },
): PageFormat<T> {
  let titles = header ? [columns.map(([title]) => title)] : []
  return (items) => {
    const rows = items.map((item) => columns.map(([, value]) => value(item)?.toString() ?? null))
    const text = formatRows([...titles, ...rows], { delimiter: ',', newline: '\n', bom: false, rawCells })
    titles = []
    return text
  }
}
