import { closeSync, existsSync } from 'node:fs'
import { promisify } from 'node:util'
import type sqlite3 from 'sqlite3'
import { openPrivateSync } from '../../../files/private-file.ts'

/**
 * Takes the lock of a file, which only one process can hold: an exclusive transaction on an empty database. Returns a
 * function that releases the lock, or `undefined` if the lock is taken. The system releases the lock of a process that
 * was killed.
 */
export async function takeProcessLock(path: string): Promise<(() => Promise<void>) | undefined> {
  // Do not open an existing file: closing it would release the lock that this process has on it.
  if (!existsSync(path)) closeSync(openPrivateSync(path, 'a'))
  const db = await open(path)
  db.configure('busyTimeout', 0)
  const release = promisify((done: (error: Error | null) => void) => db.close(done))
  try {
    await promisify((done: (error: Error | null) => void) => db.exec('begin exclusive', done))()
    return release
  } catch (error) {
    await release()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined
    throw error
  }
}

/** Loads SQLite on demand, because a server on PostgreSQL without a sandbox takes no lock. */
async function open(path: string): Promise<sqlite3.Database> {
  const { default: sqlite } = await import('sqlite3')
  return new Promise((resolve, reject) => {
    const db: sqlite3.Database = new sqlite.Database(path, (error) => (error ? reject(error) : resolve(db)))
  })
}
