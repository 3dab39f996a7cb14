import { expect, test } from 'vitest'
import { doorViewOf } from '../../src/core/rules/display/door-view.ts'
import { missingOfFlight } from '../../src/core/rules/display/flight.ts'
import { hasClassKeys } from '../../src/core/rules/template/class-key.ts'
import { checkDefinition } from '../../src/core/rules/template/definition.ts'
import { compileVariables } from '../../src/core/rules/template/variables.ts'
import { logo } from './google/samples.ts'
import { define, type Facts, flight, morning, render, text } from './render-facts.ts'

const concert = {
  name: '{{title}}',
  venue: { name: '{{venue}}', address: '{{address}}', latitude: '{{lat}}', longitude: '{{lon}}' },
  doorsAt: '{{doors}}',
  startsAt: '{{starts}}',
  endsAt: '{{ends}}',
  seat: { section: '{{section}}', seat: '{{seat}}' },
} as const
const evening = {
  title: 'Night music',
  venue: 'Hall',
  address: 'Quay 1',
  lat: '38.7678',
  lon: '-9.0946',
  doors: '2027-05-20T18:00+01:00',
  starts: '2027-05-20T19:00:00+01:00',
  ends: '2027-05-20T22:00:00+01:00',
  section: 'B',
  seat: '12',
}

test('an event fills the fields of both wallets', () => {
  const { apple, kind, ofClass, object } = render('eventTicket', { event: concert, values: evening })
  expect(apple.semantics).toEqual({
    eventName: 'Night music',
    venueName: 'Hall',
    venueLocation: { latitude: 38.7678, longitude: -9.0946 },
    venueDoorsOpenDate: '2027-05-20T18:00+01:00',
    eventStartDate: '2027-05-20T19:00:00+01:00',
    eventEndDate: '2027-05-20T22:00:00+01:00',
    seats: [{ seatSection: 'B', seatNumber: '12' }],
  })
  expect(apple.locations).toEqual([{ latitude: 38.7678, longitude: -9.0946 }])
  expect(apple.relevantDate).toBe('2027-05-20T17:00:00Z')
  expect(apple.relevantDates).toEqual([{ startDate: '2027-05-20T17:00:00Z', endDate: '2027-05-20T21:00:00Z' }])
  expect(kind).toBe('eventTicket')
  expect(ofClass).toMatchObject({
    eventName: text('Night music'),
    venue: { name: text('Hall'), address: text('Quay 1') },
    dateTime: {
      doorsOpen: '2027-05-20T18:00:00+01:00',
      start: '2027-05-20T19:00:00+01:00',
      end: '2027-05-20T22:00:00+01:00',
    },
  })
  expect(object.seatInfo).toEqual({ section: text('B'), seat: text('12') })
})

test('omits unknown facts of an event, and the end of an interval over a day', () => {
  const { ends: _, ...open } = evening
  const { apple, ofClass } = render('eventTicket', {
    event: concert,
    values: { ...open, address: '', lat: '', section: '' },
  })
  expect(apple.relevantDates).toEqual([{ date: '2027-05-20T17:00:00Z', relevantDate: '2027-05-20T17:00:00Z' }])
  expect(apple.semantics).not.toHaveProperty('venueLocation')
  expect(apple.semantics.seats).toEqual([{ seatNumber: '12' }])
  expect(ofClass).not.toHaveProperty('venue')
  const long = render('eventTicket', { event: concert, values: { ...evening, ends: '2027-05-21T18:00:01+01:00' } })
  expect(long.apple.relevantDates).toEqual([{ date: '2027-05-20T17:00:00Z', relevantDate: '2027-05-20T17:00:00Z' }])
  const nothing = render('eventTicket', { event: concert })
  expect(nothing.apple).not.toHaveProperty('semantics')
  expect(nothing.apple).not.toHaveProperty('relevantDates')
})

