import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import sqlite3 from 'sqlite3'
import { createProcessLock } from '../../../door/engine/environment.ts'
import {
  type Key,
  type Rows,
  StorageFullError,
  type Table,
  type TableDatabase,
  type Transaction,
  tables,
} from '../../../door/engine/store/engine-store.ts'
import { makePrivateFolder, openPrivateSync } from '../../../files/private-file.ts'

/**
 * The tables: rows as JSON, and an entry for each value in an index. `secure_delete` overwrites deleted guest data.
 * `synchronous` is `extra`: with a lower setting, a power failure can undo the last transaction, because the deletion
 * of its journal is not on disk.
 */
const SETUP = `
  pragma busy_timeout = 10000;
  pragma synchronous = extra;
  pragma secure_delete = on;
  create table if not exists rows (store text, key, value text, primary key (store, key)) without rowid;
  create table if not exists entries (store text, name text, value, key, primary key (store, name, value, key)) without rowid;
  create index if not exists entries_key on entries (store, key);`

/**
 * Opens the database of a door in a console. It has no write-ahead log, so that consoles on several machines can share
 * a network folder.
 */
export async function openSqliteTables(path: string): Promise<TableDatabase> {
  let db = await connect(path)
  await db.script(SETUP)
  let tx = transactionOn(db)
  const inTurn = createProcessLock()

  /**
   * Writes the database to its path again if the file was removed. Without its file, the database could store no more
   * decisions until the console is restarted. SQLite can still read the data of a removed file that it has open.
   */
  async function restoreIfRemoved(): Promise<void> {
    if (existsSync(path)) return
    makePrivateFolder(dirname(path))
    // Take a lock, so that another console does not replace the file while this console uses it.
    await withFileLock(`${path}.lock`, async () => {
      if (existsSync(path)) return
      const copy = `${path}.${randomUUID()}`
      try {
        // Create the copy as a private file, because SQLite keeps the mode of an empty file.
        closeSync(openPrivateSync(copy, 'a'))
        await db.script(`vacuum into '${copy.replaceAll("'", "''")}'`)
        renameSync(copy, path)
      } finally {
        rmSync(copy, { force: true })
      }
      const removed = db
      db = await connect(path)
      await db.script(SETUP)
      tx = transactionOn(db)
      await removed.close()
    })
  }

  function transact<T>(begin: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return inTurn('', async () => {
      await db.script(begin)
      try {
        const result = await work(tx)
        await db.script('commit')
        return result
      } catch (error) {
        // Ignore a failed rollback: if the disk is full, SQLite has already rolled the transaction back.
        await db.script('rollback').catch(() => undefined)
        throw error
      }
    })
  }

  return {
    read: (_, work) => transact('begin', work),
    async write(_, work) {
      try {
        await inTurn('', restoreIfRemoved)
        return await transact('begin immediate', work)
      } catch (error) {
        const { code, message, syscall } = error as NodeJS.ErrnoException
        throw syscall || code?.startsWith('SQLITE_') ? new StorageFullError(message) : error
      }
    },
    close: () => inTurn('', () => db.close()),
  }
}

const RETRY_MS = 50

