import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, HEALTH_CHECK } from '../../storage/db/database.ts'
import { findUnavailability } from '../../storage/db/database-errors.ts'
import { assertWritable, findClockSkew } from '../../storage/operations/overview.ts'
import type { Logger } from '../log.ts'

export type DatabaseWatch = Awaited<ReturnType<typeof startDatabaseWatch>>

export interface DatabaseWatchOptions {
  database: Database
  clock: () => Date
  log: Logger
  isFrozen: boolean | undefined
}

/**
 * The difference between clocks above which the log and doctor warn. Leases of jobs last 10 s. If clocks differ by more
 * than half of that, servers take jobs that other servers still run.
 */
export const WARN_SKEW_SECONDS = 5

/**
 * The maximum difference between clocks. With a larger difference, a server would run jobs too early or take jobs of
 * other servers, and receivers would reject its signatures.
 */
const MAX_SKEW_SECONDS = 30

const INTERVAL_MS = 5_000
/** The interval of checks while the database rejects writes. Short, so that the server is soon ready again. */
const RECOVERY_INTERVAL_MS = 1_000

/** Writes to the database and compares the clocks, now and every 5 seconds. Resolves after the first check. */
export async function startDatabaseWatch(options: DatabaseWatchOptions) {
  const { database, clock, log, isFrozen } = options
  const { dialect } = database
  // Use connections with the time limit of requests. Otherwise, a lock or a broken connection could stop the watch.
  const connections = { dialect, ...database.forRequests(HEALTH_CHECK) }
  const stopped = new AbortController()
  let isWritable = true
  let skewSeconds: number | undefined
  let reported: 'agrees' | 'differs' | 'off' = 'agrees'

  async function write(): Promise<void> {
    const failure = await assertWritable(connections).then(
      () => undefined,
      (error: unknown) => error,
    )
    // If the database is busy, ignore the error: the database rejected this write, but accepts others.
    if (findUnavailability(failure) === 'busy') return
    if (isWritable && failure) log.error({ err: failure }, 'the database rejects writes')
    if (!isWritable && !failure) log.warn('the database accepts writes again')
    isWritable = !failure
  }

  async function compareClocks(): Promise<void> {
    // If the database does not respond, keep the last result.
    skewSeconds = await findClockSkew(connections, clock).catch(() => skewSeconds)
    const state = stateOf(skewSeconds)
    if (state === reported) return
    reported = state
    if (state === 'agrees') log.warn({ skewSeconds }, 'the clock agrees with that of PostgreSQL again')
    else if (state === 'differs')
      log.warn({ skewSeconds }, 'the clock differs from that of PostgreSQL: set the clock of this server by NTP')
    else log.error({ skewSeconds }, 'the clock is wrong: this server runs no jobs until it agrees with PostgreSQL')
  }

  const probe = async () => {
    if (!isFrozen) await write()
    await compareClocks()
  }

  async function loop(): Promise<void> {
    while (!stopped.signal.aborted) {
      const milliseconds = isWritable ? INTERVAL_MS : RECOVERY_INTERVAL_MS
      await sleep(milliseconds, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined)
      if (!stopped.signal.aborted) await probe()
    }
  }

  await probe()
  const running = loop()
  return {
    /** Checks the database now. A timer also does this every 5 seconds. */
    probe,
    /** Whether a row can be written and committed. Always true for a frozen server. */
    isWritable: () => isWritable,
    /** The seconds by which this server's clock is ahead of PostgreSQL's; undefined for SQLite. */
    clockSkewSeconds: () => skewSeconds,
    /** Whether the clocks differ by more than `MAX_SKEW_SECONDS`. This server then runs no jobs and signs no webhooks. */
    isClockOff: () => reported === 'off',
    async stop(): Promise<void> {
      stopped.abort()
      await running
    },
  }
}

function stateOf(skewSeconds = 0) {
  if (Math.abs(skewSeconds) > MAX_SKEW_SECONDS) return 'off'
  return Math.abs(skewSeconds) > WARN_SKEW_SECONDS ? 'differs' : 'agrees'
}
