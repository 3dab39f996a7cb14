import { grouped } from '../../storage/db/grouped.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { Store } from '../../storage/store.ts'
import type { Services } from '../context.ts'

/** So often a sender looks whether the job still is its own; well within a lease. */
const LOOK_MS = 3_000

/** Senders of a workspace that look at the same moment do so in one transaction. */
const lookTogether = grouped((store: Store, take: () => Job[]) =>
  store.transaction(async (tx) => {
    const jobs = take()
    const held = new Set(await tx.jobs.lockHeld(jobs))
    const subjects = [...held].map(({ subject }) => subject)
    // A job that stays does what came meanwhile: else each event would leave one that every look at the queue passes over.
    if (subjects.length > 0) await tx.jobs.deleteWaiting('deliver-webhooks', ...subjects)
    return jobs.map((job) => held.has(job))
  }),
)

/** Of every sender of this process that is at work. */
const looks = new Set<() => void>()
let timer: NodeJS.Timeout | undefined

/**
 * Looks now and then whether a job still is ours, all senders of this process at the same moments: those of endpoints that
 * hang stay for long, and each would write by itself.
 * @param onLost another sender has the endpoint
 * @returns ends the looking
 */
export function lookWhetherHeld(job: Job, { store, log }: Pick<Services, 'store' | 'log'>, onLost: () => void) {
  const look = () => {
    lookTogether(store, job)
      .then((isHeld) => isHeld || onLost())
      .catch((error) => log.warn({ err: error, webhookId: job.subject }, 'could not look whether a sender goes on'))
  }
  looks.add(look)
  timer ??= setInterval(() => {
    for (const one of looks) one()
  }, LOOK_MS)
  return () => {
    looks.delete(look)
    if (looks.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
