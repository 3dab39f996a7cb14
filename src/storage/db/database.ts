import { availableParallelism } from 'node:os'
import knex, { type Knex } from 'knex'
import pg from 'pg'
import { isQueue } from '../jobs/job-kinds.ts'
import { FairGate, type FairGateOptions, MAX_NAMES, type Party } from './fair-gate.ts'
import type { PostgresConnection, Settings } from './postgres/pipeline.ts'
import { isUsable, pipeliningClient, postgresClient } from './postgres/postgres-client.ts'
import { DatabaseUrlError, parsePostgresUrl } from './postgres/postgres-url.ts'
import { type Damage, keepCheckpointing, noteDamage, sqliteClient } from './sqlite/sqlite-client.ts'

export type Dialect = 'sqlite' | 'postgres'

export interface Connections {
  /** The connections for reads outside a transaction. On SQLite, a few query-only connections. */
  reader: Knex
  /** The connections for writes. SQLite has only one, so that writers wait in the process, not for the file lock. */
  writer: Knex
}

/**
 * The database. Its `reader` and `writer` are for operators and maintenance. Their waits for locks have a time limit,
 * but their statements have none, except for `responseLimitMs`.
 */
export interface Database extends Connections {
  dialect: Dialect
  /**
   * Returns connections for the requests of a party: a workspace, all callers without a token, or HEALTH_CHECK.
   * Statements outside a transaction have a time limit (see `isTooSlow`). A party has a limited share of the
   * connections, and waits at most BUSY_TIMEOUT_MS for one. On SQLite, set `isLarge` for large writes, such as batches:
   * they get the priority of the party's jobs, below its other requests.
   */
  forRequests(party: string, isLarge?: boolean): Connections
  /** Like `forRequests`, for requests without a token that write to a pass or page of this workspace. */
  forVisits(workspaceId: string): Connections
  /**
   * Returns connections for a party: a workspace that runs jobs, or a queue that claims jobs. The party has a limited
   * share of the connections. Except for `responseLimitMs`, its statements and its waits have no time limit.
   */
  forJobs(party: string): Connections
  /**
   * The number of passes that a request writes per transaction before it lets other writers run. It is low on SQLite,
   * where all writers share one connection (decisions/0003).
   */
  passesPerTurn: number
  /**
   * A connection only for authentication and health checks, which therefore respond while other connections are busy.
   */
  entry: Knex
  /**
   * Returns the error with which SQLite reported a damaged file, if any; always `undefined` for PostgreSQL. All later
   * writes fail until a check at a start finds the file intact (see `clearDamage`).
   */
  findDamage(): Error | undefined
  close(): Promise<void>
}

/** The party of the server's own health checks. Unlike a workspace, it does not reduce the shares of others. */
export const HEALTH_CHECK = 'health check'

export interface DatabaseOptions {
  /** The number of connections per PostgreSQL pool; 10 by default. */
  poolSize?: number
  /** The maximum size of a SQLite file, in pages. Used to test a full disk. */
  maxPages?: number
  /** The time limit of a statement of a request, in milliseconds; 2,000 by default. */
  statementLimitMs?: number
  /**
   * The time after which a connection to PostgreSQL that does not respond to a statement counts as lost, in
   * milliseconds; for requests at most 10,000. By default, other work has no limit, because a migration or an operator
   * command can take minutes.
   */
  responseLimitMs?: number
}

/** The maximum time, in milliseconds, that a statement waits for locks or a request waits for a connection. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * The interval between attempts to configure a SQLite connection, in milliseconds. If several processes switch a new
 * file to WAL mode together, all but one get BUSY immediately, regardless of the lock timeout.
 */
const BUSY_AGAIN_MS = 10

/**
 * The time, in milliseconds, after which PostgreSQL ends an idle transaction, to release the locks of a process that
 * hangs.
 */
const HUNG_TIMEOUT_MS = 10_000

/**
 * The number of read connections. SQLite runs on libuv's four threads. One of them remains free, so that slow reads
 * never block writes or logins.
 */
const SQLITE_READERS = 3

/** `passesPerTurn` on SQLite. A batch of 100 passes would block other writers for 40 ms on a busy machine. */
const SQLITE_PASSES_PER_TURN = 25

/**
 * The default time limit of a request's statement, in milliseconds. A list that takes longer needs a narrower filter.
 */
export const STATEMENT_LIMIT_MS = 2_000

/** The `responseLimitMs` of requests. It is longer than PostgreSQL takes to cancel their statements. */
const REQUEST_LIMIT_MS = 10_000

const common = {
  // The time after which a request that waits for a connection gets a 503.
  acquireConnectionTimeout: BUSY_TIMEOUT_MS,
  // Keep the values of statements out of error messages, because these are logged.
  compileSqlOnError: false,
  // By default, knex prints to stdout, which is reserved for the results of commands. No error is lost, because knex
  // also throws each error that it logs.
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
  const [host, scheme] = [url.split('@').at(-1)!, url.indexOf('://')]
  // Do not show the text before the @, because it can contain a password.
  const shown = scheme < 0 || host === url ? host : `${url.slice(0, scheme)}://…@${host}`
  // Suggest a scheme if there is none, because the address is probably the path of a file.
  const meant = url === '' || /^[a-z][a-z\d+.-]*:/i.test(url) ? '' : `; did you mean sqlite:${shown}?`
  throw new DatabaseUrlError(`The database must be sqlite:FILE or postgres://…, not "${shown}"${meant}`)
}

