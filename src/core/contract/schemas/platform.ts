import { z } from 'zod'
import type { ErrorCode } from '../../errors.ts'

/** The wallet platforms. */
export const Platform = z.enum(['apple', 'google'])
export type Platform = z.output<typeof Platform>

/** Every platform, in the order for display. */
export const platforms = Platform.options

/** Returns a record with the result of `of` for each platform. */
export function byPlatform<T>(of: (platform: Platform) => T): Record<Platform, T> {
  return Object.fromEntries(platforms.map((platform) => [platform, of(platform)])) as Record<Platform, T>
}

/** A platform to which the server sends notifications as messages. For Apple, the pass contains the text instead. */
export type MessagedPlatform = Exclude<Platform, 'apple'>
/** Every messaged platform. */
export const messagedPlatforms = platforms.filter((platform) => platform !== 'apple')

/** The platform that shows at most 3 notifications of a pass in 24 hours. */
export const CAPPED_PLATFORM = 'google' as const satisfies Platform

/** The maximum number of requests per second from an identity to a messaged platform. (Google accepts 20.) */
export const REQUESTS_PER_SECOND = 18

/** Returns the time, in seconds, that an identity needs for a number of requests if no other requests wait. */
export function secondsAtPace(requests: number): number {
  return Math.ceil(requests / REQUESTS_PER_SECOND)
}

/** The kind of phone on which a wallet runs. */
export type Phone = 'iphone' | 'android'

interface PlatformFacts {
  company: string
  wallet: string
  /** The translated name of the wallet by language tag. Other languages use `wallet`. */
  walletIn?: Record<string, string>
  phone: Phone
  /** The name of the platform's service in metrics and logs. */
  provider: string
  signingError: ErrorCode
}

/** The facts of each platform. */
export const platformFacts: Record<Platform, PlatformFacts> = {
  apple: {
    company: 'Apple',
    wallet: 'Apple Wallet',
    walletIn: { zh: 'Apple 钱包', ja: 'Apple ウォレット', ko: 'Apple 지갑' },
    phone: 'iphone',
    provider: 'apns',
    signingError: 'APPLE_SIGNING_FAILED',
  },
  google: {
    company: 'Google',
    wallet: 'Google Wallet',
    walletIn: { zh: 'Google 钱包', ja: 'Google ウォレット', ko: 'Google 월렛' },
    phone: 'android',
    provider: 'google',
    signingError: 'GOOGLE_JWT_FAILED',
  },
}
