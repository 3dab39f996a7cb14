import { expect, test } from 'vitest'
import { semanticBoardingTags } from '../../../../src/core/rules/display/about.ts'
import { readSemanticFields } from '../../../../src/core/rules/display/semantic-boarding.ts'

const preferredStyleSchemes = ['semanticBoardingPass', 'boardingPass']
const semantics = {
  airlineCode: 'GN',
  flightNumber: 664,
  departureAirportCode: 'LIS',
  departureCityName: 'Lisboa',
  departureLocationTimeZone: 'Europe/Lisbon',
  destinationAirportCode: 'AMS',
  destinationCityName: 'Amsterdam',
  destinationLocationTimeZone: 'Europe/Amsterdam',
  originalBoardingDate: '2027-05-19T05:20:00Z',
  originalDepartureDate: '2027-05-19T06:00:00Z',
  originalArrivalDate: '2027-05-19T09:05:00Z',
  currentArrivalDate: '2027-05-19T09:35:00Z',
  passengerName: { givenName: 'Ada', familyName: 'Lovelace' },
  departureTerminal: '1',
  departureGate: '14',
  seats: [{ seatNumber: '7C' }],
  boardingGroup: '2',
  boardingSequenceNumber: '21',
}
const linesOf = (fields: { label: string; value: string }[] = []) =>
  fields.map(({ label, value }) => `${label} ${value}`.replaceAll('\u202f', ' '))

test('a flight shows its facts with the current times at the airports', () => {
  const fields = readSemanticFields({ preferredStyleSchemes, semantics }, { language: 'en', timeZone: 'Asia/Tokyo' })!
  expect(linesOf(fields.header)).toEqual(['May 19, 2027 GN664'])
  expect(linesOf(fields.primary)).toEqual(['Lisboa · 7:00 AM LIS', 'Amsterdam · 11:35 AM AMS'])
  expect(linesOf(fields.auxiliary)).toEqual(['Passenger Ada Lovelace', 'Seat 7C', 'Sequence 21'])
  expect(linesOf(fields.secondary)).toEqual(['Boarding 6:20 AM', 'Terminal 1', 'Gate 14', 'Group 2'])
})

test('labels are in the language of the phone, and facts without a value have no field', () => {
  const { departureTerminal: _, boardingGroup: __, seats: ___, ...others } = semantics
  const fields = readSemanticFields({ preferredStyleSchemes, semantics: others }, { language: 'de' })!
  expect(linesOf(fields.secondary)).toEqual(['Einsteigen 06:20', 'Gate 14'])
  expect(fields.auxiliary).toHaveLength(2)
})

test('a flight without a required tag, or with another style, has the classic style', () => {
  const read = (passJson: Record<string, unknown>) => readSemanticFields(passJson, { language: 'en' })
  for (const tag of Object.keys(semanticBoardingTags)) {
    expect(read({ preferredStyleSchemes, semantics: { ...semantics, [tag]: '' } }), tag).toBe(null)
  }
  expect(read({ semantics })).toBe(null)
  expect(read({ preferredStyleSchemes: ['boardingPass'], semantics })).toBe(null)
})
