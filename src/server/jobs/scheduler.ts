import { type Logger as CronLogger, schedule } from 'node-cron'
import type { Logger } from '../boot/log.ts'
import type { Services } from '../context.ts'
import { createLease } from './lease.ts'
import { expirePasses, sweep } from './maintenance.ts'
import { releaseJobs } from './release-jobs.ts'

type Task = (services: Services) => Promise<void>

/** What runs when, in this order; a task has its own look at whether there is anything to do. */
const schedules = {
  'each-second': { cron: '* * * * * *', tasks: [releaseJobs, expirePasses] },
  'each-hour': { cron: '0 17 * * * *', tasks: [sweep] },
} as const satisfies Record<string, { cron: string; tasks: readonly Task[] }>

export type ScheduleName = keyof typeof schedules

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
export function startScheduler(services: Services): Scheduler {
  const { log } = services
  const lease = createLease(services, 'scheduler')
  const running = new Map<ScheduleName, Promise<void>>()

  async function tick(name: ScheduleName = 'each-second'): Promise<void> {
    for (const task of schedules[name].tasks) if (await lease.hold()) await task(services)
  }

  const crons = Object.entries(schedules).map(([key, { cron }]) => {
    const name = key as ScheduleName
    const run = () => {
      const ticking = tick(name).catch((error) =>
        log.error({ err: error, schedule: name }, 'the scheduler could not reach the database'),
      )
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
      await lease.release().catch((error) => log.warn({ err: error }, 'could not give up the lease of the scheduler'))
    },
  }
}

/** On its own node-cron prints to the console; that a run is left out because the one before is still busy is no news. */
function quietly(log: Logger): CronLogger {
  return {
    debug: (message) => log.debug(String(message)),
    info: (message) => log.debug(message),
    warn: (message) => log.debug(message),
    error: (message) => log.error({ err: message }, 'node-cron failed'),
  }
}
