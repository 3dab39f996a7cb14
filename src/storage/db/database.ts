import { availableParallelism } from 'node:os'
import knex, { type Knex } from 'knex'
import pg from 'pg'
import { FairQueue, type Leave, toBusyError } from '../../core/scheduling/fair-queue.ts'
import { keepCheckpointing } from './checkpoints.ts'
import type { Settings } from './postgres/pipeline.ts'
import { pipeliningClient, postgresClient } from './postgres/postgres-client.ts'
import { DatabaseUrlError, parsePostgresUrl } from './postgres/postgres-url.ts'
import { type Damage, noteDamage, sqliteClient } from './sqlite-client.ts'

/** Which of the two databases stands behind a connection. */
export type Dialect = 'sqlite' | 'postgres'

/** How a part of the program reaches the database. */
export interface Connections {
  /** For reads outside a transaction: on SQLite a few query-only connections beside the writer. */
  reader: Knex
  /** For everything that writes: on SQLite one connection, so that writers queue here and not in the file. */
  writer: Knex
}

/** Its own connections are those of operators and of maintenance: no time limit but that of locks. */
export interface Database extends Connections {
  dialect: Dialect
  /**
   * Those of the requests of one party, a workspace or whoever comes without a token. A statement outside a transaction has
   * a time limit (see isTooSlow); a party has no more than its share of the connections, and waits for a while for it. At
   * the writer of SQLite what is large, such as a batch, goes after what is not, with the jobs of its party.
   */
  forRequests(party: string, isLarge?: boolean): Connections
  /** Those of jobs, of one party: within its share, with no time limit, and however long they wait for their turn. */
  forJobs(party: string): Connections
  /**
   * So many passes of one request go into a transaction, and then whoever waits has a turn: few where all share one writer
   * (decisions/0003).
   */
  passesATurn: number
  /** One connection that only authentication and health use, so that both answer however busy the others are. */
  entry: Knex
  /**
   * What SQLite said of its file when it first found it damaged: from then on nothing is written, until a start finds it
   * sound again (see `clearDamage`). Undefined while nothing is known, and always for PostgreSQL.
   */
  findDamage(): Error | undefined
  close(): Promise<void>
}

/** Limits of a database. */
export interface DatabaseOptions {
  /** Connections to PostgreSQL; 10 by default. */
  poolSize?: number
  /** SQLite's limit on the size of the file, in pages; for tests of a full disk. */
  maxPages?: number
  /** What a statement of a request may take; 2 s by default. */
  statementLimitMs?: number
}

/** So long a statement waits for locks of others. */
export const BUSY_TIMEOUT_MS = 5_000

/** Of several that switch a new file of SQLite to its log at once all but one are told BUSY, without any timeout. */
const BUSY_AGAIN_MS = 10

/** A process that hangs in a transaction on PostgreSQL, or whose machine does, gives up what it holds after so long. */
const HUNG_TIMEOUT_MS = 10_000

/** One less than the threads of libuv, on which SQLite runs: however slow its reads are, writes and logins go on. */
const SQLITE_READERS = 3

/** A batch of 100 in one transaction holds SQLite's writer for 40 ms on a busy machine. */
const SQLITE_PASSES_A_TURN = 25

/** What a statement of a request may take; lists that take longer are to be narrowed. */
export const STATEMENT_LIMIT_MS = 2_000

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
  const [host, scheme] = [url.split('@').at(-1)!, url.indexOf('://')]
  // What stands before the @ may be a password.
  const shown = scheme < 0 || host === url ? host : `${url.slice(0, scheme)}://…@${host}`
  // Without a scheme it is a path, as of a file that somebody forgot to name the kind of.
  const meant = url === '' || /^[a-z][a-z\d+.-]*:/i.test(url) ? '' : `; did you mean sqlite:${shown}?`
  throw new DatabaseUrlError(`The database must be sqlite:FILE or postgres://…, and is "${shown}"${meant}`)
}

/** The path of a SQLite file, or undefined for another database. */
export function sqliteFile(url: string): string | undefined {
  return /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]
}

function openPostgres(url: string, options: DatabaseOptions): Database {
  const { poolSize = 10, statementLimitMs = STATEMENT_LIMIT_MS } = options
  const { connectionString, settings } = parsePostgresUrl(url)
  // int8 comes as text by default; ours are milliseconds and counts, all safe integers.
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === 20 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  }
  const connect = (max: number, own: Settings = {}, responseLimitMs?: number) =>
    knex({
      client: postgresClient({ settings: { ...SETTINGS, ...own, ...settings }, responseLimitMs }),
      connection: {
        connectionString,
        types,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
        connectionTimeoutMillis: BUSY_TIMEOUT_MS,
      } as Knex.PgConnectionConfig,
      pool: { min: 0, max },
      ...common,
    })
  const background = connect(poolSize, WITHOUT_SCANS)
  const requests = connect(poolSize, { statement_timeout: statementLimitMs })
  const entry = connect(1, {}, STATEMENT_LIMIT_MS)
  // Inside a transaction statements also wait for the locks of others.
  const limited = pipeliningClient(BUSY_TIMEOUT_MS + STATEMENT_LIMIT_MS)
  const sharedRequests = shareOut(requests, limited, fairQueue(poolSize))
  const sharedBackground = shareOut(background, pipeliningClient(), fairQueue(poolSize))
  const both = (db: Knex) => ({ reader: db, writer: db })
  return {
    dialect: 'postgres',
    // A whole batch.
    passesATurn: 100,
    ...both(background),
    entry,
    findDamage: () => undefined,
    forRequests: (party) => both(sharedRequests(party, INTERACTIVE)),
    forJobs: (party) => both(sharedBackground(party, BULK)),
    close: async () => {
      await Promise.all([background, requests, entry].map((db) => db.destroy()))
    },
  }
}

