import { dateTimeParts, timestampPattern } from '../../contract/common.ts'
import type { Definition } from '../../contract/definition.ts'
import { policyBounds } from '../../contract/redemption.ts'
import { timeZones } from '../redemption/time-zones.ts'
import { dateTimePieces } from './composed-date-time.ts'
import { lonePlaceholder, placeholdersIn, splitPlaceholders, stringsDeep } from './placeholder.ts'

/** What a variable must be where its placeholder stands for a value of the expiry or the redemption policy, or a piece of one. */
export interface VariableUse {
  /** What the text must look like, or all that it may be. */
  rule: { pattern: string } | { values: readonly string[] }
  /** Completes "Must be". */
  wanted: string
  /** Whether the value may not be left out. */
  isNeeded: boolean
}

export type Policies = Partial<Pick<Definition, 'expiresAt' | 'redemption'>>

/** A text of the expiry or the policy that holds placeholders, and what they must be: undefined where that cannot be said. */
export interface PolicyText {
  path: (string | number)[]
  text: string
  uses: { name: string; use: VariableUse }[] | undefined
}

/** The uses by variable. */
export function usesOf(policies: Policies): Map<string, VariableUse[]> {
  const byName = new Map<string, VariableUse[]>()
  for (const { uses = [] } of policyTexts(policies)) {
    for (const { name, use } of uses) byName.set(name, [...(byName.get(name) ?? []), use])
  }
  return byName
}

/** Each text with placeholders of the expiry and the policy. */
export function* policyTexts({ expiresAt, redemption }: Policies): Generator<PolicyText> {
  if (expiresAt && placeholdersIn(expiresAt).length > 0) {
    yield { path: ['expiresAt'], text: expiresAt, uses: usesInExpiry(expiresAt, EXPIRY) }
  }
  for (const { text, path } of stringsDeep(redemption)) {
    if (placeholdersIn(text).length === 0) continue
    const uses = usesInPolicy(text, String(path.at(-1)), expiresAt)
    yield { path: ['redemption', ...path], text, uses }
  }
}

function usesInPolicy(text: string, key: string, expiresAt: Policies['expiresAt']): PolicyText['uses'] {
  const isBound = key === 'start' || key === 'end'
  const name = lonePlaceholder(text)
  // What is resolved from the expiry is sound where there is one.
  if (name === 'pass.expiresAt') return isBound && expiresAt ? usesInExpiry(expiresAt, NEEDED_EXPIRY) : undefined
  if (isBound) return name === undefined ? usesInDateTime(text) : [{ name, use: MOMENT }]
  if (key === 'timezone') return usesInTimeZone(text)
  const max = policyBounds[key as keyof typeof policyBounds]
  const wanted = `a whole number from 1 to ${max}`
  return name === undefined ? undefined : [{ name, use: needed(`^(?:${upTo(max)})$`, wanted) }]
}

/** The expiry is trimmed before it is read. */
function usesInExpiry(expiresAt: string, lone: VariableUse): PolicyText['uses'] {
  const text = expiresAt.trim()
  if (placeholdersIn(text).length === 0) return []
  const name = lonePlaceholder(text)
  return name === undefined ? usesInDateTime(text) : [{ name, use: lone }]
}

function usesInDateTime(text: string): PolicyText['uses'] {
  return dateTimePieces(text)?.map(({ name, pattern, what }) => ({
    name,
    use: needed(`^(?:${pattern})$`, `${what}, as a date-time is made of it`),
  }))
}

function usesInTimeZone(text: string): PolicyText['uses'] {
  const { names, literals } = splitPlaceholders(text)
  const [name, ...others] = names
  if (name === undefined || others.length > 0) return undefined
  const [before, after] = literals as [string, string]
  const values = timeZones()
    .filter((zone) => zone.startsWith(before) && zone.endsWith(after) && zone.length > before.length + after.length)
    .map((zone) => zone.slice(before.length, zone.length - after.length))
  const wanted = before || after ? `what makes ${text} an IANA timezone` : 'an IANA timezone identifier, UTC or GMT'
  return [{ name, use: { rule: { values }, wanted, isNeeded: true } }]
}

function needed(pattern: string, wanted: string): VariableUse {
  return { rule: { pattern }, wanted, isNeeded: true }
}

/** With offsets the first and the last day may lie in years that ISO 8601 writes otherwise: there they are left out. */
const moment = `(?!0000-01-01T[^+]*\\+|9999-12-31T[^-]*-)${timestampPattern.slice(1, -1)}`
const dateOrMoment = `(?:${dateTimeParts.date}|${moment})`

const EXPIRY: VariableUse = {
  rule: { pattern: `^\\s*(?:${dateOrMoment}\\s*)?$` },
  wanted: 'a date, a date-time or empty, as the expiry is made of it',
  isNeeded: false,
}
const NEEDED_EXPIRY = needed(`^\\s*${dateOrMoment}\\s*$`, 'a date or a date-time, as the expiry is made of it')
const MOMENT = needed(`^${moment}$`, 'a date-time such as 2027-05-31T19:30:00Z, as a window is made of it')

/** A pattern of the whole numbers from 1 to max, written without leading zeros. */
function upTo(max: number): string {
  const digits = String(max)
  const shorter = digits.length > 1 ? [`[1-9][0-9]{0,${digits.length - 2}}`] : []
  const sameLength = [...digits].flatMap((digit, index) => {
    const lowest = index === 0 ? 1 : 0
    if (Number(digit) <= lowest) return []
    return [`${digits.slice(0, index)}[${lowest}-${Number(digit) - 1}][0-9]{${digits.length - index - 1}}`]
  })
  return [...shorter, ...sameLength, digits].join('|')
}
