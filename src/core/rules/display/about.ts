import { DateTime } from 'luxon'
import type { EventFacts, maxDegrees, Stop, TripFacts } from '../../contract/schemas/about.ts'
import type { Definition } from '../../contract/schemas/definition.ts'
import { isJsonObject } from '../../json.ts'
import { oneSpelling } from '../redemption/time-zones.ts'
import { readFact } from '../template/fact-rules.ts'
import { fill, type Scope } from '../template/placeholder.ts'

/** An event or a trip with its placeholders filled. Empty values, and values in the wrong format, are omitted. */
export type Filled<Facts> = Facts extends object
  ? { [Key in keyof Facts]?: Key extends keyof typeof maxDegrees ? number : Filled<Facts[Key]> }
  : Facts

export interface About {
  event?: Filled<EventFacts> | undefined
  trip?: (Filled<TripFacts> & Pick<TripFacts, 'mode'>) | undefined
}

type AboutContent = Pick<Definition, 'event' | 'trip'>

export function aboutOf({ event, trip }: AboutContent, scope: Scope): About {
  return {
    ...(event && { event: (filled('event', event, scope) ?? {}) as About['event'] }),
    ...(trip && { trip: withTimesAtPlaces(filled('trip', trip, scope) as NonNullable<About['trip']>) }),
  }
}

/** The stop to which each time of a trip belongs. Passes show the time in the zone of the stop. */
const placeOfTime = { boardsAt: 'from', departsAt: 'from', arrivesAt: 'to' } as const
const tripTimes = Object.keys(placeOfTime) as (keyof typeof placeOfTime)[]

/** Converts each time of a trip to the zone of its stop. Some wallets show a time in its written offset. */
function withTimesAtPlaces(trip: NonNullable<About['trip']>): About['trip'] {
  const times = tripTimes.map((key) => {
    const [text, zone] = [trip[key], trip[placeOfTime[key]]?.timeZone]
    return [key, text !== undefined && zone !== undefined ? inZone(text, zone) : text] as const
  })
  return { ...trip, ...known(Object.fromEntries(times)) }
}

/** Returns the zone for a field that shows a time of the trip: the zone of the stop, or else the offset of the time. */
export function zoneOfTripTime(value: string, { trip }: AboutContent, about: About): string | undefined {
  const key = tripTimes.find((time) => trip?.[time]?.trim() === value.trim())
  if (!key) return undefined
  return about.trip?.[placeOfTime[key]]?.timeZone ?? zoneOfOffset(about.trip?.[key] ?? '')
}

/** Returns the offset of a date-time as a zone, such as UTC+2. Returns `undefined` for a text with Z or no offset. */
export function zoneOfOffset(text: string): string | undefined {
  const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(text) ?? []
  return sign && `UTC${sign}${Number(hours)}${minutes === '00' ? '' : `:${minutes}`}`
}

/** Converts an ISO 8601 date-time to a zone, with the offset of the zone. */
export function inZone(text: string, zone: string): string {
  return DateTime.fromISO(text, { zone: oneSpelling(zone) }).toISO({ suppressMilliseconds: true }) ?? text
}

function filled(key: string, value: unknown, scope: Scope): unknown {
  if (typeof value === 'string') return readFact(key, fill(value, scope).trim())
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).flatMap(([name, item]) => {
    const text = filled(name, item, scope)
    return text === undefined ? [] : [[name, text] as const]
  })
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

/** The event or trip of a pass, before or after its placeholders are filled. */
interface Facts {
  event?: EventFacts | About['event']
  trip?: TripFacts | About['trip']
}

/** Returns the keys of pass.json for an event or a trip: semantic tags, and the transit type of a trip. */
export function appleOf({ event, trip }: Facts): Record<string, unknown> {
  const semantics = known({ ...(event && eventTags(event)), ...(trip && tripTags(trip)) })
  return known({ semantics, transitType: trip && transitTypes[trip.mode] }) ?? {}
}

export const transitTypes: Record<TripFacts['mode'], string> = {
  air: 'PKTransitTypeAir',
  train: 'PKTransitTypeTrain',
  bus: 'PKTransitTypeBus',
  boat: 'PKTransitTypeBoat',
}

function eventTags({ name, venue, doorsAt, startsAt, endsAt, seat }: NonNullable<Facts['event']>) {
  return {
    eventName: name,
    venueName: venue?.name,
    venueLocation: placeOf(venue),
    venueDoorsOpenDate: doorsAt,
    eventStartDate: startsAt,
    eventEndDate: endsAt,
    venueEntranceGate: seat?.gate,
    seats: listed({ seatSection: seat?.section, seatRow: seat?.row, seatNumber: seat?.seat }),
  }
}

function tripTags(trip: NonNullable<Facts['trip']>) {
  const { mode, carrier, number, boardsAt, departsAt, arrivesAt, passenger } = trip
  const common = {
    transitProvider: carrier?.name,
    ...stopTags('departure', mode, trip.from),
    ...stopTags('destination', mode, trip.to),
    originalBoardingDate: boardsAt,
    originalDepartureDate: departsAt,
    originalArrivalDate: arrivesAt,
    departureGate: trip.gate,
    departurePlatform: trip.platform,
    seats: listed({ seatNumber: trip.seat }),
    boardingGroup: trip.group,
    confirmationNumber: trip.confirmation,
    passengerName:
      typeof passenger === 'string'
        ? { givenName: passenger }
        : known({ givenName: passenger?.given, familyName: passenger?.family }),
  }
  if (mode !== 'air') return { ...common, vehicleNumber: number }
  const code = carrier?.code && number && `${carrier.code}${number}`
  return { ...common, airlineCode: carrier?.code, flightNumber: number, flightCode: code }
}

