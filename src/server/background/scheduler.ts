import { randomUUID } from 'node:crypto'
import { type Logger as CronLogger, schedule } from 'node-cron'
import { QUARANTINE_REASON } from '../../core/rules/sending/retries.ts'
import type { JobServices, LongJobServices, Services } from '../context.ts'
import { extendChains } from '../evidence/extend-chains.ts'
import type { Logger } from '../log.ts'
import { movePhones } from '../wallet-sync/move-phones.ts'
import { nudgeSilent } from '../wallet-sync/nudge-silent.ts'
import { giveUp } from './job-handlers.ts'
import { expirePasses, packFigures, sweep } from './maintenance.ts'

type SchedulerServices = JobServices &
  LongJobServices &
  Pick<Services, 'isClockOff' | 'retention' | 'signingKeys' | 'metrics'>

type Task = (services: SchedulerServices, own: Own) => Promise<void>

/** What tasks keep from one run to the next. */
interface Own {
  lease: Lease
  /** As of chaining. */
  toldAt: Map<string, Date>
}

/** What runs when, in this order; a task has its own look at whether there is anything to do. */
const schedules = {
  'each-second': { cron: '* * * * * *', tasks: [releaseJobs, expirePasses, movePhones] },
  // On its own: a long ledger of before may take it minutes.
  evidence: { cron: '* * * * * *', tasks: [chainEvidence] },
  'each-minute': { cron: '41 * * * * *', tasks: [nudgeSilent] },
  'each-hour': { cron: '0 17 * * * *', tasks: [sweep, packFigures] },
} as const satisfies Record<string, { cron: string; tasks: readonly Task[] }>

/** How often the tasks of a schedule run. */
export type ScheduleName = keyof typeof schedules

/** The schedules of a process; they run where it holds the lease. */
export interface Scheduler {
  /** Runs a schedule now, that of each second by default, where the lease is this process's; node-cron does it in time. */
  tick(name?: ScheduleName): Promise<void>
  /** Finishes what runs, and lets another process take over at once. */
  stop(): Promise<void>
}

/**
 * Runs the schedules once in a fleet: of the processes that have a scheduler one holds the lease, and another takes over
 * within seconds when it dies. The lease saves work and is no lock: two that believe to hold it, because their clocks
 * disagree, do the same work twice at no harm, so every task must be safe to run on several servers at once. What each
 * process has to do for itself (renewing its own claims, say) is no schedule.
 */
export function startScheduler(services: SchedulerServices): Scheduler {
  const { log } = services
  const lease = createLease(services, 'scheduler')
  const own = { lease, toldAt: new Map<string, Date>() }
  const running = new Map<ScheduleName, Promise<void>>()

  async function tick(name: ScheduleName = 'each-second'): Promise<void> {
    for (const task of schedules[name].tasks) {
      // By a wrong clock it would expire passes early and take jobs from the servers that run them.
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
    tick,
    async stop() {
      for (const cron of crons) await cron.destroy()
      await Promise.all(running.values())
      await chainLast(services, own).catch((error) => log.warn({ err: error }, 'could not sign what was written last'))
      await lease.release().catch((error) => log.warn({ err: error }, 'could not give up the lease of the scheduler'))
    },
  }
}

/** On its own node-cron prints to the console; that a run is left out because the one before is still busy needs no line. */
function quietly(log: Logger): CronLogger {
  return {
    debug: (message) => log.debug(String(message)),
    info: (message) => log.debug(message),
    warn: (message) => log.debug(message),
    error: (message) => log.error({ err: message }, 'node-cron failed'),
  }
}

/** Something that one process of the fleet does for all of them. */
export interface Lease {
  /** Takes the lease where it is free and renews it in time; true while it is this process's. */
  hold(): Promise<boolean>
  /** Lets another take it at once. */
  release(): Promise<void>
}

/** So long the others wait for a holder that died. */
const LEASE_SECONDS = 5

/** A lease that one server of the fleet holds at a time: see Lease. */
export function createLease({ store, clock }: Pick<Services, 'store' | 'clock'>, name: string): Lease {
  const holder = randomUUID()
  let heldUntil: number | undefined

  /** Nobody else takes it meanwhile, so that nothing need be read. A clock that was set does not count. */
  function isSafe(now: number): boolean {
    const left = (heldUntil ?? now) - now
    return left > (LEASE_SECONDS * 1000) / 2 && left <= LEASE_SECONDS * 1000
  }

  return {
    async hold() {
      const at = clock()
      if (isSafe(at.getTime())) return true
      heldUntil = undefined
      if (!(await store.leases.isFree(name, holder, at, LEASE_SECONDS))) return false
      const isTaken = await store.transaction((tx) => tx.leases.take(name, holder, at, LEASE_SECONDS))
      if (isTaken) heldUntil = at.getTime() + LEASE_SECONDS * 1000
      return isTaken
    },
    async release() {
      heldUntil = undefined
      await store.transaction((tx) => tx.leases.release(name, holder))
    },
  }
}

function chainEvidence(services: SchedulerServices, { lease, toldAt }: Own): Promise<void> {
  return extendChains({ ...services, toldAt }, async () => !services.stopping.aborted && (await lease.hold()))
}

/** What was written last is signed before the process ends; a long ledger of before waits for the next one. */
function chainLast(services: SchedulerServices, { toldAt }: Own): Promise<void> {
  const began = performance.now()
  return extendChains({ ...services, toldAt }, () => performance.now() - began < LAST_CHAINING_MS)
}

const LAST_CHAINING_MS = 2_000

/**
 * Takes jobs from workers that died or hang: they are due again. One that was taken too often is quarantined, and what it was
 * to care for has failed.
 */
export async function releaseJobs({ store, clock, log }: JobServices): Promise<void> {
  const at = clock()
  if (!(await store.jobs.hasLapsed(at))) return
  const jobs = await store.transaction(async (tx) => {
    const released = await tx.jobs.release(at)
    for (const job of released) if (job.isQuarantined) await giveUp[job.kind]?.(tx, job, QUARANTINE_REASON, at)
    return released
  })
  for (const { isQuarantined, ...job } of jobs) if (isQuarantined) log.error(job, 'a job is quarantined')
}
