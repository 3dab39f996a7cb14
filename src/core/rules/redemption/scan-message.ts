import { DateTime } from 'luxon'
import english from '../../../locales/en/scans.json' with { type: 'json' }
import type { SpokenLanguage } from '../../../locales/languages.ts'
import { type ScanWords, scansTexts } from '../../../locales/scan-texts.ts'
import type { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import type { DoorView, ScanReasonCode } from '../../contract/schemas/scan-shapes.ts'
import { numberFormat, writeMoment } from '../../formats.ts'
import { balanceText } from '../balances/balances.ts'
import type { PresenceFacts } from '../zones/presence.ts'
import { isPastExpiry } from './redemption.ts'
import type { PlacedAttempt, RedemptionHistory } from './redemption-plan.ts'
import { luxonZone, neighbours, windowDates, zoneOf } from './redemption-windows.ts'
import { firstUseAt, isPeriodFull, isUsedUpForGood, type ScanDecision, type ScanFacts } from './scan-decision.ts'

export interface DoorLanguage {
  /** A BCP 47 tag, which determines the format of times and numbers. */
  locale: string
  words: ScanWords
  /** The time zone of the door, or else of the pass. If undefined, messages use the zone of the pass's policy. */
  zone?: string | undefined
}

// Import English separately. Otherwise, the bundle of a door's engine would contain all languages.
export const doorEnglish: DoorLanguage = { locale: 'en', words: english }

/** @param locale the language with its region; ignored if `Intl` does not support it (for example, `de-a`) */
export function doorLanguage(tag: SpokenLanguage, locale: string = tag, zone?: string): DoorLanguage {
  return { locale: knownLocale(locale) ?? tag, words: scansTexts[tag], zone }
}

/**
 * Returns the locale to which `Intl` resolves a tag. This limits the number of cached formats, because `Intl` knows a
 * few hundred locales but accepts millions of tags.
 */
function knownLocale(text: string): string | undefined {
  try {
    return new Intl.Locale(new Intl.DateTimeFormat(text).resolvedOptions().locale).baseName
  } catch {
    return undefined
  }
}

export interface MessageOptions {
  /** The place of the use that caused the rejection: gate, lane, and location, or the device. */
  firstPlace?: string | undefined
  language?: DoorLanguage | undefined
}

export function decisionMessage(
  decision: ScanDecision,
  { matchCount, found }: ScanFacts,
  { firstPlace, language = doorEnglish }: MessageOptions = {},
): string {
  const { reasonCode, attempt, isUncovered } = decision
  const { words } = language
  if (!found || !attempt)
    return matchCount > 1 ? say(words.severalMatches, { count: number(matchCount, language) }) : words.noMatch
  if (found.elsewhere) {
    const { projectName: project } = found.elsewhere
    return project === null ? words.noProject : say(words.otherProject, { project })
  }
  if (isUncovered) return words.balanceTooLow
  const facts = { attempt, history: found.history, firstPlace, language }
  return presenceMessage(decision, facts, found.presence) ?? redemptionMessage(reasonCode, facts)
}

/** Returns `undefined` if the zone did not decide the scan. */
function presenceMessage(
  { presence, result, reasonCode, isReentry }: ScanDecision,
  { attempt, language }: MessageFacts,
  facts: PresenceFacts | undefined,
): string | undefined {
  const { words } = language
  if (presence === 'full') return words.zoneFull
  if (result === 'accepted' && facts?.direction === 'out') return words.left
  if (result === 'accepted' && isReentry) return join(words.valid, words.reentered)
  if (presence === 'not_inside' && reasonCode === 'not_valid_context') return words.notInside
  if (presence !== 'already_inside' || result !== 'duplicate') return undefined
  const entry = facts?.previous?.direction === 'in' ? facts.previous : facts?.next
  return say(words.alreadyInside, { use: entry ? describeUse(entry.at, attempt.policy, entry.place, language) : '' })
}

export function reversalMessage(
  scannedAt: Date,
  policy: RedemptionPolicy | null,
  language: DoorLanguage = doorEnglish,
): string {
  return say(language.words.takenBack, { time: describeMoment(scannedAt, policy, language) })
}

/** Returns the message of a second reading, made `seconds` after the reading that `message` is about. */
export function repeatMessage(seconds: number, message: string, { locale, words }: DoorLanguage): string {
  return say(words.read, { seconds: numberFormat(locale).format(seconds), message })
}

interface ShownBalance {
  label: string
  max?: number | null | undefined
  currency?: string | null | undefined
}

/** Returns the field that shows a balance to door staff, such as `3 of 10` or `€12.40`. */
export function balanceField(
  { label, max, currency }: ShownBalance,
  value: number,
  language: DoorLanguage = doorEnglish,
): DoorView['fields'][number] {
  const format = (amount: number) => (currency ? currencyText(amount, currency, language) : number(amount, language))
  const shown = format(value)
  return { label, value: max == null ? shown : say(language.words.balanceOf, { value: shown, max: format(max) }) }
}

function currencyText(minorUnits: number, currency: string, { locale }: DoorLanguage): string {
  const amount = balanceText({ currency }, minorUnits) as Intl.StringNumericLiteral
  return numberFormat(locale, { style: 'currency', currency }).format(amount)
}

interface MessageFacts {
  attempt: PlacedAttempt
  history: RedemptionHistory
  firstPlace: string | undefined
  language: DoorLanguage
}

function redemptionMessage(code: ScanReasonCode, facts: MessageFacts): string {
  const { attempt, language } = facts
  const { words } = language
  switch (code) {
    case 'no_match':
      return words.noMatch
    case 'stale_identifier':
      return words.staleCode
    case 'revoked':
      return words.revoked
    case 'expired':
      return expiredMessage(facts)
    case 'not_active':
      return attempt.status === 'FAILED' ? words.issuingFailed : words.notIssued
    case 'not_valid_context':
      return join(say(words.notValidOn, { date: attempt.validityDate ?? '' }), validDates(facts))
    case 'out_of_window':
      return windowMessage(facts)
    case 'quota_exhausted':
      return quotaMessage(facts)
    case 'cooldown':
      return cooldownMessage(facts)
    case 'already_scanned':
      return usedMessage(code, facts)
    // The codes `multiple_matches` and `wrong_scope` never get here, because `decisionMessage` handles them.
    case 'multiple_matches':
    case 'wrong_scope':
    case 'valid':
      return join(words.valid, countedUse(facts))
  }
}

function expiredMessage({ attempt, history: { firstAt }, language }: MessageFacts): string {
  const { status, expiresAt, policy } = attempt
  const { words } = language
  if (expiresAt && (status === 'EXPIRED' || isPastExpiry(attempt)))
    return say(words.expiredOn, { time: describeMoment(expiresAt, policy, language) })
  if (!policy?.activation || !firstAt) return words.expired
  const hours = number(policy.activation.validForHours, language)
  return say(words.expiredAfterUse, { hours, time: describeMoment(firstAt, policy, language) })
}

const SHOWN_DATES = 5

function validDates({ attempt: { policy, at }, language }: MessageFacts): string {
  const today = at.toISOString().slice(0, 10)
  const coming = windowDates(policy)
    .filter((date) => date >= today)
    .sort()
  if (coming.length === 0) return ''
  const dates = coming.slice(0, SHOWN_DATES).join(', ')
  if (coming.length <= SHOWN_DATES) return say(language.words.validOn, { dates })
  return say(language.words.validOnAndMore, { dates, count: number(coming.length - SHOWN_DATES, language) })
}

function windowMessage({ attempt: { at, policy }, language }: MessageFacts): string {
  const { words } = language
  const momentOf = (bound: number) => ({ time: describeMoment(new Date(bound), policy, language) })
  const { previous, next } = neighbours(policy, at)
  if (next) return say(words.notValidYet, momentOf(next.from))
  return previous ? say(words.noLongerValid, momentOf(previous.to)) : words.notValidNow
}

function quotaMessage(facts: MessageFacts): string {
  const { attempt, history, language } = facts
  const { policy, windows } = attempt
  const { words } = language
  const withCount = (text: string, count: number) =>
    say(text, { count: number(count, language), use: firstUse('quota_exhausted', facts) ?? '' })
  if (isUsedUpForGood(policy, history)) {
    return policy.maxUses === 1 ? usedMessage('quota_exhausted', facts) : withCount(words.usedUp, policy.maxUses)
  }
  if (policy?.perPeriod && isPeriodFull(attempt, history)) {
    return withCount(words.usedUpThis[policy.perPeriod.unit], policy.perPeriod.count)
  }
  return withCount(
    words.usedUpNow,
    windows.reduce((sum, { maxUses }) => sum + (maxUses ?? 0), 0),
  )
}

function usedMessage(code: ScanReasonCode, facts: MessageFacts): string {
  const { words } = facts.language
  const use = firstUse(code, facts)
  return use === undefined ? words.alreadyUsed : say(words.alreadyUsedOn, { use })
}

function firstUse(code: ScanReasonCode, { attempt, history, firstPlace, language }: MessageFacts): string | undefined {
  const at = firstUseAt(code, attempt, history)
  return at ? describeUse(at, attempt.policy, firstPlace, language) : undefined
}

function describeUse(at: Date, policy: RedemptionPolicy | null, place: string | undefined, language: DoorLanguage) {
  return describeMoment(at, policy, language) + (place ? `, ${place}` : '')
}

function cooldownMessage({ attempt, history: { previousAt, nextAt }, language }: MessageFacts): string {
  const { at, policy } = attempt
  const { words } = language
  const moment = (bound: Date) => describeMoment(bound, policy, language)
  const interval = (policy?.minIntervalMinutes ?? 0) * 60_000
  if (previousAt && at.getTime() - previousAt.getTime() < interval) {
    const again = new Date(previousAt.getTime() + interval)
    return say(words.tooSoon, { time: moment(previousAt), again: moment(again) })
  }
  return nextAt ? say(words.tooCloseTo, { time: moment(nextAt) }) : words.tooClose
}

function countedUse({ attempt: { policy, windows, period }, history, language }: MessageFacts): string {
  const { words } = language
  const withUse = (text: string, use: number, count: number) =>
    say(text, { number: number(use, language), count: number(count, language) })
  const usesOf = (key: string) => (history.counts.get(key)?.count ?? 0) + 1
  if (policy?.maxUses !== undefined && policy.maxUses > 1) return withUse(words.use, history.total + 1, policy.maxUses)
  if (policy?.perPeriod && period) {
    return withUse(words.useThis[policy.perPeriod.unit], usesOf(period.key), policy.perPeriod.count)
  }
  const debited = windows.find(({ maxUses }) => maxUses !== null && maxUses > 1)
  return debited ? withUse(words.useNow, usesOf(debited.key), debited.maxUses!) : ''
}

/** Formats a time, followed by the name of its zone. The zone is `language.zone`, by default the zone of the policy. */
function describeMoment(at: Date, policy: RedemptionPolicy | null, language: DoorLanguage): string {
  const { locale, words } = language
  const zone = language.zone ?? zoneOf(policy)
  const zoneName = typeof zone === 'string' ? zone : zone.name
  const isEnglish = words === doorEnglish.words
  const time = isEnglish
    ? DateTime.fromJSDate(at, { zone: luxonZone(zone) })
        .setLocale(locale)
        .toFormat("d LLL yyyy 'at' HH:mm:ss")
    : writeMoment(at, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' }, locale, zoneName)
  return `${time} ${zoneName}`
}

/** Formats a number. English numbers have no thousands separators, for compatibility with earlier versions. */
function number(value: number, { locale, words }: DoorLanguage): string {
  return words === doorEnglish.words ? String(value) : numberFormat(locale).format(value)
}

function say(text: string, facts: Record<string, string>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => facts[name] ?? '')
}

function join(...sentences: string[]): string {
  return sentences.filter((sentence) => sentence !== '').join(' ')
}
