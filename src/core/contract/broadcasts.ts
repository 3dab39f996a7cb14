import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { route } from '../route.ts'
import { GOOGLE_REQUESTS_A_SECOND } from '../rules/sending/google-pace.ts'
import { Count, pageOf, UtcTimestamp } from './common.ts'
import { booleanParam, pageQuery } from './list.ts'
import { MessageCreate, MessageOptions, Notification } from './notifications.ts'
import { Platform } from './platform.ts'

/** SCHEDULED before sendAt, PENDING while its notifications are created, then DISPATCHED. */
export const BroadcastStatus = z.enum(['SCHEDULED', 'PENDING', 'DISPATCHED'])
export type BroadcastStatus = z.output<typeof BroadcastStatus>

/** The way a broadcast is sent to Google: one message per pass, or one for all holders of a class. */
export const GoogleVia = z.enum(['object', 'class'])
export type GoogleVia = z.output<typeof GoogleVia>

/** The request body that creates a broadcast. */
export const BroadcastCreate = MessageCreate.extend({
  googleVia: GoogleVia.default('object').meta({
    description:
      'With class, everybody who holds a pass of a class gets one message of the class: a request for each class instead of each ' +
      'pass. Those of void and expired passes get it too, and whoever adds a pass later finds it on the back.',
  }),
})
export type BroadcastCreate = z.output<typeof BroadcastCreate>

/** A message to the passes of a project that are issued at the time of dispatch. */
export const Broadcast = z.strictObject({
  id: Uuid,
  projectId: Uuid,
  body: Notification.shape.body,
  platforms: z.array(Platform),
  googleVia: GoogleVia.meta({
    description: 'object for one that asked for class, where other projects shared its classes.',
  }),
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
  passCount: Count.meta({ description: 'Passes that are issued.' }),
  apple: z.strictObject({
    passCount: Count.meta({ description: 'Of these, registered by a device; 0 if not targeted.' }),
  }),
  google: z.strictObject({
    passCount: Count.meta({ description: 'Of these, installed; 0 if not targeted.' }),
    classes: Count.meta({ description: 'With googleVia class, the messages that it takes; else 0.' }),
    others: Count.meta({
      description: 'With googleVia class, installed passes that are not issued and whose holders get it too; else 0.',
    }),
    overCap: Count.meta({ description: 'Issued passes whose 3 google notifications of 24 hours are used up.' }),
    seconds: Count.meta({
      description:
        `How long Google takes for these alone at ${GOOGLE_REQUESTS_A_SECOND} a second for each issuer, several side by side. What waits for an issuer ` +
        'already is not in it: what this workspace has (waitingJobs of GET /v1/workspace, all kinds together) comes first, and ' +
        'with what others have at the same issuer it takes turns.',
    }),
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
  classErrors: z.array(z.string()).meta({
    description:
      'With googleVia class, why classes were not given the message, each reason once, at most 10; what was said of a pass alone ' +
      'stands on its notification.',
  }),
})
export type BroadcastStats = z.output<typeof BroadcastStats>

const ById = z.strictObject({ id: Uuid })
const Named = z.strictObject({ id: Uuid, broadcastId: Uuid })

/** Routes of broadcasts: messages to all issued passes of a project. */
export const broadcasts = {
  create: route({
    method: 'POST',
    path: '/v1/projects/{id}/broadcasts',
    scope: 'pass-notifications:write',
    summary: 'Notify every issued pass of a project, now or later',
    description:
      'Whoever is issued at the moment of dispatch gets an ordinary notification. A pass whose google notifications of 24 ' +
      'hours are used up shows it on its own notification. With dryRun nothing is stored: the answer says whom it would ' +
      'reach. googleVia class is refused where passes of other projects stand in the same classes. A text by language may have those that any version of the passes names, and has the default of each. With an ' +
      'idempotencyKey that is taken, the existing broadcast is answered with 200.',
    params: ById,
    query: z.strictObject({ dryRun: booleanParam.default(false) }),
    body: BroadcastCreate,
    responses: { 200: z.union([Broadcast, BroadcastForecast]), 201: Broadcast },
    errors: ['CONFLICT'],
  }),
  list: route({
    method: 'GET',
    path: '/v1/projects/{id}/broadcasts',
    scope: 'pass-notifications:read',
    summary: 'List the broadcasts of a project, newest first',
    params: ById,
    query: pageQuery({}),
    responses: { 200: pageOf(Broadcast) },
  }),
  get: route({
    method: 'GET',
    path: '/v1/projects/{id}/broadcasts/{broadcastId}',
    scope: 'pass-notifications:read',
    summary: 'Read how far the dispatch of a broadcast has come',
    params: Named,
    responses: { 200: Broadcast },
    errors: ['PASS_NOTIFICATION_BROADCAST_NOT_FOUND'],
  }),
  stats: route({
    method: 'GET',
    path: '/v1/projects/{id}/broadcasts/{broadcastId}/stats',
    scope: 'pass-notifications:read',
    summary: 'Count the notifications of a broadcast by their status',
    params: Named,
    responses: { 200: BroadcastStats },
    errors: ['PASS_NOTIFICATION_BROADCAST_NOT_FOUND'],
  }),
  cancel: route({
    method: 'DELETE',
    path: '/v1/projects/{id}/broadcasts/{broadcastId}',
    scope: 'pass-notifications:write',
    summary: 'Cancel a broadcast that is still scheduled',
    description: 'It is gone then, and its idempotency key is free.',
    params: Named,
    responses: { 204: null },
    errors: ['PASS_NOTIFICATION_BROADCAST_NOT_FOUND', 'PASS_NOTIFICATION_BROADCAST_ALREADY_DISPATCHED'],
  }),
}
