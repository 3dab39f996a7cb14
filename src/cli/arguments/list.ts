import { Flags } from '@oclif/core'
import { eachPage } from '../../client/client.ts'
import type { Page } from '../../core/contract/common.ts'
import { rawCellsFlag } from '../bulk/spreadsheet-cells.ts'
import { count } from '../command/output.ts'
import { named } from './named.ts'

/** Flags of every list, of how it is written. */
export const styleFlags = {
  columns: Flags.string({
    summary: 'Columns to show, with commas between; one that is unknown lists them all.',
    exclusive: ['json', 'jsonl'],
    helpGroup: 'LIST',
  }),
  sort: Flags.string({ summary: 'Sort what is shown by a column: label, createdAt:desc.', helpGroup: 'LIST' }),
  csv: Flags.boolean({ summary: 'Write CSV.', exclusive: ['json', 'jsonl'], helpGroup: 'LIST' }),
  jsonl: Flags.boolean({ summary: 'Write JSON, a row a line.', exclusive: ['json', 'csv'], helpGroup: 'LIST' }),
  'raw-cells': rawCellsFlag,
}

/** Flags of every list that comes in pages. */
export const listFlags = {
  ...styleFlags,
  limit: Flags.integer({ summary: 'How many to show, 1 to 100 (20).', min: 1, max: 100, exclusive: ['all'] }),
  cursor: Flags.string({ summary: 'Go on from the nextCursor of an earlier page.', exclusive: ['all'] }),
  all: Flags.boolean({ summary: 'Show every one, page after page.' }),
}

/** `--follow` of a list: shows what comes after its rows, until Ctrl-C. */
export const followFlag = Flags.boolean({
  summary: 'Then show what comes, until Ctrl-C: oldest first, each once, also over a restart of the server.',
  exclusive: ['all', 'cursor', 'sort'],
  helpGroup: 'LIST',
})

/** Options of a flag that had another name: it is still taken, with a warning. */
export function formerly(name: string) {
  return { aliases: [name], deprecateAliases: true }
}

/** A flag that names a file to write. `-` means stdout, as if the flag were left out. */
export function outFlag(
  summary: string,
  options: Partial<ReturnType<typeof formerly>> & { dependsOn?: string[] } = {},
) {
  return Flags.string({ ...options, summary, parse: async (path) => (path === '-' ? undefined : path) as string })
}

/** A filter whose values are alternatives. */
export function filterFlag(summary: string) {
  return Flags.string({ summary: `${summary} Repeatable.`, multiple: true, multipleNonGreedy: true })
}

/** A flag for a moment of the past; it comes as ISO 8601. */
export function pastFlag(summary: string, renamed: Partial<ReturnType<typeof formerly>> = {}) {
  return Flags.string({
    ...renamed,
    summary,
    parse: async (text) => {
      const { parsePast } = await import('./moment.ts')
      return parsePast(text, new Date()).toISOString()
    },
  })
}

/** `--project` of a list: a project by name or id, or `none` for what stands in no project. */
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

/** One page, or with --all every page after it: no more than one is held at a time. */
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

/** What stands beneath a page that is not the whole list; undefined beneath the last. */
export function moreHint(page: Page<unknown>): string | undefined {
  if (!page.hasMore) return undefined
  const shown = page.offset + page.items.length
  return `${count(shown)} of ${count(page.total)} shown. More: add --all, or --limit with up to 100.`
}

/** How a page of a list is written; called for one page after another. */
export type PageFormat<T> = (items: readonly T[]) => string

/** NDJSON: one item a line. */
export function jsonLines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}
