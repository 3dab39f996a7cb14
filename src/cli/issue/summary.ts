import { count, details, duration, printable } from '../output.ts'
import type { FailedRow } from './results.ts'

/** What a run came to. `rows`, `created` and `failed` count the whole file, earlier runs included. */
export interface IssueSummary {
  file: string
  templateId: string
  dryRun: boolean
  /** False where the run was stopped before the end of the file. */
  complete: boolean
  rows: number
  /** Rows that have a pass now; in a dry run, that would get one. */
  created: number
  failed: number
  /** Rows done by earlier runs, which this one left out. */
  alreadyDone: number
  seconds: number
  rowsPerSecond: number
  out: string | null
  failures: string | null
  journal: string | null
  /** The first failing rows of this run. */
  errors: FailedRow[]
}

export function showSummary(summary: IssueSummary): string {
  const { rows, created, failed, alreadyDone, dryRun } = summary
  if (alreadyDone === rows && rows > 0 && summary.complete) {
    const passes = failed > 0 ? `${count(created)} with a pass, ${count(failed)} failed` : 'each with its pass'
    return `All ${count(rows)} rows are done already: ${passes}. --restart goes through them again.`
  }
  return details([
    ['Rows', count(rows)],
    [dryRun ? 'Good' : 'Created', count(created)],
    ['Failed', count(failed)],
    ['Done before', alreadyDone > 0 ? count(alreadyDone) : null],
    ['Time', `${duration(summary.seconds)} (${count(Math.round(summary.rowsPerSecond))} rows/s)`],
    ['Links', summary.out],
    ['Failures', summary.failures],
  ])
}

/** The failing rows for people, where no file takes them all. */
export function showErrors({ errors, failed, failures }: IssueSummary): string {
  const lines = errors.map(({ line, externalPassId, error }) => printable(`Line ${line} (${externalPassId}): ${error}`))
  if (failed > errors.length) {
    const where = failures ? `${failures} has them all` : '--failures FILE writes them all'
    lines.push(`${count(failed)} rows failed in all; ${where}`)
  }
  return lines.join('\n')
}
