import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../storage/db/database.ts'
import { pendingMigrations } from '../../storage/db/migrate.ts'

/** Whether the server can do its work, and what keeps it from it. */
export type Readiness = () => Promise<Record<string, boolean>>

/** What /readyz looks at. */
export interface ReadinessOptions {
  database: Database
  /** Whether the database takes writes. */
  isWritable: () => boolean
  /** Whether jobs are worked off here; absent for a server that only answers. */
  isWorking?: (() => boolean) | undefined
  /** Whether the clock is so wrong that this server runs no jobs. */
  isClockOff: () => boolean
  /** Whether the server is about to stop: it still answers, and is to be sent nothing more. */
  isStopping: () => boolean
}

/** A proxy that asks must be told in time that the database says nothing. */
const PATIENCE_MS = 2_000

/** What `/readyz` answers: the first check that fails, or none. */
export function createReadiness(options: ReadinessOptions): Readiness {
  const { database, isWritable, isWorking, isClockOff, isStopping } = options
  return async () => {
    const pending = await Promise.race([countPending(database), sleep(PATIENCE_MS, undefined, { ref: false })])
    return {
      database: pending !== undefined,
      migrations: pending === 0,
      writable: isWritable(),
      // PostgreSQL looks after its own pages.
      ...(database.dialect === 'sqlite' && { integrity: database.findDamage() === undefined }),
      // A server that only answers stays ready: one wrong clock of PostgreSQL must not take the whole fleet from its proxy.
      ...(isWorking && { clock: !isClockOff(), worker: isWorking() && !isClockOff() }),
      serving: !isStopping(),
    }
  }
}

/** Migrations that are missing; undefined where the database cannot be read. One that a newer program made is no fault. */
async function countPending(database: Database): Promise<number | undefined> {
  try {
    return (await pendingMigrations(database)).length
  } catch {
    return undefined
  }
}