test('facts of an event never replace overrides, or the date and ten locations of a design', () => {
  const locations = Array.from({ length: 10 }, (_, latitude) => ({ latitude, longitude: 0 }))
  const { apple, ofClass, object } = render('eventTicket', {
    event: concert,
    values: evening,
    design: {
      organizationName: 'Harbour',
      description: 'Ticket',
      images: { logo },
      locations,
      relevantDate: '2027-01-01T00:00:00Z',
    },
    apple: { semantics: { eventName: 'Other', venueName: null, eventType: 'PKEventTypeConference' } },
    google: { class: { eventName: text('Third'), venue: null }, object: { seatInfo: { row: text('1') } } },
  } as Facts)
  expect(apple.semantics).toMatchObject({ eventName: 'Other', eventStartDate: evening.starts })
  expect(apple.semantics).not.toHaveProperty('venueName')
  expect(apple.locations).toEqual(locations)
  expect(apple.relevantDates).toEqual([{ date: '2027-01-01T00:00:00Z', relevantDate: '2027-01-01T00:00:00Z' }])
  expect(ofClass.eventName).toEqual(text('Third'))
  expect(ofClass).not.toHaveProperty('venue')
  expect(object.seatInfo).toEqual({ section: text('B'), seat: text('12'), row: text('1') })
})

test('a trip by air with all facts that Google requires is a flight, with a class per flight', () => {
  const { apple, kind, ofClass, object, claim } = render('boardingPass', { trip: flight, values: morning })
  expect(apple.boardingPass.transitType).toBe('PKTransitTypeAir')
  expect(apple.semantics).toMatchObject({
    airlineCode: 'TP',
    flightNumber: 664,
    flightCode: 'TP664',
    departureAirportCode: 'LIS',
    departureAirportTimeZone: 'Europe/Lisbon',
    departureGate: '12',
    departureLocation: { latitude: 38.77, longitude: -9.13 },
    destinationAirportCode: 'AMS',
    seats: [{ seatNumber: '7C' }],
    passengerName: { givenName: 'Ada', familyName: 'Lovelace' },
  })
  expect(apple.relevantDates).toEqual([{ startDate: '2027-05-20T06:00:00Z', endDate: '2027-05-20T09:00:00Z' }])
  expect(kind).toBe('flight')
  expect(ofClass).toMatchObject({
    flightHeader: { carrier: { carrierIataCode: 'TP' }, flightNumber: '664' },
    origin: { airportIataCode: 'LIS', gate: '12', terminal: '1' },
    destination: { airportIataCode: 'AMS' },
    localScheduledDepartureDateTime: '2027-05-20T07:00:00',
    localScheduledArrivalDateTime: '2027-05-20T11:00:00',
  })
  expect(object).toMatchObject({
    passengerName: 'Ada Lovelace',
    reservationInfo: { confirmationCode: 'ABC123' },
    boardingAndSeatingInfo: { seatNumber: '7C', boardingGroup: '2' },
  })
  const keyOf = (values: object) =>
    render('boardingPass', { trip: flight, values: { ...morning, ...values } }).claim?.keyDigest
  expect(claim?.values).toEqual({ flight: '664', from: 'LIS', departs: morning.departs, gate: '12' })
  expect(keyOf({ seat: '8A', given: 'Grace' })).toBe(claim?.keyDigest)
  expect(keyOf({ gate: '13' })).not.toBe(claim?.keyDigest)
})

test.each([
  ['a number with letters', { flight: '66A' }],
  ['no airport', { from: '' }],
  ['a city in place of an airport code', { from: 'Lisbon' }],
])('a trip by air with %s is sent to Google as transit', (_, values) => {
  const { apple, kind, object } = render('boardingPass', { trip: flight, values: { ...morning, ...values } })
  expect([kind, apple.boardingPass.transitType]).toEqual(['transit', 'PKTransitTypeAir'])
  expect(object.ticketLeg).toMatchObject({ originName: text('Lisbon'), departureDateTime: '2027-05-20T07:00:00+01:00' })
})