/**
 * Runs work under an exclusive lock. All processes that use the same path share the lock. The system releases the lock
 * of a process that was killed.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const db = await connect(path)
  try {
    while (!(await isTaken(db))) await sleep(RETRY_MS)
    return await work()
  } finally {
    await db.close()
  }
}

async function isTaken(db: Connection): Promise<boolean> {
  try {
    await db.script('begin exclusive')
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return false
    throw error
  }
}

interface Connection {
  script(sql: string): Promise<void>
  all<T>(sql: string, ...values: unknown[]): Promise<T[]>
  close(): Promise<void>
}

function connect(path: string): Promise<Connection> {
  // Create the file as private, because SQLite gives its other files the same mode. Do not open an existing file:
  // closing it would release the locks that this process has on it.
  if (!existsSync(path)) closeSync(openPrivateSync(path, 'a'))
  const settled = (resolve: (value: never) => void, reject: (error: Error) => void) => {
    return (error: Error | null, value?: unknown) => (error ? reject(error) : resolve(value as never))
  }
  return new Promise((resolve, reject) => {
    const db: sqlite3.Database = new sqlite3.Database(path, (error) => {
      if (error) return reject(error)
      resolve({
        script: (sql) => new Promise((...end) => db.exec(sql, settled(...end))),
        all: (sql, ...values) => new Promise((...end) => db.all(sql, values, settled(...end))),
        close: () => new Promise((...end) => db.close(settled(...end))),
      })
    })
  })
}

function transactionOn(db: Connection): Transaction {
  async function rowsOf<T extends Table>(sql: string, ...values: unknown[]): Promise<Rows[T][]> {
    return (await db.all<{ value: string }>(sql, ...values)).map(({ value }) => JSON.parse(value))
  }

  async function countOf(sql: string, ...values: unknown[]): Promise<number> {
    return (await db.all<{ count: number }>(sql, ...values))[0]!.count
  }

  /** Returns rows with their keys, and assigns `seq` like an auto-incrementing key in IndexedDB. */
  async function keyed<T extends Table>(table: T, rows: readonly Rows[T][]): Promise<[Key, Rows[T]][]> {
    const { key } = tables[table]
    let last = 0
    if (key === 'seq') last = await countOf('select coalesce(max(key), 0) as count from rows where store = ?', table)
    return rows.map((row) => {
      const known = (row as Record<string, unknown>)[key] as Key | undefined
      if (known !== undefined) return [known, row]
      last += 1
      return [last, { ...row, seq: last }]
    })
  }

  async function remove(table: Table, keys: readonly Key[]): Promise<void> {
    if (keys.length === 0) return
    for (const from of ['rows', 'entries']) {
      const sql = `delete from ${from} where store = ? and key in (select value from json_each(?))`
      await db.all(sql, table, JSON.stringify(keys))
    }
  }

  return {
    async get<T extends Table>(table: T, key: Key) {
      const [row] = await rowsOf<T>('select value from rows where store = ? and key = ?', table, key)
      return row
    },
    find: (table, index, value, limit = -1) => {
      const isIt = value === undefined ? '' : 'and entries.value = ?'
      const sql = `select rows.value from entries join rows using (store, key)
        where store = ? and name = ? ${isIt} order by entries.value, key limit ?`
      return rowsOf(sql, table, index, ...(value === undefined ? [] : [value]), limit)
    },
    list: (table, { after, limit = -1 } = {}) => {
      // Without `after`, start at -1. It precedes all keys, because SQLite sorts every text after every number.
      const sql = 'select value from rows where store = ? and key > ? order by key limit ?'
      return rowsOf(sql, table, after ?? -1, limit)
    },
    newest: (table, limit) => rowsOf('select value from rows where store = ? order by key desc limit ?', table, limit),
    count: (table) => countOf('select count(*) as count from rows where store = ?', table),
    async countBy(table, index) {
      const sql = 'select value, count(*) as count from entries where store = ? and name = ? group by value'
      const counted = await db.all<{ value: string; count: number }>(sql, table, index)
      return new Map(counted.map(({ value, count }) => [value, count]))
    },
    async put(table, rows) {
      const found = await keyed(table, rows)
      await remove(
        table,
        found.map(([key]) => key),
      )
      const texts = found.map(([key, row]) => [key, JSON.stringify(row)])
      await db.all(
        'insert into rows select ?, value ->> 0, value ->> 1 from json_each(?)',
        table,
        JSON.stringify(texts),
      )
      const entries = found.flatMap(([key, row]) => entriesOf(table, row).map((entry) => [...entry, key]))
      await db.all(
        'insert into entries select ?, value ->> 0, value ->> 1, value ->> 2 from json_each(?)',
        table,
        JSON.stringify(entries),
      )
    },
    remove,
    async clear(table) {
      for (const from of ['rows', 'entries']) await db.all(`delete from ${from} where store = ?`, table)
    },
  }
}

/** Returns the index entries of a row, each with the name of the index and the value. */
function entriesOf<T extends Table>(table: T, row: Rows[T]): [string, Key][] {
  return tables[table].indexes.flatMap((index) => {
    const values = new Set([(row as Record<string, unknown>)[index] ?? []].flat() as Key[])
    return [...values].map((value): [string, Key] => [index, value])
  })
}
