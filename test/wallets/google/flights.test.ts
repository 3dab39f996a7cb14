import { expect, test } from 'vitest'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { renderCard } from '../../../src/core/rules/display/card.ts'
import { readGoogleView } from '../../../src/core/rules/display/google-view.ts'
import { lintDefinition } from '../../../src/core/rules/lint/lint.ts'
import { claimClass } from '../../../src/core/rules/template/class-key.ts'
import { createGoogleWallet } from '../../../src/wallets/google/google-wallet.ts'
import { kindOf } from '../../../src/wallets/google/resource.ts'
import { checkResource } from '../../../src/wallets/sandbox/google/google-store.ts'
import { parseDefinition } from '../../support/definitions.ts'
import { at, identity, pass, publicUrl } from './samples.ts'

const wallet = createGoogleWallet({ identity, publicUrl })
const semantics = {
  airlineCode: 'LX',
  flightNumber: 316,
  departureAirportCode: 'ZRH',
  destinationAirportCode: 'LHR',
  originalDepartureDate: '2026-03-02T07:00:00+01:00',
  currentBoardingDate: '2026-03-02T06:20:00+01:00',
  departureGate: 'B42',
  confirmationNumber: '{{reservation}}',
  passengerName: { givenName: 'Ada', familyName: 'Lovelace' },
  seats: [{ seatRow: '12', seatNumber: 'A' }],
  boardingGroup: '3',
}
type Semantics = Record<string, unknown>

const field = (key: string, value: string) => ({ key, label: key.toUpperCase(), value })
const fields = {
  header: [field('gate', 'B42')],
  primary: [field('from', 'Zurich'), field('to', 'London')],
  auxiliary: [field('seat', '{{seat}}'), field('boards', '06:20')],
  secondary: [field('passenger', '{{pass.label}}')],
}

type Rest = Partial<DefinitionInput> & { scope?: object }

function rendered(tags: Semantics, { scope = {}, ...rest }: Rest = {}) {
  const definition = parseDefinition({
    variables: [{ name: 'seat', label: 'Seat' }],
    design: { organizationName: 'Swift Air', description: 'Boarding pass', fields, images: { logo: pass().id } },
    apple: { transitType: 'PKTransitTypeAir', semantics: tags },
    ...rest,
  })
  const facts = { definition, passType: 'boardingPass' as const, expiresAt: null, voided: false }
  const values = new Map<string, string>([['pass.label', 'Grace Hopper'], ...Object.entries(scope)])
  const shared = claimClass(definition, 'boardingPass', values)?.values ?? {}
  const templateCard = renderCard({ ...facts, scope: new Map(Object.entries(shared)) })
  const card = renderCard({ ...facts, scope: values })
  const built = { ...pass(), card, templateCard }
  const ofClass = wallet.classOf(built)
  const object = wallet.objectOf(built, at)
  const view = readGoogleView(ofClass, object)
  const google = { kind: kindOf(card), needsLogo: true, card, view, hidden: [] }
  const none = { scanned: '', images: {}, strips: new Map(), wantedPixels: {} }
  const warnings = lintDefinition({ ...facts, apple: null, ...none, google })
  const missing = warnings.find(({ code }) => code === 'flight-data-missing')?.message
  return { built, kind: kindOf(card), ofClass, object, view, missing, templateKind: kindOf(templateCard) }
}

test('an air boarding pass with all required facts is a flight, without holder values in its class', async () => {
  const { built, kind, templateKind, ofClass, object, missing } = rendered(semantics, { scope: { seat: '12A' } })
  expect([kind, templateKind, missing]).toEqual(['flight', 'flight', undefined])
  expect(ofClass).toMatchObject({
    flightHeader: { carrier: { carrierIataCode: 'LX' }, flightNumber: '316' },
    origin: { airportIataCode: 'ZRH', gate: 'B42' },
    destination: { airportIataCode: 'LHR' },
    localScheduledDepartureDateTime: '2026-03-02T07:00:00',
    localBoardingDateTime: '2026-03-02T06:20:00',
  })
  expect(object).toMatchObject({
    passengerName: 'Ada Lovelace',
    reservationInfo: {},
    boardingAndSeatingInfo: { seatNumber: '12A', boardingGroup: '3' },
  })
  await expect(wallet.check(built, at)).resolves.toBeUndefined()
  expect(checkResource('flight', 'Class', ofClass, identity.issuerId)).toMatchObject({ ok: true })
  expect(checkResource('flight', 'Object', object, identity.issuerId)).toMatchObject({ ok: true })
})

