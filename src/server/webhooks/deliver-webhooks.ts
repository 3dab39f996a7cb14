import type { Job } from '../../storage/jobs/jobs.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks.ts'
import type { Services } from '../context.ts'
import { workInChunks } from '../jobs/chunks.ts'
import { sendDue } from './send-deliveries.ts'
import { END_CHUNK } from './webhook-health.ts'
import { type Hold, takeHold } from './webhook-hold.ts'

/**
 * Sends whatever is due for an endpoint, then leaves one job for the time of its next attempt. One job at a time sends to an
 * endpoint, on all servers together, so that its bound on requests in flight holds.
 */
export async function deliverWebhooks(jobs: Job[], services: Services): Promise<void> {
  await Promise.all(jobs.map((job) => deliver(job, services)))
}

const MAX_GENERATION = 2 ** 31 - 1

async function deliver(job: Job, services: Services): Promise<void> {
  const { workspaceId, subject: webhookId } = job
  const { store } = services
  const webhook = await store.webhooks.find(workspaceId, webhookId)
  // Of a webhook that is gone, every generation is old.
  if (!(await endStale(job, webhook?.generation ?? MAX_GENERATION, services))) return
  if (webhook?.status !== 'ENABLED') {
    await store.transaction((tx) => tx.jobs.complete([job]))
    return
  }
  const hold = await takeHold(job, services)
  if (!hold) return waitForOther(job, services)
  try {
    await sendDue(webhook, hold, services)
    await finish(job, webhook, hold, services)
  } catch (error) {
    await hold.release()
    throw error
  } finally {
    hold.stop()
  }
}

/** What waited when the endpoint was disabled or deleted. False where the job is no longer ours. */
async function endStale(job: Job, before: number, services: Services): Promise<boolean> {
  const { workspaceId, subject: webhookId } = job
  const { store, clock } = services
  if (!(await store.deliveries.hasStale(workspaceId, webhookId, before))) return true
  return workInChunks(job, services, async (tx) => {
    await tx.deliveries.end(workspaceId, webhookId, { before, at: clock(), limit: END_CHUNK })
    return !(await tx.deliveries.hasStale(workspaceId, webhookId, before))
  })
}

/** Another server sends to the endpoint, or did when it died. */
async function waitForOther(job: Job, { store, clock }: Services): Promise<void> {
  const { workspaceId, kind, subject, correlationId } = job
  await store.transaction(async (tx) => {
    await tx.jobs.complete([job])
    const runAt = (await tx.webhooks.findHoldEnd(workspaceId, subject)) ?? clock()
    await tx.jobs.deleteWaiting(kind, subject)
    await tx.jobs.insert([{ workspaceId, kind, subject, correlationId, runAt }], clock())
  })
}

async function finish(job: Job, sentTo: StoredWebhook, hold: Hold, { store, clock }: Services): Promise<void> {
  const { workspaceId, kind, subject } = job
  await store.transaction(async (tx) => {
    const at = clock()
    await tx.jobs.complete([job])
    // Whoever holds it now does the rest.
    if (hold.lost.aborted || !(await tx.webhooks.releaseHold(workspaceId, subject, hold.sender))) return
    // First the jobs that wait, then what is due: a delivery that comes in between has a job that stays.
    await tx.jobs.deleteWaiting(kind, subject)
    const webhook = await tx.webhooks.find(workspaceId, subject)
    const isChanged = webhook?.generation !== sentTo.generation
    const next = isChanged ? at : await tx.deliveries.findNextDue(workspaceId, sentTo)
    if (!next) return
    // What is still due had its turn: it goes behind the endpoints that wait for theirs.
    const runAt = next > at ? next : at
    await tx.jobs.insert([{ workspaceId, kind, subject, correlationId: null, runAt }], at)
  })
}
