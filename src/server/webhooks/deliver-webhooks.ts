import type { Job } from '../../storage/jobs/jobs.ts'
import type { CompletedAttempt } from '../../storage/webhooks/webhook-attempts.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks.ts'
import type { Services } from '../context.ts'
import { workInChunks } from '../jobs/chunks.ts'
import { recordAttempts } from './attempt-buffer.ts'
import { sendDue } from './send-deliveries.ts'
import { END_CHUNK } from './webhook-health.ts'

/**
 * Sends whatever is due for an endpoint, then leaves one job for the time of its next attempt. Of its jobs one runs at a time,
 * on all servers together, so that its bound on requests in flight holds; whatever is written presents the claim.
 */
export async function deliverWebhooks(jobs: Job[], services: Services): Promise<void> {
  await Promise.all(jobs.map((job) => deliver(job, services)))
}

const MAX_GENERATION = 2 ** 31 - 1

/** So often a sender looks whether the job still is its own; well within a lease. */
const LOOK_MS = 3_000

async function deliver(job: Job, services: Services): Promise<void> {
  const { workspaceId, subject: webhookId } = job
  const { store } = services
  const webhook = await store.webhooks.findToSend(workspaceId, webhookId)
  // Of a webhook that is gone, every generation is old.
  const { generation, hasStale } = webhook ?? { generation: MAX_GENERATION, hasStale: true }
  if (hasStale && !(await endStale(job, generation, services))) return
  if (webhook?.status !== 'ENABLED') {
    await store.statement((tx) => tx.jobs.complete([job]))
    return
  }
  const lost = new AbortController()
  const looking = setInterval(() => {
    goOn(job, services)
      .then((isStillOurs) => isStillOurs || lost.abort())
      .catch((error) => services.log.warn({ err: error, webhookId }, 'could not look whether a sender goes on'))
  }, LOOK_MS)
  try {
    const unwritten = await sendDue(webhook, { job, lost: lost.signal }, services)
    await finish(job, webhook, unwritten, services)
  } finally {
    clearInterval(looking)
  }
}

/** False where the job is no longer ours: another sender has the endpoint. */
function goOn(job: Job, { store }: Services): Promise<boolean> {
  return store.transaction(async (tx) => {
    if ((await tx.jobs.lockHeld([job])).length === 0) return false
    // A job that stays does what came meanwhile: else each event would leave one that every look at the queue passes over.
    await tx.jobs.deleteWaiting(job.kind, job.subject)
    return true
  })
}

/** What waited when the endpoint was disabled or deleted. False where the job is no longer ours. */
function endStale(job: Job, before: number, services: Services): Promise<boolean> {
  const { workspaceId, subject: webhookId } = job
  const { clock } = services
  const size = { first: END_CHUNK, most: END_CHUNK }
  return workInChunks(job, services, size, async (tx, limit) => {
    await tx.deliveries.end(workspaceId, webhookId, { before, at: clock(), limit })
    return !(await tx.deliveries.hasStale(workspaceId, webhookId, before))
  })
}

/** Writes what is not written yet, and leaves a job for what is to come. */
async function finish(
  job: Job,
  sentTo: StoredWebhook,
  unwritten: CompletedAttempt[],
  services: Services,
): Promise<void> {
  const { store, clock, log } = services
  const { workspaceId, kind, subject } = job
  await store.transaction(async (tx) => {
    const at = clock()
    // Whoever has it now does the rest.
    if ((await tx.jobs.complete([job])).length === 0) return
    const webhook = await recordAttempts(tx, sentTo, unwritten, { at, log })
    // First the jobs that wait, then what is due: a delivery that comes in between has a job that stays.
    await tx.jobs.deleteWaiting(kind, subject)
    const isChanged = webhook?.generation !== sentTo.generation
    const next = isChanged ? at : await tx.deliveries.findNextDue(workspaceId, sentTo)
    if (!next) return
    // What is still due had its turn: it goes behind the endpoints that wait for theirs.
    const runAt = next > at ? next : at
    await tx.jobs.insert([{ workspaceId, kind, subject, correlationId: null, runAt }], at)
  })
}
