import { z } from 'zod'
import { spokenLanguages } from '../../../locales/languages.ts'
import { type PageWords, pagesTexts } from '../../../locales/page-texts.ts'
import { isJsonObject } from '../../json.ts'
import type { CardField } from './card.ts'
import { formatMoment, type ValueLocale } from './format-value.ts'
import { bareTag } from './language-match.ts'

/** Returns the schema of an optional value. The schema reads an invalid value as `undefined`. */
export function lenient<Schema extends z.ZodType>(schema: Schema) {
  return schema.optional().catch(undefined)
}

const text = lenient(z.string())

/** Returns the schema of an object. The schema reads any other value, or a missing object, as an empty object. */
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

/** Returns the rows in which a wallet shows an event or trip. The texts of both resources must be in one language. */
export function nativeRows(ofClass: unknown, object: unknown, locale: ValueLocale): CardField[][] {
  const timeOf = (moment: string | undefined) => localTime(moment, locale)
  const { venue, dateTime, origin, ...flight } = OfClass.parse(ofClass)
  const { seatInfo, boardingAndSeatingInfo: seating, ticketLeg: leg, ...own } = OfObject.parse(object)
  const rows = [
    { venue: [venue.name, venue.address].filter(Boolean).join('\n') },
    { doors: timeOf(dateTime.doorsOpen), starts: timeOf(dateTime.start), ends: timeOf(dateTime.end) },
    { gate: seatInfo.gate, section: seatInfo.section, row: seatInfo.row, seat: seatInfo.seat },
    {
      boarding: timeOf(flight.localBoardingDateTime),
      departure: timeOf(flight.localScheduledDepartureDateTime ?? leg.departureDateTime),
      arrival: timeOf(flight.localScheduledArrivalDateTime ?? leg.arrivalDateTime),
    },
    {
      terminal: origin.terminal,
      gate: origin.gate,
      platform: leg.platform,
      carriage: leg.carriage,
      seat: seating.seatNumber ?? leg.ticketSeat.seat,
      group: seating.boardingGroup,
      sequence: seating.sequenceNumber,
    },
    {
      passenger: own.passengerName ?? own.passengerNames,
      confirmation: own.reservationInfo.confirmationCode ?? own.purchaseDetails.confirmationCode,
      operator: leg.transitOperatorName,
    },
  ]
  return rows.map((row) => fieldsOf(row, locale)).filter((row) => row.length > 0)
}

function fieldsOf(row: Partial<Record<WalletLabel, string | undefined>>, { language }: ValueLocale): CardField[] {
  return Object.entries(row).flatMap(([key, value]) => {
    const label = walletLabel(key as WalletLabel, language)
    return value ? [{ key: `native-${key}`, label, labelLanguage: language, value }] : []
  })
}

export type WalletLabel = keyof PageWords['wallet']

/** Returns the text of a wallet's label in a language (BCP 47), or in English if there is no translation. */
export function walletLabel(label: WalletLabel, language: string): string {
  const tag = spokenLanguages.find((spoken) => spoken === bareTag(language)) ?? 'en'
  return pagesTexts[tag].wallet[label]
}

const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

/** Formats a time without its offset. A wallet shows the local time at the place, which is the time as written. */
function localTime(moment: string | undefined, { language }: ValueLocale): string | undefined {
  const local = moment && LOCAL.exec(moment)?.[0]
  if (!local || Number.isNaN(Date.parse(`${local}Z`))) return undefined
  return formatMoment(local, { dateStyle: 'medium', timeStyle: 'short' }, { language })
}
