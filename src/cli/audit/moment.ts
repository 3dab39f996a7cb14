import { Timestamp } from '../../core/contract/common.ts'
import { UsageError } from '../errors.ts'
import { parseDuration } from '../server-flags.ts'

/**
 * A moment of the past as people give it: an ISO 8601 date-time with an offset, or how long ago, such as 12h or 30d.
 * @throws UsageError
 */
export function parsePast(text: string, flag: string, now: Date): Date {
  if (/^\d+[smhd]$/.test(text)) return new Date(now.getTime() - parseDuration(text, flag) * 1000)
  const timestamp = Timestamp.safeParse(text)
  if (timestamp.success) return new Date(timestamp.data)
  throw new UsageError(`${flag} takes a moment such as 2027-05-31T19:30:00Z, or how long ago, such as 12h or 30d`)
}
