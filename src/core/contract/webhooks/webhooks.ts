import { z } from 'zod'
import { eventTypes, subscribableEvents } from '../../events.ts'
import { Uuid } from '../../ids.ts'
import { pageOf, route, text, UtcTimestamp } from '../schemas/common.ts'
import { listQuery } from '../schemas/list-parameters.ts'
import { Delivery, DeliveryListFilters, SubscribableEvent } from './deliveries.ts'

/** The status of a webhook. A disabled webhook receives no events. */
export const WebhookStatus = z.enum(['ENABLED', 'DISABLED'])
export type WebhookStatus = z.output<typeof WebhookStatus>

/** A webhook: an endpoint that receives events. */
export const Webhook = z.strictObject({
  id: Uuid,
  url: z.string(),
  events: z.array(SubscribableEvent),
  description: z.string(),
  status: WebhookStatus,
  disabledReason: z.string().nullable(),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Webhook = z.output<typeof Webhook>

/** A webhook with its signing secret: the response when a webhook is created, or when its secret is rotated. */
export const WebhookWithSecret = z.strictObject({ ...Webhook.shape, secret: z.string() })
export type WebhookWithSecret = z.output<typeof WebhookWithSecret>

/** A webhook URL. Only its syntax is checked here: the server checks the address before each request. */
const url = text(1, 2048)
  .regex(/^https?:\/\/[^\s#]+$/, {
    error: 'Must be an absolute https address without a fragment',
    abort: true,
  })
  .refine(hasNoCredentials, 'Must be a valid address without credentials')
const events = z
  .array(SubscribableEvent)
  .min(1)
  .max(subscribableEvents.length)
  .transform((list) => [...new Set(list)])
const description = text(0, 255)

const read = { scope: 'webhooks:read', role: 'owner', errors: ['WEBHOOK_NOT_FOUND'] } as const
const write = { ...read, scope: 'webhooks:write' } as const

/** Routes of webhook endpoints. */
export const webhooks = {
  list: route('GET', '/v1/webhooks', {
    scope: 'webhooks:read',
    role: 'owner',
    summary: 'List webhooks',
    query: listQuery(['createdAt'], {}),
    responses: { 200: pageOf(Webhook) },
  }),
  create: route('POST', '/v1/webhooks', {
    ...write,
    summary: 'Create a webhook',
    description: 'Only this response contains the signing secret.',
    body: z.strictObject({
      url,
      events,
      description: description.default(''),
      unique: z
        .boolean()
        .default(false)
        .describe(
          'Whether to reject the request with 409 if the workspace has a webhook with this url. details.webhookId ' +
            'is the ID of the existing webhook.',
        ),
    }),
    responses: { 201: WebhookWithSecret },
    errors: ['CONFLICT'],
  }),
  get: route('GET', '/v1/webhooks/{id}', {
    ...read,
    summary: 'Read a webhook',
    responses: { 200: Webhook },
  }),
  update: route('PATCH', '/v1/webhooks/{id}', {
    ...write,
    summary: 'Update a webhook',
    description: 'Requires at least one field.',
    body: z.strictObject({ url: url.optional(), events: events.optional(), description: description.optional() }),
    responses: { 200: Webhook },
    errors: ['WEBHOOK_NOT_FOUND', 'MISSING_REQUIRED_FIELD'],
  }),
  delete: route('DELETE', '/v1/webhooks/{id}', {
    ...write,
    summary: 'Delete a webhook',
    description: 'The server sends no more events to the endpoint. You can still read the deliveries of the webhook.',
    responses: { 204: null },
  }),
  enable: route('POST', '/v1/webhooks/{id}/enable', {
    ...write,
    idempotent: true,
    summary: 'Enable a webhook',
    description: 'Events that occurred while the webhook was disabled are not sent.',
    responses: { 200: Webhook },
  }),
  disable: route('POST', '/v1/webhooks/{id}/disable', {
    ...write,
    idempotent: true,
    summary: 'Disable a webhook',
    description: 'Pending deliveries become FAILED.',
    responses: { 200: Webhook },
  }),
  test: route('POST', '/v1/webhooks/{id}/test', {
    ...write,
    summary: 'Send a test event',
    description:
      'Sends a webhook.test event to this endpoint only, regardless of its subscriptions. With `type`, sends an ' +
      'example of another event, with IDs that do not exist. To get the result, read the delivery in the response.',
    body: z.strictObject({ type: z.enum(eventTypes).default('webhook.test') }).default({ type: 'webhook.test' }),
    responses: { 202: Delivery },
    errors: ['WEBHOOK_NOT_FOUND', 'CONFLICT'],
  }),
  rotateSecret: route('POST', '/v1/webhooks/{id}/rotate-secret', {
    ...write,
    summary: 'Rotate the signing secret',
    description:
      'Only this response contains the new secret. For 24 hours after a rotation, deliveries are also signed with ' +
      'the previous secret. If ten previous secrets are still in use, the response is 429 with Retry-After.',
    responses: { 200: WebhookWithSecret },
    errors: ['WEBHOOK_NOT_FOUND', 'TOO_MANY_REQUESTS'],
  }),
  listDeliveries: route('GET', '/v1/webhooks/{id}/deliveries', {
    scope: 'webhooks:read',
    summary: 'List the deliveries of a webhook',
    query: listQuery(['createdAt'], DeliveryListFilters),
    responses: { 200: pageOf(Delivery) },
    errors: ['WEBHOOK_NOT_FOUND'],
  }),
}

function hasNoCredentials(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { username, password } = new URL(value)
  return username === '' && password === ''
}
