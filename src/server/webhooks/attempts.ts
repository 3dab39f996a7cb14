import type { KeyObject } from 'node:crypto'
import { SIGNATURE_HEADER, sign } from '../../core/rules/crypto/signature.ts'
import { healthAfter } from '../../core/rules/sending/retries.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { Repositories } from '../../storage/store.ts'
import type { CompletedAttempt, DueDelivery } from '../../storage/webhooks/delivery-row.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks-repository.ts'
import type { JobServices, Services } from '../context.ts'
import type { Logger } from '../log.ts'

export type AttemptServices = JobServices & Pick<Services, 'outbound' | 'metrics'>

/** The maximum number of attempts per transaction. A full batch is written immediately. */
const MAX_BATCH = 400

/** The time for which successful attempts are buffered, so that one transaction writes many attempts. */
const LINGER_MS = 250

interface AttemptListener {
  /** Called with the current webhook, or with undefined if the job was lost and nothing was written. */
  onWritten(webhook: StoredWebhook | undefined, attempts: CompletedAttempt[]): void
  onFailure(error: unknown): void
}

/** Writes attempts in groups, one group at a time. Writes a failure immediately, because it can disable the webhook. */
export function createAttemptBuffer(
  { workspaceId, id }: StoredWebhook,
  job: Job,
  { store, clock, log }: JobServices,
  { onWritten, onFailure }: AttemptListener,
) {
  let unwritten: CompletedAttempt[] = []
  let writing: Promise<void> | undefined
  let lingering: NodeJS.Timeout | undefined
  let size = 0
  let isUrgent = false

  async function writeGroups(): Promise<void> {
    try {
      while (unwritten.length > 0 && (isUrgent || unwritten.length >= MAX_BATCH)) {
        const attempts = unwritten
        unwritten = []
        isUrgent = false
        const webhook = await write(attempts)
        size -= attempts.length
        onWritten(webhook, attempts)
      }
      if (unwritten.length > 0) linger()
    } catch (error) {
      onFailure(error)
    } finally {
      writing = undefined
    }
  }

  function write(attempts: CompletedAttempt[]): Promise<StoredWebhook | undefined> {
    return store.transaction(async (tx) => {
      // The lock also resets the job's number of expired leases: a sender that writes attempts did not crash the
      // process.
      if (!(await tx.jobs.lockForChunk(job))) return undefined
      return recordAttempts(tx, { workspaceId, id }, attempts, { at: clock(), log })
    })
  }

  function linger(): void {
    lingering ??= setTimeout(flush, LINGER_MS)
  }

  async function flush(): Promise<void> {
    clearTimeout(lingering)
    lingering = undefined
    isUrgent = true
    if (unwritten.length > 0) writing ??= writeGroups()
    await writing
  }

  return {
    add(attempt: CompletedAttempt): void {
      unwritten.push(attempt)
      size += 1
      if (attempt.outcome.error !== null) flush()
      else if (writing) return
      else if (unwritten.length >= MAX_BATCH) flush()
      else linger()
    },
    size: () => size,
    flush,
    /** Stops writing, and returns the unwritten attempts. */
    async close(): Promise<CompletedAttempt[]> {
      await writing
      clearTimeout(lingering)
      return unwritten
    },
  }
}

/**
 * Records attempts and the health of their webhook. Returns the changed webhook; undefined for a deleted webhook. The
 * caller must have the lease of the webhook's job.
 */
export async function recordAttempts(
  tx: Repositories,
  { workspaceId, id }: Pick<StoredWebhook, 'workspaceId' | 'id'>,
  attempts: CompletedAttempt[],
  { at, log }: { at: Date; log: Logger },
): Promise<StoredWebhook | undefined> {
  const current = await tx.webhooks.findForUpdate(workspaceId, id)
  if (!current || attempts.length === 0) return current
  await tx.deliveries.record(workspaceId, attempts, at)
  const noted = await noteHealth(tx, current, attempts, at)
  if (noted.status !== current.status) log.warn({ webhookId: id, reason: noted.disabledReason }, 'webhook disabled')
  return noted
}

export async function attempt(
  webhook: StoredWebhook,
  delivery: DueDelivery,
  keys: KeyObject[],
  services: AttemptServices,
): Promise<CompletedAttempt> {
  const { outbound, clock, metrics } = services
  const { id, payload, progress } = delivery
  const startedAt = clock()
  const began = performance.now()
  const signature = sign(payload, keys, startedAt)
  const outcome = await outbound.post(webhook.url, payload, { [SIGNATURE_HEADER]: signature })
  const milliseconds = performance.now() - began
  metrics.webhookSeconds.observe(milliseconds / 1000)
  const durationMs = Math.round(milliseconds)
  const made = { delivery: { id, progress }, outcome, startedAt, at: clock(), durationMs, jitter: Math.random() }
  logAttempt(webhook, payload, made, services)
  return made
}

/** Logs an attempt without the address of the webhook, which can contain a secret of the customer. */
function logAttempt(
  { id, workspaceId }: StoredWebhook,
  payload: string,
  made: CompletedAttempt,
  { log }: AttemptServices,
): void {
  const { delivery, outcome, durationMs } = made
  const level = outcome.error === null ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  const { correlationId, type } = JSON.parse(payload) as { correlationId: string | null; type: string }
  const facts = { correlationId, deliveryId: delivery.id, type, webhookId: id, workspaceId }
  log[level]({ ...facts, ...outcome, ms: durationMs }, 'webhook attempt')
}

/** The maximum number of deliveries that end in one transaction. A job ends the remaining ones. */
export const END_CHUNK = 1_000

/** Disables a webhook, and ends its waiting deliveries as FAILED. */
export async function disableWebhook(
  tx: Repositories,
  webhook: StoredWebhook,
  { reason, at, correlationId }: { reason: string; at: Date; correlationId: string | null },
): Promise<StoredWebhook> {
  const { workspaceId, id } = webhook
  const disabled = (await tx.webhooks.setDisabled(workspaceId, id, reason, at))!
  await endDeliveries(tx, disabled, { before: disabled.generation, at, correlationId })
  return disabled
}

/** Ends waiting deliveries with a generation below `before`: up to END_CHUNK now, and the remaining ones in a job. */
export async function endDeliveries(
  tx: Repositories,
  { workspaceId, id }: StoredWebhook,
  { before, at, correlationId }: { before: number; at: Date; correlationId: string | null },
): Promise<void> {
  await tx.deliveries.end(workspaceId, id, { before, at, limit: END_CHUNK })
  if (!(await tx.deliveries.hasStale(workspaceId, id, before))) return
  await tx.jobs.insert([{ workspaceId, kind: 'deliver-webhooks', subject: id, correlationId }], at)
}

/** Disables a webhook that responded with 410 (Gone) or has failed for too long. Returns the changed webhook. */
export async function noteHealth(
  tx: Repositories,
  webhook: StoredWebhook,
  attempts: CompletedAttempt[],
  at: Date,
): Promise<StoredWebhook> {
  const { failingSince, disabledReason } = healthAfter(webhook.failingSince, attempts)
  if (failingSince?.getTime() !== webhook.failingSince?.getTime()) {
    await tx.webhooks.setFailingSince(webhook.workspaceId, webhook.id, failingSince)
  }
  if (webhook.status === 'ENABLED' && disabledReason !== undefined) {
    return disableWebhook(tx, webhook, { reason: disabledReason, at, correlationId: null })
  }
  return { ...webhook, failingSince }
}
