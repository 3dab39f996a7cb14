import { createRequire } from 'node:module'
import knex, { type Knex } from 'knex'
import pg from 'pg'

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
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError'
}

const BUSY_TIMEOUT_MS = 5_000

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
    client: 'pg',
    connection: { connectionString, types } as Knex.PgConnectionConfig,
    pool: { min: 0, max: poolSize },
    acquireConnectionTimeout: BUSY_TIMEOUT_MS,
  })
  return { dialect: 'postgres', reader: db, writer: db, close: () => db.destroy() }
}

function openSqlite(filename: string, { maxPages }: DatabaseOptions): Database {
  const writer = knex({
    client: immediateSqlite(),
    connection: { filename },
    useNullAsDefault: true,
    pool: pool(1, [
      'PRAGMA journal_mode = WAL',
      'PRAGMA synchronous = FULL',
      'PRAGMA foreign_keys = ON',
      ...(maxPages ? [`PRAGMA max_page_count = ${maxPages}`] : []),
    ]),
    // Requests wait here for the one writer; past this they are told 503.
    acquireConnectionTimeout: BUSY_TIMEOUT_MS,
  })
  const reader = knex({
    client: 'sqlite3',
    connection: { filename },
    useNullAsDefault: true,
    pool: pool(4, ['PRAGMA query_only = ON']),
    acquireConnectionTimeout: BUSY_TIMEOUT_MS,
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

/**
 * knex opens a deferred transaction: one that reads first and writes later fails at once with SQLITE_BUSY when another
 * process wrote in between, whatever the timeout. BEGIN IMMEDIATE waits its turn instead.
 */
function immediateSqlite(): typeof Knex.Client {
  const require = createRequire(import.meta.url)
  const Client = require('knex/lib/dialects/sqlite3/index.js')
  const Transaction = require('knex/lib/dialects/sqlite3/execution/sqlite-transaction.js')
  class ImmediateTransaction extends Transaction {
    begin(connection: unknown) {
      return this.query(connection, 'BEGIN IMMEDIATE;')
    }
  }
  const create = (...args: unknown[]) => Reflect.construct(ImmediateTransaction, args)
  return class ImmediateSqlite extends Client {
    transaction(...args: unknown[]) {
      return create(this, ...args)
    }
  } as unknown as typeof Knex.Client
}
