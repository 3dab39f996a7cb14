import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Definition, DefinitionInput, PassType } from '../../../../src/core/contract/schemas/definition.ts'
import { checkOverrides, compileOverrides } from '../../../../src/wallets/apple/overrides/override-check.ts'
import { buildPassJson } from '../../../../src/wallets/apple/pass-json.ts'
import { parseDefinition } from '../../../support/definitions.ts'
import { passTypeIdentifier, teamIdentifier, testPass, webServiceUrl } from '../fixtures.ts'
import { NFC_KEY } from './override-samples.ts'

// The package does not export its schemas.
const schemas = join(import.meta.dirname, '../../../../node_modules/passkit-generator/lib/cjs/schemas/index.js')
const { PassProps } = createRequire(import.meta.url)(schemas)

const design = {
  organizationName: 'Hall',
  description: 'Ticket',
  fields: { header: [{ key: 'gate', label: 'Gate', value: '1' }] },
}
const variable = (name: string, more = {}) => ({ name, label: name, ...more })

function define(apple: object, variables: object[] = []): Definition {
  return parseDefinition({ variables, design, apple } as DefinitionInput)
}

const publish = (apple: object, passType: PassType = 'generic') =>
  checkOverrides(define(apple), passType).map(({ path, message }) => `${path.join('.')}: ${message}`)

const inGeneric = (field: object) => ({ generic: { backFields: [{ key: 'x', value: 'v', ...field }] } })
const semantic = (tags: object) => ({ semantics: tags })
const leader = { proximityUUID: '5A4BCFCE-174E-4BAC-A814-092E77F6B7E5' }
const barcode = (format: string, message: string, messageEncoding = 'utf-8') => ({
  barcodes: [{ format: `PKBarcodeFormat${format}`, message, messageEncoding }],
})

