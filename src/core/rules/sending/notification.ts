import { fieldGroups } from '../../contract/definition.ts'
import type { DeliveryState, NotificationStatus } from '../../contract/notifications.ts'
import type { Card } from '../display/card.ts'

/** The progress of a notification. */
export interface NotificationProgress {
  /** Null for one that is sent at once. */
  sendAt: Date | null
  /** When delivery began; null before. */
  startedAt: Date | null
  /** The state of each platform. */
  states: readonly DeliveryState[]
}

/** The overall status, as it is at a moment: from sendAt on a notification is no longer scheduled. */
export function notificationStatus({ sendAt, startedAt, states }: NotificationProgress, at: Date): NotificationStatus {
  if (startedAt === null && sendAt !== null && sendAt > at) return 'SCHEDULED'
  return deliveryStatus(states)
}

/** The overall status of the states of platforms, once delivery may have begun. */
export function deliveryStatus(states: readonly DeliveryState[]): Exclude<NotificationStatus, 'SCHEDULED'> {
  if (states.includes('PENDING')) return 'PENDING'
  const [first = 'SKIPPED', ...others] = states.filter((state) => state !== 'SKIPPED')
  return others.every((state) => state === first) ? first : 'PARTIAL'
}

/** The capped platform shows at most this many notifications of a pass within a day. */
const MAX_A_DAY = 3
const DAY_MS = 86_400_000

/** Sends further than this from a moment cannot crowd it. */
export const CAP_WINDOW_MS = DAY_MS

/** True where one more at that moment would make more than 3 within some 24 hours. Two sends 24 hours apart share none. */
export function exceedsCap(others: readonly Date[], at: Date): boolean {
  const t = at.getTime()
  const times = [...others.map((other) => other.getTime()).filter((other) => Math.abs(other - t) < DAY_MS), t]
  times.sort((a, b) => a - b)
  return times.some((first, n) => {
    const last = times[n + MAX_A_DAY]
    return last !== undefined && last - first < DAY_MS && first <= t && t <= last
  })
}

/** The least number of whole seconds by which a send has to move so that it fits; 0 where it fits. */
export function capDelaySeconds(others: readonly Date[], at: Date): number {
  if (!exceedsCap(others, at)) return 0
  // Only where an earlier send leaves the window can a later moment begin to fit.
  const delays = others
    .map((other) => Math.ceil((other.getTime() + DAY_MS - at.getTime()) / 1000))
    .filter((seconds) => seconds > 0)
    .sort((a, b) => a - b)
  return delays.find((seconds) => !exceedsCap(others, new Date(at.getTime() + seconds * 1000)))!
}

/** What a notification holds. */
const MAX_LENGTH = 1000

/**
 * What iPhones announce of a change, as one text: of each field that has another value now, its changeMessage with that
 * value. undefined where no field with a changeMessage changed; one that is new or empty now announces nothing.
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

/** Zero width: a phone shows nothing of them, and tells texts apart by them. */
const OPENING = '\u2060'
const DIGITS = ['\u200b', '\u200c'] as const

/**
 * The n-th message of a pass. A phone announces a field whose value is another now, so that a text which is sent twice
 * has to differ from itself, invisibly.
 */
export function distinctText(text: string, n: number): string {
  return text + OPENING + [...n.toString(2)].map((digit) => DIGITS[Number(digit)]).join('')
}