/** Returns the path of a SQLite file; `undefined` for another database. */
export function sqliteFile(url: string): string | undefined {
  return /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]
}

function openPostgres(url: string, options: DatabaseOptions): Database {
  const { poolSize = 10, statementLimitMs = STATEMENT_LIMIT_MS, responseLimitMs } = options
  const { connectionString, settings } = parsePostgresUrl(url)
  // Read int8 (type 20) and numeric (type 1700, such as sums of int8) as numbers instead of text: our values are
  // milliseconds and counts, which are all safe integers.
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === 20 || oid === 1700 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  }
  const silence = { since: Number.NEGATIVE_INFINITY }
  const connect = (max: number, own: Settings, limitMs: number | undefined) =>
    knex({
      client: postgresClient({ settings: { ...SETTINGS, ...own, ...settings }, responseLimitMs: limitMs, silence }),
      connection: {
        connectionString,
        types,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
        connectionTimeoutMillis: BUSY_TIMEOUT_MS,
      } as Knex.PgConnectionConfig,
      pool: { min: 0, max, validate: (connection: PostgresConnection) => isUsable(connection, silence) },
      ...common,
    })
  const requestLimitMs = Math.min(responseLimitMs ?? REQUEST_LIMIT_MS, REQUEST_LIMIT_MS)
  const background = connect(poolSize, WITHOUT_SCANS, responseLimitMs)
  const requests = connect(poolSize, { statement_timeout: statementLimitMs }, requestLimitMs)
  const entry = connect(1, {}, STATEMENT_LIMIT_MS)
  // The time limit of a statement in a transaction includes its wait for a lock, so add the limit of that wait.
  const transactionLimitMs = BUSY_TIMEOUT_MS + STATEMENT_LIMIT_MS
  const limited = pipeliningClient({ transactionLimitMs, responseLimitMs: requestLimitMs, silence })
  // Requests and jobs have separate connections, but share a gate, because `shareWithNeighbors` limits both together.
  const gate = fairGate(poolSize, { separatesRequests: true })
  const sharedRequests = shareOut(requests, limited, gate)
  const sharedBackground = shareOut(background, pipeliningClient({ responseLimitMs, silence }), gate)
  const both = (db: Knex) => ({ reader: db, writer: db })
  return {
    dialect: 'postgres',
    // The maximum size of a batch. It is larger than on SQLite, because other writers have other connections and do not
    // wait for the end of the batch.
    passesPerTurn: 100,
    ...both(background),
    entry,
    findDamage: () => undefined,
    forRequests: (name) => both(sharedRequests(requestsOf(name), BUSY_TIMEOUT_MS)),
    forVisits: (name) => both(sharedRequests({ name, work: 'visits' }, BUSY_TIMEOUT_MS)),
    forJobs: (name) => both(sharedBackground({ name, work: isQueue(name) ? 'server' : 'jobs' }, NO_TIMEOUT)),
    close: async () => {
      await Promise.all([background, requests, entry].map((db) => db.destroy()))
    },
  }
}

/** The settings of all connections to PostgreSQL. */
const SETTINGS = {
  // Disable just-in-time compilation: it takes 60 ms if PostgreSQL expects many rows, and does not speed up statements
  // that find rows by key.
  jit: 'off',
  lock_timeout: BUSY_TIMEOUT_MS,
  idle_in_transaction_session_timeout: HUNG_TIMEOUT_MS,
}

/**
 * Settings that keep jobs from scanning whole tables. The outbox is usually empty, and can contain 100,000 jobs a
 * second later. With a plan that PostgreSQL made for the empty outbox, each claim would read all jobs until the next
 * autoanalyze, up to a minute later.
 */
const WITHOUT_SCANS = { enable_seqscan: 'off' }

