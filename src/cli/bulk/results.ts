import type { Issue } from '../../core/errors.ts'
import type { Batch } from './batches.ts'
import type { Columns, RowResult } from './row-action.ts'

/** A row that failed, with its place in the file for people. */
export interface FailedRow {
  line: number
  externalPassId: string
  error: string
}

/** What a batch comes to: the rows of both files that are written, in the order of the input. */
export interface BatchOutcome {
  out: (string | null)[][]
  failures: string[][]
  failed: FailedRow[]
  succeeded: number
}

export function outHeader(columns: Columns, resultColumns: readonly string[]): string[] {
  return [...kept(columns.header, columns, resultColumns), ...resultColumns]
}

export function failuresHeader(columns: Columns): string[] {
  return [...kept(columns.header, columns, []), columns.errorColumn]
}

/** Joins the rows of a batch to the results of those that were sent, which keep their order. */
export function outcomeOf(
  batch: Batch<unknown>,
  results: readonly RowResult[],
  columns: Columns,
  resultColumns: readonly string[],
): BatchOutcome {
  const outcome: BatchOutcome = { out: [], failures: [], failed: [], succeeded: 0 }
  let answered = 0
  for (const row of batch.rows) {
    const result = 'item' in row ? (results[answered++] ?? { error: 'The server gave no result' }) : row
    if ('error' in result) {
      outcome.failures.push([...kept(row.cells, columns, []), result.error])
      outcome.failed.push({
        line: row.line,
        externalPassId: row.cells[columns.externalId] ?? '',
        error: result.error,
      })
    } else {
      outcome.out.push([...kept(row.cells, columns, resultColumns), ...result.cells])
    }
  }
  outcome.succeeded = batch.rows.length - outcome.failed.length
  return outcome
}

/** An error of the server in one line: its code, and every problem that it lists. */
export function errorLine(error: { code: string; message: string; details?: Record<string, unknown> }): string {
  const issues = Array.isArray(error.details?.issues) ? (error.details.issues as Issue[]) : []
  const reasons = issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  const omitted = error.details?.omittedIssues
  if (reasons.length > 0 && omitted !== undefined) reasons.push(`and ${omitted} more`)
  return `${error.code}: ${reasons.length > 0 ? reasons.join('; ') : error.message}`
}

/** The cells without those of columns that are written anew. */
function kept(cells: readonly string[], { header, errorColumn }: Columns, without: readonly string[]): string[] {
  return header.flatMap((name, index) => {
    return name === errorColumn || without.includes(name) ? [] : [cells[index] ?? '']
  })
}
