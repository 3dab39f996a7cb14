import type { Client } from '../../client/client.ts'
import type { Issue } from '../../core/errors.ts'
import type { CsvFile, CsvRow } from './csv.ts'

/** What is done with each row of a file. The engine around it reads, batches, writes down and resumes. */
export interface RowAction<Item, Name extends string = string> {
  /** The command of the program, such as issue. A journal belongs to one. */
  command: string
  /** What else a run must share with the one that it goes on from: flag names and their values. */
  settings: Readonly<Record<string, string>>
  /** Batches in flight at once. */
  batchesInFlight: number
  /** Reads what the checks need, and holds the header of the file against it. */
  plan(client: Client, header: string[]): Promise<RowPlan<Item, Name>>
  /**
   * Does it for the items of one batch: a result for each, in their order.
   * @throws what kept the batch as a whole from being done
   */
  send(items: Item[], context: SendContext): Promise<RowResult<Name>[]>
  /** Columns that results add to the rows of the file given by --out. */
  resultColumns: readonly string[]
}

/** What rows are sent with. */
export interface SendContext {
  /** Waits out a server that restarts. */
  client: Client
  /** A line for people beside the progress. */
  note: (message: string) => void
}

/** How the rows of one file are checked and sent, made once its header is known. */
export interface RowPlan<Item, Name extends string = string> {
  columns: Columns
  /** Everything that may become of a row, in the order of the summary. */
  outcomes: readonly Outcome<Name>[]
  /** Every row, checked as far as it can be without the server. */
  check(rows: CsvFile['rows']): AsyncIterable<CheckedRow<Item>>
}

/** One thing that may become of a row. */
export interface Outcome<Name extends string = string> {
  name: Name
  /** The name for people. */
  title: string
  /** What it counts as when a run that is complete is called again; itself where left out. */
  again?: Name
  /** The outcome that its rows are counted with too. */
  within?: Name
}

/** The outcome of a row that cannot be done; every action has it. */
export const FAILED: Outcome<'failed'> = { name: 'failed', title: 'Failed' }

/** Which cell of a row is what. */
export interface Columns {
  header: string[]
  externalId: number
  /** The column that a failures file adds, and that is ignored where the input has it. */
  errorColumn: string
  /** What will work, but may not be meant. */
  warnings: string[]
  /** How the header was understood where it does not say it. */
  notes: string[]
}

/** A row of the file that can be sent, with the bytes that it takes in a request, or what is wrong with it. */
export type CheckedRow<Item> = CsvRow & (ReadyRow<Item> | { error: string })

interface ReadyRow<Item> {
  item: Item
  size: number
  /** A row before it has the same external id and the same content. */
  isRepeat?: boolean
}

/** What came of a row. */
export interface RowResult<Name extends string = string> {
  outcome: Name | 'failed'
  /** For the result columns of --out; where there are none, the row has no place in that file. */
  cells?: readonly (string | null)[]
  /** Why the row failed: it then stands in the failures file. */
  error?: string
}

/** Rows that are sent, answered and written down together. */
export interface Batch<Item> {
  rows: CheckedRow<Item>[]
  /** Bytes of the input up to the end of the last row. */
  bytes: number
}

/** What one request takes (100 passes), and below the 1 MiB that a server takes as a body. */
const MAX_ROWS = 100
const MAX_BYTES = 900 * 1024

/** Groups rows in their order; the first `skip` rows, done by an earlier run, are left out. */
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

/** What became of a row, with its place in the file for people. */
export interface PlacedRow {
  line: number
  externalPassId: string
  outcome: string
}

/** A row that was not done, and why. */
export interface FailedRow extends PlacedRow {
  error: string
}

/** What a batch comes to: the rows of both files that are written, and of each row what became of it, in their order. */
export interface BatchOutcome {
  out: (string | null)[][]
  failures: string[][]
  rows: (PlacedRow | FailedRow)[]
}

/** The header of the file of results: the columns of the input, then those of the results. */
export function outHeader(columns: Columns, resultColumns: readonly string[]): string[] {
  return [...kept(columns.header, columns, resultColumns), ...resultColumns]
}

/** The header of the file of failures: the columns of the input, then that of the error. */
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

/** True of a row that failed. */
export function isFailure(row: PlacedRow | FailedRow): row is FailedRow {
  return 'error' in row
}

/** The result of a row that cannot be done. */
export function failure(error: string): RowResult<'failed'> & { error: string } {
  return { outcome: FAILED.name, error }
}

const MISSING = 'The server gave no result'
const NO_RESULT = failure(MISSING)

/** An error of the server in one line: its code, and every problem that it lists; that it gave none, where it did not. */
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

/** The cells without those of columns that are written anew. */
function kept(cells: readonly string[], { header, errorColumn }: Columns, without: readonly string[]): string[] {
  return header.flatMap((name, index) => {
    return name === errorColumn || without.includes(name) ? [] : [cells[index] ?? '']
  })
}