function openSqlite(filename: string, options: DatabaseOptions): Database {
  const { maxPages, statementLimitMs = STATEMENT_LIMIT_MS } = options
  const damage: Damage = {
    error: undefined,
    notice(error) {
      if (damage.error) return
      damage.error = error as Error
      noteDamage(filename)
    },
  }
  const connect = (max: number, pragmas: string[]) =>
    knex({
      client: sqliteClient({ damage }),
      connection: { filename },
      useNullAsDefault: true,
      pool: pool(max, pragmas),
      ...common,
    })
  const writer = connect(1, [
    'PRAGMA journal_mode = WAL',
    'PRAGMA synchronous = FULL',
    'PRAGMA foreign_keys = ON',
    // Disable automatic checkpoints, which `keepCheckpointing` replaces.
    'PRAGMA wal_autocheckpoint = 0',
    // Overwrite deleted data on pages that are written anyway. Otherwise, the data would remain in the file.
    'PRAGMA secure_delete = FAST',
    ...(maxPages ? [`PRAGMA max_page_count = ${maxPages}`] : []),
  ])
  const reader = connect(SQLITE_READERS, ['PRAGMA query_only = ON'])
  const entry = connect(1, ['PRAGMA query_only = ON'])
  const sharedReaders = shareOut(reader, sqliteClient({ statementLimitMs, damage }), fairGate(SQLITE_READERS))
  // The requests of each workspace, its jobs, and maintenance use the only writer in turn.
  const writerGate = fairGate(1, { savingsMs: WRITER_SAVINGS_MS })
  const turns = shareOut(writer, sqliteClient({ damage }), writerGate)
  const maintenance = turns({ name: 'maintenance', work: 'server' }, NO_TIMEOUT)
  const checkpoints = keepCheckpointing(connect(1, []), maintenance)
  return {
    dialect: 'sqlite',
    passesPerTurn: SQLITE_PASSES_PER_TURN,
    reader,
    writer: maintenance,
    entry,
    findDamage: () => damage.error,
    forRequests: (name, isLarge = false) => ({
      reader: sharedReaders(requestsOf(name), BUSY_TIMEOUT_MS),
      writer: turns(isLarge ? { name, work: 'jobs' } : requestsOf(name), BUSY_TIMEOUT_MS),
    }),
    forVisits: (name) => ({
      reader: sharedReaders({ name, work: 'visits' }, BUSY_TIMEOUT_MS),
      writer: turns({ name, work: 'visits' }, BUSY_TIMEOUT_MS),
    }),
    forJobs: (name) => ({ reader, writer: turns({ name, work: isQueue(name) ? 'server' : 'jobs' }, NO_TIMEOUT) }),
    close: async () => {
      await Promise.all([reader, entry].map((db) => db.destroy()))
      await checkpoints.stop()
      await writer.destroy()
    },
  }
}

/**
 * The `savingsMs` of SQLite's writer: the time of a few transactions. A workspace with little work needs several
 * transactions in a row, for example to create a pass, scan it, and emit both events. Without savings, the workspace
 * would wait before each transaction until a busy workspace had used as much time.
 */
const WRITER_SAVINGS_MS = 25

/** The timeout of background work, which waits for a connection without a limit. */
const NO_TIMEOUT = undefined

const requestsOf = (name: string): Party => ({ name, work: name === HEALTH_CHECK ? 'server' : 'requests' })

type ConnectionsOf = (party: Party, timeoutMs: number | undefined) => Knex

/**
 * The maximum number of connections of a workspace while another workspace that used less time is active. A connection
 * can keep one processor busy, so half of the number of processors leaves the other half to the other workspace. Uses
 * this machine's number of processors, because PostgreSQL's number is unknown.
 */
const SHARE_WITH_NEIGHBORS = Math.max(1, Math.floor(availableParallelism() / 2))

/** Creates a gate for the connections of a pool. A party gets at most half of the connections, rounded up. */
function fairGate(places: number, options: Partial<FairGateOptions> = {}): FairGate {
  return new FairGate({
    places,
    share: Math.ceil(places / 2),
    shareWithNeighbors: SHARE_WITH_NEIGHBORS,
    ...options,
  })
}

function shareOut(db: Knex, client: typeof Knex.Client, gate: FairGate): ConnectionsOf {
  const made = new Map<string, Knex>()
  const poolOf = (party: Party, timeoutMs: number | undefined) => ({
    acquire: () => ({
      promise: gate.enter(party, timeoutMs).then(() =>
        db.client.acquireConnection().catch((error: unknown) => {
          gate.leave(party)
          throw error
        }),
      ),
    }),
    release: (connection: unknown) => {
      db.client.releaseConnection(connection)
      gate.leave(party)
      return true
    },
    destroy: async () => undefined,
  })
  return (party, timeoutMs) => {
    const name = `${party.work} ${party.name} ${timeoutMs}`
    const known = made.get(name)
    if (known) return known
    // Keep at most MAX_NAMES pools, to limit the memory. Re-creating a pool takes a fraction of a millisecond.
    const [oldest] = made.keys()
    if (made.size >= MAX_NAMES && oldest !== undefined) made.delete(oldest)
    const connections = knex({ client, connectionPool: poolOf(party, timeoutMs), useNullAsDefault: true, ...common })
    made.set(name, connections)
    return connections
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
    // Reopening a file and filling its page cache is expensive, so keep connections for an hour.
    idleTimeoutMillis: 3_600_000,
    afterCreate(connection: SqliteConnection, done: (error: Error | null, connection: SqliteConnection) => void) {
      const end = performance.now() + BUSY_TIMEOUT_MS
      const set = () =>
        connection.exec(sql, (error) => {
          const isBusy = (error as { code?: unknown } | null)?.code === 'SQLITE_BUSY'
          if (isBusy && performance.now() < end) setTimeout(set, BUSY_AGAIN_MS)
          else done(error, connection)
        })
      set()
    },
  }
}
