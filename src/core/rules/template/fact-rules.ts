import { factKind, maxDegrees } from '../../contract/schemas/about.ts'
import { Timestamp } from '../../contract/schemas/common.ts'
import type { Definition } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { isTimeZone } from '../redemption/time-zones.ts'
import { fill, lonePlaceholder, placeholdersIn, type Scope, stringsDeep } from './placeholder.ts'
import { factTexts } from './variable-uses.ts'

type Facts = Pick<Definition, 'event' | 'trip'>

/** The values of placeholders are checked later, in each pass. */
export function* checkFacts({ event, trip, variables }: Facts & Pick<Definition, 'variables'>): Generator<Issue> {
  if (event && trip) yield { path: ['trip'], message: 'A pass can have an event or a trip: remove one of them' }
  for (const { path, place } of placesOf({ event, trip })) {
    if ((place?.latitude === undefined) === (place?.longitude === undefined)) continue
    yield { path, message: 'A position needs latitude and longitude: set both, or remove them' }
  }
  for (const { text, path } of stringsDeep({ event, trip })) {
    if (placeholdersIn(text).length > 0) continue
    const key = String(path.at(-1))
    const wanted = wantedOf(key)
    if (wanted && readFact(key, text.trim()) === undefined) yield { path, message: `Must be ${wanted}` }
  }
  for (const { begins, ends, path, name } of spansOf({ event, trip })) {
    const isSaid = placeholdersIn(begins + ends).length === 0
    if (isSaid && isTurned(begins, ends)) yield { path, message: notBefore(name) }
  }
  const declared = new Set(variables.map(({ name }) => name))
  for (const { path, text, uses } of factTexts({ event, trip })) {
    const names = placeholdersIn(text)
    if (uses !== undefined || names.length === 0 || names.some((name) => !declared.has(name))) continue
    yield { path, message: `Must be ${wantedOf(String(path.at(-1)))}, or the placeholder of one variable` }
  }
}

/**
 * Compiles the check that an event or trip does not end before it begins. Returns `undefined` if these times have no
 * placeholder.
 */
export function compileFacts(facts: Facts): ((scope: Scope) => Issue[]) | undefined {
  const spans = spansOf(facts).filter(({ begins, ends }) => placeholdersIn(begins + ends).length > 0)
  if (spans.length === 0) return undefined
  return (scope) =>
    spans.flatMap(({ begins, ends, path, name }) => {
      if (!isTurned(fill(begins, scope), fill(ends, scope))) return []
      const [end] = placeholdersIn(ends)
      if (end !== undefined) return [{ path: ['variables', end], message: notBefore(name) }]
      return [{ path: ['variables', placeholdersIn(begins)[0]!], message: `Must not be after ${path.at(-1)}` }]
    })
}

function spansOf({ event, trip }: Facts) {
  const spans = [
    { begins: event?.startsAt, ends: event?.endsAt, path: ['event', 'endsAt'], name: 'startsAt' },
    { begins: trip?.departsAt, ends: trip?.arrivesAt, path: ['trip', 'arrivesAt'], name: 'departsAt' },
  ]
  return spans.flatMap(({ begins, ends, ...span }) =>
    begins === undefined || ends === undefined ? [] : [{ begins, ends, ...span }],
  )
}

/** Whether the end is before the beginning. `false` for an invalid time, which another check reports. */
function isTurned(begins: string, ends: string): boolean {
  return Date.parse(ends) < Date.parse(begins)
}

function notBefore(name: string): string {
  return `Must not be before ${name}`
}

function placesOf({ event, trip }: Facts) {
  return [
    { path: ['event', 'venue'], place: event?.venue },
    { path: ['trip', 'from'], place: trip?.from },
    { path: ['trip', 'to'], place: trip?.to },
  ]
}

/** Returns the value of a fact from its filled text. Returns `undefined` if the text is empty or of a wrong kind. */
export function readFact(key: string, text: string): string | number | undefined {
  if (text === '') return undefined
  const kind = factKind(key)
  if (kind === undefined) return text
  if (kind === 'moment') return Timestamp.safeParse(text).success ? text : undefined
  if (kind === 'timeZone') return isTimeZone(text) ? text : undefined
  return Math.abs(Number(text)) <= maxDegrees[kind] ? Number(text) : undefined
}

function wantedOf(key: string): string | undefined {
  const kind = factKind(key)
  if (kind === 'moment') return 'a date-time with Z or an offset, such as 2027-05-31T19:30:00+01:00'
  if (kind === 'timeZone') return 'an IANA time zone, such as Europe/Lisbon'
  return kind && `degrees from -${maxDegrees[kind]} to ${maxDegrees[kind]}`
}

const samples = { moment: '2030-01-31T18:00:00Z', timeZone: 'UTC', latitude: '1', longitude: '1' }

export function factSamples({ event, trip }: Facts): Map<string, string> {
  return new Map(
    stringsDeep({ event, trip }).flatMap(({ text, path }) => {
      const name = lonePlaceholder(text.trim())
      const kind = factKind(String(path.at(-1)))
      return name !== undefined && kind ? [[name, samples[kind]] as const] : []
    }),
  )
}
