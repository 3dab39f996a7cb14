import type { Card } from '../../../core/rules/display/card.ts'
import { writeMoment } from '../../../core/rules/display/format-value.ts'
import { escapeHtml } from '../html.ts'
import { fillHtml, type PageWords } from '../page-words.ts'

export interface ExpiryOptions {
  /** A language tag. */
  language: string
  words: Pick<PageWords, 'validUntil'>
  /** IANA or an offset such as UTC+2; UTC by default. */
  timeZone?: string | undefined
}

/** Until when a card is valid, with the zone of that time; empty where it has no end. */
export function expiryHtml({ expiresAt }: Card, { language, words, timeZone = 'UTC' }: ExpiryOptions): string {
  if (expiresAt === null) return ''
  const time = timeHtml(expiresAt, { language, timeZone })
  return `<p class="expiry">${fillHtml(words.validUntil, { time })}</p>`
}

/** How a moment is written. */
export interface TimeOptions {
  /** A language tag. */
  language: string
  timeZone: string
  /** None by default. */
  weekday?: 'short'
}

/** A moment as people read it, with the name of its zone. */
export function timeHtml(moment: Date, { language, timeZone, weekday }: TimeOptions): string {
  // English as most of the world writes it: the day before the month.
  const tag = language === 'en' ? 'en-GB' : language
  const format: Intl.DateTimeFormatOptions = {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
    ...(weekday && { weekday }),
  }
  return `<time datetime="${moment.toISOString()}">${escapeHtml(writeMoment(moment, format, tag, timeZone))}</time>`
}
