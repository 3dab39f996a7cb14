import { Timestamp } from '../../core/contract/common.ts'
import { UsageError } from '../errors.ts'

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/**
 * A moment as people give it: an ISO 8601 date-time with an offset, or how long from now, such as `in 2h` or `in 1d 12h`.
 * @throws UsageError
 */
export function parseWhen(text: string, now: Date): Date {
  const [, spans] = /^\s*in\s+((?:\d+\s*[smhd]\s*)+)$/i.exec(text) ?? []
  if (spans !== undefined) {
    const seconds = [...spans.matchAll(/(\d+)\s*([smhd])/gi)].reduce(
      (sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit!.toLowerCase() as keyof typeof UNITS],
      0,
    )
    const at = new Date(now.getTime() + seconds * 1000)
    if (!Number.isNaN(at.getTime())) return at
  }
  const timestamp = Timestamp.safeParse(text)
  if (timestamp.success) return new Date(timestamp.data)
  throw new UsageError(`${text} is no time`, {
    hint: 'give an ISO 8601 date-time with Z or an offset, such as 2027-05-31T19:30:00+02:00, or a time from now: "in 2h".',
  })
}
