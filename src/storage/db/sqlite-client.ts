import { closeSync, existsSync, rmSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Knex } from 'knex'
import { openPrivateSync } from '../../files/private-file.ts'
import { type Sent, travel } from './postgres/pipeline.ts'
import { scriptOf } from './sqlite-script.ts'

/** A connection of the sqlite3 package, with what is kept beside it. */
interface Connection {
  prepare(sql: string, done: (error: Error | null) => void): Statement
  exec(script: string, done: (error: Error | null) => void): void
  interrupt(): void
  statements?: Map<string, Statement>
  /** The end of its last statement: what comes after waits for it. */
  last?: Promise<void> | undefined
  /** Of its transaction, while it is in one. */
  outbox?: Outbox | undefined
  /** Set where it is to be thrown away; the pool then makes another. */
  __knex__disposed?: unknown
}

/** What nobody waits for in a transaction, and goes with what follows. */
interface Outbox {
  unsent: Sent[]
  /** Why one of it failed: nothing more is done then, whoever goes on. */
  failure?: unknown
}

interface Statement {
  all(bindings: unknown[], done: Done): void
  run(bindings: unknown[], done: Done): void
  finalize(): void
}

/** What a transaction of knex is made of, as far as it ends differently here. */
interface TransactionParts {
  trxClient: { query(connection: Connection, sql: string): Promise<unknown> }
  _completed: boolean
  _resolver(value: unknown): void
  _rejecter(error: unknown): void
}

/** Limits of a connection to SQLite, and where it notes damage. */
export interface SqliteClientOptions {
  /** What a read may take; no limit where it is left out. */
  statementLimitMs?: number
  /** Where damage of the file is noted, and looked up before each transaction. */
  damage?: Damage
}

/** What the connections of a file know of its damage. */
export interface Damage {
  /** What SQLite said first; undefined while nothing is known. */
  error: Error | undefined
  notice(error: unknown): void
}

type Done = (error: Error | null, rows?: unknown[]) => void

/**
 * knex's client for SQLite but for this:
 *
 * - A database is made readable by its owner alone; knex leaves it to the umask.
 * - Transactions begin IMMEDIATE. A deferred one that reads first and writes later fails at once with SQLITE_BUSY when
 *   another process wrote in between, whatever the timeout; an immediate one waits its turn.
 * - A rollback that failed tells of its reason. A file that is full may have rolled back by itself: knex then told of a
 *   rollback too many, and a commit that failed would have left its transaction open.
 * - Statements are kept with their connection, as pg keeps those that have a name; knex prepares each anew, which is a trip
 *   of its own to a thread.
 * - Statements of a connection run in the order in which they are asked for, also where several are at once; the driver would
 *   give them to several threads.
 * - Of a transaction what answers nothing goes with what follows it, at best with the commit (decisions/0004).
 * - Statements with a time limit are interrupted, and damage of the file is noted.
 */
