import type { Attempt, Delivery, DeliveryDetail } from '../../core/contract/deliveries.ts'
import type { Webhook } from '../../core/contract/webhooks.ts'
import { type Column, details, table } from '../command/output.ts'

/** How webhooks and their deliveries look to people. */

/** With the secret right after it was made, and only then. */
export function showWebhook(webhook: Webhook & { secret?: string }): string {
  return details([
    ['Webhook', webhook.id],
    ['Address', webhook.url],
    ['Events', webhook.events.join(' ')],
    ['Description', webhook.description || null],
    ['Status', webhook.status],
    ['Reason', webhook.disabledReason],
    ['Created', webhook.createdAt],
    ['Updated', webhook.updatedAt],
    ['Secret', webhook.secret ?? null],
  ])
}

export const webhookColumns: readonly Column<Webhook>[] = [
  { title: 'id', value: (webhook) => webhook.id, whole: true },
  { title: 'status', value: (webhook) => webhook.status },
  { title: 'address', value: (webhook) => webhook.url },
  { title: 'events', value: (webhook) => webhook.events.join(' ') },
  { title: 'note', value: (webhook) => webhook.disabledReason ?? webhook.description },
]

export const deliveryColumns: readonly Column<Delivery>[] = [
  { title: 'id', value: (delivery) => delivery.id, whole: true },
  { title: 'event', value: (delivery) => delivery.eventType },
  { title: 'status', value: (delivery) => delivery.status },
  { title: 'attempts', value: (delivery) => delivery.attemptCount },
  { title: 'last', value: ({ lastError, lastResponseCode }) => lastError ?? lastResponseCode },
  { title: 'next attempt', value: (delivery) => delivery.nextAttemptAt },
  { title: 'created', value: (delivery) => delivery.createdAt },
  { title: 'webhook', value: (delivery) => delivery.webhookId, whole: true },
]

const attemptColumns: readonly Column<Attempt>[] = [
  { title: 'attempt at', value: (attempt) => attempt.at },
  { title: 'took', value: (attempt) => `${attempt.durationMs} ms` },
  { title: 'answer', value: (attempt) => attempt.responseCode ?? 'none' },
  { title: 'error', value: (attempt) => attempt.error },
]

/** A delivery with its attempts, and where asked for what was sent. */
export function showDelivery(delivery: DeliveryDetail, options: { withPayload: boolean }): string {
  const facts = details([
    ['Delivery', delivery.id],
    ['Webhook', delivery.webhookId],
    ['Event', delivery.eventType],
    ['Status', delivery.status],
    ['Created', delivery.createdAt],
    ['Correlation', delivery.payload.correlationId],
    ['Next attempt', delivery.nextAttemptAt],
  ])
  const attempts = delivery.attempts.length > 0 ? table(delivery.attempts, attemptColumns) : 'No attempt yet.'
  const payload = options.withPayload ? [JSON.stringify(delivery.payload, undefined, 2)] : []
  return [facts, attempts, ...payload].join('\n\n')
}
