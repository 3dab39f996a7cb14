import { count, details, duration, printable } from '../command/output.ts'
import { type FailedRow, isFailure, type PlacedRow } from './results.ts'
import type { Outcome } from './row-action.ts'

/** What a run came to. `rows` and `counts` are of the whole file, earlier runs included. */
export interface BulkSummary<Name extends string = string> {
  file: string
  dryRun: boolean
  /** False where the run was stopped before the end of the file. */
  complete: boolean
  rows: number
  /** How many rows came to what; in a dry run, would come to. */
  counts: Record<Name, number>
  /** Rows that stand in the failures file. */
  failing: number
  /** Rows done by earlier runs, which this one left out. */
  alreadyDone: number
  seconds: number
  rowsPerSecond: number
  out: string | null
  failures: string | null
  journal: string | null
  /** The first failing rows of this run. */
  errors: FailedRow[]
  /** The first rows of each outcome in this run. */
  first: Partial<Record<Name, PlacedRow[]>>
}

export function showSummary(summary: BulkSummary, outcomes: readonly Outcome[]): string {
  const { rows, counts, alreadyDone } = summary
  if (alreadyDone === rows && rows > 0 && summary.complete) {
    const became = outcomes
      .filter(({ name }) => counts[name]! > 0)
      .map(({ name, title }) => `${count(counts[name]!)} ${title.trim().toLowerCase()}`)
    return `All ${count(rows)} rows are done already, as ${summary.journal} says (${became.join(', ')}). --restart goes through them again.`
  }
  const numbers = details([
    ['Rows', count(rows)],
    // A part is of interest where there is one.
    ...outcomes
      .filter(({ name, within }) => !within || counts[name]! > 0)
      .map(({ name, title }) => [title, count(counts[name]!)] as const),
    ['Done before', alreadyDone > 0 ? count(alreadyDone) : null],
    ['Time', `${duration(summary.seconds)} (${count(Math.round(summary.rowsPerSecond))} rows/s)`],
    ['Links', summary.out === '-' ? null : summary.out],
    ['Failures', summary.failures],
  ])
  return summary.dryRun ? `Plan: what a run would come to.\n\n${numbers}` : numbers
}

/** The first rows of each outcome: what a dry run has to show beyond numbers. */
export function showFirst({ counts, first, failures }: BulkSummary, outcomes: readonly Outcome[]): string {
  return outcomes
    .filter(({ name }) => first[name])
    .map(({ name, title }) => {
      const rows = first[name]!
      const parts = outcomes.filter(({ within }) => within === name)
      const more = counts[name]! - rows.length - parts.reduce((sum, part) => sum + counts[part.name]!, 0)
      const isFailing = rows.some(isFailure)
      return [
        `${title.trim()}:`,
        ...rows.map((row) => `  ${lineOf(row)}`),
        ...(more > 0
          ? [`  and ${count(more)} more${isFailing && !failures ? ' (--failures FILE writes them all)' : ''}`]
          : []),
      ].join('\n')
    })
    .join('\n')
}

/** The failing rows for people, where no file takes them all. */
export function showErrors({ errors, failing, failures }: BulkSummary): string {
  const lines = errors.map(lineOf)
  if (failing > errors.length) {
    const where = failures ? `${failures} has them all` : '--failures FILE writes them all'
    lines.push(`${count(failing)} rows failed in all; ${where}`)
  }
  return lines.join('\n')
}

function lineOf(row: PlacedRow | FailedRow): string {
  const { line, externalPassId } = row
  return printable(`Line ${line} (${externalPassId})${isFailure(row) ? `: ${row.error}` : ''}`)
}
