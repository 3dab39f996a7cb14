import { describe, expect, test } from 'vitest'
import { logo } from './google/samples.ts'
import { flight, morning, render } from './render-facts.ts'

const to = { ...flight.to, city: 'Amsterdam', timeZone: 'Europe/Amsterdam' }
const trip = { ...flight, from: { ...flight.from, city: 'Lisboa' }, to, boardsAt: '2027-05-20T05:20:00Z' }
const semanticStyle = ['semanticBoardingPass', 'boardingPass']

describe('times of a trip', () => {
  const field = (key: string, value: string) => ({ key, label: key, value, as: 'dateTime' as const })
  const design = {
    organizationName: 'Harbour',
    description: 'Ticket',
    images: { logo },
    fields: {
      auxiliary: [
        field('boards', trip.boardsAt),
        field('departs', '{{departs}}'),
        field('arrives', trip.arrivesAt),
        field('sold', '2027-05-01T10:00:00Z'),
      ],
    },
  }

  test.each([
    ['without a zone of the definition', {}],
    ['with another zone of the definition', { timeZone: 'Asia/Tokyo' }],
  ])('each wallet shows them in the zone of their place, %s', (_, more) => {
    const facts = { trip: { ...trip, mode: 'train' as const }, design, values: morning, ...more }
    const { apple, object } = render('boardingPass', facts)
    expect(apple.boardingPass.auxiliaryFields.slice(0, 3)).toMatchObject([
      { value: '2027-05-20T06:20:00+01:00', ignoresTimeZone: true },
      { value: '2027-05-20T07:00:00+01:00', ignoresTimeZone: true },
      { value: '2027-05-20T11:00:00+02:00', ignoresTimeZone: true },
    ])
    const { textModulesData, ticketLeg } = object as unknown as {
      textModulesData: { body: string }[]
      ticketLeg: object
    }
    const shown = textModulesData.map(({ body }) => body.replaceAll('\u202f', ' '))
    expect(shown.slice(0, 3)).toEqual(['5/20/27, 6:20 AM GMT+1', '5/20/27, 7:00 AM GMT+1', '5/20/27, 11:00 AM GMT+2'])
    expect(ticketLeg).toMatchObject({ departureDateTime: '2027-05-20T07:00:00+01:00' })
  })

  test('an iPhone converts a time that is not of the trip', () => {
    const { apple } = render('boardingPass', { trip, design, values: morning })
    expect(apple.boardingPass.auxiliaryFields[3]).not.toHaveProperty('ignoresTimeZone')
  })

  test('the offset of a time is its zone if the place has none', () => {
    const { timeZone: _, ...place } = to
    const { apple } = render('boardingPass', { trip: { ...trip, to: place }, design, values: morning })
    expect(apple.boardingPass.auxiliaryFields[2]).toMatchObject({ value: trip.arrivesAt, ignoresTimeZone: true })
  })

  test('a flight at Google has the local time of the airport, regardless of the offset of its text', () => {
    const { ofClass } = render('boardingPass', {
      trip: { ...trip, arrivesAt: '2027-05-20T10:00:00+01:00' },
      values: morning,
    })
    expect(ofClass).toMatchObject({
      localBoardingDateTime: '2027-05-20T06:20:00',
      localScheduledDepartureDateTime: '2027-05-20T07:00:00',
      localScheduledArrivalDateTime: '2027-05-20T11:00:00',
    })
  })
})

describe('boarding passes of iOS 26', () => {
  test('a trip with all required facts prefers the semantic style', () => {
    const { apple } = render('boardingPass', { trip, values: morning })
    expect(apple.preferredStyleSchemes).toEqual(semanticStyle)
    expect(apple.semantics).toMatchObject({
      departureCityName: 'Lisboa',
      departureLocationTimeZone: 'Europe/Lisbon',
      departureAirportTimeZone: 'Europe/Lisbon',
      destinationCityName: 'Amsterdam',
      destinationLocationTimeZone: 'Europe/Amsterdam',
      destinationAirportTimeZone: 'Europe/Amsterdam',
      originalBoardingDate: '2027-05-20T06:20:00+01:00',
      originalArrivalDate: '2027-05-20T11:00:00+02:00',
      passengerName: { givenName: 'Ada', familyName: 'Lovelace' },
    })
  })

  test.each([
    ['the city of departure', { from: flight.from }, {}],
    ['a zone of arrival', { to: { ...to, timeZone: '{{venue}}' } }, { venue: '' }],
    ['the time of boarding', { boardsAt: '{{doors}}' }, { doors: '' }],
    ['a number without letters', {}, { flight: '66A' }],
  ])('a pass without %s has the classic style only', (_, parts, values) => {
    const { apple } = render('boardingPass', { trip: { ...trip, ...parts }, values: { ...morning, ...values } })
    expect(apple).not.toHaveProperty('preferredStyleSchemes')
  })

  test('overrides can add the missing tags, and choose the style', () => {
    const { boardsAt: _, ...rest } = trip
    const semantics = { originalBoardingDate: '2027-05-20T06:20:00+01:00' }
    expect(render('boardingPass', { trip: rest, apple: { semantics }, values: morning }).apple).toMatchObject({
      preferredStyleSchemes: semanticStyle,
    })
    const classic = { preferredStyleSchemes: ['boardingPass'] }
    expect(render('boardingPass', { trip, apple: classic, values: morning }).apple).toMatchObject(classic)
  })
})
