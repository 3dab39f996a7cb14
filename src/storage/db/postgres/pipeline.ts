import { tracingChannel } from 'node:diagnostics_channel'
import pg from 'pg'

/** A statement in the form in which knex passes it to its clients. */
export interface Sent {
  sql: string
  bindings?: unknown[]
  options?: { name?: string; isSilent?: boolean }
  response?: unknown
}

/** Returns the statement without its name, so that pg does not keep it as a prepared statement of the connection. */
export function unnamed(query: Sent): Sent {
  return { ...query, options: { ...query.options, name: undefined } }
}

const trips = tracingChannel('passes:database-trip')

/** Runs a round trip and reports it. */
export function travel<T>(statements: Sent[], run: () => Promise<T>): Promise<T> {
  return trips.tracePromise(run, { statements })
}

export interface Waiting {
  query: Sent
  resolve(query: Sent): void
  reject(error: unknown): void
}

export type Settings = Record<string, string | number>

/** The members of a pg connection that our clients use. */
export interface PostgresConnection {
  /**
   * If the connection leads to a pooler, the settings to send with each transaction. Otherwise `undefined`: the
   * settings were applied once to the connection.
   */
  transactionSettings?: Settings
  /** The ID of the server process, as PostgreSQL or the pooler reported it. */
  processID: number | null
  /** The transaction status; `I` outside a transaction. */
  getTransactionStatus(): string | null
  connection: { stream: { destroy(): void } }
  /** The time of the last response, as `performance.now()`. */
  respondedAt: number
  getTypeParser(oid: number): unknown
  query(pipeline: Pipeline): void
  query(sql: string): Promise<{ rows: unknown[] }>
}

interface Wire {
  stream: { cork(): void; uncork(): void }
  submittedNamedStatements: Record<string, string>
  sync(): void
}

/** The members of `pg.Query` that its published types lack. */
interface Query {
  name?: string
  text: string
  submit(wire: Wire): Error | null
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, wire: Wire): void
  handleReadyForQuery(wire: Wire): void
  handleError(error: unknown, wire: Wire): void
}

/** Sends statements together. If one fails, the statements after it do not run, and get the same error. */
export function sendTogether(connection: PostgresConnection, waiting: Waiting[]): void {
  const statements = waiting.map(({ query }) => query)
  const all = new Promise<void>((resolve) => connection.query(new Pipeline(connection, waiting, resolve)))
  void travel(statements, () => all)
}

/**
 * Statements that share one round trip, as a single query of pg. They share one sync message. After an error, the
 * server skips everything up to the next sync, so a COMMIT never runs if a statement before it failed. In pg's own
 * pipeline mode, each statement has its own sync, so statements after a failed BEGIN would commit separately.
 */
class Pipeline {
  private readonly queries: Query[]
  private readonly end: () => void
  /** The index of the query that the server is processing. */
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
      const name = isKept ? options?.name : undefined
      const config = { text, values, name, types: connection, queryMode: 'extended', callback }
      return new pg.Query(config as never) as unknown as Query
    })
  }

  /** pg uses the name to track which statements the server has parsed. */
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
        // Keep the error that `submit` returns for a value that cannot be sent. `settle` passes the error to the
        // callbacks.
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

  /** pg calls this at most once, and calls no handler after it. */
  handleError(error: unknown, wire: Wire): void {
    this.settle(wire, error)
  }

  private settle(wire: Wire, error: unknown): void {
    for (const query of this.queries.splice(0, this.place)) query.handleReadyForQuery(wire)
    for (const query of this.queries.splice(0)) {
      // Forget a statement that the server skipped. Otherwise, pg would later use it as a prepared statement.
      if (query.name) delete wire.submittedNamedStatements[query.name]
      query.handleError(error ?? new Error('The statement was not run'), wire)
    }
    this.end()
  }
}
