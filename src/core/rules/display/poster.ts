import { isJsonObject } from '../../json.ts'
import type { CardField } from './card.ts'
import { semanticTags } from './flight.ts'
import { formatValue, type ValueLocale } from './format-value.ts'
import { walletLabel } from './native-rows.ts'

/** A poster ticket as iPhones with iOS 18 or later show it, based on its semantic tags. */
export interface Poster {
  event: string
  venue: string
  starts: string | null
  /** The gate and the seat. */
  seat: CardField[]
}

const seatTags = { seatSection: 'section', seatRow: 'row', seatNumber: 'seat' } as const

/** Returns `null` if a pass.json requests no poster or lacks required tags. Phones then show the older style. */
export function readPoster(passJson: Record<string, unknown>, locale: ValueLocale): Poster | null {
  const schemes = passJson.preferredStyleSchemes
  const isAsked = Array.isArray(schemes) && schemes[0] === 'posterEventTicket' && isJsonObject(passJson.eventTicket)
  const tags = semanticTags(passJson)
  const [event, venue] = [tags.text('eventName'), tags.text('venueName')]
  if (!isAsked || event === undefined || venue === undefined) return null
  const starts = tags.text('eventStartDate')
  const seat = tags.within('seats')
  const gate = tags.text('venueEntranceGate')
  return {
    event,
    venue,
    starts: starts === undefined ? null : formatValue(starts, { as: 'dateTime', style: 'medium' }, locale),
    seat: [
      ...(gate === undefined ? [] : [{ key: 'gate', label: walletLabel('gate', locale.language), value: gate }]),
      ...Object.entries(seatTags).flatMap(([key, label]) => {
        const value = seat.text(key)
        return value === undefined ? [] : [{ key, label: walletLabel(label, locale.language), value }]
      }),
    ],
  }
}
