import type { Client } from '../../client/client.ts'
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

export interface SendContext {
  /** Waits out a server that restarts. */
  client: Client
  /** A line for people beside the progress. */
  note: (message: string) => void
}

export interface RowPlan<Item, Name extends string = string> {
  columns: Columns
  /** Everything that may become of a row, in the order of the summary. */
  outcomes: readonly Outcome<Name>[]
  /** Every row, checked as far as it can be without the server. */
  check(rows: CsvFile['rows']): AsyncIterable<CheckedRow<Item>>
}

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
