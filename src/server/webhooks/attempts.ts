import type { KeyObject } from 'node:crypto'
import { SIGNATURE_HEADER, sign } from '../../core/rules/crypto/signature.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { Repositories } from '../../storage/store.ts'
import type { CompletedAttempt, DueDelivery } from '../../storage/webhooks/delivery-row.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks.ts'
import type { JobServices, Services } from '../context.ts'
import type { Logger } from '../log.ts'
import { noteHealth } from './webhook-health.ts'

/** What attempts are made and written with. */
export type AttemptServices = JobServices & Pick<Services, 'outbound' | 'metrics'>

/** So many are written at once, without waiting for more. */
const MAX_BATCH = 400

/** So long attempts that succeeded wait for more of them: a transaction costs hardly more for many than for one. */
const LINGER_MS = 250

/** Attempts on their way into the database. */
export interface AttemptBuffer {
  add(attempt: CompletedAttempt): void
  /** Attempts that are not written yet. */
  size(): number
  /** Waits until all are written, or could not be. */
  flush(): Promise<void>
  /** Begins to write no more, and resolves to what is left to write. */
  close(): Promise<CompletedAttempt[]>
}

/** Told what became of the attempts that were handed over to be written. */
export interface AttemptListener {
  /** With the endpoint as it is now; undefined where the job is no longer ours, and nothing was written. */
  onWritten(webhook: StoredWebhook | undefined, attempts: CompletedAttempt[]): void
  onFailure(error: unknown): void
}

/**
 * Writes attempts in groups, one at a time. One that failed does not wait for more, since it may be why the endpoint is to be
 * spared.
 */
export function createAttemptBuffer(
  { workspaceId, id }: StoredWebhook,
  job: Job,
  { store, clock, log }: JobServices,
  { onWritten, onFailure }: AttemptListener,
): AttemptBuffer {
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
      // However often a crash cuts a sender off, one that gets this far is not what stops the process.
      if (!(await tx.jobs.lockForChunk(job))) return undefined
      return recordAttempts(tx, { workspaceId, id }, attempts, { at: clock(), log })
    })
  }

  function linger(): void {
    lingering ??= setTimeout(flush, LINGER_MS)
  }

  /** Writes what there is, after what is being written. */
  async function flush(): Promise<void> {
    clearTimeout(lingering)
    lingering = undefined
    isUrgent = true
    if (unwritten.length > 0) writing ??= writeGroups()
    await writing
  }

  return {
    add(attempt) {
      unwritten.push(attempt)
      size += 1
      if (attempt.outcome.error !== null) flush()
      else if (writing) return
      else if (unwritten.length >= MAX_BATCH) flush()
      else linger()
    },
    size: () => size,
    flush,
    async close() {
      await writing
      clearTimeout(lingering)
      return unwritten
    },
  }
}

/**
 * Writes attempts and how their endpoint fares, and returns it as it then is; undefined where it is gone. The caller holds the
 * job that sends to it.
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

/** One request of a delivery to its endpoint, with a signature of its own and a line in the log. */
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

/** Where it went is the customer's affair: an address may hold a secret. */
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
