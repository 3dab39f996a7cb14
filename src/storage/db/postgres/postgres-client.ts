import type { Knex } from 'knex'
import { isPoolerError } from '../database-errors.ts'
import { discard, isDiscarded, knexParts } from '../knex-parts.ts'
import {
  type PostgresConnection,
  type Sent,
  type Settings,
  sendTogether,
  travel,
  unnamed,
  type Waiting,
} from './pipeline.ts'

export interface PostgresOptions {
  settings?: Settings
  /** The time after which a connection that does not respond is closed, in milliseconds; no limit by default. */
  responseLimitMs?: number | undefined
  silence: Silence
}

/** The last silence of the server, which all connections to it share. */
export interface Silence {
  /** The time at which the statement without a response was sent, as `performance.now()`. */
  since: number
}

/**
 * Whether an idle connection can be used. After a silence, closes a connection that has not responded since: it is
 * probably lost too, and each statement on it would wait for a response.
 */
export function isUsable(connection: PostgresConnection, { since }: Silence): boolean {
  if (connection.respondedAt >= since) return true
  connection.connection.stream.destroy()
  return false
}

/**
 * Creates a client that keeps no state on a server connection behind a pooler. Unlike pg, the client adds an error code
 * if a connection fails or is lost. It discards unusable connections instead of returning them to the pool.
 */
export function postgresClient({ settings = {}, responseLimitMs, silence }: PostgresOptions): typeof Knex.Client {
  const { Client } = knexParts('postgres')
  return class PostgresClient extends Client {
    async acquireRawConnection() {
      try {
        const connection: PostgresConnection = await super.acquireRawConnection()
        if (!(await isDirect(connection, settings))) connection.transactionSettings = settings
        connection.respondedAt = performance.now()
        return connection
      } catch (error) {
        throw (error as { code?: string }).code === undefined ? lostConnection(error) : error
      }
    }

    sendOne(connection: PostgresConnection, query: Sent): Promise<Sent> {
      const { transactionSettings } = connection
      if (!transactionSettings) return travel([query], () => super.send(connection, query))
      // Send ROLLBACK without the settings. After the first statements of a transaction failed, the status can still be
      // `I` (no transaction), because an error arrives before the new status. PostgreSQL would then reject the
      // settings, and skip the ROLLBACK.
      const isOwnTransaction = connection.getTransactionStatus() === 'I' && !/^rollback/i.test(query.sql)
      if (isOwnTransaction) return sendAsTransaction(connection, transactionSettings, query)
      return travel([query], () => super.send(connection, unnamed(query)))
    }

    override async send(connection: PostgresConnection, query: Sent) {
      const sentAt = performance.now()
      const close = () => {
        silence.since = Math.max(silence.since, sentAt)
        connection.connection.stream.destroy()
      }
      const cut = responseLimitMs && setTimeout(close, responseLimitMs)
      try {
        const sent = await this.sendOne(connection, query)
        connection.respondedAt = performance.now()
        return sent
      } catch (error) {
        const { code } = error as { code?: string }
        if (isPoolerError(error) || (code !== undefined && USELESS.test(code))) discard(connection, error)
        throw code === undefined && isDiscarded(connection) ? lostConnection(error) : error
      } finally {
        clearTimeout(cut)
      }
    }
  } as unknown as typeof Knex.Client
}

/**
 * Whether the connection leads directly to PostgreSQL. If so, applies the settings. A pooler is recognized because it
 * reports its own process IDs to clients. Behind a pooler, clients share server processes: a setting would leak to
 * other clients, and a prepared statement might be missing in the process of the next transaction.
 */
async function isDirect(connection: PostgresConnection, settings: Settings): Promise<boolean> {
  const { rows } = await connection.query(`${setConfig(settings)} where pg_backend_pid() = ${connection.processID}`)
  return rows.length > 0
}

export async function isPooled(db: Knex): Promise<boolean> {
  const connection: PostgresConnection = await db.client.acquireConnection()
  db.client.releaseConnection(connection)
  return connection.transactionSettings !== undefined
}

/**
 * Sends the settings of a connection together with a statement that is outside a transaction. Both share a round trip,
 * so both run in one implicit transaction, and the settings apply to the statement.
 */
function sendAsTransaction(connection: PostgresConnection, settings: Settings, query: Sent): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const ignore = () => undefined
    sendTogether(connection, [
      { query: settingsOf(settings), resolve: ignore, reject: ignore },
      { query, resolve, reject },
    ])
  })
}

/** The statements of a transaction that are waiting to be sent. */
interface Outbox {
  waiting: Waiting[]
  isSending: boolean
  /** The error of a silent statement (a statement without a result, for which no caller waits). */
  failure: unknown
}

const outboxes = new WeakMap<PostgresConnection, Outbox>()

export interface PipeliningOptions extends Omit<PostgresOptions, 'settings'> {
  /** The time limit of a statement inside a transaction, including its wait for locks, in milliseconds. */
  transactionLimitMs?: number
}

