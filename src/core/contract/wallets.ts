import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { NUDGE_SPACING_SECONDS } from '../rules/sending/nudging.ts'
import { Count, ErrorCode, PositiveInt, pageOf, route, UtcTimestamp } from './schemas/common.ts'
import {
  booleanParam,
  checkQualifier,
  exampleIds,
  filter,
  integerParam,
  pageQuery,
  param,
} from './schemas/list-parameters.ts'
import { Platform } from './schemas/platform.ts'

/** A permanent rejection by a platform. The server retries only after a change of the version, pass, or platform. */
export const PlatformRejection = z.strictObject({
  platform: Platform,
  code: ErrorCode,
  message: z.string(),
  at: UtcTimestamp,
})
export type PlatformRejection = z.output<typeof PlatformRejection>

const State = z.enum(['current', 'stale'])

/** The wallets with a pass, and the version in each. Each visible change of the pass increases `walletVersion`. */
export const PassWallets = z.strictObject({
  passId: Uuid,
  walletVersion: PositiveInt,
  apple: z.array(
    z.strictObject({
      deviceId: z.string().describe('The digest of the device, as in GET /v1/wallets.'),
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
      /** The time when the holder activated the pass, such as a transit ticket, for the first time. */
      activatedAt: UtcTimestamp.nullable(),
      state: State,
      lastError: z.string().nullable(),
    })
    .nullable(),
  /** The rejection of the pass, or of its template version, by a platform. `null` if there is none. */
  lastError: PlatformRejection.nullable(),
})
export type PassWallets = z.output<typeof PassWallets>

/** The reason why a wallet probably has an outdated version of a pass. */
export const StaleReason = z.enum(['not_pushed', 'refused', 'silent', 'behind'])
export type StaleReason = z.output<typeof StaleReason>

/** A wallet with a pass: the version of the pass in the wallet, and the current version. */
export const WalletItem = z.strictObject({
  passId: Uuid,
  externalPassId: z.string(),
  platform: Platform,
  device: z
    .string()
    .nullable()
    .describe(
      'A digest that identifies an Apple device within the workspace. Null for Google, which does not identify ' +
        'devices.',
    ),
  holds: PositiveInt.describe('The version of the pass in this wallet.'),
  since: UtcTimestamp.describe('The time at which the wallet fetched this version, or at which the device registered.'),
  current: PositiveInt.describe('The current version of the pass.'),
  changedAt: UtcTimestamp.describe('The time of the last change of the pass.'),
  lastPushAt: UtcTimestamp.nullable(),
  reason: StaleReason.nullable().describe(
    'The reason that the wallet has an old version, or null if it has the current version. not_pushed: the wallet ' +
      'was not notified yet. refused: the platform rejected the notification (see lastError). silent: the wallet was ' +
      'notified, but has not fetched the pass since. behind: the wallet fetched the pass after the notification, but ' +
      'the pass has changed again.',
  ),
  lastError: z.string().nullable(),
})
export type WalletItem = z.output<typeof WalletItem>

/** An error message from a device about a pass. The sender is not authenticated. */
export const DeviceLog = z.strictObject({
  id: Uuid,
  passId: Uuid,
  externalPassId: z.string(),
  device: z
    .string()
    .nullable()
    .describe(
      'The digest of the device that the message names, as in GET /v1/wallets. Null if the message names no device.',
    ),
  at: UtcTimestamp.describe('The time at which the server received the message.'),
  message: z.string().describe('The message of the device, up to 500 characters.'),
})
export type DeviceLog = z.output<typeof DeviceLog>

/** The freshness objective: the share of reachable phones that must have a new version after `withinSeconds`. */
export const FRESHNESS = { objective: 0.999, withinSeconds: 300 }

/** The maximum number of devices per nudge. One transaction updates all of them, and blocks other writers. */
const MAX_NUDGED = 1000

/** The freshness of a workspace or project: how many phones are up to date, compared with the objective. */
export const Freshness = z.strictObject({
  objective: z.number(),
  withinSeconds: PositiveInt,
  phones: Count.describe('Apple devices with a pass. A device with several passes counts once per pass.'),
  current: Count,
  settling: Count.describe('Phones with an old version of a pass that changed less than withinSeconds ago.'),
  late: Count.describe(
    'Phones with an old version of a pass that changed at least withinSeconds ago, although Apple accepted the ' +
      'last push.',
  ),
  refused: Count.describe('Phones with an old version that are unreachable, because Apple rejected the last push.'),
  share: z
    .number()
    .nullable()
    .describe('The share of reachable phones that are not late, from 0 to 1. Null if no phone is reachable.'),
  isMet: z.boolean().nullable(),
})
export type Freshness = z.output<typeof Freshness>

const MAX_OLDER_SECONDS = 366 * 86_400

const WalletQuery = pageQuery({
  projectId: filter(Uuid, 'Matches wallets with passes of this project.', exampleIds.project),
  platform: filter(Platform, 'Matches wallets of this platform.', 'apple'),
  stale: param(booleanParam, 'Whether the wallet lacks the newest version of the pass.', true),
  olderThan: param(
    integerParam(0, MAX_OLDER_SECONDS),
    'With `stale`: matches wallets of passes that have not changed for this number of seconds.',
    3600,
  ),
}).superRefine((query, context) => checkQualifier('olderThan', 'stale', query, context))

/** Routes of the wallets of a workspace. */
export const wallets = {
  list: route('GET', '/v1/wallets', {
    scope: 'passes:read',
    summary: 'List wallets with the version that each holds',
    description:
      'Wallets of the newest passes come first. stale=true lists only wallets without the newest version. With ' +
      'olderThan, stale=true lists only wallets of passes that have not changed for this number of seconds.',
    query: WalletQuery,
    responses: { 200: pageOf(WalletItem) },
  }),
  slo: route('GET', '/v1/wallets/slo', {
    scope: 'passes:read',
    summary: 'Count the phones that hold the latest version in time',
    description:
      `Compares the phones with the objective that ${FRESHNESS.objective * 100} % of reachable phones have the ` +
      `latest version of their passes within ${FRESHNESS.withinSeconds / 60} minutes.`,
    query: z.strictObject({
      projectId: filter(Uuid, 'Counts only phones with passes of this project.', exampleIds.project),
    }),
    readsMuch: true,
    responses: { 200: Freshness },
  }),
  logs: route('GET', '/v1/wallets/logs', {
    scope: 'passes:read',
    summary: 'List log messages of devices',
    description:
      'Lists messages about a pass that devices sent to the log endpoint of the PassKit web service, newest first. ' +
      'Messages are not authenticated: anyone who knows the serial number of a pass can send one. The server keeps ' +
      'messages for 30 days, but at most the newest 50 per pass and 5,000 per workspace.',
    query: pageQuery({
      projectId: filter(Uuid, 'Matches messages about passes of this project.', exampleIds.project),
      passId: filter(Uuid, 'Matches messages about this pass.', exampleIds.pass),
    }),
    responses: { 200: pageOf(DeviceLog) },
  }),
  nudge: route('POST', '/v1/wallets/nudge', {
    scope: 'passes:write',
    summary: 'Resend pushes to phones that have not fetched an update',
    description:
      'Sends a push to Apple devices that lack the newest version, if their last push is at least silentFor seconds ' +
      `ago. This endpoint sends no device two pushes within ${NUDGE_SPACING_SECONDS / 60} minutes.`,
    body: z.strictObject({
      projectId: Uuid.optional(),
      silentFor: z
        .int()
        .min(NUDGE_SPACING_SECONDS)
        .max(MAX_OLDER_SECONDS)
        .default(3600)
        .describe('The minimum number of seconds since the last push to a device.'),
      limit: z.int().min(1).max(MAX_NUDGED).default(MAX_NUDGED).describe('The maximum number of devices.'),
    }),
    readsMuch: true,
    responses: { 200: z.strictObject({ devices: Count, passes: Count }) },
    errors: ['NOT_FOUND'],
  }),
}
