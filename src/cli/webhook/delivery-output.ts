import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../client/client.ts'
import type { Attempt, Delivery, DeliveryDetail } from '../../core/contract/webhooks/deliveries.ts'
import type { Webhook } from '../../core/contract/webhooks/webhooks.ts'
import { CliError } from '../command/cli-error.ts'
import { type Column, details, localTime, localTimeOr, table } from '../command/output.ts'
import type { ListShape } from '../list/shape.ts'

/** `secret` is set only after the secret was created or rotated. */
export function showWebhook(webhook: Webhook & { secret?: string }): string {
  return details([
    ['Webhook', webhook.id],
    ['Address', webhook.url],
    ['Events', webhook.events.join(' ')],
    ['Description', webhook.description || null],
    ['Status', webhook.status],
    ['Reason', webhook.disabledReason],
    ['Created', localTime(webhook.createdAt)],
    ['Updated', localTime(webhook.updatedAt)],
    ['Secret', webhook.secret ?? null],
  ])
}

export const webhooksShape: ListShape<Webhook> = {
  columns: [
    { name: 'id', kind: 'id' },
    ['status'],
    { name: 'url', title: 'address' },
    { name: 'events', value: ({ events }) => events.join(' ') },
    { name: 'note', value: (webhook) => webhook.disabledReason ?? webhook.description },
    ['createdAt'],
  ],
  table: ['id', 'status', 'url', 'events', 'note'],
}

export const deliveriesShape: ListShape<Delivery> = {
  columns: [
    { name: 'id', whole: true },
    { name: 'eventType', title: 'event' },
    ['status'],
    { name: 'attemptCount', title: 'attempts' },
    { name: 'last', value: ({ lastError, lastResponseCode }) => lastError ?? lastResponseCode },
    ['nextAttemptAt', 'createdAt'],
    { name: 'webhookId', kind: 'id', title: 'webhook' },
  ],
}

const attemptColumns: readonly Column<Attempt>[] = [
  { title: 'attempt at', value: (attempt) => localTime(attempt.at) },
  { title: 'took', value: (attempt) => `${attempt.durationMs} ms` },
  { title: 'answer', value: (attempt) => attempt.responseCode ?? 'none' },
  { title: 'error', value: (attempt) => attempt.error },
]

export function showDelivery(delivery: DeliveryDetail, options: { withPayload: boolean }): string {
  const facts = details([
    ['Delivery', delivery.id],
    ['Webhook', delivery.webhookId],
    ['Event', delivery.eventType],
    ['Status', delivery.status],
    ['Created', localTime(delivery.createdAt)],
    ['Correlation', delivery.payload.correlationId],
    ['Next attempt', localTimeOr(delivery.nextAttemptAt, null)],
  ])
  const attempts = delivery.attempts.length > 0 ? table(delivery.attempts, attemptColumns) : 'No attempt yet.'
  const payload = options.withPayload ? [JSON.stringify(delivery.payload, undefined, 2)] : []
  return [facts, attempts, ...payload].join('\n\n')
}

/** The time to wait for an attempt: the server's timeout of 15 s, plus 5 s for a worker to become free. */
const TIMEOUT_MS = 20_000
const POLL_MS = 100

/**
 * Waits for the requested attempt and shows its result.
 * @param queued the delivery with its previous number of attempts
 * @throws CliError if no attempt occurs within 20 s, or if the endpoint rejects the delivery
 */
export async function reportAttempt(
  log: (text: string) => void,
  client: Client,
  queued: Delivery,
): Promise<DeliveryDetail> {
  const delivery = await awaitAttempt(client, queued)
  log(showDelivery(delivery, { withPayload: false }))
  requireSuccess(delivery)
  return delivery
}

async function awaitAttempt(client: Client, { id, attemptCount }: Delivery): Promise<DeliveryDetail> {
  const until = performance.now() + TIMEOUT_MS
  while (performance.now() < until) {
    const delivery = await client.deliveries.get({ params: { id } })
    // A delivery of a disabled webhook fails without an attempt. Without this check, the loop would time out.
    if (delivery.attemptCount > attemptCount || delivery.status === 'FAILED') return delivery
    await sleep(POLL_MS)
  }
  throw new CliError(`Delivery ${id} was not attempted within ${TIMEOUT_MS / 1000} s`, {
    code: 'NO_ATTEMPT',
    hint: `is a worker running? To see the result, run "passes webhook deliveries ${id}".`,
    details: { id },
  })
}

function requireSuccess({ status, lastResponseCode, lastError, ...delivery }: DeliveryDetail): void {
  if (status === 'SUCCESS') return
  const { payload: _, ...facts } = delivery
  const reason =
    lastResponseCode === null ? (lastError ?? 'no response') : `the endpoint responded with ${lastResponseCode}`
  throw new CliError(`The delivery failed: ${reason}`, {
    code: 'DELIVERY_FAILED',
    hint:
      lastResponseCode === 410
        ? 'its webhook is now disabled, because 410 means gone; when the endpoint is back, run ' +
          `"passes webhook enable ${delivery.webhookId}".`
        : `fix the endpoint; to send the delivery again, run "passes webhook redeliver ${delivery.id}".`,
    details: { ...facts, status, lastResponseCode, lastError },
  })
}
