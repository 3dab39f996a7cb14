import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { NUDGE_SPACING_SECONDS } from '../rules/sending/nudging.ts'
import { Count, ErrorCode, PositiveInt, pageOf, route, UtcTimestamp } from './schemas/common.ts'
import { anyOf, booleanParam, checkQualifier, integerParam, pageQuery } from './schemas/list-parameters.ts'
import { Platform } from './schemas/platform.ts'

/** A permanent rejection by a platform. It is not retried until the version, the pass, or the platform changes. */
export const PlatformRejection = z.strictObject({
  platform: Platform,
  code: ErrorCode,
  /** The message of the platform. */
  message: z.string(),
  at: UtcTimestamp,
})
export type PlatformRejection = z.output<typeof PlatformRejection>

const State = z.enum(['current', 'stale'])

/** The version that each wallet of a pass holds. Versions count the changes that wallets show. */
export const PassWallets = z.strictObject({
  passId: Uuid,
  walletVersion: PositiveInt,
  apple: z.array(
    z.strictObject({
      deviceId: z.string().describe('The digest of the device, as in the list of wallets.'),
      registeredAt: UtcTimestamp,
      pushedAt: UtcTimestamp.nullable(),
      pushedVersion: Count.nullable(),
      fetchedAt: UtcTimestamp.nullable(),
      fetchedVersion: Count.nullable(),
      state: State,
      lastError: z.string().nullable(),
    }),
  ),
  google: z
    .strictObject({
      sentAt: UtcTimestamp,
      sentVersion: Count,
      installedAt: UtcTimestamp.nullable(),
      /** The first activation by the holder, for example of a transit ticket. */
      activatedAt: UtcTimestamp.nullable(),
      state: State,
      lastError: z.string().nullable(),
    })
    .nullable(),
  /** The rejection of the pass or its template version by a platform, or `null`. */
  lastError: PlatformRejection.nullable(),
})
export type PassWallets = z.output<typeof PassWallets>

const StaleReason = z.enum(['not_pushed', 'refused', 'silent', 'behind'])
/** The reason that a wallet is assumed to hold an outdated version. */
export type StaleReason = z.output<typeof StaleReason>

const WalletItem = z.strictObject({
  passId: Uuid,
  externalPassId: z.string(),
  platform: Platform,
  device: z
    .string()
    .nullable()
    .describe(
      'A digest that distinguishes devices of Apple within the workspace; null at Google, which does not identify them.',
    ),
  holds: PositiveInt.describe('The wallet version that it holds.'),
  since: UtcTimestamp.describe('The time at which it fetched the version, or at which the device was registered.'),
  current: PositiveInt.describe('The wallet version of the pass.'),
  changedAt: UtcTimestamp.describe('The time of the last change of the pass.'),
  lastPushAt: UtcTimestamp.nullable(),
  reason: StaleReason.nullable().describe(
    'Null if the wallet holds the current version. not_pushed: not notified yet. refused: the platform ' +
      'rejected the notification (see lastError). silent: notified, but has not fetched since. behind: fetched ' +
      'after the notification, but received an older version.',
  ),
  lastError: z.string().nullable(),
})
/** A wallet that holds a pass, with its version and the current one. */
export type WalletItem = z.output<typeof WalletItem>

/** A message from a device about a pass. It is not authenticated. */
const DeviceLog = z.strictObject({
  id: Uuid,
  passId: Uuid,
  externalPassId: z.string(),
  device: z
    .string()
    .nullable()
    .describe('The digest of the device that the message names, as in the list of wallets. Null if it names none.'),
  at: UtcTimestamp.describe('The time at which it was received.'),
  message: z.string().describe('The message of the device, up to 500 characters.'),
})
export type DeviceLog = z.output<typeof DeviceLog>

/** The objective: the share of reachable phones that hold the latest version within a time. */
export const FRESHNESS = { objective: 0.999, withinSeconds: 300 }

/** The maximum number of devices per nudge. They are written in one transaction, for which other writers wait. */
const MAX_NUDGED = 1000

/** The reachable and outdated phones of a workspace or project, compared with the objective. */
export type Freshness = z.output<typeof Freshness>
const Freshness = z.strictObject({
  objective: z.number(),
  withinSeconds: PositiveInt,
  phones: Count.describe('Devices with a pass in Apple Wallet, counted once for each of their passes.'),
  current: Count,
  settling: Count.describe('Outdated, with a pass that changed less than withinSeconds ago.'),
  late: Count.describe('Outdated for longer, although Apple accepted every push.'),
  refused: Count.describe('Outdated and unreachable: Apple rejected the last push.'),
  share: z.number().nullable().describe('The share of reachable phones that are not late. Null if there are none.'),
  isMet: z.boolean().nullable(),
})

const MAX_OLDER_SECONDS = 366 * 86_400

const WalletQuery = pageQuery({
  projectId: anyOf(Uuid).optional(),
  platform: anyOf(Platform).optional(),
  stale: booleanParam.optional(),
  olderThan: integerParam(0, MAX_OLDER_SECONDS).optional(),
}).superRefine((query, context) => checkQualifier('olderThan', 'stale', query, context))

/** Routes of the wallets of a workspace. */
export const wallets = {
  list: route('GET', '/v1/wallets', {
    scope: 'passes:read',
    summary: 'List which wallets hold which version',
    description:
      'Wallets of the newest passes first. stale=true lists wallets without the newest version. olderThan ' +
      'limits it to passes that have not changed for that many seconds.',
    query: WalletQuery,
    responses: { 200: pageOf(WalletItem) },
  }),
  slo: route('GET', '/v1/wallets/slo', {
    scope: 'passes:read',
    summary: 'Count the phones that hold the latest version in time',
    description:
      `The objective: ${FRESHNESS.objective * 100} % of reachable phones hold the latest version of their ` +
      `passes within ${FRESHNESS.withinSeconds / 60} minutes.`,
    query: z.strictObject({ projectId: anyOf(Uuid).optional() }),
    readsMuch: true,
    responses: { 200: Freshness },
  }),
  logs: route('GET', '/v1/wallets/logs', {
    scope: 'passes:read',
    summary: 'List log messages of devices',
    description:
      'Messages to the log endpoint of the PassKit web service that name a pass, newest first. They are not ' +
      'authenticated: anyone who knows the serial number of a pass can write one. The newest 50 of a pass and ' +
      '5,000 of a workspace are kept for 30 days.',
    query: pageQuery({ projectId: anyOf(Uuid).optional(), passId: anyOf(Uuid).optional() }),
    responses: { 200: pageOf(DeviceLog) },
  }),
  nudge: route('POST', '/v1/wallets/nudge', {
    scope: 'passes:write',
    summary: 'Resend pushes to phones that have not fetched an update',
    description:
      'Pushes Apple devices that lack the newest version and whose last push is at least silentFor seconds ' +
      `ago. No device is pushed twice within ${NUDGE_SPACING_SECONDS / 60} minutes by this endpoint.`,
    body: z.strictObject({
      projectId: Uuid.optional(),
      silentFor: z
        .int()
        .min(NUDGE_SPACING_SECONDS)
        .max(MAX_OLDER_SECONDS)
        .default(3600)
        .describe('Seconds since the last push.'),
      limit: z.int().min(1).max(MAX_NUDGED).default(MAX_NUDGED).describe('The maximum number of devices.'),
    }),
    readsMuch: true,
    responses: { 200: z.strictObject({ devices: Count, passes: Count }) },
    errors: ['NOT_FOUND'],
  }),
}