test('missing facts of a flight are reported on publish', () => {
  const { number: _, ...trip } = flight
  expect(missingOfFlight(define({ trip }), 'boardingPass', new Map())).toEqual(['flightNumber'])
  expect(missingOfFlight(define({ trip: flight }), 'boardingPass', new Map())).toEqual([])
  expect(hasClassKeys(define({ trip }), 'boardingPass')).toBe(false)
})

test.each([
  ['train', 'PKTransitTypeTrain', 'RAIL', { departureStationName: 'Lisbon', vehicleNumber: '664' }],
  ['bus', 'PKTransitTypeBus', 'BUS', { departureStationName: 'Lisbon', departurePlatform: '4' }],
  ['boat', 'PKTransitTypeBoat', 'FERRY', { departureLocationDescription: 'Lisbon' }],
] as const)('a trip by %s is a transit ticket of that type', (mode, transitType, type, tags) => {
  const trip = { ...flight, mode, platform: '{{platform}}', passenger: '{{given}}' }
  const { apple, kind, ofClass, object, claim } = render('boardingPass', {
    trip,
    values: { ...morning, platform: '4' },
  })
  expect([kind, apple.boardingPass.transitType, ofClass.transitType]).toEqual(['transit', transitType, type])
  expect(apple.semantics).toMatchObject(tags)
  expect(claim).toBeUndefined()
  expect(object).toMatchObject({
    passengerNames: 'Ada',
    purchaseDetails: { confirmationCode: 'ABC123' },
    ticketLeg: {
      originStationCode: 'LIS',
      originName: text('Lisbon'),
      destinationStationCode: 'AMS',
      destinationName: text('Amsterdam'),
      departureDateTime: '2027-05-20T07:00:00+01:00',
      arrivalDateTime: '2027-05-20T11:00:00+02:00',
      transitOperatorName: text('Atlantic'),
      platform: '4',
      ticketSeat: { seat: '7C' },
    },
  })
})

test('rejects a value of the wrong type with the name of its variable', () => {
  const check = compileVariables(define({ event: concert }))
  expect(check(evening)).toEqual([])
  expect(check({ ...evening, doors: '', lat: '90', lon: '-180.0' })).toEqual([])
  const wrong = { ...evening, starts: '20 May', lat: '91', lon: 'west' }
  expect(check(wrong).map(({ path }) => path)).toEqual([
    ['variables', 'lat'],
    ['variables', 'lon'],
    ['variables', 'starts'],
  ])
})

test('publishing rejects facts that can never have the required type', () => {
  const pathsOf = (facts: Facts) => checkDefinition(define(facts)).map(({ path }) => path.join('.'))
  expect(pathsOf({ event: concert, door: {} })).toEqual([])
  expect(pathsOf({ event: { startsAt: 'soon', venue: { latitude: '91', longitude: 1 } } })).toEqual([
    'event.venue.latitude',
    'event.startsAt',
  ])
  expect(pathsOf({ event: { startsAt: 'on {{starts}}', venue: { latitude: 1 } } })).toEqual([
    'event.venue',
    'event.startsAt',
  ])
  expect(pathsOf({ trip: { mode: 'bus', from: { timeZone: 'Mars/Phobos' } } })).toEqual(['trip.from.timeZone'])
  expect(pathsOf({ event: {}, trip: { mode: 'bus' } })).toEqual(['trip'])
  expect(pathsOf({ event: { name: '{{pass.id}}' }, google: { classKey: '{{title}}' } })).toEqual(['event.name'])
})

test('the door shows the seat unless the template selects other fields', () => {
  const see = (facts: Facts) =>
    doorViewOf(define(facts), new Map(Object.entries({ ...evening, ...morning })))?.fields.map(
      ({ label, value }) => `${label} ${value}`,
    )
  expect(see({ event: concert, door: {} })).toEqual(['Event Night music', 'Section B', 'Seat 7C'])
  expect(see({ trip: flight, door: {} })).toEqual(['Trip TP 664, LIS – AMS', 'Seat 7C', 'Gate 12', 'Group 2'])
  expect(see({ event: concert, door: { show: ['section'] } })).toEqual(['section B'])
  expect(see({ event: concert })).toBeUndefined()
})