/** The settings of all connections to PostgreSQL. */
const SETTINGS = {
  // Compiling a statement costs 60 ms if PostgreSQL expects many rows. Ours find rows by their keys.
  jit: 'off',
  lock_timeout: BUSY_TIMEOUT_MS,
  idle_in_transaction_session_timeout: HUNG_TIMEOUT_MS,
}

/**
 * Keeps jobs from reading a table from end to end. The outbox is empty most of the time, and may hold a hundred thousand jobs
 * a second later. A plan made while it was empty would read all of them for each job, until the next autoanalyze a minute
 * later.
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
    // See keepCheckpointing.
    'PRAGMA wal_autocheckpoint = 0',
    // What a change replaces leaves no remains on the pages that it writes anyway.
    'PRAGMA secure_delete = FAST',
    ...(maxPages ? [`PRAGMA max_page_count = ${maxPages}`] : []),
  ])
  const reader = connect(SQLITE_READERS, ['PRAGMA query_only = ON'])
  const entry = connect(1, ['PRAGMA query_only = ON'])
  const sharedReaders = shareOut(reader, sqliteClient({ statementLimitMs, damage }), fairQueue(SQLITE_READERS))
  // The requests of each workspace, its jobs, and maintenance take turns at one writer.
  const turns = shareOut(writer, sqliteClient({ damage }), fairQueue(1))
  const maintenance = turns(MAINTENANCE, BULK)
  const checkpoints = keepCheckpointing(connect(1, []), maintenance)
  return {
    dialect: 'sqlite',
    passesATurn: SQLITE_PASSES_A_TURN,
    reader,
    writer: maintenance,
    entry,
    findDamage: () => damage.error,
    forRequests: (party, isLarge = false) => ({
      reader: sharedReaders(party, INTERACTIVE),
      writer: turns(party, isLarge ? LARGE : INTERACTIVE),
    }),
    forJobs: (party) => ({ reader, writer: turns(party, BULK) }),
    close: async () => {
      await Promise.all([reader, entry].map((db) => db.destroy()))
      await checkpoints.stop()
      await writer.destroy()
    },
  }
}

/** The number of parties whose connections are kept: creating those of one again costs a fraction of a millisecond. */
const MAX_PARTIES = 1_000

/** The party of maintenance and of claims, which belong to no workspace. */
const MAINTENANCE = 'maintenance'

/** How the turns of a party wait. */
interface Service {
  /** The bulk work of a party is a flow apart, so that its interactive requests do not wait behind it. */
  isBulk: boolean
  weight: number
  timeoutMs: number | undefined
}

/** A person waits for the response: half of its time counts. */
const INTERACTIVE: Service = { isBulk: false, weight: 2, timeoutMs: BUSY_TIMEOUT_MS }
const LARGE: Service = { isBulk: true, weight: 1, timeoutMs: BUSY_TIMEOUT_MS }
const BULK: Service = { isBulk: true, weight: 1, timeoutMs: undefined }

/**
 * In front of a pool of connections. A party uses at most half of them, and while another one is present that used less, as
 * many as half of the processors: statements share them. Those of PostgreSQL are unknown here, and count as those of this machine.
 */
const fairQueue = (places: number) =>
  new FairQueue({
    places,
    perFlow: Math.ceil(places / 2),
    perFlowShared: Math.max(1, Math.floor(availableParallelism() / 2)),
  })

/** Shares the connections of a pool among parties. */
function shareOut(db: Knex, client: typeof Knex.Client, queue: FairQueue): (party: string, service: Service) => Knex {
  const created = new Map<string, Knex>()
  const leaves = new Map<unknown, Leave>()

  async function connect(flow: string, service: Service): Promise<unknown> {
    const leave = await queue.enter(flow, service).catch((error: unknown) => {
      throw toBusyError(error)
    })
    try {
      const connection = await db.client.acquireConnection()
      leaves.set(connection, leave)
      return connection
    } catch (error) {
      leave()
      throw error
    }
  }

  const poolOf = (flow: string, service: Service) => ({
    acquire: () => ({
      promise: connect(flow, service),
    }),
    release: (connection: unknown) => {
      const leave = leaves.get(connection)
      leaves.delete(connection)
      db.client.releaseConnection(connection)
      leave?.()
      return true
    },
    destroy: async () => undefined,
  })
  return (party, service) => {
    const flow = service.isBulk ? `bulk of ${party}` : party
    const name = `${flow} ${service.timeoutMs}`
    const known = created.get(name)
    if (known) return known
    const [oldest] = created.keys()
    if (created.size >= MAX_PARTIES && oldest !== undefined) created.delete(oldest)
    const connections = knex({ client, connectionPool: poolOf(flow, service), useNullAsDefault: true, ...common })
    created.set(name, connections)
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
    // A connection is cheap to keep and costs a file open and its page cache to make again.
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
