import { z } from 'zod'
import { text } from './common.ts'
import { type InOneLanguage, translatable } from './language-tags.ts'

/** The event or trip of a pass, the same for all platforms. Texts can contain placeholders. Empty texts are omitted. */

const said = text(1, 1000).optional()
const called = translatable(text(1, 1000)).optional()

/** A time: ISO 8601 with Z or an offset, such as 2027-05-31T19:30:00+01:00. */
const moment = text(1, 255).optional()

/** The maximum absolute value of each coordinate, in degrees. */
export const maxDegrees = { latitude: 90, longitude: 180 } as const

/** A coordinate in degrees: a number, or a text with a placeholder. */
const degrees = (max: number) => z.union([z.number().min(-max).max(max), text(1, 255)]).optional()

const position = { latitude: degrees(maxDegrees.latitude), longitude: degrees(maxDegrees.longitude) }

/** The event that a pass is for. Both wallets use these facts for tickets and reminders. */
export const EventFacts = z.strictObject({
  name: called,
  venue: z.strictObject({ name: called, address: called, ...position }).optional(),
  doorsAt: moment,
  startsAt: moment,
  endsAt: moment,
  seat: z.strictObject({ section: said, row: said, seat: said, gate: said }).optional(),
})
export type EventFacts = InOneLanguage<z.output<typeof EventFacts>>

/** The origin or destination of a trip. */
export const Stop = z.strictObject({
  /** The IATA code of an airport, or the code that the carrier uses for a station. */
  code: said,
  name: called,
  city: called,
  terminal: said,
  /** The IANA time zone of the stop. Passes show the times of the trip at this stop in this zone. */
  timeZone: said,
  ...position,
})
/** The origin or destination of a trip, with its texts in one language. */
export type Stop = InOneLanguage<z.output<typeof Stop>>

/** The trip that a pass is for: origin, destination, and times. */
export const TripFacts = z.strictObject({
  mode: z.enum(['air', 'train', 'bus', 'boat']),
  carrier: z.strictObject({ code: said, name: said }).optional(),
  number: said,
  from: Stop.optional(),
  to: Stop.optional(),
  boardsAt: moment,
  departsAt: moment,
  arrivesAt: moment,
  gate: said,
  platform: said,
  seat: said,
  /** The boarding group of the passenger. */
  group: said,
  confirmation: said,
  passenger: z.union([text(1, 1000), z.strictObject({ given: said, family: said })]).optional(),
})
export type TripFacts = InOneLanguage<z.output<typeof TripFacts>>

const moments = ['doorsAt', 'startsAt', 'endsAt', 'boardsAt', 'departsAt', 'arrivesAt']

/** Returns the required format of a fact of an event or trip by its key, or `undefined` if any text is valid. */
export function factKind(key: string): 'moment' | 'timeZone' | keyof typeof maxDegrees | undefined {
  if (moments.includes(key)) return 'moment'
  return key === 'timeZone' || key === 'latitude' || key === 'longitude' ? key : undefined
}
