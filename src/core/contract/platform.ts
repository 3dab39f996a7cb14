import { z } from 'zod'

/** The wallet platforms that passes are issued for. */
export const Platform = z.enum(['apple', 'google'])
export type Platform = z.output<typeof Platform>

/** Every platform, in the order in which they are listed. */
export const platforms = Platform.options

/** Returns a value for each platform. */
export function byPlatform<T>(of: (platform: Platform) => T): Record<Platform, T> {
  return Object.fromEntries(platforms.map((platform) => [platform, of(platform)])) as Record<Platform, T>
}
