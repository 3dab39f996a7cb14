import { z } from 'zod'
import { text } from './common.ts'
import { type InOneLanguage, translatable } from './languages.ts'

/** What a pass is about, said once for all platforms. Every text may hold placeholders; what comes out empty is left out. */

const said = text(1, 1000).optional()
const called = translatable(text(1, 1000)).optional()

/** ISO 8601 with Z or an offset, such as 2027-05-31T19:30:00+01:00. */
const moment = text(1, 255).optional()

/** In degrees: a number, or the placeholder of one. */
const degrees = (max: number) => z.union([z.number().min(-max).max(max), text(1, 255)]).optional()

const position = { latitude: degrees(90), longitude: degrees(180) }

/** The event that a pass is for: what both wallets make tickets and reminders of. */
export const EventFacts = z.strictObject({
  name: called,
  venue: z.strictObject({ name: called, address: called, ...position }).optional(),
  doorsAt: moment,
  startsAt: moment,
  endsAt: moment,
  seat: z.strictObject({ section: said, row: said, seat: said, gate: said }).optional(),
})
export type EventFacts = InOneLanguage<z.output<typeof EventFacts>>

const Stop = z.strictObject({
  /** Of an airport IATA's, else as the carrier names the station. */
  code: said,
  name: called,
  terminal: said,
  /** IANA; what clocks there show. */
  timeZone: said,
  ...position,
})
/** Where a trip begins or ends, with its texts in one language. */
export type Stop = InOneLanguage<z.output<typeof Stop>>

/** The journey that a pass is for: from where to where, and when. */
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
  /** Boarding group. */
  group: said,
  confirmation: said,
  passenger: z.union([text(1, 1000), z.strictObject({ given: said, family: said })]).optional(),
})
export type TripFacts = InOneLanguage<z.output<typeof TripFacts>>

/** Keys, anywhere in an event or a trip, whose texts are more than a text. */
export const momentKeys = ['doorsAt', 'startsAt', 'endsAt', 'boardsAt', 'departsAt', 'arrivesAt'] as const
/** The keys of a place on earth, and how far from 0 each may be, in degrees. */
export const degreeKeys = { latitude: 90, longitude: 180 } as const
