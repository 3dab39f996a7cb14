import { randomUUID } from 'node:crypto'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { Repositories } from '../../storage/store.ts'
import type { Services } from '../context.ts'

/** So long a sender is the only one of its endpoint; renewed while it sends. */
const HOLD_SECONDS = 10

/** The right to send to an endpoint. One sender at a time has it, on all servers together. */
export interface Hold {
  sender: string
  /** Aborted when the hold was lost: another one sends from now on. */
  lost: AbortSignal
  /** When the hold ends that is taken or renewed now. */
  until(): Date
  /** No longer renews it. */
  stop(): void
  /** Gives it up where it still is ours: the next try must not wait for its own end. Never throws. */
  release(): Promise<void>
}

/** The hold of the endpoint that a job sends to, or undefined where another sender has it. */
export async function takeHold(job: Job, services: Services): Promise<Hold | undefined> {
  const { workspaceId, subject: id } = job
  const { store, clock, log } = services
  const sender = randomUUID()
  const until = () => new Date(clock().getTime() + HOLD_SECONDS * 1000)
  const times = { until: until(), at: clock() }
  if (!(await store.transaction((tx) => tx.webhooks.hold(workspaceId, id, sender, times)))) return undefined
  const lost = new AbortController()
  const renewal = setInterval(
    () =>
      store
        .transaction((tx) => renew(tx, job, sender, until()))
        .then((isStillOurs) => isStillOurs || lost.abort())
        .catch((error) => log.warn({ err: error, webhookId: id }, 'could not renew the hold of a webhook')),
    (HOLD_SECONDS * 1000) / 3,
  )
  return {
    sender,
    lost: lost.signal,
    until,
    stop: () => clearInterval(renewal),
    async release() {
      await store
        .transaction((tx) => tx.webhooks.releaseHold(workspaceId, id, sender))
        .catch((error) => log.warn({ err: error, webhookId: id }, 'could not release the hold of a webhook'))
    },
  }
}

/** False where it was lost. */
async function renew(tx: Repositories, job: Job, sender: string, until: Date): Promise<boolean> {
  const isJobOurs = (await tx.jobs.lockHeld([job])).length > 0
  if (!(await tx.webhooks.renewHold(job.workspaceId, job.subject, sender, until))) return false
  // A job that stays does what came meanwhile: else each event would leave one that every look at the lane passes over.
  if (isJobOurs) await tx.jobs.deleteWaiting(job.kind, job.subject)
  return true
}
