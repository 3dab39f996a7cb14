import type { KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { SIGNATURE_HEADER, sign } from '../../core/rules/crypto/signature.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { CompletedAttempt, DueDelivery } from '../../storage/webhooks/webhook-attempts.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks.ts'
import type { Services } from '../context.ts'
import { createAttemptBuffer } from './attempt-buffer.ts'

/** Requests in flight to one endpoint. */
const MAX_IN_FLIGHT = 8

/** An endpoint that fails gets one at a time until it answers: many dead ones must not use up what the living need. */
const MAX_IN_FLIGHT_FAILING = 1

/** Deliveries read at once. With fewer left than this, the next are read while these are sent. */
const PAGE = 400

/** Attempts that were made and are not written yet: what is sent again after a crash. */
const MAX_UNWRITTEN = 800

/** An endpoint may be disabled or moved at any time: before a send it is looked at again when it was last seen so long ago. */
const FRESH_MS = 50

/** After so long nothing more is begun, and others take their turn. */
const TURN_MS = 10_000

/** While requests are in flight, deliveries that came meanwhile are looked for so often. */
const POLL_MS = 500

/** The job that sends to an endpoint. */
export interface Sender {
  job: Job
  /** Aborted once the job is no longer ours. */
  lost: AbortSignal
}

/**
 * Sends what is due for an endpoint until nothing is, its turn is over, the server stops, or the job is lost; returns the
 * attempts that are not written yet.
 */
export async function sendDue(
  webhook: StoredWebhook,
  { job, lost }: Sender,
  services: Services,
): Promise<CompletedAttempt[]> {
  const { store, webhookSecrets, clock, stopping } = services
  const underWay = new Set<string>()
  const inFlight = new Set<Promise<void>>()
  const queue: DueDelivery[] = []
  const turnEnd = performance.now() + TURN_MS
  let endpoint: StoredWebhook | undefined
  let keys: KeyObject[] = []
  let seenAt = 0
  let reading: Promise<void> | undefined
  let mayBeMore = true
  let onChange: (() => void) | undefined
  let failure: { error: unknown } | undefined
  const onFailure = (error: unknown) => {
    failure ??= { error }
  }
  const buffer = createAttemptBuffer(webhook, job, services, {
    onFailure,
    onWritten(current, attempts) {
      see(current)
      for (const { delivery } of attempts) underWay.delete(delivery.id)
      onChange?.()
    },
  })

  const mayGoOn = () =>
    !failure &&
    !stopping.aborted &&
    !lost.aborted &&
    endpoint?.status === 'ENABLED' &&
    endpoint.generation === webhook.generation

  function see(current: StoredWebhook | undefined): void {
    // What is expensive about secrets is to open them.
    if (current && current.secret !== endpoint?.secret) keys = webhookSecrets.livingKeys(current, clock())
    if (current?.erasures !== endpoint?.erasures) for (const { id } of queue.splice(0)) underWay.delete(id)
    endpoint = current
    seenAt = performance.now()
  }

  async function read(): Promise<void> {
    const options = { at: clock(), limit: PAGE, underWay: [...underWay] }
    const due = await store.deliveries.listDue(webhook.workspaceId, webhook, options)
    for (const { id } of due) underWay.add(id)
    queue.push(...due)
    // Few that were read are all there is for now.
    mayBeMore = due.length > MAX_IN_FLIGHT
  }

  async function send(delivery: DueDelivery): Promise<void> {
    try {
      const made = await attempt(endpoint!, delivery, keys, services)
      if (!lost.aborted) buffer.add(made)
    } catch (error) {
      onFailure(error)
    }
  }

  function start(delivery: DueDelivery): void {
    const sending = send(delivery).then(() => {
      inFlight.delete(sending)
      onChange?.()
    })
    inFlight.add(sending)
  }

  /** Until a request has ended, or attempts are written. */
  const change = () =>
    new Promise<void>((resolve) => {
      onChange = resolve
    })

  see(webhook)
  while (mayGoOn()) {
    const now = performance.now()
    if (now >= turnEnd) break
    if (queue.length < PAGE && mayBeMore) {
      reading ??= read()
        .catch(onFailure)
        .finally(() => {
          reading = undefined
        })
    }
    if (queue.length === 0) {
      await reading
      if (queue.length > 0) continue
      if (inFlight.size === 0) break
      await Promise.race([Promise.all(inFlight), sleep(POLL_MS)])
      mayBeMore = true
      continue
    }
    const limit = endpoint?.failingSince ? MAX_IN_FLIGHT_FAILING : MAX_IN_FLIGHT
    if (inFlight.size >= limit || buffer.size() >= MAX_UNWRITTEN) await change()
    else if (now - seenAt < FRESH_MS) start(queue.shift()!)
    else see(await store.webhooks.find(webhook.workspaceId, webhook.id))
  }
  await Promise.all([...inFlight, reading])
  const unwritten = await buffer.close()
  if (!failure) return unwritten
  await buffer.flush()
  throw (failure as { error: unknown }).error
}

/** One request with a signature of its own. */
async function attempt(
  webhook: StoredWebhook,
  delivery: DueDelivery,
  keys: KeyObject[],
  services: Services,
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
  { log }: Services,
): void {
  const { delivery, outcome, durationMs } = made
  const level = outcome.error === null ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  const { correlationId, type } = JSON.parse(payload) as { correlationId: string | null; type: string }
  const facts = { correlationId, deliveryId: delivery.id, type, webhookId: id, workspaceId }
  log[level]({ ...facts, ...outcome, ms: durationMs }, 'webhook attempt')
}
