import type { PassType } from '../../../core/contract/schemas/definition.ts'
import { isJsonObject } from '../../../core/json.ts'
import { isTimeZone } from '../../../core/rules/redemption/time-zones.ts'
import type { FieldContext } from './fields.ts'
import type { JsonObject } from './report.ts'
import { toNumberText, toTimestamp } from './values.ts'

type Mode = 'air' | 'train' | 'bus' | 'boat'

const modes: Record<string, Mode> = {
  PKTransitTypeAir: 'air',
  PKTransitTypeTrain: 'train',
  PKTransitTypeBus: 'bus',
  PKTransitTypeBoat: 'boat',
}

/** A semantic tag, and the fact of an event or a trip that sets it. */
interface FactRow {
  tag: string
  fact: string
  isRequired?: true
}

const eventRows: FactRow[] = [
  { tag: 'eventName', fact: 'name', isRequired: true },
  { tag: 'venueName', fact: 'venue.name', isRequired: true },
  { tag: 'venueLocation.latitude', fact: 'venue.latitude' },
  { tag: 'venueLocation.longitude', fact: 'venue.longitude' },
  { tag: 'venueDoorsOpenDate', fact: 'doorsAt' },
  { tag: 'eventStartDate', fact: 'startsAt', isRequired: true },
  { tag: 'eventEndDate', fact: 'endsAt' },
  { tag: 'venueEntranceGate', fact: 'seat.gate' },
  { tag: 'seats.0.seatSection', fact: 'seat.section' },
  { tag: 'seats.0.seatRow', fact: 'seat.row' },
  { tag: 'seats.0.seatNumber', fact: 'seat.seat' },
]

const tripRows: FactRow[] = [
  { tag: 'transitProvider', fact: 'carrier.name' },
  { tag: 'originalBoardingDate', fact: 'boardsAt' },
  { tag: 'originalDepartureDate', fact: 'departsAt', isRequired: true },
  { tag: 'originalArrivalDate', fact: 'arrivesAt' },
  { tag: 'departureGate', fact: 'gate' },
  { tag: 'departurePlatform', fact: 'platform' },
  { tag: 'seats.0.seatNumber', fact: 'seat' },
  { tag: 'boardingGroup', fact: 'group' },
  { tag: 'confirmationNumber', fact: 'confirmation' },
  { tag: 'passengerName.givenName', fact: 'passenger.given' },
  { tag: 'passengerName.familyName', fact: 'passenger.family' },
]

function stopRows(end: 'departure' | 'destination', stop: 'from' | 'to', mode: Mode): FactRow[] {
  const place: FactRow[] = [
    { tag: `${end}Location.latitude`, fact: `${stop}.latitude` },
    { tag: `${end}Location.longitude`, fact: `${stop}.longitude` },
    { tag: `${end}Terminal`, fact: `${stop}.terminal` },
    { tag: `${end}LocationTimeZone`, fact: `${stop}.timeZone` },
  ]
  if (mode !== 'air') {
    const name = mode === 'boat' ? 'LocationDescription' : 'StationName'
    return [...place, { tag: `${end}${name}`, fact: `${stop}.name`, isRequired: true }]
  }
  return [
    ...place,
    { tag: `${end}AirportTimeZone`, fact: `${stop}.timeZone` },
    { tag: `${end}AirportCode`, fact: `${stop}.code`, isRequired: true },
    { tag: `${end}AirportName`, fact: `${stop}.name` },
    { tag: `${end}CityName`, fact: `${stop}.city` },
  ]
}

function rowsOfTrip(mode: Mode): FactRow[] {
  const number: FactRow[] =
    mode === 'air'
      ? [
          { tag: 'airlineCode', fact: 'carrier.code' },
          { tag: 'flightNumber', fact: 'number', isRequired: true },
        ]
      : [{ tag: 'vehicleNumber', fact: 'number' }]
  return [...tripRows, ...number, ...stopRows('departure', 'from', mode), ...stopRows('destination', 'to', mode)]
}

interface ReadFacts {
  event?: JsonObject
  trip?: JsonObject
  /** The other tags, for `apple.semantics`. */
  semantics: JsonObject
}

/**
 * Returns the event of an event ticket, or the trip of a boarding pass with a known means of transport, from its semantic
 * tags. Facts are variables; a fact with the value of a field shares the variable of this field.
 */
export function readFacts(
  tags: JsonObject,
  { passType, transitType }: { passType: PassType; transitType: unknown },
  context: FieldContext,
): ReadFacts {
  const mode = passType === 'boardingPass' ? modes[String(transitType)] : undefined
  const rows = mode ? rowsOfTrip(mode) : passType === 'eventTicket' ? eventRows : []
  const rest = structuredClone(tags)
  dropDerivedTags(rest)
  const facts: JsonObject = {}
  const placeholders = new Map<string, string>()
  const isOneSeat = Array.isArray(tags.seats) && tags.seats.length === 1
  for (const { tag, fact, isRequired } of rows) {
    if (tag.startsWith('seats.') && !isOneSeat) continue
    const text = factText(fact, valueAt(tags, tag))
    if (text === undefined || !hasBothDegrees(tag, tags)) continue
    take(rest, tag)
    if (valueAt(facts, fact) !== undefined) continue
    const placeholder = sharedPlaceholder(tag, text, rows, tags, context) ?? newPlaceholder(tag, fact, text, context)
    if (isRequired) context.variables.require(placeholder)
    placeholders.set(tag, placeholder)
    put(facts, fact, placeholder)
  }
  // Seats with more than a section, a row, and a number replace those of the facts.
  if (rest.seats !== undefined) rest.seats = tags.seats
  const hasFacts = Object.keys(facts).length > 0
  return {
    ...(hasFacts && (mode ? { trip: { mode, ...facts } } : { event: facts })),
    semantics: withVariables(rest, { context, placeholders }) as JsonObject,
  }
}

