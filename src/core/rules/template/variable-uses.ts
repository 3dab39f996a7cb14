import { factKind, maxDegrees } from '../../contract/schemas/about.ts'
import { dateTimeParts, timestampPattern } from '../../contract/schemas/common.ts'
import { type Definition, fieldGroups, type ValueKind } from '../../contract/schemas/definition.ts'
import { policyBounds } from '../../contract/schemas/redemption.ts'
import { currencies, isNumberKind, valueKinds } from '../display/format-value.ts'
import { timeZones } from '../redemption/time-zones.ts'
import { compileText, lonePlaceholder, placeholdersIn, stringsDeep } from './placeholder.ts'

/** The rule for a variable in a text with a required format, such as the expiry or a value of a policy. */
export interface VariableUse {
  rule: { pattern: string } | { values: readonly string[] }
  /** A phrase that completes "Must be". */
  wanted: string
  isNeeded: boolean
}

/** The parts of a definition that affect more than the appearance of a pass. */
export type Policies = Partial<Pick<Definition, 'expiresAt' | 'redemption'>>

/** The parts of a definition that require a certain format of the variables in them. */
export type Users = Policies & { design?: Pick<Definition['design'], 'fields'> } & Partial<
    Pick<Definition, 'event' | 'trip'>
  >

/** A text with placeholders and the rules for them. `uses` is `undefined` if no rule can be derived. */
export interface PolicyText {
  path: (string | number)[]
  text: string
  uses: { name: string; use: VariableUse }[] | undefined
}

export function usesOf(users: Users): Map<string, VariableUse[]> {
  const byName = new Map<string, VariableUse[]>()
  for (const { uses = [] } of [...policyTexts(users), ...typedTexts(users), ...factTexts(users)]) {
    for (const { name, use } of uses) byName.set(name, [...(byName.get(name) ?? []), use])
  }
  return byName
}

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

export function* typedTexts({ design }: Users): Generator<PolicyText> {
  if (!design) return
  for (const group of fieldGroups) {
    for (const [index, { as = 'text', value, currency = '' }] of design.fields[group].entries()) {
      if (as === 'text') continue
      const path = ['design', 'fields', group, index]
      if (placeholdersIn(value).length > 0) {
        yield { path: [...path, 'value'], text: value, uses: usesInValue(value.trim(), as) }
      }
      const name = lonePlaceholder(currency)
      if (placeholdersIn(currency).length > 0) {
        const uses = name === undefined ? undefined : [{ name, use: CURRENCY() }]
        yield { path: [...path, 'currency'], text: currency, uses }
      }
    }
  }
}

export function* factTexts({ event, trip }: Users): Generator<PolicyText> {
  for (const { text, path } of stringsDeep({ event, trip })) {
    const key = String(path.at(-1))
    const uses = usesInFact(key, text.trim())
    if (uses) yield { path, text, uses: uses.known }
  }
}

function usesInFact(key: string, text: string): { known: PolicyText['uses'] } | undefined {
  const name = lonePlaceholder(text)
  const kind = factKind(key)
  if (kind === undefined) return undefined
  if (kind === 'moment') {
    const use = orEmpty(moment, `${DATE_TIME} or empty`)
    return { known: name === undefined ? usesInDateTime(text) : [{ name, use }] }
  }
  if (kind === 'timeZone') return { known: usesInTimeZone(text, { mayBeEmpty: name !== undefined }) }
  const max = maxDegrees[kind]
  const pattern = `-?(?:${max}(?:\\.0+)?|(?:0|${upTo(max - 1)})(?:\\.\\d+)?)`
  const use = orEmpty(pattern, `degrees from -${max} to ${max}`)
  return { known: name === undefined ? undefined : [{ name, use }] }
}

const DATE_TIME = 'a date-time with Z or an offset, such as 2027-05-31T19:30:00Z,'

function usesInValue(text: string, kind: Exclude<ValueKind, 'text'>): PolicyText['uses'] {
  const { pattern, wanted } = valueKinds[kind]
  const name = lonePlaceholder(text)
  if (name === undefined) return isNumberKind(kind) ? undefined : usesInDateTime(text)
  // Accept an empty value, because the pass then does not show the field.
  return [{ name, use: orEmpty(pattern, `${wanted}, because a field uses it`) }]
}

const CURRENCY = (): VariableUse => ({
  rule: { values: currencies() },
  wanted: 'a currency of ISO 4217, such as EUR, because a field uses it',
  isNeeded: true,
})

function usesInPolicy(text: string, key: string, expiresAt: Policies['expiresAt']): PolicyText['uses'] {
  const isBound = key === 'start' || key === 'end'
  const name = lonePlaceholder(text)
  // Use the rule of the expiry if a window starts or ends at the expiry, because a valid expiry is a valid bound.
  if (name === 'pass.expiresAt') return isBound && expiresAt ? usesInExpiry(expiresAt, NEEDED_EXPIRY) : undefined
  if (isBound) return name === undefined ? usesInDateTime(text) : [{ name, use: MOMENT }]
  if (key === 'timezone') return usesInTimeZone(text)
  const max = policyBounds[key as keyof typeof policyBounds]
  const wanted = `a whole number from 1 to ${max}`
  return name === undefined ? undefined : [{ name, use: needed(`^(?:${upTo(max)})$`, wanted) }]
}

/** Returns the uses of variables in the expiry, which is trimmed before it is parsed. */
function usesInExpiry(expiresAt: string, lone: VariableUse): PolicyText['uses'] {
  const text = expiresAt.trim()
  if (placeholdersIn(text).length === 0) return []
  const name = lonePlaceholder(text)
  return name === undefined ? usesInDateTime(text) : [{ name, use: lone }]
}

