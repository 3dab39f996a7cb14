import { count, details, duration, printable } from '../output.ts'
import type { FailedRow } from './results.ts'

/** What a run came to. `rows`, `succeeded` and `failed` count the whole file, earlier runs included. */
export interface BulkSummary {
  file: string
  dryRun: boolean
  /** False where the run was stopped before the end of the file. */
  complete: boolean
  rows: number
  /** Rows for which it is done; in a dry run, for which it would be. */
  succeeded: number
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

/** `done` is what became of a row that succeeded, such as created. */
export function showSummary(summary: BulkSummary, done: string): string {
  const { rows, succeeded, failed, alreadyDone, dryRun } = summary
  if (alreadyDone === rows && rows > 0 && summary.complete) {
    const outcome = `${count(succeeded)} ${done}${failed > 0 ? `, ${count(failed)} failed` : ''}`
    return `All ${count(rows)} rows are done already (${outcome}). --restart goes through them again.`
  }
  return details([
    ['Rows', count(rows)],
    [dryRun ? 'Good' : `${done[0]!.toUpperCase()}${done.slice(1)}`, count(succeeded)],
    ['Failed', count(failed)],
    ['Done before', alreadyDone > 0 ? count(alreadyDone) : null],
    ['Time', `${duration(summary.seconds)} (${count(Math.round(summary.rowsPerSecond))} rows/s)`],
    ['Links', summary.out],
    ['Failures', summary.failures],
  ])
}

/** The failing rows for people, where no file takes them all. */
export function showErrors({ errors, failed, failures }: BulkSummary): string {
  const lines = errors.map(({ line, externalPassId, error }) => printable(`Line ${line} (${externalPassId}): ${error}`))
  if (failed > errors.length) {
    const where = failures ? `${failures} has them all` : '--failures FILE writes them all'
    lines.push(`${count(failed)} rows failed in all; ${where}`)
  }
  return lines.join('\n')
}
