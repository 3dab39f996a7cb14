import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { Count, pageOf, route, UtcTimestamp } from '../schemas/common.ts'
import { dryRunParam, pageQuery } from '../schemas/list-parameters.ts'
import { PassFilter } from '../schemas/pass-filter.ts'
import { Platform, REQUESTS_PER_SECOND } from '../schemas/platform.ts'
import { MessageCreate, MessageOptions, Notification } from './notifications.ts'

/** The status of a broadcast: SCHEDULED before sendAt, PENDING while its notifications are created, then DISPATCHED. */
export const BroadcastStatus = z.enum(['SCHEDULED', 'PENDING', 'DISPATCHED'])
export type BroadcastStatus = z.output<typeof BroadcastStatus>

/** The kind of messages that a broadcast sends to Google: one per pass, or one per class for all its holders. */
export const GoogleVia = z.enum(['object', 'class'])
export type GoogleVia = z.output<typeof GoogleVia>

/** The request body that creates a broadcast. */
export const BroadcastCreate = MessageCreate.extend({
  googleVia: GoogleVia.default('object').describe(
    'With `object`, the server sends a message to each pass. With `class`, it sends one message per Google class, ' +
      'which takes fewer requests, but also reaches holders of void and expired passes. Holders who add a pass later ' +
      'see a class message on the back of the pass.',
  ),
  filter: PassFilter.optional().describe(
    'The broadcast reaches only issued passes that match this filter at the time of dispatch. Requires googleVia ' +
      'object, because a class message reaches all holders of a class.',
  ),
})
export type BroadcastCreate = z.output<typeof BroadcastCreate>

/** A broadcast: a message to all passes of a project that are issued at the time of its dispatch. */
export const Broadcast = z.strictObject({
  id: Uuid,
  projectId: Uuid,
  body: Notification.shape.body,
  platforms: z.array(Platform),
  googleVia: GoogleVia.describe(
    'The way the broadcast is sent to Google. The server changes `class` to `object` if passes of other projects use ' +
      'the same classes at the time of dispatch, because the holders of these passes must not receive the message.',
  ),
  options: MessageOptions,
  filter: PassFilter.optional().describe('Set if the request had a filter.'),
  sendAt: UtcTimestamp.nullable(),
  status: BroadcastStatus,
  passCount: Count.nullable(),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Broadcast = z.output<typeof Broadcast>

/** A forecast of a broadcast: its recipients if it were dispatched now. Nothing is stored. */
export const BroadcastForecast = z.strictObject({
  dryRun: z.literal(true),
  projectId: Uuid,
  platforms: z.array(Platform),
  sendAt: UtcTimestamp.nullable(),
  passCount: Count.describe('Passes with the status ISSUED that match the filter.'),
  reach: z
    .strictObject({
      apple: Count.describe('Passes that an Apple device holds.'),
      google: Count.describe('Passes in Google Wallet.'),
      neither: Count.describe('Passes that no wallet holds.'),
    })
    .optional()
    .describe(
      'Set if the request has a filter: the wallets of the matching passes, on all platforms. A pass on both platforms counts ' +
        'for each.',
    ),
  apple: z.strictObject({
    passCount: Count.describe('Issued passes that an Apple device holds. 0 if the broadcast does not target apple.'),
  }),
  google: z.strictObject({
    passCount: Count.describe('Issued passes in Google Wallet. 0 if the broadcast does not target google.'),
    classes: Count.describe('The number of class messages with googleVia class. 0 with googleVia object.'),
    others: Count.describe(
      'Passes in Google Wallet that are not ISSUED, but whose holders also receive a class message. 0 with ' +
        'googleVia object.',
    ),
    overCap: Count.describe(
      'Issued passes in Google Wallet that already had their 3 google notifications within 24 hours.',
    ),
    seconds: Count.describe(
      `The seconds to send these messages to Google, at ${REQUESTS_PER_SECOND} per second for each issuer, with ` +
        'issuers in parallel. Requests that already wait are not included: requests of this workspace are sent ' +
        'before these messages, and requests of other workspaces with the same issuer take turns with them.',
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
    .describe('The distinct errors of class messages, at most 10. Errors of single passes are in their notifications.'),
})
export type BroadcastStats = z.output<typeof BroadcastStats>

/** Routes of broadcasts: messages to all issued passes of a project. */
export const broadcasts = {
  create: route('POST', '/v1/projects/{id}/broadcasts', {
    scope: 'pass-notifications:write',
    summary: 'Send a notification to the issued passes of a project, now or later',
    description:
      'Every pass that is ISSUED and matches the filter (if set) at the time of dispatch gets a notification. If a ' +
      'pass already had 3 google notifications within 24 hours, its notification to google is FAILED. With dryRun, ' +
      'nothing is stored, and the response has the number of recipients. googleVia class is rejected if passes of ' +
      'other projects have the same Google classes. If the body has a text for each language, it must contain the ' +
      'default language of every version of the passes. If the idempotencyKey is already used, the response is 200 ' +
      'with the existing broadcast.',
    query: z.strictObject({ dryRun: dryRunParam }),
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
    summary: 'Read a broadcast with its dispatch status',
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
    summary: 'Cancel a scheduled broadcast',
    description: 'Deletes the broadcast. Its idempotencyKey can be used again.',
    responses: { 204: null },
    errors: ['PASS_NOTIFICATION_BROADCAST_NOT_FOUND', 'PASS_NOTIFICATION_BROADCAST_ALREADY_DISPATCHED'],
  }),
}
