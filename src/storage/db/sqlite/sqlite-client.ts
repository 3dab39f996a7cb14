import { closeSync, existsSync, rmSync, writeSync } from 'node:fs'
import type { Knex } from 'knex'
import { openPrivateSync } from '../../../files/private-file.ts'
import { discard, knexParts } from '../knex-parts.ts'
import { type Sent, travel } from '../postgres/pipeline.ts'
import { scriptOf } from './sqlite-script.ts'

/** A connection of the sqlite3 package, with our state on it. */
interface Connection {
  prepare(sql: string, done: (error: Error | null) => void): Statement
  exec(sql: string, done: (error: Error | null) => void): void
  interrupt(): void
  statements?: Map<string, Statement>
  /** A promise that settles when the last statement has ended. The next statement waits for the promise. */
  last?: Promise<void> | undefined
  outbox?: Outbox | undefined
}

/**
 * The silent statements of a transaction, which are sent with the next statement that has a result, or with the commit.
 */
interface Outbox {
  unsent: Sent[]
  /** The error of a silent statement. All later statements of the transaction fail with this error. */
  failure?: unknown
}

interface Statement {
  all(bindings: unknown[], done: Done): void
  run(bindings: unknown[], done: Done): void
  finalize(): void
}

export interface SqliteClientOptions {
  /** The time limit of a read, in milliseconds; no limit by default. */
  statementLimitMs?: number
  /** The damage state of the file, which is checked before each transaction. */
  damage?: Damage
}

/** The damage state of a file, shared by its connections. */
export interface Damage {
  /** The first error of SQLite that reported damage; undefined if there was none. */
  error: Error | undefined
  notice(error: unknown): void
}

type Done = (error: Error | null, rows?: unknown[]) => void

/**
 * The knex client for SQLite, with these differences:
 *
 * - Only the owner can read a new database. knex leaves this to the umask.
 * - Transactions begin IMMEDIATE, and wait for their turn. A deferred transaction that reads first and writes later
 *   fails with SQLITE_BUSY if another process wrote in between, regardless of the timeout.
 * - If a rollback fails, the transaction still reports its original error. A rollback fails if SQLite already rolled
 *   back, for example because the disk is full. knex would report the failed rollback instead. After a failed commit,
 *   knex would leave the transaction open.
 * - Statements are cached per connection, as pg caches named statements. knex prepares a statement for each execution,
 *   which takes another round trip to a thread.
 * - Statements of a connection run in the order of the calls. The driver would run concurrent calls on several threads.
 * - In a transaction, statements without a result are sent with the next statement that has a result, or with the
 *   commit (decisions/0004).
 * - Statements with a time limit are interrupted, and damage of the file is recorded.
 */
export function sqliteClient({ statementLimitMs, damage }: SqliteClientOptions = {}): typeof Knex.Client {
  const { Client, Transaction } = knexParts('sqlite')
  class ImmediateTransaction extends Transaction {
    async begin(connection: Connection) {
      // Do not write to a damaged file. Otherwise, the write could be lost, or damage the file further.
      if (damage?.error) throw damage.error
      await this.run(connection, 'BEGIN IMMEDIATE;')
      connection.outbox = { unsent: [] }
    }

    async commit(connection: Connection, value: unknown) {
      try {
        await this.run(connection, COMMIT)
      } catch (error) {
        return this.rollback(connection, error)
      }
      connection.outbox = undefined
      this.resolve(value)
    }

    async rollback(connection: Connection, reason: unknown) {
      connection.outbox = undefined
      try {
        await this.run(connection, 'ROLLBACK;')
      } catch (error) {
        // It is unknown whether the transaction is still open, so discard the connection.
        discard(connection, error)
      }
      this.reject(reason)
    }
  }
  const create = (...args: unknown[]) => Reflect.construct(ImmediateTransaction, args)
  return class SqliteClient extends Client {
    transaction(...args: unknown[]) {
      return create(this, ...args)
    }

    queryCompiler(...args: unknown[]) {
      // Compile `skipLocked` to nothing, as knex compiles other locks on SQLite. Otherwise, knex would reject it.
      return Object.assign(super.queryCompiler(...args), { skipLocked: () => '' })
    }

    acquireRawConnection() {
      createPrivate(this.connectionSettings.filename)
      return super.acquireRawConnection()
    }

    override send(connection: Connection, query: Sent): Promise<Sent> {
      const { outbox } = connection
      if (outbox && query.options?.isSilent) {
        outbox.unsent.push(query)
        return Promise.resolve({ ...query, response: [] })
      }
      const unsent = outbox?.unsent.splice(0) ?? []
      const runOne = (one: Sent) => travel<Sent>([one], () => super.send(preparing(connection), one))
      const runUnsent = async () => {
        try {
          await (unsent.length > 1 ? runScript(connection, unsent) : runOne(unsent[0]!))
        } catch (error) {
          outbox!.failure = error
        }
      }
      const run = async (): Promise<Sent> => {
        const isLast = query.sql === COMMIT
        if (unsent.length > 0 && !isLast) await runUnsent()
        if (outbox?.failure !== undefined) throw outbox.failure
        if (unsent.length > 0 && isLast) return runScript(connection, [...unsent, query])
        const running = runOne(query)
        return statementLimitMs === undefined ? running : interruptAfter(statementLimitMs, connection, running)
      }
      const inTurn = connection.last ? connection.last.then(run) : run()
      const end = () => {
        if (connection.last === last) connection.last = undefined
      }
      const last = inTurn.then(end, end)
      connection.last = last
      return damage ? noticing(damage, inTurn) : inTurn
    }

    destroyRawConnection(connection: Connection) {
      // Finalize the statements first: SQLite does not close a connection with open statements.
      for (const statement of connection.statements?.values() ?? []) statement.finalize()
      return super.destroyRawConnection(connection)
    }
  } as unknown as typeof Knex.Client
}

