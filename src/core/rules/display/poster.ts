import { isJsonObject } from '../../json.ts'
import type { CardField } from './card.ts'
import { semanticTags } from './flight.ts'
import { formatValue, type ValueLocale } from './format-value.ts'
import { walletWord } from './wallet-words.ts'

/** A poster ticket as iPhones from iOS 18 on show it: what it says comes of its semantic tags. */
export interface Poster {
  event: string
  venue: string
  starts: string | null
  /** Where its holder sits, and by which gate one goes in. */
  seat: CardField[]
}

const seatTags = { seatSection: 'Section', seatRow: 'Row', seatNumber: 'Seat' }

/** Reads a pass.json; null for a pass that asks for no poster, or lacks what one needs: phones show the older style then. */
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
      ...(gate === undefined ? [] : [{ key: 'gate', label: walletWord('Gate', locale.language), value: gate }]),
      ...Object.entries(seatTags).flatMap(([key, label]) => {
        const value = seat.text(key)
        return value === undefined ? [] : [{ key, label: walletWord(label, locale.language), value }]
      }),
    ],
  }
}
