import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../storage/db/database.ts'
import { pendingMigrations } from '../../storage/db/migrate.ts'

export type Readiness = () => Promise<Record<string, boolean>>

export interface ReadinessOptions {
  database: Database
  isWritable: () => boolean
  /** Returns whether the worker of this process runs jobs; undefined for an API-only server. */
  isWorking?: (() => boolean) | undefined
  /** Whether the clock is so wrong that this server runs no jobs. */
  isClockOff: () => boolean
  /** Whether the server should receive requests. While it starts or stops, it responds, but should receive none. */
  isServing: () => boolean
}

/** The timeout of the database check. It is shorter than the usual timeouts of proxies. */
const TIMEOUT_MS = 2_000

export function createReadiness(options: ReadinessOptions): Readiness {
  const { database, isWritable, isWorking, isClockOff, isServing } = options
  return async () => {
    const pending = await Promise.race([countPending(database), sleep(TIMEOUT_MS, undefined, { ref: false })])
    return {
      database: pending !== undefined,
      migrations: pending === 0,
      writable: isWritable(),
      // PostgreSQL checks its own pages, so only SQLite has this check.
      ...(database.dialect === 'sqlite' && { integrity: database.findDamage() === undefined }),
      // API-only servers omit the clock. Otherwise, a wrong clock of PostgreSQL would make a proxy remove all servers.
      ...(isWorking && { clock: !isClockOff(), worker: isWorking() && !isClockOff() }),
      serving: isServing(),
    }
  }
}

/** Returns the number of pending migrations of this version; undefined if the database cannot be read. */
async function countPending(database: Database): Promise<number | undefined> {
  try {
    return (await pendingMigrations(database)).length
  } catch {
    return undefined
  }
}
