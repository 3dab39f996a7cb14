import { Flags } from '@oclif/core'
import type { Page } from '../../core/contract/schemas/common.ts'
import { UsageError } from '../command/cli-error.ts'
import { count } from '../command/output.ts'
import { named } from './named.ts'

/** The options of a flag that can be given several times, with one value each. */
export const repeatable = { multiple: true, multipleNonGreedy: true } as const

export const rawCellsFlag = Flags.boolean({
  summary: "Do not escape cells; by default, ' precedes cells that a spreadsheet would read as a formula.",
  default: false,
})

export const styleFlags = {
  columns: Flags.string({
    summary: 'Columns to show, separated by commas; an unknown one lists all columns.',
    exclusive: ['json', 'jsonl'],
    helpGroup: 'LIST',
  }),
  sort: Flags.string({ summary: 'Sort the output by a column: label, createdAt:desc.', helpGroup: 'LIST' }),
  csv: Flags.boolean({ summary: 'Write CSV.', exclusive: ['json', 'jsonl'], helpGroup: 'LIST' }),
  jsonl: Flags.boolean({ summary: 'Write JSON, one row per line.', exclusive: ['json', 'csv'], helpGroup: 'LIST' }),
  'raw-cells': rawCellsFlag,
}

export const listFlags = {
  ...styleFlags,
  limit: Flags.integer({ summary: 'Number of rows, 1 to 100 (20).', min: 1, max: 100, exclusive: ['all'] }),
  cursor: Flags.string({ summary: 'Continue from the nextCursor of an earlier page.', exclusive: ['all'] }),
  all: Flags.boolean({ summary: 'Show all pages.' }),
}

export const followFlag = Flags.boolean({
  summary:
    'Afterwards, show new rows until Ctrl-C: oldest first, and each row once, even after a restart of the server.',
  exclusive: ['all', 'cursor', 'sort'],
  helpGroup: 'LIST',
})

/** Options of a renamed flag: the old name still works, with a warning. */
export function formerly(name: string) {
  return { aliases: [name], deprecateAliases: true }
}

/** Creates a flag for an output file. `-` means stdout, which is the default. */
export function outFlag(
  summary: string,
  options: Partial<ReturnType<typeof formerly>> & { dependsOn?: string[] } = {},
) {
  return Flags.string({ ...options, summary, parse: async (path) => (path === '-' ? undefined : path) as string })
}

/** Creates a repeatable filter whose values are alternatives. */
export function filterFlag(summary: string) {
  return Flags.string({ summary: `${summary} Repeatable.`, ...repeatable })
}

/** Creates a flag for a time in the past; its value is ISO 8601. */
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

export const projectFilter = named(
  'project',
  filterFlag('Only items of this project; none for items without a project.'),
  { mayBeNone: true },
)

/** Maps `none` to `null`, which the API uses for rows without a project. */
export function projectQuery(projects: string[] | undefined): { projectId?: string[] } {
  return projects ? { projectId: projects.map((project) => (project === 'none' ? 'null' : project)) } : {}
}

/** Returns the hint below a page if more rows follow; `undefined` after the last page. */
export function moreHint(page: Page<unknown>): string | undefined {
  if (!page.hasMore) return undefined
  const shown = page.offset + page.items.length
  return `${count(shown)} of ${count(page.total)} shown. More: add --all, or --limit with up to 100.`
}

/** A formatter for one page of a list, called for each page in order. */
export type PageFormat<T> = (items: readonly T[]) => string

export function jsonLines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}

/** Parses the path of a file. @throws UsageError for `-`, which other commands take for stdin or stdout */
export async function parsePath(path: string): Promise<string> {
  if (path !== '-') return path
  throw new UsageError('This command requires a file, not - for stdin or stdout', {
    hint: 'give a file name; for a file called -, give ./-',
  })
}
