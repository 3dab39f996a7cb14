import type { Client } from '../../client/client.ts'
import type { Issue } from '../../core/errors.ts'
import type { CsvFile, CsvRow } from './csv.ts'

/** An operation on each row of a file. The engine reads and batches the rows, keeps the journal, and resumes runs. */
export interface RowAction<Item, Name extends string = string> {
  /** The name of the command, such as `issue`. A journal belongs to one command. */
  command: string
  /** The flags, with their values, that must be the same when a run is resumed. */
  settings: Readonly<Record<string, string>>
  batchesInFlight: number
  plan(client: Client, header: string[]): Promise<RowPlan<Item, Name>>
  /**
   * Processes a batch and returns a result for each item, in order.
   * @throws an error that prevented the whole batch
   */
  send(items: Item[], context: SendContext): Promise<RowResult<Name>[]>
  /** The columns that results add to the file of `--out`. */
  resultColumns: readonly string[]
}

export interface SendContext {
  /** A client whose retries outlast a restart of the server. */
  client: Client
  /** Writes a line above the progress bar. */
  note: (message: string) => void
}

export interface RowPlan<Item, Name extends string = string> {
  columns: Columns
  /** All possible outcomes of a row, in the order of the summary. */
  outcomes: readonly Outcome<Name>[]
  /** Checks every row with the rules that need no server. */
  check(rows: CsvFile['rows']): AsyncIterable<CheckedRow<Item>>
}

export interface Outcome<Name extends string = string> {
  name: Name
  title: string
  /** The outcome to report if the command of a completed run is called again. Default: the same outcome. */
  again?: Name
  /** The outcome whose count includes the rows of this outcome. */
  within?: Name
}

export const FAILED: Outcome<'failed'> = { name: 'failed', title: 'Failed' }

export interface Columns {
  header: string[]
  externalId: number
  /** The column that a failures file adds. An input column with this name is ignored. */
  errorColumn: string
  warnings: string[]
  notes: string[]
}

/** A valid row with its size in a request, in bytes, or an invalid row with its error. */
export type CheckedRow<Item> = CsvRow & (ReadyRow<Item> | { error: string })

interface ReadyRow<Item> {
  item: Item
  size: number
  /** Whether an earlier row has the same external id and content. */
  isRepeat?: boolean
}

export interface RowResult<Name extends string = string> {
  outcome: Name | 'failed'
  /** The cells for the result columns of `--out`. If missing, the row is not written to that file. */
  cells?: readonly (string | null)[]
  /** The reason for a failure. The row is then written to the failures file. */
  error?: string
}

export interface Batch<Item> {
  rows: CheckedRow<Item>[]
  /** The offset of the end of the last row in the input, in bytes. */
  bytes: number
}

/** The limits of a request: 100 passes, and less than 1 MiB, which is the server's default body limit. */
const MAX_ROWS = 100
const MAX_BYTES = 900 * 1024

/** Groups rows in order. Skips the first `skip` rows, because an earlier run completed them. */
export async function* batchRows<Item>(
  rows: AsyncIterable<CheckedRow<Item>>,
  skip: number,
): AsyncGenerator<Batch<Item>> {
  let batch: CheckedRow<Item>[] = []
  let size = 0
  let index = 0
  for await (const row of rows) {
    index += 1
    if (index <= skip) continue
    const rowSize = 'item' in row ? row.size : 0
    if (batch.length === MAX_ROWS || size + rowSize > MAX_BYTES) {
      yield { rows: batch, bytes: batch.at(-1)!.bytes }
      batch = []
      size = 0
    }
    batch.push(row)
    size += rowSize
  }
  if (batch.length > 0) yield { rows: batch, bytes: batch.at(-1)!.bytes }
}

export interface PlacedRow {
  line: number
  externalPassId: string
  outcome: string
}

export interface FailedRow extends PlacedRow {
  error: string
}

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

/** Joins the rows of a batch, in order, with the results of the rows that were sent. */
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

export function failure(error: string): RowResult<'failed'> & { error: string } {
  return { outcome: FAILED.name, error }
}

const MISSING = 'The server returned no result'
const NO_RESULT = failure(MISSING)

/**
 * Formats an API error as one line: its code and all issues. Without an error, the line states that the server returned
 * no result.
 */
export function errorLine(
  error: { code: string; message: string; details?: Record<string, unknown> } = {
    code: 'INTERNAL_ERROR',
    message: MISSING,
  },
): string {
  const issues = Array.isArray(error.details?.issues) ? (error.details.issues as Issue[]) : []
  const reasons = issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  const omitted = error.details?.omittedIssues
  if (reasons.length > 0 && omitted !== undefined) reasons.push(`and ${omitted} more`)
  return `${error.code}: ${reasons.length > 0 ? reasons.join('; ') : error.message}`
}

/** Returns the cells of a row, without the columns that the output adds itself. */
function kept(cells: readonly string[], { header, errorColumn }: Columns, without: readonly string[]): string[] {
  return header.flatMap((name, index) => {
    return name === errorColumn || without.includes(name) ? [] : [cells[index] ?? '']
  })
}
