import { isJsonObject } from '../../json.ts'
import { zoneOfOffset } from './about.ts'
import { readAppleFields } from './apple-value.ts'
import type { CardField } from './card.ts'
import { semanticTags } from './flight.ts'
import { formatValue, type ValueLocale } from './format-value.ts'
import { type WalletLabel, walletLabel } from './native-rows.ts'

/** The poster that newer iPhones show instead of the classic style of a pass. */
export type Poster = EventPoster | GenericPoster

interface PosterParts {
  /** The first version of iOS that shows the poster. Earlier versions show the classic style. */
  since: 18 | 27
  /** Whether the poster shows the barcode. Without a barcode, devices read the pass by NFC. */
  hasBarcode: boolean
}

/** The poster of an event ticket, from the semantic tags of the event. */
export interface EventPoster extends PosterParts {
  style: 'posterEventTicket'
  event: string
  venue: string
  starts: string | null
  /** The admission level, the gate, and the seat. */
  seat: CardField[]
}

/** The poster of a generic pass, loyalty card, or coupon, from the fields of the pass. */
export interface GenericPoster extends PosterParts {
  style: 'posterGeneric'
  header: CardField[]
  primary: CardField[]
  footer: CardField[]
  /** The additional fields below the pass, and the fields on its back. */
  details: CardField[]
}

/** The groups of fields on the front of a generic poster, with the maximum number of fields according to Apple. */
export const posterPlaces = [
  { group: 'headerFields', max: 1, named: 'one header field' },
  { group: 'primaryFields', max: 4, named: 'four primary fields' },
  { group: 'footerFields', max: 2, named: 'two footer fields' },
] as const

/** Returns the poster of a pass.json. `null` if a required part is missing: phones then show the classic style. */
export function readPoster(passJson: Record<string, unknown>, locale: ValueLocale): Poster | null {
  return readGenericPoster(passJson, locale) ?? readEventPoster(passJson, locale)
}

function readGenericPoster(passJson: Record<string, unknown>, locale: ValueLocale): GenericPoster | null {
  const { posterGeneric: style } = passJson
  if (!isJsonObject(style)) return null
  const fieldsOf = (group: string) => readAppleFields(style[group], locale)
  const [header, primary, footer] = posterPlaces.map(({ group, max }) => fieldsOf(group).slice(0, max))
  return {
    style: 'posterGeneric',
    since: 27,
    hasBarcode: true,
    header: header!,
    primary: primary!,
    footer: footer!,
    details: [...fieldsOf('additionalInfoFields'), ...fieldsOf('backFields')],
  }
}

const seatTags = { seatSection: 'section', seatRow: 'row', seatNumber: 'seat' } as const

/** If the locale has no time zone, uses the offset of the event's start, which is the offset at the venue. */
function atVenue(starts: string, locale: ValueLocale): ValueLocale {
  return { ...locale, fallbackZone: locale.fallbackZone ?? zoneOfOffset(starts) }
}

/** Whether the overrides of an event ticket request a poster, with `poster` or with Apple's `preferredStyleSchemes`. */
export function isPosterTicket(apple: Record<string, unknown> = {}): boolean {
  return apple.poster === true || firstScheme(apple) === 'posterEventTicket'
}

export function firstScheme({ preferredStyleSchemes: schemes }: Record<string, unknown>): unknown {
  return Array.isArray(schemes) ? schemes[0] : undefined
}

function readEventPoster(passJson: Record<string, unknown>, locale: ValueLocale): EventPoster | null {
  const isAsked = firstScheme(passJson) === 'posterEventTicket' && isJsonObject(passJson.eventTicket)
  const tags = semanticTags(passJson)
  const [event, venue] = [tags.text('eventName'), tags.text('venueName')]
  if (!isAsked || event === undefined || venue === undefined) return null
  const starts = tags.text('eventStartDate')
  const labelOf = (label: WalletLabel) => walletLabel(label, locale.language)
  const seat = tags.within('seats')
  const places = [
    { key: 'admission', label: '', value: tags.text('admissionLevel') },
    { key: 'gate', label: labelOf('gate'), value: tags.text('venueEntranceGate') },
    ...Object.entries(seatTags).map(([key, label]) => ({ key, label: labelOf(label), value: seat.text(key) })),
  ]
  // Since iOS 27, a poster can have a barcode instead of NFC.
  const hasBarcode = passJson.nfc === undefined && Array.isArray(passJson.barcodes) && passJson.barcodes.length > 0
  return {
    style: 'posterEventTicket',
    since: hasBarcode ? 27 : 18,
    hasBarcode,
    event,
    venue,
    starts:
      starts === undefined ? null : formatValue(starts, { as: 'dateTime', style: 'medium' }, atVenue(starts, locale)),
    seat: places.flatMap(({ value, ...place }) => (value === undefined ? [] : [{ ...place, value }])),
  }
}
