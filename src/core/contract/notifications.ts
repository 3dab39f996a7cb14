import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { route } from '../route.ts'
import { Count, pageOf, Timestamp, text, UtcTimestamp } from './common.ts'
import { translatable } from './languages.ts'
import { pageQuery } from './list.ts'
import { byPlatform, Platform } from './platform.ts'

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
        .meta({ description: "Shown above the text; where it is empty or not given, the organization's name." }),
    })
    .optional(),
})
export type MessageOptions = z.output<typeof MessageOptions>

const PlatformDelivery = z.strictObject({ status: DeliveryState, error: z.string().optional() })

/** A message to one pass, with its state on each platform. */
export const Notification = z.strictObject({
  id: Uuid,
  passId: Uuid,
  broadcastId: Uuid.optional().meta({ description: 'Present when a broadcast made it.' }),
  body: translatable(z.string()).meta({ description: 'As it was sent: a text, or one for each language.' }),
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
  body: translatable(text(1, 1000)).meta({
    description: 'A text, or one for each of the languages that the definition names; the default among them.',
  }),
  platforms: z.array(Platform).min(1).optional().meta({ description: 'All that are configured by default.' }),
  sendAt: Timestamp.optional().meta({ description: 'A time that is not in the future sends at once.' }),
  idempotencyKey: text(8, 100).optional(),
  options: MessageOptions.default({}),
})
export type MessageCreate = z.output<typeof MessageCreate>

const ById = z.strictObject({ id: Uuid })
const Named = z.strictObject({ id: Uuid, notificationId: Uuid })

/** Routes of notifications: messages to one pass. */
export const notifications = {
  create: route({
    method: 'POST',
    path: '/v1/passes/{id}/notifications',
    scope: 'pass-notifications:write',
    summary: 'Send a notification to a pass, now or later',
    description:
      'The pass must be issued. Of notifications that target google, 3 may be due in any 24 hours, and those that end as ' +
      'SKIPPED, since nobody has the pass there, are among them; Retry-After of the 429 ' +
      'says by how many seconds the send would have to move. Of a text by language, holders read theirs, or the default. ' +
      'With an idempotencyKey that is taken, the existing ' +
      'notification is answered with 200, whatever else the request holds.',
    params: ById,
    body: MessageCreate,
    responses: { 200: Notification, 201: Notification },
    errors: ['PASS_NOT_FOUND', 'PASS_NOT_ISSUED', 'PASS_NOTIFICATION_RATE_LIMITED', 'CONFLICT'],
  }),
  list: route({
    method: 'GET',
    path: '/v1/passes/{id}/notifications',
    scope: 'pass-notifications:read',
    summary: 'List the notifications of a pass, newest first',
    params: ById,
    query: pageQuery({}),
    responses: { 200: pageOf(Notification) },
    errors: ['PASS_NOT_FOUND'],
  }),
  get: route({
    method: 'GET',
    path: '/v1/passes/{id}/notifications/{notificationId}',
    scope: 'pass-notifications:read',
    summary: 'Read how far a notification has come',
    params: Named,
    responses: { 200: Notification },
    errors: ['PASS_NOT_FOUND', 'PASS_NOTIFICATION_NOT_FOUND'],
  }),
  cancel: route({
    method: 'DELETE',
    path: '/v1/passes/{id}/notifications/{notificationId}',
    scope: 'pass-notifications:write',
    summary: 'Cancel a notification that is still scheduled',
    description: 'It is gone then, and its idempotency key is free.',
    params: Named,
    responses: { 204: null },
    errors: ['PASS_NOT_FOUND', 'PASS_NOTIFICATION_NOT_FOUND', 'PASS_NOTIFICATION_ALREADY_SENT'],
  }),
}