export function sqliteClient({ statementLimitMs, damage }: SqliteClientOptions = {}): typeof Knex.Client {
  const require = createRequire(import.meta.url)
  const Client = require('knex/lib/dialects/sqlite3/index.js')
  const Transaction = require('knex/lib/dialects/sqlite3/execution/sqlite-transaction.js')
  class ImmediateTransaction extends Transaction {
    async begin(connection: Connection) {
      // What is written into a damaged file damages more, or is lost with it.
      if (damage?.error) throw damage.error
      await this.query(connection, BEGIN)
      connection.outbox = { unsent: [] }
    }

    async commit(connection: Connection, value: unknown) {
      const parts = this as unknown as TransactionParts
      try {
        await parts.trxClient.query(connection, COMMIT)
      } catch (error) {
        await this.rollback(connection, error)
        return
      }
      connection.outbox = undefined
      parts._completed = true
      parts._resolver(value)
    }

    async rollback(connection: Connection, reason: unknown) {
      const parts = this as unknown as TransactionParts
      connection.outbox = undefined
      try {
        await parts.trxClient.query(connection, ROLLBACK)
      } catch (error) {
        // Whether anything is still open there, nobody can tell.
        connection.__knex__disposed = error
      }
      parts._completed = true
      parts._rejecter(reason)
    }
  }
  const create = (...args: unknown[]) => Reflect.construct(ImmediateTransaction, args)
  return class SqliteClient extends Client {
    transaction(...args: unknown[]) {
      return create(this, ...args)
    }

    acquireRawConnection() {
      createPrivate((this as unknown as { connectionSettings: { filename: string } }).connectionSettings.filename)
      return super.acquireRawConnection()
    }

    _query(connection: Connection, query: Sent): Promise<Sent> {
      const { outbox } = connection
      if (outbox && query.options?.isSilent) {
        outbox.unsent.push(query)
        return Promise.resolve({ ...query, response: [] })
      }
      const unsent = outbox?.unsent.splice(0) ?? []
      const runOne = (one: Sent): Promise<Sent> => {
        return travel([one], () => super._query(preparing(connection), one))
      }
      const runUnsent = async () => {
        try {
          await (unsent.length > 1 ? runScript(connection, unsent) : runOne(unsent[0]!))
        } catch (error) {
          outbox!.failure = error
        }
      }
      const run = async () => {
        const isLast = query.sql === COMMIT
        if (unsent.length > 0 && !isLast) await runUnsent()
        if (outbox?.failure !== undefined) throw outbox.failure
        if (unsent.length > 0 && isLast) return runScript(connection, [...unsent, query])
        const running = runOne(query)
        return statementLimitMs === undefined ? running : interruptAfter(statementLimitMs, connection, running)
      }
      const inTurn = connection.last ? connection.last.then(run) : run()
      const last = inTurn.then(
        () => undefined,
        () => undefined,
      )
      connection.last = last
      void last.then(() => {
        if (connection.last === last) connection.last = undefined
      })
      return damage ? noticing(damage, inTurn) : inTurn
    }

    /** A pool of ours has the shape that knex wants. */
    wrapNativePool(pool: unknown) {
      return pool
    }

    destroyRawConnection(connection: Connection) {
      // SQLite does not close a connection that still has statements.
      for (const statement of connection.statements?.values() ?? []) statement.finalize()
      return super.destroyRawConnection(connection)
    }
  } as unknown as typeof Knex.Client
}

const BEGIN = 'BEGIN IMMEDIATE;'
const COMMIT = 'COMMIT;'
const ROLLBACK = 'ROLLBACK;'

/** Runs statements that answer nothing in one go, until one fails. */
function runScript(connection: Connection, statements: Sent[]): Promise<Sent> {
  const run = () =>
    new Promise<Sent>((resolve, reject) => {
      connection.exec(scriptOf(statements), (error) =>
        error ? reject(error) : resolve({ ...statements.at(-1)!, response: [] }),
      )
    })
  return travel(statements, run)
}

/** A database that is not there yet; the files beside it get their mode from it. */
function createPrivate(file: string): void {
  try {
    closeSync(openPrivateSync(file, 'wx'))
  } catch {
    // It is there; or it cannot be made, which SQLite will say.
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

/** The file is no sound database: what it answers, and what is written into it, may be wrong. */
export function isDamaged(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB'
}

const INTERRUPT_AGAIN_MS = 20

/**
 * Ends a statement that runs for too long, with SQLITE_INTERRUPT. One that still waits for a thread has not begun, and then
 * there is nothing to interrupt: so again and again, until it has ended. The next statement of the connection cannot be hit:
 * it begins after this one has ended, and SQLite forgets an interrupt with the last statement that ran.
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

/** So many statements a connection keeps: all that are asked for often, and some whose text is another each time. */
const MAX_KEPT = 200

/** What stands in for a connection while it runs a statement: it keeps the ones that were used last. */
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

/**
 * A file beside a damaged SQLite database says so to the next start: until that has checked the whole database, nothing is
 * to be written. A check reads all of it, so it is made only where there is a reason.
 */

export const DAMAGE_SUFFIX = '-damaged'

/** Remembers beside the database file that it is damaged, so that a restarted server knows. */
export function noteDamage(file: string): void {
  try {
    const note = openPrivateSync(`${file}${DAMAGE_SUFFIX}`, 'a')
    writeSync(note, 'SQLite found this database damaged. See docs/backup.md.\n')
    closeSync(note)
  } catch {
    // Where the folder cannot be written, this process refuses all the same, and the next one finds out by itself.
  }
}

/**
 * Checks a database that was found damaged, and takes the note away where it is sound.
 * @returns what is wrong with it; undefined where nothing is, or nothing was noted
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
