import { randomUUID } from 'node:crypto'
import { type Logger as CronLogger, schedule } from 'node-cron'
import { QUARANTINE_REASON } from '../../core/rules/sending/retries.ts'
import type { JobServices, LongJobServices, Services } from '../context.ts'
import { extendChains } from '../evidence/extend-chains.ts'
import type { Logger } from '../log.ts'
import { movePhones, nudgeSilent } from '../wallet-sync/repeat-pushes.ts'
import { onDiscard } from './job-handlers.ts'
import { expirePasses, packFigures, sweep } from './maintenance.ts'

type SchedulerServices = JobServices &
  LongJobServices &
  Pick<Services, 'isClockOff' | 'retention' | 'signingKeys' | 'metrics'>

type Task = (services: SchedulerServices, own: Own) => Promise<void>

interface Own {
  lease: Lease
  /** The times at which broken chains were logged (see `Chaining`). */
  loggedAt: Map<string, Date>
}

/** The tasks of each schedule, in the order in which they run. Each task checks whether there is anything to do. */
const schedules = {
  'each-second': { cron: '* * * * * *', tasks: [releaseJobs, expirePasses, movePhones] },
  // Use a separate schedule, so that other tasks do not wait for minutes while a large existing ledger is chained.
  evidence: { cron: '* * * * * *', tasks: [chainEvidence] },
  'each-minute': { cron: '41 * * * * *', tasks: [nudgeSilent] },
  'each-hour': { cron: '0 17 * * * *', tasks: [sweep, packFigures] },
} as const satisfies Record<string, { cron: string; tasks: readonly Task[] }>

export type ScheduleName = keyof typeof schedules

/**
 * Runs the schedules in one process of a fleet, the process that holds the lease. If that process dies, another process
 * takes over within seconds. The lease is not a lock. If clocks disagree, two processes can hold the lease, so every
 * task must be safe to run on several servers concurrently. Do not schedule work that each process must do for itself,
 * such as renewing the leases of its jobs.
 */
export function startScheduler(services: SchedulerServices) {
  const { log } = services
  const lease = createLease(services, 'scheduler')
  const own = { lease, loggedAt: new Map<string, Date>() }
  const running = new Map<ScheduleName, Promise<void>>()

  async function tick(name: ScheduleName = 'each-second'): Promise<void> {
    for (const task of schedules[name].tasks) {
      // With a wrong clock, this process could expire passes early and take jobs of other servers.
      if (!services.isClockOff() && (await lease.hold())) await task(services, own)
    }
  }

  const crons = Object.entries(schedules).map(([key, { cron }]) => {
    const name = key as ScheduleName
    const run = () => {
      const ticking = tick(name).catch((error) => log.error({ err: error }, `the schedule ${name} failed`))
      running.set(name, ticking)
      return ticking
    }
    return schedule(cron, run, { noOverlap: true, name, logger: quietly(log) })
  })
  return {
    /** Runs a schedule now if this process holds the lease. */
    tick,
    /** Waits for running tasks, chains the last entries, and releases the lease, so that another process takes over. */
    async stop(): Promise<void> {
      for (const cron of crons) await cron.destroy()
      await Promise.all(running.values())
      await chainLast(services, own).catch((error) => log.warn({ err: error }, 'could not sign the latest entries'))
      await lease.release().catch((error) => log.warn({ err: error }, 'could not release the lease of the scheduler'))
    },
  }
}

/** Returns a logger for node-cron. Messages that are not errors, such as skipped runs, are logged at level debug. */
function quietly(log: Logger): CronLogger {
  return {
    debug: (message) => log.debug(String(message)),
    info: (message) => log.debug(message),
    warn: (message) => log.debug(message),
    error: (message) => log.error({ err: message }, 'node-cron failed'),
  }
}

type Lease = ReturnType<typeof createLease>

const LEASE_SECONDS = 5

/** Creates the lease that decides which process does the work `name` for the fleet. */
export function createLease({ store, clock }: Pick<Services, 'store' | 'clock'>, name: string) {
  const holder = randomUUID()
  let heldUntil: number | undefined

  /**
   * Whether the lease needs no renewal yet. False if the lease ends later than a new one would: the clock was set back.
   */
  function isSafe(now: number): boolean {
    const left = (heldUntil ?? now) - now
    return left > (LEASE_SECONDS * 1000) / 2 && left <= LEASE_SECONDS * 1000
  }

  return {
    /** Acquires the lease if it is free, and renews it in time. Returns whether this process holds it. */
    async hold(): Promise<boolean> {
      const at = clock()
      if (isSafe(at.getTime())) return true
      heldUntil = undefined
      if (!(await store.leases.isFree(name, holder, at, LEASE_SECONDS))) return false
      const isAcquired = await store.transaction((tx) => tx.leases.take(name, holder, at, LEASE_SECONDS))
      if (isAcquired) heldUntil = at.getTime() + LEASE_SECONDS * 1000
      return isAcquired
    },
    async release(): Promise<void> {
      heldUntil = undefined
      await store.transaction((tx) => tx.leases.release(name, holder))
    },
  }
}

function chainEvidence(services: SchedulerServices, { lease, loggedAt }: Own): Promise<void> {
  return extendChains({ ...services, loggedAt }, async () => !services.stopping.aborted && (await lease.hold()))
}

/** Chains the last entries before the process ends, for about LAST_CHAINING_MS. The next process chains the rest. */
function chainLast(services: SchedulerServices, { loggedAt }: Own): Promise<void> {
  const began = performance.now()
  return extendChains({ ...services, loggedAt }, () => performance.now() - began < LAST_CHAINING_MS)
}

const LAST_CHAINING_MS = 2_000

/**
 * Rescues jobs whose leases have ended, because their workers died or hang. Quarantines a job that was rescued too
 * often, and records its failure.
 */
export async function releaseJobs({ store, clock, log }: JobServices): Promise<void> {
  const at = clock()
  if (!(await store.jobs.hasLapsed(at))) return
  const jobs = await store.transaction(async (tx) => {
    const released = await tx.jobs.release(at)
    for (const job of released) if (job.isQuarantined) await onDiscard[job.kind]?.(tx, job, QUARANTINE_REASON, at)
    return released
  })
  for (const { isQuarantined, ...job } of jobs) if (isQuarantined) log.error(job, 'a job is quarantined')
}
