import { setTimeout as sleep } from 'node:timers/promises'
import { SIGNATURE_HEADER, sign } from '../../core/rules/signature.ts'
import type { DueDelivery, MadeAttempt } from '../../storage/deliveries.ts'
import type { StoredWebhook } from '../../storage/webhooks.ts'
import type { Services } from '../context.ts'
import { createAttemptLedger } from './attempt-ledger.ts'
import type { Hold } from './webhook-hold.ts'

/** Requests in flight to one endpoint. */
const MAX_IN_FLIGHT = 8

/** An endpoint that fails gets one at a time until it answers: many dead ones must not use up what the living need. */
const MAX_IN_FLIGHT_FAILING = 1

/** Deliveries read at once. */
const PAGE = 100

/** Attempts that were made and are not written yet: what is sent again after a crash. */
const MAX_UNWRITTEN = 100

/** After so long others take their turn. */
const TURN_MS = 10_000

/** While requests are in flight, deliveries that came meanwhile are looked for so often. */
const POLL_MS = 500

/** Sends what is due for an endpoint until nothing is, its turn is over, the server stops, or the hold is lost. */
export async function sendDue(webhook: StoredWebhook, hold: Hold, services: Services): Promise<void> {
  const { store, clock, stopping } = services
  const underWay = new Set<string>()
  const flights = new Set<Promise<void>>()
  const turnEnd = performance.now() + TURN_MS
  let endpoint: StoredWebhook | undefined = webhook
  /** Nothing was waited for since the endpoint was read: it may be disabled, or moved, at any time. */
  let isFresh = false
  let queue: DueDelivery[] = []
  let failure: { error: unknown } | undefined
  const onFailure = (error: unknown) => {
    failure ??= { error }
  }
  const ledger = createAttemptLedger(webhook, hold, services, {
    onFailure,
    onWritten(current, attempts) {
      endpoint = current
      for (const { delivery } of attempts) underWay.delete(delivery.id)
    },
  })

  const mayGoOn = () =>
    !failure &&
    !stopping.aborted &&
    !hold.lost.aborted &&
    endpoint?.status === 'ENABLED' &&
    endpoint.generation === webhook.generation

  async function refresh(): Promise<void> {
    endpoint = await store.webhooks.find(webhook.workspaceId, webhook.id)
    isFresh = true
  }

  async function refill(): Promise<void> {
    await refresh()
    if (!mayGoOn()) return
    const options = { at: clock(), limit: PAGE, underWay: [...underWay] }
    queue = await store.deliveries.listDue(webhook.workspaceId, webhook, options)
    for (const { id } of queue) underWay.add(id)
  }

  function start(delivery: DueDelivery): void {
    const flight = attempt(endpoint!, delivery, hold, services)
      .then((made) => {
        if (!hold.lost.aborted) ledger.add(made)
      })
      .catch(onFailure)
      .finally(() => flights.delete(flight))
    flights.add(flight)
  }

  while (mayGoOn()) {
    if (queue.length === 0 && performance.now() < turnEnd) await refill()
    const limit = endpoint?.failingSince ? MAX_IN_FLIGHT_FAILING : MAX_IN_FLIGHT
    if (queue.length === 0 && flights.size === 0) break
    if (queue.length > 0 && flights.size < limit && ledger.size() < MAX_UNWRITTEN) {
      if (!isFresh) await refresh()
      else start(queue.shift()!)
      continue
    }
    isFresh = false
    if (queue.length === 0) await Promise.race([Promise.all(flights), sleep(POLL_MS)])
    else if (flights.size >= limit) await Promise.race(flights)
    else await ledger.settled()
  }
  await Promise.all(flights)
  await ledger.settled()
  if (failure) throw (failure as { error: unknown }).error
}

/** One request with a signature of its own. */
async function attempt(
  webhook: StoredWebhook,
  delivery: DueDelivery,
  hold: Hold,
  { outbound, webhookSecrets, clock }: Services,
): Promise<MadeAttempt> {
  const startedAt = clock()
  const began = performance.now()
  const secrets = webhookSecrets.living(webhook, startedAt)
  const outcome = await outbound.post(webhook.url, delivery.payload, {
    headers: { [SIGNATURE_HEADER]: sign(delivery.payload, secrets, startedAt) },
    signal: hold.lost,
  })
  const durationMs = Math.round(performance.now() - began)
  return { delivery, outcome, startedAt, at: clock(), durationMs, jitter: Math.random() }
}
