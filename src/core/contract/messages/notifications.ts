import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { Count, pageOf, route, Timestamp, text, UtcTimestamp } from '../schemas/common.ts'
import { translatable } from '../schemas/language-tags.ts'
import { pageQuery } from '../schemas/list-parameters.ts'
import { byPlatform, Platform } from '../schemas/platform.ts'

/** The state of a notification on a platform. SKIPPED: the platform has no wallet with the pass, or is not a target. */
export const DeliveryState = z.enum(['PENDING', 'SENT', 'FAILED', 'SKIPPED'])
export type DeliveryState = z.output<typeof DeliveryState>

/**
 * The status of a notification: SCHEDULED before sendAt, PENDING during the delivery, and then the result. PARTIAL: one
 * platform accepted the notification, and another failed. SKIPPED: no target platform had a wallet with the pass.
 */
export const NotificationStatus = z.enum(['SCHEDULED', 'PENDING', 'SENT', 'PARTIAL', 'FAILED', 'SKIPPED'])
export type NotificationStatus = z.output<typeof NotificationStatus>

/** Options of a notification for a single platform. */
export const MessageOptions = z.strictObject({
  google: z
    .strictObject({
      header: translatable(text(0, 255))
        .optional()
        .describe('The header above the text. If empty or omitted, the header is the name of the organization.'),
    })
    .optional(),
})
export type MessageOptions = z.output<typeof MessageOptions>

/** The delivery of a notification on one platform. */
export const PlatformDelivery = z.strictObject({ status: DeliveryState, error: z.string().optional() })
export type PlatformDelivery = z.output<typeof PlatformDelivery>

/** A message to one pass, and the state of the message on each platform. */
export const Notification = z.strictObject({
  id: Uuid,
  passId: Uuid,
  broadcastId: Uuid.optional().describe('Set if a broadcast created the notification.'),
  body: translatable(z.string()).describe('The text of the message, or a text for each language.'),
  options: MessageOptions,
  sendAt: UtcTimestamp.nullable(),
  status: NotificationStatus,
  ...byPlatform(() => PlatformDelivery),
  apple: PlatformDelivery.extend({ deviceCount: Count }),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Notification = z.output<typeof Notification>

/** The request body that creates a notification or a broadcast. */
export const MessageCreate = z.strictObject({
  body: translatable(text(1, 1000)).describe(
    'The text of the message, or a text for each language of the definition. The default language is required.',
  ),
  platforms: z
    .array(Platform)
    .min(1)
    .optional()
    .describe('The platforms to notify. Default: all configured platforms.'),
  sendAt: Timestamp.optional().describe(
    'The time to send the message. If omitted or not in the future, the message is sent immediately.',
  ),
  idempotencyKey: text(8, 100).optional(),
  options: MessageOptions.default({}),
})
export type MessageCreate = z.output<typeof MessageCreate>

/** Routes of notifications: messages to one pass. */
export const notifications = {
  create: route('POST', '/v1/passes/{id}/notifications', {
    scope: 'pass-notifications:write',
    summary: 'Send a notification to a pass, now or later',
    description:
      'The pass must be ISSUED. At most 3 notifications that target google can be due within 24 hours, including ' +
      'SKIPPED notifications. Beyond this limit, the response is 429, and Retry-After is the number of seconds ' +
      'by which sendAt must be later. If the body has a text for each language, holders see the text in their ' +
      'language, or else in the default language. If the idempotencyKey is already used, the response is 200 with the existing notification, ' +
      'regardless of the other fields.',
    body: MessageCreate,
    responses: { 200: Notification, 201: Notification },
    errors: ['PASS_NOT_FOUND', 'PASS_NOT_ISSUED', 'PASS_NOTIFICATION_RATE_LIMITED', 'CONFLICT'],
  }),
  list: route('GET', '/v1/passes/{id}/notifications', {
    scope: 'pass-notifications:read',
    summary: 'List the notifications of a pass, newest first',
    query: pageQuery({}),
    responses: { 200: pageOf(Notification) },
    errors: ['PASS_NOT_FOUND'],
  }),
  get: route('GET', '/v1/passes/{id}/notifications/{notificationId}', {
    scope: 'pass-notifications:read',
    summary: 'Read a notification with its delivery status',
    responses: { 200: Notification },
    errors: ['PASS_NOT_FOUND', 'PASS_NOTIFICATION_NOT_FOUND'],
  }),
  cancel: route('DELETE', '/v1/passes/{id}/notifications/{notificationId}', {
    scope: 'pass-notifications:write',
    summary: 'Cancel a scheduled notification',
    description: 'Deletes the notification. Its idempotencyKey can be used again.',
    responses: { 204: null },
    errors: ['PASS_NOT_FOUND', 'PASS_NOTIFICATION_NOT_FOUND', 'PASS_NOTIFICATION_ALREADY_SENT'],
  }),
}