/** A valid override for Apple, an invalid one, and the path and a word of its reason. */
const table: [string, object, object, string, RegExp][] = [
  ['a date', { relevantDate: '2027-05-31T19:30+02:00' }, { relevantDate: 'garbage' }, 'relevantDate', /with an offset/],
  ['a day', { relevantDate: '2028-02-29T10:00:00Z' }, { relevantDate: '2027-02-29T10:00:00Z' }, 'relevantDate', /date/],
  [
    'an offset',
    { relevantDate: '2027-05-31T19:30:00.5Z' },
    { relevantDate: '2027-05-31T19:30' },
    'relevantDate',
    /date/,
  ],
  ['a color', { labelColor: '#aBc' }, { labelColor: 'red' }, 'labelColor', /rgb\(/],
  ['a channel', { stripColor: 'rgb(1,2,255)' }, { stripColor: 'rgb(1,2,256)' }, 'stripColor', /rgb\(/],
  ['meters', { maxDistance: 500 }, { maxDistance: '500 m' }, 'maxDistance', /a number/],
  ['a distance', { maxDistance: 0.5 }, { maxDistance: 0 }, 'maxDistance', /more than 0/],
  ['a switch', { sharingProhibited: true }, { sharingProhibited: 'yes' }, 'sharingProhibited', /true or false/],
  [
    'a number style',
    inGeneric({ value: 7, numberStyle: 'PKNumberStylePercent' }),
    inGeneric({ value: 7, numberStyle: 'decimal' }),
    'generic.backFields.0.numberStyle',
    /PKNumberStyleDecimal/,
  ],
  [
    'a number to be styled',
    inGeneric({ value: 7, currencyCode: 'EUR' }),
    inGeneric({ value: 'seven', currencyCode: 'EUR' }),
    'generic.backFields.0.value',
    /Must be a number/,
  ],
  [
    'a currency',
    inGeneric({ value: 7, currencyCode: 'EUR' }),
    inGeneric({ value: 7, currencyCode: 'euro' }),
    'generic.backFields.0.currencyCode',
    /ISO 4217/,
  ],
  [
    'a date to be styled',
    inGeneric({ value: '2027-05-31T19:30Z', dateStyle: 'PKDateStyleShort' }),
    inGeneric({ value: '2027-05-31', dateStyle: 'PKDateStyleShort' }),
    'generic.backFields.0.value',
    /dateStyle/,
  ],
  [
    'a time style',
    inGeneric({ value: '2027-05-31T19:30Z', timeStyle: 'PKDateStyleNone' }),
    inGeneric({ value: '2027-05-31T19:30Z', timeStyle: 'PKTimeStyleNone' }),
    'generic.backFields.0.timeStyle',
    /one of/,
  ],
  [
    'an alignment',
    inGeneric({ textAlignment: 'PKTextAlignmentRight' }),
    inGeneric({ textAlignment: 'right' }),
    'generic.backFields.0.textAlignment',
    /one of/,
  ],
  [
    'a detector',
    inGeneric({ dataDetectorTypes: ['PKDataDetectorTypeLink'] }),
    inGeneric({ dataDetectorTypes: ['link'] }),
    'generic.backFields.0.dataDetectorTypes.0',
    /one of/,
  ],
  ['a key of its own', inGeneric({ key: 'other' }), inGeneric({ key: 'gate' }), 'generic.backFields.0.key', /"gate"/],
  ['a QR code', barcode('QR', '漢字'), barcode('QR', 'x'.repeat(2_954)), 'barcodes.0.message', /at most 2953/],
  ['code 128', barcode('Code128', 'A-1'), barcode('Code128', '漢字'), 'barcodes.0.message', /ASCII/],
  ['an encoding', barcode('QR', 'é', 'iso-8859-1'), barcode('QR', '漢', 'iso-8859-1'), 'barcodes.0.message', /utf-8/],
  ['a format', barcode('EAN13', '4006381333931'), barcode('DataMatrix', 'x'), 'barcodes.0.format', /PKBarcodeFormatQR/],
  [
    'an EAN-13',
    barcode('EAN13', '4006381333931'),
    barcode('EAN13', '4006381333932'),
    'barcodes.0.message',
    /check digit/,
  ],
  [
    'an NFC message',
    { nfc: { message: 'x'.repeat(64), encryptionPublicKey: NFC_KEY } },
    { nfc: { message: '漢'.repeat(22), encryptionPublicKey: NFC_KEY } },
    'nfc.message',
    /1 to 64 bytes/,
  ],
  [
    'an NFC key',
    { nfc: { message: 'x', encryptionPublicKey: NFC_KEY } },
    { nfc: { message: 'x', encryptionPublicKey: 'AAAA' } },
    'nfc.encryptionPublicKey',
    /P-256/,
  ],
  [
    'all of NFC',
    { nfc: { message: 'x', encryptionPublicKey: NFC_KEY, requiresAuthentication: true } },
    { nfc: { message: 'x' } },
    'nfc.encryptionPublicKey',
    /required/,
  ],
  [
    'an address of an app',
    { appLaunchURL: 'hall://ticket', associatedStoreIdentifiers: [1234567890] },
    { appLaunchURL: 'hall://ticket' },
    'appLaunchURL',
    /associatedStoreIdentifiers/,
  ],
  [
    'an app',
    { associatedStoreIdentifiers: [1234567890] },
    { associatedStoreIdentifiers: ['1234567890 '] },
    'associatedStoreIdentifiers.0',
    /a number/,
  ],
  ['an address', { bagPolicyURL: 'https://a.example/b' }, { bagPolicyURL: 'a.example' }, 'bagPolicyURL', /https/],
  [
    'a place',
    { locations: [{ latitude: 90, longitude: -180 }] },
    { locations: [{ latitude: 91, longitude: 0 }] },
    'locations.0.latitude',
    /90/,
  ],
  [
    'a beacon',
    { beacons: [{ ...leader, major: 65_535 }] },
    { beacons: [{ ...leader, major: 65_536 }] },
    'beacons.0.major',
    /65535/,
  ],
  ['a UUID', { beacons: [leader] }, { beacons: [{ proximityUUID: 'x' }] }, 'beacons.0.proximityUUID', /UUID/],
  [
    'an interval',
    { relevantDates: [{ startDate: '2027-05-31T00:00Z', endDate: '2027-06-01T00:00Z' }] },
    { relevantDates: [{ startDate: '2027-05-31T00:00Z', endDate: '2027-06-01T00:01Z' }] },
    'relevantDates.0.endDate',
    /24 hours/,
  ],
  [
    'an end',
    { relevantDates: [{ startDate: '2027-05-31T00:00Z', endDate: '2027-05-31T01:00Z' }] },
    { relevantDates: [{ startDate: '2027-05-31T01:00Z' }] },
    'relevantDates.0',
    /endDate/,
  ],
  [
    'the key of iOS 26',
    { relevantDates: [{ date: '2027-05-31T00:00Z' }] },
    { relevantDates: [{ date: 'x' }] },
    'relevantDates.0.date',
    /date/,
  ],
  [
    'the key of iOS 18',
    { relevantDates: [{ relevantDate: '2027-05-31T00:00Z' }] },
    { relevantDates: [{}] },
    'relevantDates.0',
    /date/,
  ],
  [
    'a scheme',
    { preferredStyleSchemes: ['posterEventTicket'] },
    { preferredStyleSchemes: ['poster'] },
    'preferredStyleSchemes.0',
    /one of/,
  ],
  ['seats', semantic({ seats: [{ seatRow: 'A' }] }), semantic({ seats: 'A1' }), 'semantics.seats', /a list/],
  [
    'a colour of a seat',
    semantic({ seats: [{ seatSectionColor: '#123456' }] }),
    semantic({ seats: [{ seatSectionColor: 'blue' }] }),
    'semantics.seats.0.seatSectionColor',
    /rgb/,
  ],
  [
    'a flight',
    semantic({ flightNumber: 123 }),
    semantic({ flightNumber: 'PX 123' }),
    'semantics.flightNumber',
    /a number/,
  ],
  [
    'a moment of an event',
    semantic({ eventStartDate: '2027-05-31T19:30Z' }),
    semantic({ eventStartDate: 'tonight' }),
    'semantics.eventStartDate',
    /date/,
  ],
  [
    'a kind of event',
    semantic({ eventType: 'PKEventTypeMovie' }),
    semantic({ eventType: 'movie' }),
    'semantics.eventType',
    /one of/,
  ],
  [
    'an amount',
    semantic({ balance: { amount: '12.50', currencyCode: 'EUR' } }),
    semantic({ balance: { amount: 12.5 } }),
    'semantics.balance.amount',
    /a string/,
  ],
  [
    'a name',
    semantic({ passengerName: { givenName: 'Ada' } }),
    semantic({ passengerName: 'Ada' }),
    'semantics.passengerName',
    /an object/,
  ],
  [
    'performers',
    semantic({ performerNames: ['Ada'] }),
    semantic({ performerNames: 'Ada' }),
    'semantics.performerNames',
    /a list/,
  ],
  [
    'a network',
    semantic({ wifiAccess: [{ ssid: 'a', password: 'b' }] }),
    semantic({ wifiAccess: [{ ssid: 'a' }] }),
    'semantics.wifiAccess.0.password',
    /required/,
  ],
  [
    'a time zone',
    semantic({ departureAirportTimeZone: 'Europe/Lisbon' }),
    semantic({ departureAirportTimeZone: 'Mars/Phobos' }),
    'semantics.departureAirportTimeZone',
    /IANA/,
  ],
]

test.each(table)(
  '%s: accepts the values that Apple accepts, and rejects others with their path and a reason',
  (_, good, bad, path, reason) => {
    expect(publish(good)).toEqual([])
    expect(publish(bad)).toEqual([expect.stringMatching(new RegExp(`^apple\\.${path.replaceAll('.', '\\.')}: .*`))])
    expect(publish(bad)[0]).toMatch(reason)
  },
)

const action = { identifier: 'a', type: 'shop', url: 'https://example.com/shop' }
const actions = (...list: object[]) => ({ featuredActions: list })

test.each([
  ['an action of another type', actions({ ...action, type: 'dance' }), 'featuredActions.0.type'],
  ['an action without a type', actions({ identifier: 'a', url: action.url }), 'featuredActions.0.type'],
  ['an action without an identifier', actions({ type: 'shop', url: action.url }), 'featuredActions.0.identifier'],
  ['an empty identifier', actions({ ...action, identifier: '' }), 'featuredActions.0.identifier'],
  ['a repeated identifier', actions(action, { ...action, type: 'order' }), 'featuredActions.1.identifier'],
  ['an action without an address', actions({ identifier: 'a', type: 'shop' }), 'featuredActions.0.url'],
  ['an address without https', actions({ ...action, url: 'http://example.com/' }), 'featuredActions.0.url'],
  ['an address without a scheme', actions({ ...action, url: 'example.com' }), 'featuredActions.0.url'],
  ['a call number of another type', actions({ ...action, url: 'tel:+351210000000' }), 'featuredActions.0.url'],
  ['an address without slashes', actions({ ...action, url: 'https:example.com' }), 'featuredActions.0.url'],
  ['a place with an address', actions({ ...action, type: 'place', placeIdentifier: 'I7' }), 'featuredActions.0.url'],
  ['an unknown character set', barcode('QR', 'x', 'klingon'), 'barcodes.0.messageEncoding'],
  ['a place without its ID', actions({ identifier: 'a', type: 'place' }), 'featuredActions.0.placeIdentifier'],
  ['a place ID of another type', actions({ ...action, placeIdentifier: 'I7' }), 'featuredActions.0.placeIdentifier'],
  [
    'a third action',
    actions(action, { ...action, identifier: 'b' }, { ...action, identifier: 'c' }),
    'featuredActions.2',
  ],
  ['an unknown key of an action', actions({ ...action, icon: 'star' }), 'featuredActions.0.icon'],
  ['an action that is no object', { featuredActions: ['shop'] }, 'featuredActions.0'],
  ['an unknown key', { featuredAction: [action] }, 'featuredAction'],
  ['an unknown key of the style', { generic: { headerField: [] } }, 'generic.headerField'],
  ['an unknown key of a field', inGeneric({ colour: 'red' }), 'generic.backFields.0.colour'],
  ['an unknown semantic tag', semantic({ departureDate: '2027-05-31T00:00Z' }), 'semantics.departureDate'],
  ['an unknown key of NFC', { nfc: { message: 'x', encryptionPublicKey: NFC_KEY, key: '1' } }, 'nfc.key'],
  ['an unknown key of a barcode', { barcodes: [{ ...barcode('QR', 'x').barcodes[0], size: 1 }] }, 'barcodes.0.size'],
  ['the style of another pass type', { storeCard: { headerFields: [] } }, 'storeCard'],
  [
    'an upcoming event without a type',
    { upcomingPassInformation: [{ identifier: 'a', name: 'b' }] },
    'upcomingPassInformation.0.type',
  ],
])('publishing rejects %s with its path', (_, apple, path) => {
  expect(publish(apple).map((issue) => issue.split(': ')[0])).toEqual([`apple.${path}`])
})

test('an unknown key that differs from a known one in case or number is explained', () => {
  expect(publish({ featuredAction: [] })[0]).toContain('did you mean featuredActions?')
  expect(publish({ logotext: 'x' })[0]).toContain('did you mean logoText?')
})

test('each type of a featured action is accepted, and pass.json contains the actions', () => {
  const types =
    'viewSchedule watchTrailer listenToMusic call addToBalance order shop membershipBenefits bookAppointment bookCar bookFlight bookStay viewOffersRewards'
  for (const type of types.split(' ')) expect(publish(actions({ ...action, type }))).toEqual([])
  const call = { identifier: 'call', type: 'call', url: 'tel:+351210000000' }
  const place = { identifier: 'place', type: 'place', placeIdentifier: 'I71B28B9C6AC9C7EF' }
  expect(publish(actions(call, place))).toEqual([])
  const pass = testPass({ definition: { design, apple: actions(call, place) } })
  const json = buildPassJson(pass, { passTypeIdentifier, teamIdentifier }, webServiceUrl)
  expect(json.featuredActions).toEqual([call, place])
})

test('unknown keys are reported on publish only, not for each pass', () => {
  const definition = define({ generic: { hue: '{{x}}' } }, [variable('x')])
  expect(checkOverrides(definition, 'generic')).toHaveLength(1)
  expect(compileOverrides(definition, 'generic')!(new Map([['x', 'y']]))).toEqual([])
})

test('accepted values have the same result as in passkit-generator', () => {
  for (const [name, good] of table) {
    if (['a key of its own'].includes(name)) continue
    const pass = testPass({ definition: { design, apple: { ...good } } })
    const json = buildPassJson(pass, { passTypeIdentifier, teamIdentifier }, webServiceUrl)
    const { error } = PassProps.validate(JSON.parse(JSON.stringify(json)), { allowUnknown: true })
    expect(error?.message, name).toBeUndefined()
  }
})

test('accepts one of five transit types, next to the style or in it', () => {
  expect(publish({ transitType: 'PKTransitTypeAir' }, 'boardingPass')).toEqual([])
  expect(publish({ boardingPass: { transitType: 'PKTransitTypeRocket' } }, 'boardingPass')).toEqual([
    expect.stringMatching(/^apple\.boardingPass\.transitType: Must be one of PKTransitTypeAir/),
  ])
})

test('a lone placeholder becomes a number or boolean where the key requires one, else a string', () => {
  const variables = ['meters', 'flight', 'yes', 'amount', 'color', 'when'].map((name) => variable(name))
  const apple = {
    maxDistance: '{{meters}}',
    sharingProhibited: '{{yes}}',
    backgroundColor: '{{color}}',
    relevantDates: [{ date: '{{when}}' }],
    semantics: { flightNumber: '{{flight}}', balance: { amount: '{{amount}}', currencyCode: 'EUR' } },
    generic: { headerFields: [{ key: 'n', value: '{{amount}}', currencyCode: 'EUR' }] },
    userInfo: { meters: '{{meters}}' },
  }
  const shown = (values: Record<string, string>) => {
    const pass = testPass({ variables: values, definition: { variables, design, apple } })
    return JSON.parse(JSON.stringify(buildPassJson(pass, { passTypeIdentifier, teamIdentifier }, webServiceUrl)))
  }
  const values = {
    meters: '500',
    flight: '123',
    yes: 'true',
    amount: '12.50',
    color: '#fff',
    when: '2027-05-31T19:30Z',
  }
  expect(shown(values)).toMatchObject({
    maxDistance: 500,
    sharingProhibited: true,
    backgroundColor: 'rgb(255, 255, 255)',
    relevantDates: [{ date: '2027-05-31T19:30Z', relevantDate: '2027-05-31T19:30Z' }],
    semantics: { flightNumber: 123, balance: { amount: '12.50' } },
    generic: { headerFields: [{ value: 12.5 }] },
    userInfo: { meters: '500' },
  })
  const empty = shown({})
  for (const key of ['maxDistance', 'sharingProhibited', 'backgroundColor']) expect(empty).not.toHaveProperty(key)
  expect(empty.semantics).toEqual({ balance: { amount: '', currencyCode: 'EUR' } })
  expect(empty.generic).not.toHaveProperty('headerFields')
})

test('checks override values on publish if they are known, and with each pass', () => {
  const apple = { maxDistance: '{{meters}}', nfc: { message: '{{code}}', encryptionPublicKey: NFC_KEY } }
  const open = define(apple, [variable('meters'), variable('code')])
  expect(checkOverrides(open, 'generic')).toEqual([])
  const check = compileOverrides(open, 'generic')!
  const issues = (meters: string, code: string) => check(new Map(Object.entries({ meters, code })))
  expect(issues('500', 'abc')).toEqual([])
  expect(issues('far', 'x'.repeat(65))).toEqual([
    { path: ['variables', 'meters'], message: 'Must be a number: apple.maxDistance depends on it' },
    { path: ['variables', 'code'], message: 'Must have 1 to 64 bytes: apple.nfc.message depends on it' },
  ])
  expect(issues('90071992547409931', 'abc')).toHaveLength(1)
  const typed = define(actions({ identifier: '{{pass.id}}', type: '{{type}}' }), [variable('type')])
  expect(compileOverrides(typed, 'generic')!(new Map([['type', 'place']]))).toContainEqual({
    path: ['variables', 'type'],
    message: expect.stringMatching(/^Is required: .*: apple\.featuredActions\.0\.placeIdentifier depends on it$/),
  })
  expect(issues('1', '')).toEqual([
    { path: ['variables', 'code'], message: 'Is required: apple.nfc.message depends on it' },
  ])

  const known = define(apple, [variable('meters', { example: 'far' }), variable('code', { format: 'url' })])
  expect(checkOverrides(known, 'generic').map(({ path }) => path.join('.'))).toEqual(['apple.maxDistance'])
  expect(compileOverrides(define({ maxDistance: 5 }), 'generic')).toBeUndefined()
})
