import { expect, test } from 'vitest'
import { readGoogleView } from '../../../../src/core/rules/display/google-view.ts'
import { spokenLanguages } from '../../../../src/locales/languages.ts'
import { pagesTexts } from '../../../../src/locales/page-texts.ts'

const said = (value: string) => ({ defaultValue: { language: 'en', value } })
const shown = (rows: { label: string; value: string }[][]) =>
  rows.map((row) => row.map(({ label, value }) => `${label}: ${value}`))

const event = {
  eventName: said('Night music'),
  venue: { name: said('Hall'), address: said('Quay 1\nLisboa') },
  dateTime: { doorsOpen: '2027-05-20T18:00:00+01:00', start: '2027-05-20T19:00' },
}
const seat = { seatInfo: { section: said('B'), row: said('F'), seat: said('12') } }

test('venue, times, and seat are on the front of a ticket whose class names no rows, else in the details', () => {
  const rows = [
    ['Venue: Hall\nQuay 1\nLisboa'],
    ['Doors: May 20, 2027, 6:00 PM', 'Starts: May 20, 2027, 7:00 PM'],
    ['Section: B', 'Row: F', 'Seat: 12'],
  ]
  // Some versions of Node write the space before AM and PM as a narrow one.
  const plain = (texts: string[][]) => texts.map((row) => row.map((text) => text.replaceAll('\u202f', ' ')))
  expect(plain(shown(readGoogleView(event, seat).rows))).toEqual(rows)
  const fields = [{ fieldPath: "object.textModulesData['gate']" }]
  const cardRowTemplateInfos = [{ oneItem: { item: { firstValue: { fields } } } }]
  const classTemplateInfo = { cardTemplateOverride: { cardRowTemplateInfos } }
  const textModulesData = [{ id: 'gate', header: 'Gate', body: 'C' }]
  const named = readGoogleView({ ...event, classTemplateInfo }, { ...seat, textModulesData })
  expect(shown(named.rows)).toEqual([['Gate: C']])
  expect(plain(shown([named.details]))).toEqual([rows.flat()])
})

test('a flight and a journey are read in the time of their places', () => {
  const flight = { localBoardingDateTime: '2027-05-19T06:20:00', origin: { airportIataCode: 'LIS', gate: '14' } }
  const own = { passengerName: 'Ada', boardingAndSeatingInfo: { seatNumber: '7C' } }
  const leg = { departureDateTime: '2027-05-19T06:20:00+01:00', platform: '4', ticketSeat: { seat: '43' } }
  const texts = [readGoogleView(flight, own), readGoogleView({}, { ticketLeg: leg, passengerNames: 'Ada' })].map(
    ({ rows }) => shown(rows).flat().join().replaceAll('\u202f', ' '),
  )
  expect(texts).toEqual([
    'Boarding: May 19, 2027, 6:20 AM,Gate: 14,Seat: 7C,Passenger: Ada',
    'Departure: May 19, 2027, 6:20 AM,Platform: 4,Seat: 43,Passenger: Ada',
  ])
})

test('texts written by Google are in the language of the phone, regardless of the other texts', () => {
  const leg = { departureDateTime: '2027-05-19T06:20:00+01:00', carriage: '21', ticketSeat: { seat: '43' } }
  const object = {
    ticketLeg: leg,
    balance: { micros: '5000000', currencyCode: 'EUR' },
    linksModuleData: { uris: [{ uri: 'https://a.example' }] },
  }
  const inLanguage = (...languages: [string?, string?]) =>
    readGoogleView({ eventName: said('Night') }, object, ...languages)
  expect(shown(inLanguage('ja').rows).flat()).toEqual(['出発: 2027/05/19 6:20', '車両: 21', '座席: 43'])
  expect(inLanguage('de').links).toMatchObject([{ label: 'Link' }])
  expect(inLanguage('ar-EG').links).toMatchObject([{ label: 'رابط' }])
  expect(inLanguage('fi').rows.flat()).toMatchObject([{ label: 'Departure' }, { label: 'Carriage' }, { label: 'Seat' }])
  const german = inLanguage(undefined, 'de')
  expect(german).not.toHaveProperty('language')
  expect(german.title).toBe('Night')
  expect(german.rows.flat()).toMatchObject([{ label: 'Abreise' }, { label: 'Wagen' }, { label: 'Platz', value: '43' }])
})

test.each(spokenLanguages)('each wallet label has a text in %s', (language) => {
  const script =
    {
      ar: /^[\u0600-\u06ff ]+$/,
      he: /^[\u0590-\u05ff ]+$/,
      uk: /^[\u0400-\u04ff’ ]+$/,
      ja: /^[\u3040-\u30ff\u4e00-\u9fff]+$/,
      ko: /^[\uac00-\ud7af ]+$/,
      zh: /^[\u4e00-\u9fff]+$/,
    }[language as string] ?? /^[\p{Script=Latin} ]+$/u
  const { wallet } = pagesTexts[language]
  for (const label of Object.values(wallet)) expect(label).toMatch(script)
  if (language !== 'en') expect(wallet.holdNearReader).not.toBe(pagesTexts.en.wallet.holdNearReader)
})

test.each([[null], ['x'], [{ venue: 7, dateTime: 'x', seatInfo: { seat: { defaultValue: 3 } }, origin: [] }]])(
  'hides values of another shape: %j',
  (value) => {
    const object = { ...Object(value), ticketLeg: { departureDateTime: '2027-99-99T99:99', ticketSeat: 'x' } }
    expect(readGoogleView(Object(value), object).rows).toEqual([])
  },
)
