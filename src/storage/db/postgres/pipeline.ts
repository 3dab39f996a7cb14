import { tracingChannel } from 'node:diagnostics_channel'
import pg from 'pg'

/** A statement on its way to the database, as knex hands it to its clients. */
export interface Sent {
  sql: string
  bindings?: unknown[]
  options?: { name?: string; isSilent?: boolean }
  /** What the database answered. */
  response?: unknown
}

/** The same statement without its name: prepared for this execution only. */
export function unnamed(query: Sent): Sent {
  return { ...query, options: { ...query.options, name: undefined } }
}

/** Every way to the database and back, told to whoever measures. */
const trips = tracingChannel('passes:database-trip')

/** Goes to the database and back. */
export function travel<T>(statements: Sent[], run: () => Promise<T>): Promise<T> {
  return trips.tracePromise(run, { statements })
}

/** A statement that waits to be sent, and who waits for its answer. */
export interface Waiting {
  query: Sent
  resolve(query: Sent): void
  reject(error: unknown): void
}

/** Settings of PostgreSQL, by name. */
export type Settings = Record<string, string | number>

/** As much of a connection of pg as statements need. */
export interface PostgresConnection {
  /** Settings to send with each transaction. Undefined if the connection itself has them; set behind a pooler. */
  transactionSettings?: Settings
  /** The process that serves the connection, as the other end said. */
  processID: number | null
  /** `I` outside a transaction. */
  getTransactionStatus(): string | null
  /** Set by knex when the connection ended; the pool then makes another. */
  __knex__disposed?: unknown
  connection: { stream: { destroy(): void } }
  /** How it reads values of each type. */
  _types: unknown
  query(pipeline: Pipeline): void
  query(sql: string): Promise<{ rows: unknown[] }>
}

interface Wire {
  stream: { cork(): void; uncork(): void }
  submittedNamedStatements: Record<string, string>
  sync(): void
}

/** A query of pg's own, which reads its own answer; its types say less. */
interface Query {
  name?: string
  text: string
  submit(wire: Wire): Error | null
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, wire: Wire): void
  handleReadyForQuery(wire: Wire): void
  handleError(error: unknown, wire: Wire): void
  _result: { _types?: unknown }
}

/** Sends statements in one go. Where one fails those after it are not run, and each is rejected with why. */
export function sendTogether(connection: PostgresConnection, waiting: Waiting[]): void {
  const statements = waiting.map(({ query }) => query)
  const all = new Promise<void>((resolve) => connection.query(new Pipeline(connection, waiting, resolve)))
  void travel(statements, () => all)
}

/**
 * Statements that go to PostgreSQL together and are answered together, as a query of pg's. They share one sync: from the first
 * error to the next sync the server passes over everything, so that a commit is never made without what stands before it. (In
 * pg's own pipeline mode each statement has a sync of its own: after a BEGIN that failed the others would commit by themselves.)
 */
class Pipeline {
  private readonly queries: Query[]
  private readonly end: () => void
  /** Which one the server is at. */
  private place = 0
  private failure: unknown

  constructor(connection: PostgresConnection, waiting: Waiting[], end: () => void) {
    this.end = end
    const isKept = connection.transactionSettings === undefined
    this.queries = waiting.map(({ query, resolve, reject }) => {
      const callback = (error: unknown, response: unknown) => {
        this.failure ??= error
        if (error) reject(error)
        else resolve(Object.assign(query, { response }))
      }
      const { sql: text, bindings: values = [], options } = query
      const config = { text, values, name: isKept ? options?.name : undefined, queryMode: 'extended', callback }
      const made = new pg.Query(config as never) as unknown as Query
      made._result._types = connection._types
      return made
    })
  }

  /** pg notes by it which statements the server has parsed. */
  get name(): string | undefined {
    return this.queries[this.place]?.name
  }

  get text(): string | undefined {
    return this.queries[this.place]?.text
  }

  submit(wire: Wire): null {
    const withoutSync: Wire = Object.create(wire, { sync: { value: () => undefined } })
    wire.stream.cork()
    try {
      for (const query of this.queries) {
        // A value that cannot be sent is told by the callback.
        this.failure ??= query.submit(withoutSync)
        if (this.failure) break
      }
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
    return null
  }

  handleRowDescription(message: unknown): void {
    this.queries[this.place]!.handleRowDescription(message)
  }

  handleDataRow(message: unknown): void {
    this.queries[this.place]!.handleDataRow(message)
  }

  handleCommandComplete(message: unknown, wire: Wire): void {
    this.queries[this.place]!.handleCommandComplete(message, wire)
    this.place += 1
  }

  handleEmptyQuery(): void {
    this.place += 1
  }

  handleReadyForQuery(wire: Wire): void {
    this.settle(wire, this.failure)
  }

  /** pg tells of an error once, and of nothing after it. */
  handleError(error: unknown, wire: Wire): void {
    this.settle(wire, error)
  }

  private settle(wire: Wire, error: unknown): void {
    for (const query of this.queries.splice(0, this.place)) query.handleReadyForQuery(wire)
    for (const query of this.queries.splice(0)) {
      // What was passed over was not parsed either.
      if (query.name) delete wire.submittedNamedStatements[query.name]
      query.handleError(error ?? new Error('The statement was not run'), wire)
    }
    this.end()
  }
}
