import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { Count, PositiveInt, UtcTimestamp } from './common.ts'

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
      state: State,
      lastError: z.string().nullable(),
    })
    .nullable(),
})
export type PassWallets = z.output<typeof PassWallets>