function stopTags(end: 'departure' | 'destination', mode: TripFacts['mode'], stop: Stop | Filled<Stop> | undefined) {
  const { code, name, city, terminal, timeZone } = stop ?? {}
  const place = { [`${end}Location`]: placeOf(stop), [`${end}Terminal`]: terminal }
  if (mode === 'air') {
    return {
      ...place,
      [`${end}AirportCode`]: code,
      [`${end}AirportName`]: name,
      [`${end}CityName`]: city,
      // Write both keys. Apple documents the second key, but Apple's validator reads the first key.
      [`${end}AirportTimeZone`]: timeZone,
      [`${end}LocationTimeZone`]: timeZone,
    }
  }
  const called = mode === 'boat' ? 'LocationDescription' : 'StationName'
  return { ...place, [`${end}${called}`]: name ?? code, [`${end}LocationTimeZone`]: timeZone }
}

interface Place {
  latitude?: string | number | undefined
  longitude?: string | number | undefined
}

function placeOf<Position extends Place>(place: Position | undefined) {
  const { latitude, longitude } = place ?? {}
  return latitude !== undefined && longitude !== undefined ? { latitude, longitude } : undefined
}

function listed(facts: Record<string, unknown>) {
  const value = known(facts)
  return value && [value]
}

/** Returns the facts whose value is defined, or `undefined` if there are none. */
function known(facts: Record<string, unknown>): Record<string, unknown> | undefined {
  const entries = Object.entries(facts).filter(([, value]) => value !== undefined)
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

/**
 * Merges overrides into derived keys. Nested objects are also merged. Any other override replaces the derived value.
 */
export function mergeUnder(
  facts: Record<string, unknown>,
  overrides: Record<string, unknown>,
): Record<string, unknown> {
  const merged = new Map(Object.entries(facts))
  for (const [key, value] of Object.entries(overrides)) {
    const below = merged.get(key)
    merged.set(key, isJsonObject(below) && isJsonObject(value) ? mergeUnder(below, value) : value)
  }
  return Object.fromEntries(merged)
}

/**
 * The semantic tags that the boarding pass style of iOS 26 requires, each with the path of the trip fact that sets the
 * tag. If a tag is missing, Wallet shows the classic style (decisions/0031).
 */
export const semanticBoardingTags = {
  airlineCode: ['carrier', 'code'],
  flightNumber: ['number'],
  departureAirportCode: ['from', 'code'],
  departureCityName: ['from', 'city'],
  departureLocationTimeZone: ['from', 'timeZone'],
  destinationAirportCode: ['to', 'code'],
  destinationCityName: ['to', 'city'],
  destinationLocationTimeZone: ['to', 'timeZone'],
  originalBoardingDate: ['boardsAt'],
  originalDepartureDate: ['departsAt'],
  originalArrivalDate: ['arrivesAt'],
  passengerName: ['passenger'],
} as const

/** Returns the required tags of a semantic boarding pass that are missing or empty in Apple keys or a pass.json. */
export function missingSemanticTags({ semantics }: Record<string, unknown>): (keyof typeof semanticBoardingTags)[] {
  const tags = new Map(Object.entries(Object(semantics)))
  const names = Object.keys(semanticBoardingTags) as (keyof typeof semanticBoardingTags)[]
  return names.filter((name) => tags.get(name) === undefined || tags.get(name) === '')
}

/**
 * Returns the Apple keys of a card. Sets `flightNumber` only if the number of the trip has one to four digits, because
 * Apple requires a number. If a boarding pass by air has all required tags, requests the semantic style.
 */
export function appleKeys(about: About, overrides: Record<string, unknown>): Record<string, unknown> {
  const keys = withFacts(about, overrides)
  const isSemantic = keys.transitType === 'PKTransitTypeAir' && missingSemanticTags(keys).length === 0
  return isSemantic ? { preferredStyleSchemes: ['semanticBoardingPass', 'boardingPass'], ...keys } : keys
}

function withFacts(about: About, overrides: Record<string, unknown>): Record<string, unknown> {
  const { trip } = about
  if (!about.event && !trip) return overrides
  const isNumber = trip?.number !== undefined && /^\d{1,4}$/.test(trip.number)
  const facts = appleOf(about)
  const { flightNumber: _, ...tags } = (facts.semantics ?? {}) as Record<string, unknown>
  const numbered = trip?.mode === 'air' && isNumber ? { ...tags, flightNumber: Number(trip.number) } : tags
  return mergeUnder({ ...facts, ...known({ semantics: known(numbered) }) }, overrides)
}

/** Returns the coordinates for a pass: those of the venue, or of the origin of the trip. */
export function placeAbout({ event, trip }: About): { latitude: number; longitude: number } | undefined {
  const { latitude, longitude } = event?.venue ?? trip?.from ?? {}
  return latitude !== undefined && longitude !== undefined ? { latitude, longitude } : undefined
}

/** Omits `until` if it is not later than `from`. */
export function timeAbout({ event, trip }: About): { from: Date; until?: Date } | undefined {
  const [from, until] = event
    ? [event.doorsAt ?? event.startsAt, event.endsAt]
    : [trip?.boardsAt ?? trip?.departsAt, trip?.arrivesAt]
  if (from === undefined) return undefined
  const [start, end] = [new Date(from), new Date(until ?? from)]
  return { from: start, ...(end > start && { until: end }) }
}