/** The service sets the code of a flight from its airline and its number. */
function dropDerivedTags(tags: JsonObject): void {
  const { airlineCode, flightNumber, flightCode } = tags
  if (flightCode === `${airlineCode}${flightNumber}`) delete tags.flightCode
}

const MOMENTS = /At$/
const DEGREES = /(latitude|longitude)$/

/** A position needs its latitude and its longitude. */
function hasBothDegrees(tag: string, tags: JsonObject): boolean {
  const other = tag.replace(DEGREES, (name) => (name === 'latitude' ? 'longitude' : 'latitude'))
  return other === tag || factText(other, valueAt(tags, other)) !== undefined
}

function factText(fact: string, value: unknown): string | undefined {
  if (MOMENTS.test(fact)) return toTimestamp(value)
  if (DEGREES.test(fact)) return typeof value === 'number' ? toNumberText(value) : undefined
  if (fact.endsWith('timeZone')) return typeof value === 'string' && isTimeZone(value) ? value : undefined
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : ''
  return text === '' || text.length > 1000 ? undefined : text
}

/** Returns the variable of the only field with the value, if no other fact has the value. */
function sharedPlaceholder(
  tag: string,
  text: string,
  rows: readonly FactRow[],
  tags: JsonObject,
  { variables, fieldsByValue }: FieldContext,
): string | undefined {
  const others = rows.filter((row) => row.tag !== tag && factText(row.fact, valueAt(tags, row.tag)) === text)
  const fields = fieldsByValue.get(text) ?? []
  if (others.length > 0 || fields.length !== 1) return undefined
  const [{ key, placeholder }] = fields as [(typeof fields)[number]]
  // Link a short value only to a field whose key is in the tag: values such as the gate A can be equal by chance.
  const isNamed = tag.toLowerCase().includes(key.toLowerCase())
  return (text.length >= 3 || isNamed) && variables.has(placeholder) ? placeholder : undefined
}

function newPlaceholder(tag: string, fact: string, text: string, { variables }: FieldContext): string {
  // The tags of a person and a place have names only within their object.
  const isNested = tag.includes('.') && fact.includes('.')
  const key = isNested
    ? fact.replaceAll(/\.(.)/g, (_, letter: string) => letter.toUpperCase())
    : tag.slice(tag.lastIndexOf('.') + 1)
  const format = MOMENTS.test(fact) ? 'date-time' : DEGREES.test(fact) ? 'number' : 'text'
  return variables.add({ key, format, example: text })
}

interface OtherTags {
  context: FieldContext
  /** The placeholders of the tags that are facts. */
  placeholders: ReadonlyMap<string, string>
}

/** Replaces the dates, numbers, and texts of tags by variables. Names of Apple, colors, and lists stay the same. */
function withVariables(value: unknown, tags: OtherTags, path: string[] = []): unknown {
  if (isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, withVariables(item, tags, [...path, name])] as const),
    )
  }
  if (path[0] === 'seats' && Array.isArray(value)) {
    return value.map((seat, index) => withVariables(seat, tags, [...path, String(index)]))
  }
  const known = tags.placeholders.get(path.join('.'))
  if (known !== undefined) return known
  const text = typeof value === 'string' ? value : typeof value === 'number' ? (toNumberText(value) ?? '') : ''
  if (text === '' || text.length > 1000 || /^(?:PK|rgb\(|#)|^[A-Z]{3}$/.test(text)) return value
  const format = typeof value === 'number' ? 'number' : toTimestamp(text) === undefined ? 'text' : 'date-time'
  return tags.context.variables.add({ key: path.at(-1)!, format, example: text })
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce((part, key) => (Object(part) as Record<string, unknown>)[key], value)
}

/** Removes a value, and the objects and lists that are empty without it. */
function take(value: JsonObject, path: string): void {
  const [key = '', ...rest] = path.split('.')
  const inner = value[key]
  if (rest.length > 0 && typeof inner === 'object' && inner !== null) {
    take(inner as JsonObject, rest.join('.'))
    if (Object.keys(inner).length > 0) return
  }
  if (Array.isArray(value)) value.splice(Number(key), 1)
  else delete value[key]
}

function put(value: JsonObject, path: string, item: unknown): void {
  const [key = '', ...rest] = path.split('.')
  if (rest.length === 0) value[key] = item
  else {
    value[key] ??= {}
    put(value[key] as JsonObject, rest.join('.'), item)
  }
}
