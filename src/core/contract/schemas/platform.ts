import { z } from 'zod'
import type { ErrorCode } from '../../errors.ts'

/** The wallet platforms. */
export const Platform = z.enum(['apple', 'google'])
export type Platform = z.output<typeof Platform>

/** Every platform, in the order in which they are listed. */
export const platforms = Platform.options

/** Returns a value for each platform. */
export function byPlatform<T>(of: (platform: Platform) => T): Record<Platform, T> {
  return Object.fromEntries(platforms.map((platform) => [platform, of(platform)])) as Record<Platform, T>
}

/**
 * A platform to which the server sends notifications as messages. For Apple Wallet, the text is a part of the updated
 * pass instead.
 */
export type MessagedPlatform = Exclude<Platform, 'apple'>
/** Every messaged platform. */
export const messagedPlatforms = platforms.filter((platform) => platform !== 'apple')

/** The platform that shows at most 3 notifications of a pass in 24 hours. */
export const CAPPED_PLATFORM = 'google' as const satisfies Platform

/**
 * The maximum number of requests per second that each identity sends to a messaged platform. It is slightly below the
 * 20 that Google accepts.
 */
export const REQUESTS_PER_SECOND = 18

/** Returns the seconds that one identity needs to send this number of requests if no other requests wait. */
export function secondsAtPace(requests: number): number {
  return Math.ceil(requests / REQUESTS_PER_SECOND)
}

/** The kind of phone that has a wallet. */
export type Phone = 'iphone' | 'android'

/** The names of a platform, its kind of phone, and its error code for signing. */
interface PlatformFacts {
  company: string
  wallet: string
  /** The name of the wallet in the languages that translate it, by language tag. */
  walletIn?: Record<string, string>
  phone: Phone
  /** The name, in metrics and logs, of the service that the server calls. */
  provider: string
  /** The error of a pass whose identity cannot sign. */
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
