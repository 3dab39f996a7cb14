import { type IDBPTransaction, openDB } from 'idb'
import { StorageFullError, type TableDatabase, type Transaction, tables } from './engine-store.ts'

/** The version of the tables. Increment it for each change of the tables. */
const VERSION = 1

/**
 * Opens the database of a door in a browser.
 * @param onLost called if the browser closes the database, for example because a user removed its data
 */
export async function openIndexedDb(name: string, onLost: () => void): Promise<TableDatabase> {
  const db = await openDB(name, VERSION, {
    upgrade(created) {
      for (const [table, { key, indexes }] of Object.entries(tables)) {
        const store = created.createObjectStore(table, { keyPath: key, autoIncrement: key === 'seq' })
        for (const index of indexes) store.createIndex(index, index, { multiEntry: true })
      }
    },
    // Close this connection. Otherwise, a tab with a newer version of the page could not upgrade the database.
    blocking: (_, __, event) => (event.target as IDBDatabase).close(),
    terminated: onLost,
  })
  return {
    read: async (names, work) => work(transactionOn(db.transaction([...names]))),
    async write(names, work, { isRelaxed } = { isRelaxed: false }) {
      try {
        const tx = db.transaction([...names], 'readwrite', { durability: isRelaxed ? 'relaxed' : 'strict' })
        // Handle a rejection of `done`, whose error is thrown below. Otherwise, the browser would also report it.
        tx.done.catch(() => undefined)
        const result = await work(transactionOn(tx)).catch((error) => {
          abort(tx)
          throw tx.error ?? error
        })
        await tx.done
        return result
      } catch (error) {
        if ((error as Error | null)?.name === 'QuotaExceededError') throw new StorageFullError('The storage is full')
        throw error
      }
    },
    close: async () => db.close(),
  }
}

type Mode = 'readonly' | 'readwrite'
type OpenTransaction = IDBPTransaction<unknown, string[], Mode>

function transactionOn(opened: OpenTransaction): Transaction {
  // This cast to a writable transaction is safe: only work of `write` calls methods that change rows.
  const tx = opened as IDBPTransaction<unknown, string[], 'readwrite'>
  return {
    get: (table, key) => tx.objectStore(table).get(key),
    find: (table, index, value, limit) => tx.objectStore(table).index(index).getAll(value, limit),
    list(table, { after, limit } = {}) {
      const range = after === undefined ? undefined : IDBKeyRange.lowerBound(after, true)
      return tx.objectStore(table).getAll(range, limit)
    },
    async newest(table, limit) {
      const rows = []
      for (
        let cursor = await tx.objectStore(table).openCursor(null, 'prev');
        cursor;
        cursor = await cursor.continue()
      ) {
        if (rows.push(cursor.value) === limit) break
      }
      return rows
    },
    count: (table) => tx.objectStore(table).count(),
    async countBy(table, name) {
      const counts = new Map<string, number>()
      const index = tx.objectStore(table).index(name)
      for (let cursor = await index.openKeyCursor(null, 'nextunique'); cursor; cursor = await cursor.continue()) {
        counts.set(String(cursor.key), await index.count(cursor.key))
      }
      return counts
    },
    async put(table, rows) {
      const store = tx.objectStore(table)
      await Promise.all(rows.map((row) => store.put(row)))
    },
    async remove(table, keys) {
      const store = tx.objectStore(table)
      await Promise.all(keys.map((key) => store.delete(key)))
    },
    clear: (table) => tx.objectStore(table).clear(),
  }
}

/** Aborts a transaction, unless it has already ended. */
function abort(tx: IDBPTransaction<unknown, string[], 'readwrite'>): void {
  try {
    tx.abort()
  } catch (error) {
    if ((error as Error).name !== 'InvalidStateError') throw error
  }
}
