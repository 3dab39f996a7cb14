import type { DeliveryState, NotificationStatus } from '../../contract/messages/notifications.ts'
import { fieldGroups } from '../../contract/schemas/definition.ts'
import type { Card } from '../display/card.ts'

export interface NotificationProgress {
  /** The scheduled time; `null` if the notification is sent immediately. */
  sendAt: Date | null
  startedAt: Date | null
  states: readonly DeliveryState[]
}

/** From `sendAt` on, a notification is no longer SCHEDULED. */
export function notificationStatus({ sendAt, startedAt, states }: NotificationProgress, at: Date): NotificationStatus {
  if (startedAt === null && sendAt !== null && sendAt > at) return 'SCHEDULED'
  return deliveryStatus(states)
}

export function deliveryStatus(states: readonly DeliveryState[]): Exclude<NotificationStatus, 'SCHEDULED'> {
  if (states.includes('PENDING')) return 'PENDING'
  const [first = 'SKIPPED', ...others] = states.filter((state) => state !== 'SKIPPED')
  return others.every((state) => state === first) ? first : 'PARTIAL'
}

/** The maximum number of notifications of a pass within 24 hours, on the platform that caps them. */
const MAX_A_DAY = 3
const DAY_MS = 86_400_000

export const CAP_WINDOW_MS = DAY_MS

/** Whether a send at `at` would be the fourth within 24 hours. Sends exactly 24 hours apart share no window. */
export function exceedsCap(others: readonly Date[], at: Date): boolean {
  const t = at.getTime()
  const times = [...others.map((other) => other.getTime()).filter((other) => Math.abs(other - t) < DAY_MS), t]
  times.sort((a, b) => a - b)
  return times.some((first, n) => {
    const last = times[n + MAX_A_DAY]
    return last !== undefined && last - first < DAY_MS && first <= t && t <= last
  })
}

/** Returns the delay, in whole seconds, after which a send is within the cap; 0 if it already is. */
export function capDelaySeconds(others: readonly Date[], at: Date): number {
  if (!exceedsCap(others, at)) return 0
  // Try only the times at which an earlier send leaves the 24-hour window: the first possible time is one of them.
  const delays = others
    .map((other) => Math.ceil((other.getTime() + DAY_MS - at.getTime()) / 1000))
    .filter((seconds) => seconds > 0)
    .sort((a, b) => a - b)
  return delays.find((seconds) => !exceedsCap(others, new Date(at.getTime() + seconds * 1000)))!
}

/** The maximum length of a notification, in characters. */
const MAX_LENGTH = 1000

/**
 * Returns the text that iPhones show for a change: for each changed field, its changeMessage with the new value.
 * Returns `undefined` if no field with a changeMessage changed. New and emptied fields do not count.
 */
export function announcementOf(before: Pick<Card, 'fields'>, after: Pick<Card, 'fields'>): string | undefined {
  const lines = fieldGroups.flatMap((group) => {
    const values = new Map(before.fields[group].map(({ key, value }) => [key, value]))
    return after.fields[group].flatMap(({ key, value, changeMessage }) => {
      const isAnnounced = values.has(key) && values.get(key) !== value && value.trim() !== ''
      return changeMessage !== undefined && isAnnounced ? [changeMessage.replaceAll('%@', () => value)] : []
    })
  })
  return lines.length > 0 ? [...lines.join('\n')].slice(0, MAX_LENGTH).join('') : undefined
}

/** The first character of the invisible suffix of a message. The suffix is a number in zero-width characters. */
const NUMBER_MARK = '\u2060'
const DIGITS = ['\u200b', '\u200c'] as const

/**
 * Returns the text of the n-th message with an invisible suffix that differs for each n, because a phone announces only
 * changed values.
 */
export function distinctText(text: string, n: number): string {
  return text + NUMBER_MARK + [...n.toString(2)].map((digit) => DIGITS[Number(digit)]).join('')
}
