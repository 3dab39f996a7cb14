import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { MessageCreate, MessageOptions, Notification } from './notifications.ts'
import { Count, pageOf, route, UtcTimestamp } from './schemas/common.ts'
import { booleanParam, pageQuery } from './schemas/list-parameters.ts'
import { Platform, REQUESTS_PER_SECOND } from './schemas/platform.ts'

/** SCHEDULED before sendAt, PENDING while its notifications are created, then DISPATCHED. */
export const BroadcastStatus = z.enum(['SCHEDULED', 'PENDING', 'DISPATCHED'])
export type BroadcastStatus = z.output<typeof BroadcastStatus>

/** The way a broadcast is sent to Google: one message per pass, or one for all holders of a class. */
export const GoogleVia = z.enum(['object', 'class'])
export type GoogleVia = z.output<typeof GoogleVia>

/** The request body that creates a broadcast. */
export const BroadcastCreate = MessageCreate.extend({
  googleVia: GoogleVia.default('object').describe(
    'With class, all holders of a pass of a class receive one message of the class. This takes one request ' +
      'per class instead of one per pass. Holders of void and expired passes receive it too, and holders who ' +
      'add a pass later see it on the back.',
  ),
})
export type BroadcastCreate = z.output<typeof BroadcastCreate>

/** A message to the passes of a project that are issued at the time of dispatch. */
export const Broadcast = z.strictObject({
  id: Uuid,
  projectId: Uuid,
  body: Notification.shape.body,
  platforms: z.array(Platform),
  googleVia: GoogleVia.describe('object if class was requested but other projects share its classes.'),
  options: MessageOptions,
  sendAt: UtcTimestamp.nullable(),
  status: BroadcastStatus,
  passCount: Count.nullable(),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Broadcast = z.output<typeof Broadcast>

/** The recipients of a broadcast if it were dispatched now. Nothing is stored. */
export const BroadcastForecast = z.strictObject({
  dryRun: z.literal(true),
  projectId: Uuid,
  platforms: z.array(Platform),
  sendAt: UtcTimestamp.nullable(),
  passCount: Count.describe('Issued passes.'),
  apple: z.strictObject({
    passCount: Count.describe('The issued passes that a device registered; 0 if not targeted.'),
  }),
  google: z.strictObject({
    passCount: Count.describe('The issued passes that are installed; 0 if not targeted.'),
    classes: Count.describe('With googleVia class, the number of class messages; else 0.'),
    others: Count.describe(
      'With googleVia class, installed passes that are not issued and whose holders also receive the message; ' +
        'else 0.',
    ),
    overCap: Count.describe('Issued passes that have used up their 3 google notifications of 24 hours.'),
    seconds: Count.describe(
      `The seconds that Google needs for these messages alone, at ${REQUESTS_PER_SECOND} per second for ` +
        'each issuer, with issuers in parallel. Requests that already wait for an issuer are not included. Those ' +
        'of this workspace (waitingJobs of GET /v1/workspace, all kinds together) are sent first, and those of ' +
        'other workspaces with the same issuer alternate with these.',
    ),
  }),
})
export type BroadcastForecast = z.output<typeof BroadcastForecast>

/** The progress of a broadcast's notifications. */
export const BroadcastStats = z.strictObject({
  broadcastId: Uuid,
  status: BroadcastStatus,
  fannedOut: Count,
  pending: Count,
  sent: Count,
  partial: Count,
  failed: Count,
  skipped: Count,
  classErrors: z
    .array(z.string())
    .describe(
      'With googleVia class, the distinct errors of class messages, at most 10. The error of a single pass is ' +
        'on its notification.',
    ),
})
export type BroadcastStats = z.output<typeof BroadcastStats>

/** Routes of broadcasts: messages to all issued passes of a project. */
export const broadcasts = {
  create: route('POST', '/v1/projects/{id}/broadcasts', {
    scope: 'pass-notifications:write',
    summary: 'Notify every issued pass of a project, now or later',
    description:
      'Every pass that is issued at the time of dispatch receives an ordinary notification. If a pass has used ' +
      'up its google notifications of 24 hours, its own notification shows it. With dryRun, nothing is stored, ' +
      'and the response contains the recipients. googleVia class is rejected if passes of other projects share ' +
      'the same classes. A text by language can have every language of any version of the passes, and must ' +
      'have the default of each. If the idempotencyKey is already used, the response is the existing broadcast ' +
      'with 200.',
    query: z.strictObject({ dryRun: booleanParam.default(false) }),
    body: BroadcastCreate,
    responses: { 200: z.union([Broadcast, BroadcastForecast]), 201: Broadcast },
    errors: ['CONFLICT'],
  }),
  list: route('GET', '/v1/projects/{id}/broadcasts', {
    scope: 'pass-notifications:read',
    summary: 'List the broadcasts of a project, newest first',
    query: pageQuery({}),
    responses: { 200: pageOf(Broadcast) },
  }),
  get: route('GET', '/v1/projects/{id}/broadcasts/{broadcastId}', {
    scope: 'pass-notifications:read',
    summary: 'Read the dispatch progress of a broadcast',
    responses: { 200: Broadcast },
    errors: ['PASS_NOTIFICATION_BROADCAST_NOT_FOUND'],
  }),
  stats: route('GET', '/v1/projects/{id}/broadcasts/{broadcastId}/stats', {
    scope: 'pass-notifications:read',
    summary: 'Count the notifications of a broadcast by their status',
    responses: { 200: BroadcastStats },
    errors: ['PASS_NOTIFICATION_BROADCAST_NOT_FOUND'],
  }),
  cancel: route('DELETE', '/v1/projects/{id}/broadcasts/{broadcastId}', {
    scope: 'pass-notifications:write',
    summary: 'Cancel a broadcast that is still scheduled',
    description: 'Deletes it and frees its idempotency key.',
    responses: { 204: null },
    errors: ['PASS_NOTIFICATION_BROADCAST_NOT_FOUND', 'PASS_NOTIFICATION_BROADCAST_ALREADY_DISPATCHED'],
  }),
}