test.each<[title: string, kind: 'flight' | 'transit']>([
  ['by air', 'flight'],
  ['by train', 'transit'],
])('a boarding pass %s shows gate, seat, passenger, and times below its route', (_, kind) => {
  const apple = kind === 'flight' ? undefined : { apple: { transitType: 'PKTransitTypeTrain' as const, semantics } }
  const { view, ...found } = rendered(semantics, { ...apple, scope: { seat: '12A' } })
  expect(found.kind).toBe(kind)
  expect(view.title).toBe(kind === 'flight' ? 'ZRH → LHR' : 'Zurich → London')
  expect(view.rows.map((row) => row.map(({ value }) => value))).toEqual([['B42'], ['Grace Hopper'], ['12A', '06:20']])
  if (kind === 'transit') {
    expect(found.object).toMatchObject({ passengerNames: 'Ada Lovelace', ticketLeg: { ticketSeat: { seat: '12A' } } })
  }
})

const { originalDepartureDate: _, ...undated } = semantics

test.each<[title: string, tags: Semantics, rest: Partial<DefinitionInput>, missing: string | undefined]>([
  ['no tags at all', {}, {}, 'airlineCode, flightNumber, departureAirportCode, destinationAirportCode'],
  ['an airline that differs by holder', { ...semantics, airlineCode: '{{seat}}' }, {}, 'airlineCode'],
  ['an invalid number', { ...semantics, flightNumber: 'none' }, {}, 'flightNumber'],
  ['no departure', undated, {}, 'originalDepartureDate'],
  ['a departure without a time zone', { ...undated, originalDepartureDate: '2026-03-02T06:00:00Z' }, {}, 'its offset'],
  [
    'a departure with a time zone',
    { ...undated, originalDepartureDate: '2026-03-02T06:00:00Z' },
    { timeZone: 'Europe/Zurich' },
    undefined,
  ],
  [
    'a code in place of airline and number',
    { ...semantics, airlineCode: '', flightNumber: '', flightCode: 'LX316' },
    {},
    undefined,
  ],
])('the warning of an air boarding pass with %s names what it lacks to be a flight', (_, tags, rest, missing) => {
  const found = rendered(tags, rest)
  expect(found.kind).toBe(missing === undefined ? 'flight' : 'transit')
  expect(found.templateKind).toBe(found.kind)
  if (missing === undefined) expect(found.missing).toBeUndefined()
  else expect(found.missing).toContain(missing)
  if (missing === undefined) expect(found.ofClass.localScheduledDepartureDateTime).toBe('2026-03-02T07:00:00')
  else expect(found.ofClass.transitType).toBe('OTHER')
})

const perFlight = {
  airlineCode: 'LX',
  flightNumber: '{{number}}',
  departureAirportCode: '{{from}}',
  destinationAirportCode: '{{to}}',
  originalDepartureDate: '{{departs}}',
  departureGate: '{{gate}}',
}
const names = ['number', 'from', 'to', 'departs', 'gate', 'seat']
const variables = names.map((name) => ({ name, label: name }))
const scope = { number: '316', from: 'ZRH', to: 'LHR', departs: '2026-03-02T07:00:00+01:00', gate: 'B42', seat: '12A' }

test('with google.classKey, pass values make a flight, in a class shared by its passengers', async () => {
  const google = { classKey: '{{number}} {{departs}}' }
  const { built, kind, templateKind, ofClass, missing } = rendered(perFlight, { scope, variables, google })
  expect([kind, templateKind, missing]).toEqual(['flight', 'flight', undefined])
  expect(ofClass).toMatchObject({
    flightHeader: { carrier: { carrierIataCode: 'LX' }, flightNumber: '316' },
    origin: { airportIataCode: 'ZRH', gate: 'B42' },
    destination: { airportIataCode: 'LHR' },
    localScheduledDepartureDateTime: '2026-03-02T07:00:00',
  })
  expect(JSON.stringify(ofClass)).not.toContain('12A')
  await expect(wallet.check(built, at)).resolves.toBeUndefined()
})

test.each<[title: string, rest: Rest, missing: string | undefined]>([
  ['without google.classKey', {}, 'flightNumber, departureAirportCode'],
  ['with an invalid value', { google: { classKey: '{{number}}' }, scope: { ...scope, from: 'Zurich' } }, undefined],
  [
    'with an invalid example',
    {
      google: { classKey: '{{number}}' },
      scope: { ...scope, from: 'Zurich' },
      variables: variables.map((one) => (one.name === 'from' ? { ...one, example: 'Zurich' } : one)),
    },
    'departureAirportCode',
  ],
])('%s, a flight from pass values is a transit ticket', (_, rest, missing) => {
  const found = rendered(perFlight, { scope, variables, ...rest })
  expect([found.kind, found.templateKind]).toEqual(['transit', 'transit'])
  if (missing === undefined) expect(found.missing).toBeUndefined()
  else expect(found.missing).toContain(missing)
})

test('a template that names the kind gets no warning', () => {
  expect(rendered({}, { google: { kind: 'transit' } }).missing).toBeUndefined()
})
