import { DateTime } from 'luxon'
import type { TripFacts } from '../../contract/schemas/about.ts'
import type { Definition, PassType } from '../../contract/schemas/definition.ts'
import { oneSpelling } from '../redemption/time-zones.ts'
import { fill, placeholdersDeep, placeholdersIn, placeholdersOfOnePass, type Scope } from '../template/placeholder.ts'
import { appleOf, mergeUnder } from './about.ts'

/** A flight with the facts that Google needs. All passengers of the flight share these facts. */
export interface Flight {
  /** The IATA code of the airline: two letters or digits. (Airport codes have three letters.) */
  carrier: string
  number: string
  origin: Airport
  destination: Airport
  /** The local time of departure, without an offset. `boardsAt` and `arrivesAt` have the same form. */
  departsAt: string
  boardsAt?: string | undefined
  arrivesAt?: string | undefined
}

interface Airport {
  code: string
  gate?: string | undefined
  terminal?: string | undefined
}

type FlightContent = Pick<Definition, 'design' | 'apple' | 'google' | 'timeZone' | 'trip'>

/**
 * Returns the flight of a boarding pass by air. Reads the semantic tags for Apple. If a tag with an airport code is
 * missing, reads the code from a primary field. All passes of a class share the flight, so a text that can differ
 * within a class is ignored (`sharedTexts`).
 */
export function flightOf(definition: FlightContent, passType: PassType, scope: Scope): Flight | undefined {
  if (passType !== 'boardingPass') return undefined
  const leaves = leavesOf(definition)
  if (!leaves) return undefined
  const read = (fact: keyof typeof leaves) => leaves[fact]?.read(scope)
  const [carrier, number, from, to, departsAt] = requiredFacts.map(read)
  if (!carrier || !number || !from || !to || !departsAt) return undefined
  return {
    carrier,
    number,
    origin: { code: from, gate: read('fromGate'), terminal: read('fromTerminal') },
    destination: { code: to, gate: read('toGate'), terminal: read('toTerminal') },
    departsAt,
    boardsAt: read('boardsAt'),
    arrivesAt: read('arrivesAt'),
  }
}

/** The facts without which a boarding pass is not for a flight, each with the semantic tag that contains it. */
const requiredTags = {
  carrier: 'airlineCode',
  number: 'flightNumber',
  from: 'departureAirportCode',
  to: 'destinationAirportCode',
  departsAt: 'originalDepartureDate with its offset',
} as const
const requiredFacts = Object.keys(requiredTags) as (keyof typeof requiredTags)[]

/**
 * Returns the semantic tags that Google requires for a flight and that are missing in a boarding pass by air.
 * @param scope sample values; a variable without a value is assumed to be valid
 */
export function missingOfFlight(definition: FlightContent, passType: PassType, scope: Scope): string[] {
  const leaves = passType === 'boardingPass' && leavesOf(definition)
  if (!leaves) return []
  const lacks = (leaf: Leaf | undefined) =>
    leaf === undefined || (leaf.read(scope) === undefined && leaf.names.every((name) => scope.has(name)))
  return requiredFacts.filter((fact) => lacks(leaves[fact])).map((fact) => requiredTags[fact])
}

/** Returns the placeholders in the facts of a flight. Returns an empty list if a required fact is missing. */
export function flightVariables(definition: FlightContent): string[] {
  const leaves = leavesOf(definition)
  if (!leaves || requiredFacts.some((fact) => leaves[fact] === undefined)) return []
  return Object.values(leaves).flatMap((leaf) => leaf?.names ?? [])
}

interface Leaf {
  names: readonly string[]
  /** Fills the text of the fact. Returns its value, or `undefined` if the filled text has the wrong format. */
  read(scope: Scope): string | undefined
}

const AIRPORT = /^([A-Z]{3})$/
const AIRLINE = /^([A-Z0-9]{2})$/
const NUMBER = /^(\d{1,4})$/
const AIRLINE_OF_FLIGHT = /^([A-Z0-9]{2}) ?\d{1,4}$/
const NUMBER_OF_FLIGHT = /^[A-Z0-9]{2} ?(\d{1,4})$/
const ANYTHING = /^([\s\S]+)$/

/**
 * Returns, for each fact of the flight, the text that contains it. `undefined` if the pass is not for a flight. Never
 * reorder the facts: the digests of stored classes depend on the order.
 */
