import { degreeKeys, momentKeys } from '../../contract/about.ts'
import { Timestamp } from '../../contract/common.ts'
import type { Definition } from '../../contract/definition.ts'
import type { Issue } from '../../errors.ts'
import { isTimeZone } from '../redemption/time-zones.ts'
import { fill, lonePlaceholder, placeholdersIn, type Scope, stringsDeep } from './placeholder.ts'
import { factTexts } from './variable-uses.ts'

type Facts = Pick<Definition, 'event' | 'trip'>

/** Checks the event or trip of a definition. Values from placeholders are checked for each pass. */
export function* checkFacts({
  event,
  trip,
  variables,
}: Pick<Definition, 'event' | 'trip' | 'variables'>): Generator<Issue> {
  if (event && trip) yield { path: ['trip'], message: 'A pass can have an event or a trip: remove one of them' }
  for (const { path, place } of placesOf({ event, trip })) {
    if ((place?.latitude === undefined) === (place?.longitude === undefined)) continue
    yield { path, message: 'A position needs latitude and longitude: set both, or remove them' }
  }
  for (const { text, path } of stringsDeep({ event, trip })) {
    if (placeholdersIn(text).length > 0) continue
    const wanted = wantedInstead(String(path.at(-1)), text.trim())
    if (wanted) yield { path, message: `Must be ${wanted}` }
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
 * Compiles the check that the event or trip of a pass does not end before it begins. Returns `undefined` if neither
 * time has a placeholder, or one of them is not given.
 */
export function compileFacts(facts: Facts): ((scope: Scope) => Issue[]) | undefined {
  const spans = spansOf(facts).filter(({ begins, ends }) => placeholdersIn(begins + ends).length > 0)
  if (spans.length === 0) return undefined
  return (scope) =>
    spans.flatMap(({ begins, ends, name }) => {
      if (!isTurned(fill(begins, scope), fill(ends, scope))) return []
      const variable = placeholdersIn(ends)[0] ?? placeholdersIn(begins)[0]!
      return [{ path: ['variables', variable], message: notBefore(name) }]
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

/** False for an invalid time, which another check reports. */
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

function wantedInstead(key: string, text: string): string | undefined {
  if (isMoment(key)) return Timestamp.safeParse(text).success ? undefined : wantedOf(key)
  if (key === 'timeZone') return isTimeZone(text) ? undefined : wantedOf(key)
  if (!isDegrees(key)) return undefined
  return text !== '' && Math.abs(Number(text)) <= degreeKeys[key] ? undefined : wantedOf(key)
}

function wantedOf(key: string): string {
  if (isMoment(key)) return 'a date-time with Z or an offset, such as 2027-05-31T19:30:00+01:00'
  return isDegrees(key)
    ? `degrees from -${degreeKeys[key]} to ${degreeKeys[key]}`
    : 'an IANA time zone, such as Europe/Lisbon'
}

function isMoment(key: string): boolean {
  return (momentKeys as readonly string[]).includes(key)
}

function isDegrees(key: string): key is keyof typeof degreeKeys {
  return Object.hasOwn(degreeKeys, key)
}

/** Returns sample values for the variables that facts use, by name. */
export function factSamples({ event, trip }: Facts): Map<string, string> {
  return new Map(
    [...stringsDeep({ event, trip })].flatMap(({ text, path }) => {
      const name = lonePlaceholder(text.trim())
      const key = String(path.at(-1))
      const sample = isMoment(key)
        ? '2030-01-31T18:00:00Z'
        : key === 'timeZone'
          ? 'UTC'
          : isDegrees(key)
            ? '1'
            : undefined
      return name !== undefined && sample !== undefined ? [[name, sample] as const] : []
    }),
  )
}
