import { factKind } from '../../../core/contract/schemas/about.ts'
import type { PassType } from '../../../core/contract/schemas/definition.ts'
import { isJsonObject, valueAt } from '../../../core/json.ts'
import { appleOf, transitTypes } from '../../../core/rules/display/about.ts'
import { isTimeZone } from '../../../core/rules/redemption/time-zones.ts'
import type { FieldContext } from './fields.ts'
import type { JsonObject } from './report.ts'
import { toNumberText, toTimestamp } from './values.ts'

type Mode = keyof typeof transitTypes

/** A semantic tag, and the fact (of an event or a trip) that sets the tag. */
interface FactRow {
  tag: string
  fact: string
}

const ofEvent = ['name', 'doorsAt', 'startsAt', 'endsAt'].concat(
  ['name', 'latitude', 'longitude'].map((key) => `venue.${key}`),
  ['gate', 'section', 'row', 'seat'].map((key) => `seat.${key}`),
)
const ofStop = ['code', 'name', 'city', 'terminal', 'timeZone', 'latitude', 'longitude']
const ofTrip = ['carrier.code', 'carrier.name', 'number', 'boardsAt', 'departsAt', 'arrivesAt'].concat(
  ['gate', 'platform', 'seat', 'group', 'confirmation', 'passenger.given', 'passenger.family'],
  ofStop.flatMap((key) => [`from.${key}`, `to.${key}`]),
)

/** Returns each tag with its fact. To find the pairs, derives the tags from facts whose values are their own paths. */
function rowsOf(mode: Mode | undefined): FactRow[] {
  const facts: JsonObject = {}
  const paths = mode ? ofTrip : ofEvent
  for (const path of paths) put(facts, path, path)
  const { semantics } = appleOf(mode ? { trip: { mode, ...facts } } : { event: facts })
  return leavesOf(semantics).filter(({ fact }) => paths.includes(fact))
}

function leavesOf(value: unknown, path: string[] = []): FactRow[] {
  if (typeof value === 'string') return [{ tag: path.join('.'), fact: value }]
  return Object.entries(Object(value)).flatMap(([key, item]) => leavesOf(item, [...path, key]))
}

/** Returns the facts that a wallet requires to show the event or the trip. */
function requiredFacts(mode: Mode | undefined): string[] {
  if (!mode) return ['name', 'venue.name', 'startsAt']
  return mode === 'air' ? ['departsAt', 'number', 'from.code', 'to.code'] : ['departsAt', 'from.name', 'to.name']
}

interface ReadFacts {
  event?: JsonObject
  trip?: JsonObject
  /** The tags that no fact sets, for `apple.semantics`. */
  semantics: JsonObject
}

/**
 * Reads semantic tags as the event of an event ticket, or as the trip of a boarding pass with a known means of
 * transport. Each fact becomes a variable. A fact and a field with the same value share a variable.
 */
export function readFacts(
  tags: JsonObject,
  { passType, transitType }: { passType: PassType; transitType: unknown },
  context: FieldContext,
): ReadFacts {
  const modes = Object.keys(transitTypes) as Mode[]
  const mode = modes.find((one) => passType === 'boardingPass' && transitTypes[one] === transitType)
  const rows = mode || passType === 'eventTicket' ? rowsOf(mode) : []
  const required = requiredFacts(mode)
  const rest = structuredClone(tags)
  dropDerivedTags(rest)
  const facts: JsonObject = {}
  const placeholders = new Map<string, string>()
  const isOneSeat = Array.isArray(tags.seats) && tags.seats.length === 1
  for (const { tag, fact } of rows) {
    if (tag.startsWith('seats.') && !isOneSeat) continue
    const text = factText(fact, valueAt(tags, tag.split('.')))
    if (text === undefined || !hasBothDegrees(tag, tags)) continue
    take(rest, tag)
    if (valueAt(facts, fact.split('.')) !== undefined) continue
    const placeholder = sharedPlaceholder(tag, text, rows, tags, context) ?? newPlaceholder(tag, fact, text, context)
    if (required.includes(fact)) context.variables.require(placeholder)
    placeholders.set(tag, placeholder)
    put(facts, fact, placeholder)
  }
  // If the seats have tags that no fact expresses, keep all tags of the seats.
  if (rest.seats !== undefined) rest.seats = tags.seats
  const hasFacts = Object.keys(facts).length > 0
  return {
    ...(hasFacts && (mode ? { trip: { mode, ...facts } } : { event: facts })),
    semantics: withVariables(rest, { context, placeholders }) as JsonObject,
  }
}

/** Removes a flight code that consists of the airline and the number, because the service sets the same code. */
function dropDerivedTags(tags: JsonObject): void {
  const { airlineCode, flightNumber, flightCode } = tags
  if (flightCode === `${airlineCode}${flightNumber}`) delete tags.flightCode
}

/** Whether a latitude has its longitude, and vice versa; always `true` for a tag that is not a coordinate. */
function hasBothDegrees(tag: string, tags: JsonObject): boolean {
  const other = tag.replace(/(latitude|longitude)$/, (name) => (name === 'latitude' ? 'longitude' : 'latitude'))
  return other === tag || factText(other, valueAt(tags, other.split('.'))) !== undefined
}

function kindOf(path: string): ReturnType<typeof factKind> {
  return factKind(path.slice(path.lastIndexOf('.') + 1))
}

function factText(path: string, value: unknown): string | undefined {
  const kind = kindOf(path)
  if (kind === 'moment') return toTimestamp(value)
  if (kind === 'timeZone') return typeof value === 'string' && isTimeZone(value) ? value : undefined
  if (kind !== undefined) return typeof value === 'number' ? toNumberText(value) : undefined
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : ''
  return text === '' || text.length > 1000 ? undefined : text
}

/** Returns the variable of the only field with this value; `undefined` if another field or fact has the same value. */
function sharedPlaceholder(
  tag: string,
  text: string,
  rows: readonly FactRow[],
  tags: JsonObject,
  { variables, fieldsByValue }: FieldContext,
): string | undefined {
  const others = rows.filter((row) => row.tag !== tag && factText(row.fact, valueAt(tags, row.tag.split('.'))) === text)
  const fields = fieldsByValue.get(text) ?? []
  if (others.length > 0 || fields.length !== 1) return undefined
  const [{ key, placeholder }] = fields as [(typeof fields)[number]]
  // If a value has fewer than three characters, share a field's variable only if the tag contains the field's key:
  // short values, such as the gate A, can be equal by chance.
  const isNamed = tag.toLowerCase().includes(key.toLowerCase())
  return (text.length >= 3 || isNamed) && variables.has(placeholder) ? placeholder : undefined
}

function newPlaceholder(tag: string, fact: string, text: string, { variables }: FieldContext): string {
  // Name the variable of a nested fact after the whole path, because the last key, such as `latitude`, is unclear.
  const isNested = tag.includes('.') && fact.includes('.')
  const key = isNested
    ? fact.replaceAll(/\.(.)/g, (_, letter: string) => letter.toUpperCase())
    : tag.slice(tag.lastIndexOf('.') + 1)
  const kind = kindOf(fact)
  const format = kind === 'moment' ? 'date-time' : kind === undefined || kind === 'timeZone' ? 'text' : 'number'
  return variables.add({ key, format, example: text })
}

interface OtherTags {
  context: FieldContext
  /** The placeholders of the tags that became facts, by the path of the tag. */
  placeholders: ReadonlyMap<string, string>
}

/** Replaces dates, numbers, and texts by variables. Keeps colors, constants of Apple, and lists other than `seats`. */
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

/** Removes a value, and the objects and lists that become empty. */
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