function leavesOf({ design, apple: overrides = {}, google, timeZone, trip }: FlightContent) {
  const apple = mergeUnder(appleOf({ trip }), overrides)
  if (apple.transitType !== 'PKTransitTypeAir' || (google?.kind ?? 'flight') !== 'flight') return undefined
  const tags = semanticTags(apple)
  const isShared = sharedTexts(google?.classKey, trip)
  const noValues: Scope = new Map()
  /** Returns the first text that has the right format, or could have it after its placeholders are filled. */
  const firstOf = (...some: (Leaf | undefined)[]) =>
    some.find((leaf) => leaf && (leaf.names.length > 0 || leaf.read(noValues) !== undefined))
  const leaf = (pattern: RegExp, text: string | undefined): Leaf | undefined => {
    if (text === undefined || !isShared(text)) return undefined
    return { names: placeholdersIn(text), read: (scope) => pattern.exec(fill(text, scope).trim())?.[1] }
  }
  const tag = (pattern: RegExp, name: string) => firstOf(leaf(pattern, tags.text(name)))
  const timeOf = (zone: Leaf | undefined, text: string | undefined): Leaf | undefined => {
    const own = leaf(ANYTHING, text)
    if (!own) return undefined
    const read = (scope: Scope) => localTime(own.read(scope), zone?.read(scope), timeZone)
    return { names: [...own.names, ...(zone?.names ?? [])], read }
  }
  const time = (zone: Leaf | undefined, ...names: string[]) =>
    firstOf(...names.map((name) => timeOf(zone, tags.text(name))))
  const [from, to] = design.fields.primary.map(({ value }) => value)
  const departureZone = tag(ANYTHING, 'departureAirportTimeZone')
  const arrivalZone = tag(ANYTHING, 'destinationAirportTimeZone')
  return {
    carrier: firstOf(tag(AIRLINE, 'airlineCode'), tag(AIRLINE_OF_FLIGHT, 'flightCode')),
    number: firstOf(tag(NUMBER, 'flightNumber'), tag(NUMBER_OF_FLIGHT, 'flightCode')),
    from: firstOf(tag(AIRPORT, 'departureAirportCode'), leaf(AIRPORT, from)),
    to: firstOf(tag(AIRPORT, 'destinationAirportCode'), leaf(AIRPORT, to)),
    departsAt: firstOf(
      time(departureZone, 'originalDepartureDate', 'currentDepartureDate'),
      timeOf(undefined, design.relevantDate),
    ),
    fromGate: tag(ANYTHING, 'departureGate'),
    fromTerminal: tag(ANYTHING, 'departureTerminal'),
    toGate: tag(ANYTHING, 'destinationGate'),
    toTerminal: tag(ANYTHING, 'destinationTerminal'),
    boardsAt: time(departureZone, 'currentBoardingDate', 'originalBoardingDate'),
    arrivesAt: time(arrivalZone, 'originalArrivalDate', 'currentArrivalDate'),
  }
}

/**
 * Returns a function that reports whether a text is the same for all passes of a class. Without `google.classKey`, each
 * placeholder of the text must be in the default key (`sharedNames`). With `google.classKey`, a placeholder must be in
 * the key only if its value is unique to each pass, as that of `pass.id` is.
 */
function sharedTexts(classKey: string | undefined, trip: TripFacts | undefined): (text: string) => boolean {
  const keyNames = classKey === undefined ? sharedNames(trip) : placeholdersIn(classKey)
  const isShared = (name: string) =>
    keyNames.includes(name) || (classKey !== undefined && !placeholdersOfOnePass.has(name))
  return (text) => placeholdersIn(text).every(isShared)
}

/** Returns the placeholders in those facts of a trip that all passengers share. They form the default class key. */
function sharedNames(trip: TripFacts | undefined): string[] {
  if (trip?.mode !== 'air') return []
  const { carrier, number, from, to, gate, boardsAt, departsAt, arrivesAt } = trip
  const stops = [from, to].map((stop) => [stop?.code, stop?.terminal, stop?.timeZone])
  const shared = [carrier?.code, number, stops, gate, boardsAt, departsAt, arrivesAt]
  return [...placeholdersDeep(shared)].map(({ name }) => name)
}

const OFFSET = /(?:Z|[+-]\d\d:?\d\d)$/

/**
 * Converts a date-time to the local time at an airport. If the zone of the airport is unknown, converts a date-time in
 * UTC (Z) to the zone of the definition, and keeps the offset of any other date-time. Returns `undefined` if the
 * zone to convert to is unknown, or if the text is not a date-time with an offset.
 */
export function localTime(
  text: string | undefined,
  airportZone: string | undefined,
  definitionZone: string | undefined,
): string | undefined {
  if (!text?.includes('T') || !OFFSET.test(text)) return undefined
  const zone = airportZone ?? (text.endsWith('Z') ? definitionZone : undefined)
  if (zone === undefined && text.endsWith('Z')) return undefined
  const moment = DateTime.fromISO(text, zone === undefined ? { setZone: true } : { zone: oneSpelling(zone) })
  return moment.isValid ? moment.toFormat("yyyy-MM-dd'T'HH:mm:ss") : undefined
}

/** Access to the semantic tags of a pass for Apple. A number is returned as text. */
export interface SemanticTags {
  /** Returns the value of the first of these tags that is not empty. */
  text(...names: string[]): string | undefined
  /** Returns the tags that are nested in a tag or, if the tag is a list, in its first item. */
  within(name: string): SemanticTags
}

/** @param overrides the Apple keys of a definition or a card, or a pass.json */
export function semanticTags(overrides: Record<string, unknown>): SemanticTags {
  return tagsOf(overrides.semantics)
}

function tagsOf(value: unknown): SemanticTags {
  const tags = new Map<string, unknown>(Object.entries(Object(value)))
  return {
    text(...names) {
      const texts = names
        .map((name) => tags.get(name))
        .filter((tag) => typeof tag === 'string' || typeof tag === 'number')
      return texts.map((tag) => String(tag).trim()).find((tag) => tag !== '')
    },
    within(name) {
      const inner = tags.get(name)
      return tagsOf(Array.isArray(inner) ? inner[0] : inner)
    },
  }
}
