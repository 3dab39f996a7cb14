import { DateTime } from 'luxon'
import type { Definition, PassType } from '../../contract/definition.ts'
import { fillDeep } from '../template/placeholder.ts'

/** What Google has to know of a flight, which all of its passengers share. */
export interface Flight {
  /** IATA's codes: of the airline two letters or digits, of the airports three letters. */
  carrier: string
  number: string
  origin: Airport
  destination: Airport
  /** Times of the clock on the wall of the airport, without an offset. */
  departsAt: string
  boardsAt?: string | undefined
  arrivesAt?: string | undefined
}

interface Airport {
  code: string
  gate?: string | undefined
  terminal?: string | undefined
}

type FlightContent = Pick<Definition, 'design' | 'apple' | 'timeZone'>

/**
 * The flight of a boarding pass by air, as its semantic tags for Apple say it, and in place of the airports' codes the two
 * primary fields where they are codes. What is in a placeholder differs from holder to holder, and is no part of it.
 */
export function flightOf(definition: FlightContent, passType: PassType): Flight | undefined {
  if (!isByAir(definition, passType)) return undefined
  const { carrier, number, origin, destination, departsAt, boardsAt, arrivesAt } = read(definition)
  if (!carrier || !number || !origin.code || !destination.code || !departsAt) return undefined
  return {
    carrier,
    number,
    origin: { ...origin, code: origin.code },
    destination: { ...destination, code: destination.code },
    departsAt,
    boardsAt,
    arrivesAt,
  }
}

/** What keeps a boarding pass by air from being a flight at Google, as the tags that would say it. */
export function missingOfFlight(definition: FlightContent, passType: PassType): string[] {
  if (!isByAir(definition, passType)) return []
  const { carrier, number, origin, destination, departsAt } = read(definition)
  return [
    !carrier && 'airlineCode',
    !number && 'flightNumber',
    !origin.code && 'departureAirportCode',
    !destination.code && 'destinationAirportCode',
    !departsAt && 'originalDepartureDate with its offset',
  ].filter((tag) => tag !== false)
}

function isByAir({ apple }: FlightContent, passType: PassType): boolean {
  return passType === 'boardingPass' && apple?.transitType === 'PKTransitTypeAir'
}

const NO_VALUES = new Map<string, string>()
const AIRPORT = /^[A-Z]{3}$/
const AIRLINE = /^[A-Z0-9]{2}$/
const NUMBER = /^\d{1,4}$/
const FLIGHT_CODE = /^([A-Z0-9]{2}) ?(\d{1,4})$/

function read({ design, apple, timeZone }: FlightContent) {
  const tags = semanticTags(fillDeep(apple ?? {}, NO_VALUES))
  const [, codeAirline, codeNumber] = FLIGHT_CODE.exec(tags.text('flightCode') ?? '') ?? []
  const [from, to] = fillDeep(design.fields.primary, NO_VALUES).map(({ value }) => value.trim())
  const at = (zone: string, ...names: string[]) => localTime(tags.text(...names), tags.text(zone) ?? timeZone)
  const [departureZone, arrivalZone] = ['departureAirportTimeZone', 'destinationAirportTimeZone'] as const
  return {
    carrier: matching(AIRLINE, tags.text('airlineCode'), codeAirline),
    number: matching(NUMBER, tags.text('flightNumber'), codeNumber),
    origin: {
      code: matching(AIRPORT, tags.text('departureAirportCode'), from),
      gate: tags.text('departureGate'),
      terminal: tags.text('departureTerminal'),
    },
    destination: {
      code: matching(AIRPORT, tags.text('destinationAirportCode'), to),
      gate: tags.text('destinationGate'),
      terminal: tags.text('destinationTerminal'),
    },
    departsAt:
      at(departureZone, 'originalDepartureDate', 'currentDepartureDate') ??
      localTime(fillDeep(design.relevantDate, NO_VALUES), timeZone),
    boardsAt: at(departureZone, 'currentBoardingDate', 'originalBoardingDate'),
    arrivesAt: at(arrivalZone, 'originalArrivalDate', 'currentArrivalDate'),
  }
}

function matching(pattern: RegExp, ...texts: (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined && pattern.test(text))
}

/** The time that clocks show there; undefined where neither an offset nor a zone says where "there" is. */
function localTime(text: string | undefined, zone: string | undefined): string | undefined {
  if (text === undefined || !/T.*(Z|[+-]\d\d:?\d\d)$/.test(text)) return undefined
  const ownOffset = !text.endsWith('Z')
  if (!ownOffset && zone === undefined) return undefined
  const moment = DateTime.fromISO(text, ownOffset ? { setZone: true } : { zone: zone! })
  return moment.isValid ? moment.toFormat("yyyy-MM-dd'T'HH:mm:ss") : undefined
}

/** What the semantic tags of a pass for Apple say; numbers as their digits. */
export interface SemanticTags {
  /** The first of the tags that says something. */
  text(...names: string[]): string | undefined
  /** The tags within the first of a list, or within one. */
  within(name: string): SemanticTags
}

/** @param overrides what a definition says for Apple, with its placeholders filled */
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
