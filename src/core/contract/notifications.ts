import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { Count, pageOf, route, Timestamp, text, UtcTimestamp } from './schemas/common.ts'
import { translatable } from './schemas/language-tags.ts'
import { pageQuery } from './schemas/list-parameters.ts'
import { byPlatform, Platform } from './schemas/platform.ts'

/** The delivery state of one platform. SKIPPED if it was not targeted or does not apply. */
export const DeliveryState = z.enum(['PENDING', 'SENT', 'FAILED', 'SKIPPED'])
export type DeliveryState = z.output<typeof DeliveryState>

/**
 * SCHEDULED before sendAt, PENDING during delivery, then the result of all platforms: PARTIAL if one accepted it and
 * another failed, SKIPPED if the pass was on no targeted platform.
 */
export const NotificationStatus = z.enum(['SCHEDULED', 'PENDING', 'SENT', 'PARTIAL', 'FAILED', 'SKIPPED'])
export type NotificationStatus = z.output<typeof NotificationStatus>

/** Options for a single platform. */
export const MessageOptions = z.strictObject({
  google: z
    .strictObject({
      header: translatable(text(0, 255))
        .optional()
        .describe("Shown above the text. If empty or omitted, the organization's name is shown."),
    })
    .optional(),
})
export type MessageOptions = z.output<typeof MessageOptions>

const PlatformDelivery = z.strictObject({ status: DeliveryState, error: z.string().optional() })

/** A message to one pass, with its state on each platform. */
export const Notification = z.strictObject({
  id: Uuid,
  passId: Uuid,
  broadcastId: Uuid.optional().describe('Set if a broadcast created it.'),
  body: translatable(z.string()).describe('As sent: a text, or one for each language.'),
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
    'A text, or one for each language of the definition, including the default.',
  ),
  platforms: z.array(Platform).min(1).optional().describe('All configured platforms by default.'),
  sendAt: Timestamp.optional().describe('A time that is not in the future sends immediately.'),
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
      'The pass must be issued. At most 3 notifications that target google can be due within 24 hours, ' +
      'including those that end as SKIPPED because no Google user has the pass. Retry-After of the 429 is the ' +
      'number of seconds by which the send would have to move. If the text is by language, holders see their ' +
      'language, or the default. If the idempotencyKey is already used, the response is the existing ' +
      'notification with 200, regardless of the rest of the request.',
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
    summary: 'Read the progress of a notification',
    responses: { 200: Notification },
    errors: ['PASS_NOT_FOUND', 'PASS_NOTIFICATION_NOT_FOUND'],
  }),
  cancel: route('DELETE', '/v1/passes/{id}/notifications/{notificationId}', {
    scope: 'pass-notifications:write',
    summary: 'Cancel a notification that is still scheduled',
    description: 'Deletes it and frees its idempotency key.',
    responses: { 204: null },
    errors: ['PASS_NOT_FOUND', 'PASS_NOTIFICATION_NOT_FOUND', 'PASS_NOTIFICATION_ALREADY_SENT'],
  }),
}