/**
 * Creates the client for requests and jobs, whose transactions take as few round trips as possible. Statements that a
 * transaction starts in the same turn of the event loop are sent together. Statements without a result, such as BEGIN,
 * are sent with the next statement.
 */
export function pipeliningClient({ transactionLimitMs, ...options }: PipeliningOptions): typeof Knex.Client {
  const limits = transactionLimitMs === undefined ? undefined : limitsOf(transactionLimitMs)
  const ownLimits = limits && settingsOf(limits)
  const { Transaction } = knexParts('postgres')
  class PipelinedTransaction extends Transaction {
    async begin(connection: PostgresConnection) {
      outboxes.set(connection, { waiting: [], isSending: false, failure: undefined })
      await this.run(connection, { ...BEGIN })
      const { transactionSettings } = connection
      const settings = transactionSettings ? settingsOf({ ...transactionSettings, ...limits }) : ownLimits
      if (settings) await this.run(connection, { ...settings })
    }

    async commit(connection: PostgresConnection, value: unknown) {
      try {
        const { response } = await this.run(connection, { ...COMMIT })
        // PostgreSQL responds with ROLLBACK if an earlier statement failed and the caller ignored the error.
        if (response.command !== 'COMMIT')
          throw new Error('The transaction was rolled back, because one of its statements had failed')
      } catch (error) {
        return this.rollback(connection, error)
      }
      outboxes.delete(connection)
      this.resolve(value)
    }

    async rollback(connection: PostgresConnection, reason: unknown) {
      // Remove unsent statements. Otherwise, `sendLater` would send them when the connection already belongs to another
      // caller.
      const unsent = outboxes.get(connection)?.waiting.splice(0) ?? []
      outboxes.delete(connection)
      for (const { reject } of unsent) reject(reason)
      if (unsent[0]?.query.options?.name !== BEGIN.options.name) return super.rollback(connection, reason)
      this.reject(reason)
    }
  }
  const create = (...args: unknown[]) => Reflect.construct(PipelinedTransaction, args)
  const Client = postgresClient(options) as never as new () => {
    sendOne(connection: PostgresConnection, query: Sent): Promise<Sent>
  }
  return class PipeliningClient extends Client {
    transaction(...args: unknown[]) {
      return create(this, ...args)
    }

    override sendOne(connection: PostgresConnection, query: Sent): Promise<Sent> {
      const outbox = outboxes.get(connection)
      return outbox ? sendLater(connection, outbox, query) : super.sendOne(connection, query)
    }
  } as never
}

/**
 * Sends the statement together with all statements of the same turn of the event loop, and with the queued silent
 * statements. A silent statement is not sent immediately: it is queued until the next statement that is not silent.
 */
async function sendLater(connection: PostgresConnection, outbox: Outbox, query: Sent): Promise<Sent> {
  if (query.options?.isSilent) {
    const reject = (error: unknown) => {
      outbox.failure ??= error
    }
    outbox.waiting.push({ query, resolve: () => undefined, reject })
    return { ...query, response: { rows: [] } }
  }
  if (outbox.failure !== undefined) throw outbox.failure
  return new Promise((resolve, reject) => {
    outbox.waiting.push({ query, resolve, reject })
    if (outbox.isSending) return
    outbox.isSending = true
    process.nextTick(() => {
      outbox.isSending = false
      const waiting = outbox.waiting.splice(0)
      if (waiting.length > 0) sendTogether(connection, waiting)
    })
  })
}

const silently = (name: string, sql: string) => ({ sql, bindings: [], options: { name, isSilent: true } })

const BEGIN = silently('begin', 'BEGIN')
const COMMIT = { sql: 'COMMIT', bindings: [], options: { name: 'commit' } }

/**
 * Returns the settings for transactions of requests, which find rows by key. Sequential scans are disabled. Otherwise,
 * a plan that was made while a table was small would scan the grown table for each row until the next autoanalyze, up
 * to a minute later.
 */
const limitsOf = (transactionLimitMs: number): Settings => ({
  statement_timeout: transactionLimitMs,
  enable_seqscan: 'off',
})

/** Returns the statement that applies settings until the end of the transaction. */
const settingsOf = (settings: Settings) => silently(`settings ${Object.values(settings)}`, setConfig(settings, true))

function setConfig(settings: Settings, isLocal = false): string {
  const literal = (value: Settings[string]) => `'${String(value).replaceAll("'", "''")}'`
  return `select ${Object.entries(settings).map(([name, value]) => `set_config('${name}', ${literal(value)}, ${isLocal})`)}`
}

/**
 * Codes of errors after which a connection is unusable: the server shut down, ended an idle transaction, or became
 * read-only in a failover.
 */
const USELESS = /^(57P..|25P03|25006)$/

function lostConnection(error: unknown): Error {
  return Object.assign(error as Error, { code: 'ECONNRESET' })
}
