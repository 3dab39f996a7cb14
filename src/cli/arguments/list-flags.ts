import { Flags } from '@oclif/core'
import type { Page } from '../../core/contract/schemas/common.ts'
import { UsageError } from '../command/cli-error.ts'
import { count } from '../command/output.ts'
import { named } from './named.ts'

/** The options of a flag that can be given several times, with one value each. */
export const repeatable = { multiple: true, multipleNonGreedy: true } as const

export const rawCellsFlag = Flags.boolean({
  summary: 'Write CSV cells unchanged (default: an apostrophe before cells that a spreadsheet would run as a formula).',
  default: false,
})

export const styleFlags = {
  columns: Flags.string({
    summary: 'Names of the columns to show, separated by commas. The error for an unknown name lists all names.',
    exclusive: ['json', 'jsonl'],
    helpGroup: 'LIST',
  }),
  sort: Flags.string({
    summary: 'Column by which the shown rows are sorted, such as label or createdAt:desc.',
    helpGroup: 'LIST',
  }),
  csv: Flags.boolean({ summary: 'Format output as CSV.', exclusive: ['json', 'jsonl'], helpGroup: 'LIST' }),
  jsonl: Flags.boolean({
    summary: 'Format output as JSON, one row per line.',
    exclusive: ['json', 'csv'],
    helpGroup: 'LIST',
  }),
  'raw-cells': rawCellsFlag,
}

export const listFlags = {
  ...styleFlags,
  limit: Flags.integer({
    summary: 'Maximum number of rows to show, 1-100 (default: 20).',
    min: 1,
    max: 100,
    exclusive: ['all'],
  }),
  cursor: Flags.string({ summary: 'Start of the page: nextCursor of an earlier page.', exclusive: ['all'] }),
  all: Flags.boolean({ summary: 'Show all pages instead of one.' }),
}

export const followFlag = Flags.boolean({
  summary:
    'Keep running until Ctrl-C: show each new row once, oldest first, even if the server is restarted in between.',
  exclusive: ['all', 'cursor', 'sort'],
  helpGroup: 'LIST',
})

export const skipFlag = Flags.boolean({ summary: 'Skip the confirmation prompt.' })

export const concurrencyFlag = Flags.integer({
  summary: 'Number of concurrent requests, 1-16.',
  default: 8,
  min: 1,
  max: 16,
})

/** Returns the options of a renamed flag, whose old name still works but prints a warning. */
export function formerly(name: string) {
  return { aliases: [name], deprecateAliases: true }
}

/** Creates a flag for an output file. `-` means stdout, which is the default. */
export function outFlag(what: string, options: Partial<ReturnType<typeof formerly>> & { dependsOn?: string[] } = {}) {
  return Flags.string({
    ...options,
    summary: `${what}; - for stdout (the default).`,
    parse: async (path) => ((await parseOut(path)) === '-' ? undefined : path) as string,
  })
}

/**
 * Parses the path of an output. Returns `-` also for /dev/stdout: if stdout is a file, opening it a second time would
 * overwrite the other output of the command.
 */
export async function parseOut(path: string): Promise<string> {
  return path === '/dev/stdout' ? '-' : path
}

export function languageFlag(options: { exclusive?: string[] } = {}) {
  return Flags.string({
    ...options,
    summary: 'Language of the texts: one of the languages in the definition (default: its default language).',
  })
}

export const htmlFlag = Flags.string({
  summary: 'File for a web page that shows the pass on an iPhone and on an Android phone.',
  parse: parsePath,
})

/** Creates a filter flag that can be repeated. A row matches if it has any of the values. */
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

/** The format of a time in the past, for the summaries of flags. */
export const PAST = '2027-05-31T00:00:00Z, or 12h for twelve hours ago'

export const projectFilter = named(
  'project',
  filterFlag('Only rows of this project; "none" means rows without a project.'),
  { mayBeNone: true },
)

/** Maps `none` to `null`, which the API uses for rows without a project. */
export function projectQuery(projects: string[] | undefined): { projectId?: string[] } {
  return projects ? { projectId: projects.map((project) => (project === 'none' ? 'null' : project)) } : {}
}

export function moreHint(page: Page<unknown>): string | undefined {
  if (!page.hasMore) return undefined
  const shown = page.offset + page.items.length
  return `${count(shown)} of ${count(page.total)} shown. To show more, add --all, or --limit up to 100.`
}

/** A formatter for one page of a list, called for each page in order. */
export type PageFormat<T> = (items: readonly T[]) => string

export function jsonLines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}

/**
 * Parses the path of a file.
 * @throws UsageError for `-` and /dev/stdout, which mean stdin or stdout in other commands
 */
export async function parsePath(path: string): Promise<string> {
  if ((await parseOut(path)) !== '-') return path
  throw new UsageError(`This command requires a file, not ${path} for stdin or stdout`, {
    hint: 'give a file name; for a file called -, give ./-',
  })
}
