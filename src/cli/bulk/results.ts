import type { Issue } from '../../core/errors.ts'
import type { Batch } from './batches.ts'
import { type Columns, FAILED, type RowResult } from './row-action.ts'

/** What became of a row, with its place in the file for people. */
export interface PlacedRow {
  line: number
  externalPassId: string
  outcome: string
}

export interface FailedRow extends PlacedRow {
  error: string
}

/** What a batch comes to: the rows of both files that are written, and of each row what became of it, in their order. */
export interface BatchOutcome {
  out: (string | null)[][]
  failures: string[][]
  rows: (PlacedRow | FailedRow)[]
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
  const outcome: BatchOutcome = { out: [], failures: [], rows: [] }
  let answered = 0
  for (const row of batch.rows) {
    const result = 'item' in row ? (results[answered++] ?? NO_RESULT) : failure(row.error)
    const { error, cells } = result
    const place = {
      line: row.line,
      externalPassId: row.cells[columns.externalId] ?? '',
      outcome: result.outcome,
    }
    outcome.rows.push(error === undefined ? place : { ...place, error })
    if (error !== undefined) outcome.failures.push([...kept(row.cells, columns, []), error])
    else if (cells) outcome.out.push([...kept(row.cells, columns, resultColumns), ...cells])
  }
  return outcome
}

export function isFailure(row: PlacedRow | FailedRow): row is FailedRow {
  return 'error' in row
}

/** The result of a row that cannot be done. */
export function failure(error: string): RowResult<'failed'> & { error: string } {
  return { outcome: FAILED.name, error }
}

const NO_RESULT = failure('The server gave no result')

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
