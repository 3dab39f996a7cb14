import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { Count, ErrorCode, PositiveInt, UtcTimestamp } from './common.ts'
import { Platform } from './notifications.ts'

/** What a platform refuses for good: nothing is tried again until the version, the pass or the platform changes. */
export const PlatformRejection = z.strictObject({
  platform: Platform,
  code: ErrorCode,
  /** In the words of the platform. */
  message: z.string(),
  at: UtcTimestamp,
})
export type PlatformRejection = z.output<typeof PlatformRejection>

const State = z.enum(['current', 'stale'])

/** How far each wallet that holds a pass has come; versions count the changes that wallets show. */
export const PassWallets = z.strictObject({
  passId: Uuid,
  walletVersion: PositiveInt,
  apple: z.array(
    z.strictObject({
      deviceId: z.string(),
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
      /** When its holder first activated it, as transit tickets can be. */
      activatedAt: UtcTimestamp.nullable(),
      state: State,
      lastError: z.string().nullable(),
    })
    .nullable(),
  /** Why a platform does not take the pass, or its template version; null where none has refused. */
  lastError: PlatformRejection.nullable(),
})
export type PassWallets = z.output<typeof PassWallets>
