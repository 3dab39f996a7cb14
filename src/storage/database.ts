import { createRequire } from 'node:module'
import knex, { type Knex } from 'knex'
import pg from 'pg'
import { sqliteClient } from './sqlite-client.ts'

/** Which of the two databases stands behind a connection. */
export type Dialect = 'sqlite' | 'postgres'

export interface Database {
  dialect: Dialect
  /** For reads outside a transaction: on SQLite a few query-only connections beside the writer. */
  reader: Knex
  /** For everything that writes: on SQLite one connection, so that writers queue here and not in the file. */
  writer: Knex
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Connections to PostgreSQL; 10 by default. */
  poolSize?: number
  /** SQLite's limit on the size of the file, in pages; for tests of a full disk. */
  maxPages?: number
}

/** A setting that names no database we can open: says what is wrong with it and what to write instead. */
class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError'
}

const BUSY_TIMEOUT_MS = 5_000

/** A process that hangs in a transaction on PostgreSQL, or whose machine does, gives up what it holds after so long. */
const HUNG_TIMEOUT_MS = 10_000

/** One less than the threads of libuv, on which SQLite runs: however slow its reads are, writes go on. */
const SQLITE_READERS = 3

const common = {
  // Requests wait here for a connection; past this they are told 503.
  acquireConnectionTimeout: BUSY_TIMEOUT_MS,
  // Messages of errors are logged: they show the statement, never the values.
  compileSqlOnError: false,
  // knex would print to stdout, which belongs to the results of commands. What it reports is thrown as well.
  log: { warn: () => undefined, error: () => undefined },
} satisfies Knex.Config

/**
 * Opens `sqlite:./passes.db` or `postgres://user:password@host/name`.
 * @throws DatabaseUrlError
 */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, options)
  const file = sqliteFile(url)
  if (file) return openSqlite(file, options)
  throw new DatabaseUrlError(`The database must be sqlite:FILE or postgres://…, and is "${url.split('@').at(-1)}"`)
}

/** The path of a SQLite file, or undefined for another database. */
export function sqliteFile(url: string): string | undefined {
  return /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]
}

function openPostgres(connectionString: string, { poolSize = 10 }: DatabaseOptions): Database {
  // int8 comes as text by default; ours are milliseconds and counts, all safe integers.
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === 20 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  }
  const db = knex({
    client: observantPostgres(),
    connection: {
      ...{ connectionString, types, keepAlive: true, keepAliveInitialDelayMillis: 10_000 },
      ...{ connectionTimeoutMillis: BUSY_TIMEOUT_MS, lock_timeout: BUSY_TIMEOUT_MS },
      idle_in_transaction_session_timeout: HUNG_TIMEOUT_MS,
    } as Knex.PgConnectionConfig,
    pool: { min: 0, max: poolSize },
    ...common,
  })
  return { dialect: 'postgres', reader: db, writer: db, close: () => db.destroy() }
}

function openSqlite(filename: string, { maxPages }: DatabaseOptions): Database {
  const writer = knex({
    client: sqliteClient(),
    connection: { filename },
    useNullAsDefault: true,
    pool: pool(1, [
      'PRAGMA journal_mode = WAL',
      'PRAGMA synchronous = FULL',
      'PRAGMA foreign_keys = ON',
      // What a change replaces leaves no remains on the pages that it writes anyway.
      'PRAGMA secure_delete = FAST',
      ...(maxPages ? [`PRAGMA max_page_count = ${maxPages}`] : []),
    ]),
    ...common,
  })
  const reader = knex({
    client: sqliteClient(),
    connection: { filename },
    useNullAsDefault: true,
    pool: pool(SQLITE_READERS, ['PRAGMA query_only = ON']),
    ...common,
  })
  return {
    dialect: 'sqlite',
    reader,
    writer,
    close: async () => {
      await reader.destroy()
      await writer.destroy()
    },
  }
}

/**
 * pg reports a connection that could not be made, or ended under a statement, without any code; and one that is of no more
 * use stays in the pool until it is gone. This client names the first and throws away the second.
 */
function observantPostgres(): typeof Knex.Client {
  const Client = createRequire(import.meta.url)('knex/lib/dialects/postgres/index.js')
  return class ObservantPostgres extends Client {
    async acquireRawConnection() {
      try {
        return await super.acquireRawConnection()
      } catch (error) {
        throw (error as { code?: string }).code === undefined ? lostConnection(error) : error
      }
    }

    async _query(connection: PostgresConnection, query: unknown) {
      try {
        return await super._query(connection, query)
      } catch (error) {
        const { code } = error as { code?: string }
        if (code !== undefined && USELESS.test(code)) connection.__knex__disposed = error
        throw code === undefined && connection.__knex__disposed ? lostConnection(error) : error
      }
    }
  } as unknown as typeof Knex.Client
}

/** The server ends the connection: it shuts down, or we hung in a transaction. Or it takes no writes since a failover. */
const USELESS = /^(57P..|25P03|25006)$/

function lostConnection(error: unknown): Error {
  return Object.assign(error as Error, { code: 'ECONNRESET' })
}

interface PostgresConnection {
  /** Set by knex when the connection ended; the pool then makes another. */
  __knex__disposed?: unknown
}

interface SqliteConnection {
  exec(sql: string, done: (error: Error | null) => void): void
}

function pool(max: number, pragmas: string[]): Knex.PoolConfig {
  const sql = [`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`, ...pragmas].join(';')
  return {
    min: 0,
    max,
    // A connection is cheap to keep and costs a file open and its page cache to make again.
    idleTimeoutMillis: 3_600_000,
    afterCreate: (connection: SqliteConnection, done: (error: Error | null, connection: SqliteConnection) => void) =>
      connection.exec(sql, (error) => done(error, connection)),
  }
}
