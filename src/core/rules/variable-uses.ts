import { z } from 'zod'
import { timestampPattern } from '../contract/common.ts'
import type { Definition } from '../contract/definition.ts'
import { policyBounds } from '../contract/redemption.ts'
import { lonePlaceholder, stringsDeep } from './placeholder.ts'

/** What a variable must be where its placeholder stands alone for a value of the expiry or the redemption policy. */
export interface VariableUse {
  pattern: string
  /** Completes "Must be". */
  wanted: string
  /** Whether the value may not be left out. */
  isNeeded: boolean
}

export type Policies = Partial<Pick<Definition, 'expiresAt' | 'redemption'>>

/** The uses by variable. Text around a placeholder, or several of them, say nothing about each of the values. */
export function usesOf({ expiresAt, redemption }: Policies): Map<string, VariableUse[]> {
  const uses = new Map<string, VariableUse[]>()
  const add = (text: string, use: VariableUse) => {
    const name = lonePlaceholder(text)
    if (name !== undefined) uses.set(name, [...(uses.get(name) ?? []), use])
  }
  if (expiresAt) add(expiresAt, EXPIRY)
  for (const { text, path } of stringsDeep(redemption)) {
    const isExpiry = lonePlaceholder(text) === 'pass.expiresAt'
    if (isExpiry && expiresAt) add(expiresAt, NEEDED_EXPIRY)
    else add(text, expected(String(path.at(-1))))
  }
  return uses
}

function expected(key: string): VariableUse {
  if (key === 'start' || key === 'end') return MOMENT
  if (key === 'timezone') return TIMEZONE
  const max = policyBounds[key as keyof typeof policyBounds]
  return { pattern: `^(?:${upTo(max)})$`, wanted: `a whole number from 1 to ${max}`, isNeeded: true }
}

/** With offsets the first and the last day may lie in years that ISO 8601 writes otherwise: there they are left out. */
const moment = `(?!0000-01-01T[^+]*\\+|9999-12-31T[^-]*-)${timestampPattern.slice(1, -1)}`
const dateOrMoment = `(?:${z.regexes.date.source.slice(1, -1)}|${moment})`

const EXPIRY: VariableUse = {
  pattern: `^\\s*(?:${dateOrMoment}\\s*)?$`,
  wanted: 'a date, a date-time or empty, as the expiry is made of it',
  isNeeded: false,
}
const NEEDED_EXPIRY: VariableUse = {
  pattern: `^\\s*${dateOrMoment}\\s*$`,
  wanted: 'a date or a date-time, as the expiry is made of it',
  isNeeded: true,
}
const MOMENT: VariableUse = {
  pattern: `^${moment}$`,
  wanted: 'a date-time such as 2027-05-31T19:30:00Z, as a window is made of it',
  isNeeded: true,
}
/** Which names there are cannot be said in a pattern. */
const TIMEZONE: VariableUse = {
  pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$',
  wanted: 'an IANA timezone identifier, UTC or GMT',
  isNeeded: true,
}

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
