import { z } from 'zod'
import { isJsonObject } from '../../json.ts'
import type { CardField } from './card.ts'
import { formatMoment, type ValueLocale } from './format-value.ts'
import { walletWord } from './wallet-words.ts'

const text = z.string().optional().catch(undefined)

/** A missing part, or one of another shape, is read as empty. */
function part<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess((value) => (isJsonObject(value) ? value : {}), z.object(shape))
}

const Airport = part({ terminal: text, gate: text })
const OfClass = part({
  venue: part({ name: text, address: text }),
  dateTime: part({ doorsOpen: text, start: text, end: text }),
  localBoardingDateTime: text,
  localScheduledDepartureDateTime: text,
  localScheduledArrivalDateTime: text,
  origin: Airport,
})
const OfObject = part({
  seatInfo: part({ gate: text, section: text, row: text, seat: text }),
  passengerName: text,
  boardingAndSeatingInfo: part({ seatNumber: text, boardingGroup: text, sequenceNumber: text }),
  reservationInfo: part({ confirmationCode: text }),
  passengerNames: text,
  purchaseDetails: part({ confirmationCode: text }),
  ticketLeg: part({
    departureDateTime: text,
    arrivalDateTime: text,
    transitOperatorName: text,
    platform: text,
    carriage: text,
    ticketSeat: part({ seat: text }),
  }),
})

/**
 * Returns the rows that the wallet shows of an event or a trip in dedicated places: venue, times, seat, passenger.
 * Texts must be in one language.
 */
export function nativeRows(ofClass: unknown, object: unknown, locale: ValueLocale): CardField[][] {
  const timeOf = (moment: string | undefined) => localTime(moment, locale)
  const { venue, dateTime, origin, ...flight } = OfClass.parse(ofClass)
  const { seatInfo, boardingAndSeatingInfo: seating, ticketLeg: leg, ...own } = OfObject.parse(object)
  const rows = [
    { Venue: [venue.name, venue.address].filter(Boolean).join('\n') },
    { Doors: timeOf(dateTime.doorsOpen), Starts: timeOf(dateTime.start), Ends: timeOf(dateTime.end) },
    { Gate: seatInfo.gate, Section: seatInfo.section, Row: seatInfo.row, Seat: seatInfo.seat },
    {
      Boarding: timeOf(flight.localBoardingDateTime),
      Departure: timeOf(flight.localScheduledDepartureDateTime ?? leg.departureDateTime),
      Arrival: timeOf(flight.localScheduledArrivalDateTime ?? leg.arrivalDateTime),
    },
    {
      Terminal: origin.terminal,
      Gate: origin.gate,
      Platform: leg.platform,
      Carriage: leg.carriage,
      Seat: seating.seatNumber ?? leg.ticketSeat.seat,
      Group: seating.boardingGroup,
      Sequence: seating.sequenceNumber,
    },
    {
      Passenger: own.passengerName ?? own.passengerNames,
      Confirmation: own.reservationInfo.confirmationCode ?? own.purchaseDetails.confirmationCode,
      Operator: leg.transitOperatorName,
    },
  ]
  return rows.map((row) => fieldsOf(row, locale)).filter((row) => row.length > 0)
}

function fieldsOf(row: Record<string, string | undefined>, { language }: ValueLocale): CardField[] {
  return Object.entries(row).flatMap(([label, value]) =>
    value
      ? [{ key: `native-${label.toLowerCase()}`, label: walletWord(label, language), labelLanguage: language, value }]
      : [],
  )
}

const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

/** The wallet shows the local time at the place: the time as written, regardless of its offset. */
function localTime(moment: string | undefined, { language }: ValueLocale): string | undefined {
  const local = moment && LOCAL.exec(moment)?.[0]
  if (!local || Number.isNaN(Date.parse(`${local}Z`))) return undefined
  return formatMoment(local, { dateStyle: 'medium', timeStyle: 'short' }, { language })
}
