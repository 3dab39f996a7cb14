import { z } from 'zod'
import { eventTypes, subscribableEvents } from '../../events.ts'
import { Uuid } from '../../ids.ts'
import { Count, pageOf, route, UtcTimestamp } from '../schemas/common.ts'
import { filter, listQuery, param } from '../schemas/list-parameters.ts'

/** The type of an event. */
export const DeliveryEventType = z.enum(eventTypes)
export type DeliveryEventType = z.output<typeof DeliveryEventType>

/** The events that an endpoint can subscribe to: all except webhook.test. */
export const SubscribableEvent = z.enum(subscribableEvents)
export type SubscribableEvent = z.output<typeof SubscribableEvent>

/** The status of a delivery: PENDING while an attempt is due or scheduled, and then the result. */
export const DeliveryStatus = z.enum(['PENDING', 'SUCCESS', 'FAILED'])
export type DeliveryStatus = z.output<typeof DeliveryStatus>

/** The delivery of an event to the endpoint of a webhook. */
export const Delivery = z.strictObject({
  /** The ID of the delivery, which is also the `id` in the body that the endpoint receives. */
  id: Uuid,
  webhookId: Uuid,
  eventType: DeliveryEventType,
  status: DeliveryStatus,
  attemptCount: Count,
  /** The HTTP status of the response to the last attempt, or `null` without a response. */
  lastResponseCode: z.int().nullable(),
  /** The error of the last attempt, or `null` if the attempt succeeded. */
  lastError: z.string().nullable(),
  nextAttemptAt: UtcTimestamp.nullable(),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Delivery = z.output<typeof Delivery>

/** The body of a delivery. `JSON.stringify` of this body returns the exact bytes that were sent. */
export const Envelope = z.strictObject({
  id: Uuid,
  type: DeliveryEventType,
  timestamp: UtcTimestamp,
  correlationId: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
})
export type Envelope = z.output<typeof Envelope>

/** An attempt of a delivery: a request to the endpoint, and its response. */
export const Attempt = z.strictObject({
  at: UtcTimestamp,
  durationMs: Count,
  responseCode: z.int().nullable(),
  error: z.string().nullable(),
})
export type Attempt = z.output<typeof Attempt>

/** A delivery, with its attempts and its body. */
export const DeliveryDetail = z.strictObject({
  ...Delivery.shape,
  /** The attempts of the delivery, oldest first. */
  attempts: z.array(Attempt),
  payload: Envelope,
})
export type DeliveryDetail = z.output<typeof DeliveryDetail>

/** The filters of GET /v1/webhooks/deliveries. */
export const DeliveryListFilters = {
  eventType: filter(DeliveryEventType, 'Matches deliveries of this event.', 'pass.scanned'),
  status: filter(DeliveryStatus, 'Matches deliveries with this status.', 'FAILED'),
  lastAttempt: filter(
    z.literal('failed'),
    'Matches deliveries whose last attempt failed: deliveries that wait for a retry, and FAILED deliveries.',
    'failed',
  ),
}

/** Routes of webhook deliveries. */
export const deliveries = {
  list: route('GET', '/v1/webhooks/deliveries', {
    scope: 'webhooks:read',
    summary: 'List deliveries to all webhooks',
    query: listQuery(['createdAt'], {
      webhookId: filter(Uuid, 'Matches deliveries to this webhook.', '01985f0c-7a10-7000-8000-000000000006'),
      ...DeliveryListFilters,
    }),
    responses: { 200: pageOf(Delivery) },
  }),
  get: route('GET', '/v1/webhooks/deliveries/{id}', {
    scope: 'webhooks:read',
    summary: 'Read a delivery with its attempts and payload',
    responses: { 200: DeliveryDetail },
  }),
  redeliver: route('POST', '/v1/webhooks/deliveries/{id}/redeliver', {
    scope: 'webhooks:write',
    summary: 'Send a delivery again',
    description:
      'Makes a new attempt with the same delivery ID and a new signature, regardless of the status of the ' +
      'delivery. If the webhook is disabled or deleted, nothing is sent, and the response is 409.',
    responses: { 202: Delivery },
    errors: ['CONFLICT'],
  }),
}

/** An event in the event stream. Its `id` is the ID of the event, not of a delivery. */
export const FollowedEvent = z.strictObject({ ...Envelope.shape, type: SubscribableEvent })
export type FollowedEvent = z.output<typeof FollowedEvent>

/** Routes of the event stream. */
export const events = {
  follow: route('GET', '/v1/events', {
    scope: 'webhooks:read',
    summary: 'Follow events as they happen',
    description:
      'Streams all events of the workspace as server-sent events, regardless of webhooks. `id:` is the ID of an ' +
      'event, and `data:` is its envelope. Each event is sent once, in the same order to all clients. The first ' +
      'message has an ID, from which the client can resume, and no data. To resume after an event, send its ID as ' +
      '`Last-Event-ID`; the nil UUID starts with the oldest stored event. If events after the ID are no longer ' +
      'stored, the response is 409, and details.oldest is the ID of the oldest stored event, or null. The server ' +
      'sends a comment every 15 seconds. The stream ends if the token becomes invalid, if the client stops reading, ' +
      'or if the server stops. After that, reconnect with the last ID. A workspace can have 10 streams per server.',
    eventStream: true,
    query: z.strictObject({
      type: filter(SubscribableEvent, 'Selects events of this type. Default: all events.', 'pass.scanned'),
    }),
    headers: z.object({
      'last-event-id': param(
        Uuid,
        'The ID of the last event that the client received. The stream starts after this event. Default: the stream starts now.',
        '01985f0c-7a10-7000-8000-000000000012',
      ),
    }),
    responses: { 200: FollowedEvent },
    errors: ['CONFLICT'],
  }),
}
