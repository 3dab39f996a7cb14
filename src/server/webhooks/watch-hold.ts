import { grouped } from '../../storage/db/grouped.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { Store } from '../../storage/store.ts'
import type { Services } from '../context.ts'

/** The interval of checks, which is much shorter than a lease. */
const CHECK_MS = 3_000

/** Checks the jobs of all senders of a workspace in one transaction. */
const findStates = grouped((store: Store, take: () => Job[]) =>
  store.transaction(async (tx) => {
    const jobs = take()
    const held = new Set(await tx.jobs.lockHeld(jobs))
    const subjects = [...held].map(({ subject }) => subject)
    // Delete the waiting jobs of these webhooks, because every poll of the queue would have to skip them. They are not
    // needed: the sender with the lease of a webhook's job also sends the newer deliveries of this webhook.
    if (subjects.length > 0) await tx.jobs.deleteWaiting('deliver-webhooks', ...subjects)
    return jobs.map((job) => held.has(job))
  }),
)

const watches = new Set<() => void>()
let timer: NodeJS.Timeout | undefined

/**
 * Checks periodically whether a job is still held. The senders of a workspace in this process share each check: with
 * separate checks, many hanging senders would cause many writes.
 * @param onLost called if another sender has the job
 * @returns a function that ends the checks
 */
export function watchHold(job: Job, { store, log }: Pick<Services, 'store' | 'log'>, onLost: () => void) {
  const check = () => {
    findStates(store, job)
      .then((isHeld) => isHeld || onLost())
      .catch((error) => log.warn({ err: error, webhookId: job.subject }, 'could not check the lease of a webhook job'))
  }
  watches.add(check)
  timer ??= setInterval(() => {
    for (const one of watches) one()
  }, CHECK_MS)
  return () => {
    watches.delete(check)
    if (watches.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
