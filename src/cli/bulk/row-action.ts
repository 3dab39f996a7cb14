import type { Client } from '../../client/client.ts'
import type { CsvFile, CsvRow } from './csv.ts'

/** What is done with each row of a file. The engine around it reads, batches, writes down and resumes. */
export interface RowAction<Item> {
  /** The command of the program, such as issue. A journal belongs to one. */
  command: string
  /** What else a run must share with the one that it goes on from: flag names and their values. */
  settings: Readonly<Record<string, string>>
  /** Batches in flight at once. */
  batchesInFlight: number
  /** Reads what the checks need, and holds the header of the file against it. */
  plan(client: Client, header: string[]): Promise<RowPlan<Item>>
  /**
   * Does it for the items of one batch: a result for each, in their order.
   * @throws what kept the batch as a whole from being done
   */
  send(items: Item[], context: SendContext): Promise<RowResult[]>
  /** Columns that results add to the rows of the file given by --out. */
  resultColumns: readonly string[]
}

export interface SendContext {
  /** Waits out a server that restarts. */
  client: Client
  /** A line for people beside the progress. */
  note: (message: string) => void
}

export interface RowPlan<Item> {
  columns: Columns
  /** Every row, checked as far as it can be without the server. */
  check(rows: CsvFile['rows']): AsyncIterable<CheckedRow<Item>>
}

/** Which cell of a row is what. */
export interface Columns {
  header: string[]
  externalId: number
  /** The column that a failures file adds, and that is ignored where the input has it. */
  errorColumn: string
  /** What will work, but may not be meant. */
  warnings: string[]
}

/** A row of the file that can be sent, with the bytes that it takes in a request, or what is wrong with it. */
export type CheckedRow<Item> = CsvRow & ({ item: Item; size: number } | { error: string })

/** What came of a row: cells for the result columns, or why it failed. */
export type RowResult = { cells: (string | null)[] } | { error: string }
