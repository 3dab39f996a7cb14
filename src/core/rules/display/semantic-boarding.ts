import { missingSemanticTags } from './about.ts'
import type { Card, CardField } from './card.ts'
import { localTime, semanticTags } from './flight.ts'
import { formatMoment, type ValueLocale } from './format-value.ts'
import { type WalletLabel, walletLabel } from './native-rows.ts'
import { firstScheme } from './poster.ts'

/**
 * Returns the fields that iPhones since iOS 26 show for a flight, or `null` if they show the classic style. The fields
 * are in the groups of the classic style: Apple documents the content of the newer layout, but not its measures
 * (decisions/0031).
 */
export function readSemanticFields(
  passJson: Record<string, unknown>,
  { language }: ValueLocale,
): Card['fields'] | null {
  const isPreferred = firstScheme(passJson) === 'semanticBoardingPass'
  if (!isPreferred || missingSemanticTags(passJson).length > 0) return null
  const tags = semanticTags(passJson)
  const momentOf = (name: string, place: 'departure' | 'destination') =>
    localTime(tags.text(`current${name}Date`, `original${name}Date`), tags.text(`${place}LocationTimeZone`), undefined)
  const written = (moment: string | undefined, style: { dateStyle: 'medium' } | { timeStyle: 'short' }) =>
    moment && formatMoment(moment, style, { language })
  const timeOf = (...moment: Parameters<typeof momentOf>) => written(momentOf(...moment), { timeStyle: 'short' })
  const fieldsOf = (values: Partial<Record<WalletLabel, string | undefined>>): CardField[] =>
    Object.entries(values).flatMap(([key, value]) => {
      return value ? [{ key, label: walletLabel(key as WalletLabel, language), value }] : []
    })
  const airport = (place: 'departure' | 'destination', time: string | undefined): CardField => ({
    key: place,
    label: [tags.text(`${place}CityName`), time].filter(Boolean).join(' · '),
    value: tags.text(`${place}AirportCode`) ?? '',
  })
  const name = tags.within('passengerName')
  return {
    header: [
      {
        key: 'flight',
        label: written(momentOf('Departure', 'departure'), { dateStyle: 'medium' }) ?? '',
        value: `${tags.text('airlineCode')}${tags.text('flightNumber')}`,
      },
    ],
    primary: [
      airport('departure', timeOf('Departure', 'departure')),
      airport('destination', timeOf('Arrival', 'destination')),
    ],
    auxiliary: fieldsOf({
      passenger: [name.text('givenName'), name.text('familyName')].filter(Boolean).join(' '),
      seat: tags.within('seats').text('seatNumber'),
      sequence: tags.text('boardingSequenceNumber'),
    }),
    secondary: fieldsOf({
      boarding: timeOf('Boarding', 'departure'),
      terminal: tags.text('departureTerminal'),
      gate: tags.text('departureGate'),
      group: tags.text('boardingGroup', 'boardingZone'),
    }),
    back: [],
  }
}