function usesInDateTime(text: string): PolicyText['uses'] {
  return dateTimePieces(text)?.map(({ name, pattern, what }) => ({
    name,
    use: needed(`^(?:${pattern})$`, `${what}, because it is a part of a date-time`),
  }))
}

function usesInTimeZone(text: string, fact?: { mayBeEmpty: boolean }): PolicyText['uses'] {
  const { names, literals } = compileText(text)
  const [name, ...others] = names
  if (name === undefined || others.length > 0) return undefined
  const [before, after] = literals as [string, string]
  const values = timeZones()
    .filter((zone) => zone.startsWith(before) && zone.endsWith(after) && zone.length > before.length + after.length)
    .map((zone) => zone.slice(before.length, zone.length - after.length))
  const wanted =
    before || after ? `the part that makes ${text} an IANA timezone` : 'an IANA timezone identifier, UTC or GMT'
  if (!fact?.mayBeEmpty) return [{ name, use: { rule: { values }, wanted, isNeeded: fact === undefined } }]
  return [{ name, use: { rule: { values: ['', ...values] }, wanted: `${wanted}, or empty`, isNeeded: false } }]
}

function needed(pattern: string, wanted: string): VariableUse {
  return { rule: { pattern }, wanted, isNeeded: true }
}

/** Returns the rule for a value that is trimmed before use, and that can be empty. */
function orEmpty(pattern: string, wanted: string): VariableUse {
  return { rule: { pattern: `^\\s*(?:${pattern}\\s*)?$` }, wanted, isNeeded: false }
}

/**
 * A pattern of date-times, except those on 0000-01-01 with a positive offset and on 9999-12-31 with a negative offset.
 * In UTC, such a time can be in the year -1 or 10000, which ISO 8601 writes differently.
 */
const moment = `(?!0000-01-01T[^+]*\\+|9999-12-31T[^-]*-)${timestampPattern.slice(1, -1)}`
const dateOrMoment = `(?:${dateTimeParts.date}|${moment})`

const EXPIRY = orEmpty(dateOrMoment, 'a date, a date-time or empty, because the expiry uses it')
const NEEDED_EXPIRY = needed(`^\\s*${dateOrMoment}\\s*$`, 'a date or a date-time, because the expiry uses it')
const MOMENT = needed(`^${moment}$`, 'a date-time such as 2027-05-31T19:30:00Z, because a window uses it')

/** Returns a pattern of the whole numbers from 1 to `max`, without leading zeros. */
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

const { date, time, offset } = dateTimeParts
const HOUR = '(?:[01]\\d|2[0-3])'
const MINUTE = '[0-5]\\d'
const SECOND = '[0-5]\\d(?:\\.\\d+)?'

/** The character that replaces each placeholder before a text is matched. No date-time contains it. */
const MARK = '\0'

interface Piece {
  /** The pattern of the piece, without anchors. */
  pattern: string
  what: string
}

const pieces = {
  date: { pattern: date, what: 'a date such as 2027-05-31' },
  time: { pattern: time, what: 'a time such as 19:30 or 19:30:00' },
  hour: { pattern: HOUR, what: 'an hour from 00 to 23' },
  minute: { pattern: MINUTE, what: 'minutes from 00 to 59' },
  second: { pattern: SECOND, what: 'seconds from 00 to 59' },
  offset: { pattern: offset, what: 'Z or an offset such as +02:00' },
  dateAndTime: { pattern: `${date}T${time}`, what: 'a date-time without an offset, such as 2027-05-31T19:30:00' },
  timeAndOffset: { pattern: `${time}${offset}`, what: 'a time with Z or an offset, such as 19:30:00Z' },
} satisfies Record<string, Piece>

type PieceName = keyof typeof pieces

/** Returns a pattern that matches a piece, either as literal text or as a placeholder. */
const piece = (name: PieceName) => `(?<${name}>${MARK}|${pieces[name].pattern})`

/** The ways to compose a date-time. Pieces are independent: any valid choice of them makes a valid date-time. */
const forms = [
  `${piece('date')}T${piece('time')}${piece('offset')}`,
  `${piece('date')}T${piece('hour')}:${piece('minute')}(?::${piece('second')})?${piece('offset')}`,
  `${piece('date')}T${piece('timeAndOffset')}`,
  `${piece('dateAndTime')}${piece('offset')}`,
].map((form) => new RegExp(`^${form}$`))

/** Returns the rule for each placeholder of a date-time, or `undefined` if the text is ambiguous or never valid. */
function dateTimePieces(text: string): (Piece & { name: string })[] | undefined {
  if (text.includes(MARK)) return undefined
  const { names, literals } = compileText(text)
  const marked = literals.join(MARK)
  for (const form of forms) {
    const groups = form.exec(marked)?.groups
    if (!groups) continue
    const found = Object.entries(groups).filter(([, part]) => part === MARK) as [PieceName, string][]
    const isUtc = groups.offset === 'Z'
    // Reject 0000-01-01 and 9999-12-31 with an offset: in UTC, they can fall in the year -1 or 10000 (see `moment`).
    if (!isUtc && (groups.date ?? groups.dateAndTime)?.match(EDGE)) return undefined
    return found.map(([piece, _], index) => {
      const { pattern, what } = pieces[piece]
      const mayBeEdge = isUtc || (piece !== 'date' && piece !== 'dateAndTime')
      return { name: names[index]!, pattern: mayBeEdge ? pattern : `(?!${EDGES})${pattern}`, what }
    })
  }
  return undefined
}

const EDGES = '0000-01-01|9999-12-31'
const EDGE = new RegExp(`^(?:${EDGES})`)