const COMMIT = 'COMMIT;'

/** Runs statements without results in one call, up to the first one that fails. */
function runScript(connection: Connection, statements: Sent[]): Promise<Sent> {
  const run = () =>
    new Promise<Sent>((resolve, reject) => {
      connection.exec(scriptOf(statements), (error) =>
        error ? reject(error) : resolve({ ...statements.at(-1)!, response: [] }),
      )
    })
  return travel(statements, run)
}

/** Creates a database file that only its owner can read. SQLite creates the other files with the same mode. */
function createPrivate(file: string): void {
  try {
    closeSync(openPrivateSync(file, 'wx'))
  } catch {
    // Ignore the error, because the file usually exists. If the file does not exist and cannot be created, SQLite
    // reports that.
  }
}

async function noticing<T>(damage: Damage, run: Promise<T>): Promise<T> {
  try {
    return await run
  } catch (error) {
    if (isDamaged(error)) damage.notice(error)
    throw error
  }
}

export function isDamaged(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB'
}

const INTERRUPT_AGAIN_MS = 20

/**
 * Interrupts a statement after a time limit, with SQLITE_INTERRUPT. A statement that waits for a thread has not begun
 * and cannot be interrupted, so the interrupt repeats until the statement ends. An interrupt cannot affect the next
 * statement of the connection, because SQLite clears the interrupt when the running statement ends.
 */
async function interruptAfter<T>(limitMs: number, connection: Connection, run: Promise<T>): Promise<T> {
  let timer = setTimeout(function interrupt() {
    connection.interrupt()
    timer = setTimeout(interrupt, INTERRUPT_AGAIN_MS)
  }, limitMs)
  try {
    return await run
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The maximum number of cached statements per connection. It is enough for all frequent statements, and for some whose
 * text varies.
 */
const MAX_KEPT = 200

/** Returns the functions that knex calls to run a statement, with a cache of the most recently used statements. */
function preparing(connection: Connection) {
  connection.statements ??= new Map()
  const { statements } = connection
  const runWith = (method: 'all' | 'run') => (sql: string, bindings: unknown[], done: Done) => {
    const run = (statement: Statement) => {
      statements.delete(sql)
      statements.set(sql, statement)
      statement[method](bindings, done)
    }
    const kept = statements.get(sql)
    if (kept) {
      run(kept)
      return
    }
    const statement = connection.prepare(sql, (error) => {
      if (error) {
        done(error)
        return
      }
      forgetOldest(statements)
      run(statement)
    })
  }
  return { all: runWith('all'), run: runWith('run') }
}

function forgetOldest(statements: Map<string, Statement>): void {
  const [oldest] = statements
  if (statements.size < MAX_KEPT || !oldest) return
  const [sql, statement] = oldest
  statements.delete(sql)
  statement.finalize()
}

const CHECKPOINT_MS = 1_000

/** The length of the write-ahead log, in pages (64 MB), above which writers wait for the end of a checkpoint. */
const MAX_WAL_PAGES = 16_000

/**
 * Copies the write-ahead log into the database periodically. By default, SQLite does this in the commit that makes the
 * log 1,000 pages long, and this commit takes 100 ms instead of a few. While writers are active, a checkpoint never
 * completes, and SQLite never restarts the log from its beginning. If the log is long, writers therefore wait while its
 * last pages are copied.
 */
export function keepCheckpointing(db: Knex, writer: Knex) {
  // Ignore errors, because the next write fails with the same error and reports it.
  const checkpoint = async (at: Knex): Promise<{ log: number }> => {
    const [copied] = await at.raw('PRAGMA wal_checkpoint(PASSIVE)').catch(() => [])
    return copied ?? { log: 0 }
  }
  const keepShort = async () => {
    const { log } = await checkpoint(db)
    if (log <= MAX_WAL_PAGES) return
    // Copy the pages that were added during the first checkpoint. Then copy the last few pages while other writers
    // wait.
    await checkpoint(db)
    await checkpoint(writer)
  }
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= keepShort().finally(() => {
      running = undefined
    })
  }, CHECKPOINT_MS).unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
      await db.destroy()
    },
  }
}

/**
 * The suffix of the marker file next to a damaged SQLite database. While the marker exists, nothing is written. A start
 * checks the database only if the marker exists, because the check reads the whole file.
 */
export const DAMAGE_SUFFIX = '-damaged'

/** Creates the marker of a damaged database, so that a restarted server knows about the damage. */
export function noteDamage(file: string): void {
  try {
    const note = openPrivateSync(`${file}${DAMAGE_SUFFIX}`, 'a')
    writeSync(note, 'SQLite found this database damaged. See docs/backup.md.\n')
    closeSync(note)
  } catch {
    // Ignore the error (the folder might not be writable): this process still rejects writes, and the next process then
    // has to detect the damage itself.
  }
}

/**
 * Checks a database if it is marked as damaged, and removes the marker if the database is intact.
 * @returns the fault; `undefined` if the database is intact or was not marked
 */
export async function clearDamage(
  file: string,
  findFault: (file: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  if (!existsSync(`${file}${DAMAGE_SUFFIX}`)) return undefined
  const fault = await findFault(file)
  if (fault === undefined) rmSync(`${file}${DAMAGE_SUFFIX}`, { force: true })
  return fault
}
