import { expect, test } from 'vitest'
import { buildObject } from '../../../src/wallets/google/objects.ts'
import { at, design, flight, hero, logo, pass, publicUrl } from './samples.ts'

const issuer = { issuerId: '3388', publicUrl }
const objectOf = (options: Parameters<typeof pass>[0] = {}, from = issuer) => buildObject(from, pass(options), at)
const text = (value: string) => ({ defaultValue: { language: 'en', value } })
const picture = (id: string) => ({
  sourceUri: { uri: `${publicUrl}/images/${id}` },
  contentDescription: text('Example Arts'),
})
const module = (key: string) => ({ id: key, header: `label of ${key}`, body: `value of ${key}` })
const later = (ms: number) => new Date(at.getTime() + ms)

test('a generic object shows the whole card', () => {
  expect(objectOf({ expiresAt: new Date('2026-12-31T23:59:59Z') })).toEqual({
    id: '3388.018f2f5e-7c1a-7000-bfff-ba9876543210-generic',
    classId: '3388.template-018f2f5e-7c1a-7000-8000-0123456789ab-v2-generic',
    state: 'ACTIVE',
    cardTitle: text('EXAMPLE'),
    header: text('Ada Lovelace'),
    subheader: text('Guest'),
    logo: picture(logo),
    heroImage: picture(hero),
    hexBackgroundColor: '#1a2b3c',
    barcode: { type: 'QR_CODE', value: 'CODE-1', alternateText: 'Code 1' },
    textModulesData: ['gate', 'seat', 'row', 'block', 'door', 'level', 'price', 'terms'].map(module),
    linksModuleData: { uris: [{ id: 'link-1', uri: 'https://example.com/', description: 'Website' }] },
    merchantLocations: [{ latitude: 47.4, longitude: 8.5 }],
    validTimeInterval: { end: { date: '2026-12-31T23:59:59.000Z' } },
  })
})

test('objects of other kinds show every field, including the first one', () => {
  for (const passType of ['eventTicket', 'storeCard', 'coupon', 'boardingPass'] as const) {
    const modules = objectOf({ passType }).textModulesData as { id: string }[]
    expect(modules.map(({ id }) => id)).toEqual([
      'gate',
      'name',
      'seat',
      'row',
      'block',
      'door',
      'level',
      'price',
      'terms',
    ])
  }
})

test.each([
  ['qr', 'QR_CODE'],
  ['pdf417', 'PDF_417'],
  ['aztec', 'AZTEC'],
  ['code128', 'CODE_128'],
] as const)('maps the barcode format %s to the type %s', (format, type) => {
  expect(objectOf({ design: { barcode: { format, message: '1' } } }).barcode).toEqual({ type, value: '1' })
})

test.each([
  ['ean13', '4006381333931', 'EAN_13'],
  ['code39', 'ABC-1', 'CODE_39'],
  ['codabar', '123456', 'CODABAR'],
  ['itf', '10012345678902', 'ITF_14'],
  ['itf', '10012345678903', 'QR_CODE'],
  ['itf', '123456', 'QR_CODE'],
] as const)('shows %s of %s as %s', (format, message, type) => {
  expect(objectOf({ design: { barcode: { format, message } } }).barcode).toEqual({ type, value: message })
})

test.each([
  ['a pass without an expiry', {}, 'ACTIVE'],
  ['a pass a millisecond before its expiry', { expiresAt: later(1) }, 'ACTIVE'],
  ['a pass at its expiry', { expiresAt: at }, 'EXPIRED'],
  ['a void pass', { voided: true }, 'INACTIVE'],
  ['a void pass past its expiry', { voided: true, expiresAt: later(-1) }, 'INACTIVE'],
])('%s has a separate state, since its time interval may lag', (_, facts, state) => {
  expect(objectOf(facts).state).toBe(state)
})

test('a transit ticket has its origin, destination, and departure', () => {
  const built = objectOf({ passType: 'boardingPass', design: { relevantDate: '2026-05-01T08:30+02:00' } })
  expect(built).toMatchObject({
    tripType: 'ONE_WAY',
    ticketLeg: {
      originName: text('Ada Lovelace'),
      destinationName: text('value of seat'),
      departureDateTime: '2026-05-01T08:30:00+02:00',
    },
  })
  expect(built.validTimeInterval).toBeUndefined()
})

test('a transit ticket without departure and expiry is valid forever, since Google requires one of them', () => {
  for (const relevantDate of [undefined, 'tomorrow']) {
    const built = objectOf({ passType: 'boardingPass', design: { relevantDate } })
    expect(built.validTimeInterval).toEqual({ start: { date: '2000-01-01T00:00:00Z' } })
    expect(built.ticketLeg).not.toHaveProperty('departureDateTime')
  }
  const expiring = objectOf({ passType: 'boardingPass', expiresAt: later(1000) })
  expect(expiring.validTimeInterval).toEqual({ end: { date: later(1000).toISOString() } })
})

test('legs in the overrides of a transit ticket replace the generated one', () => {
  const ticketLegs = [{ originName: text('A'), destinationName: text('B') }]
  const built = objectOf({ passType: 'boardingPass', google: { object: { ticketLegs } } })
  expect(built.ticketLegs).toEqual(ticketLegs)
  expect(built).not.toHaveProperty('ticketLeg')
})

test('an empty value leaves no label in rows, details, or overrides', () => {
  const blank = ['', '  ', '{{nothing}}']
  const empty = { defaultValue: { language: 'en', value: '{{nothing}}' } }
  const built = objectOf({
    design: {
      fields: {
        header: [],
        primary: [],
        secondary: blank.map((value, n) => ({ key: `row${n}`, label: 'ROW', value })),
        auxiliary: [],
        back: blank.map((value, n) => ({ key: `back${n}`, label: 'BACK', value })),
      },
      links: [{ label: 'Map', url: '{{nothing}}' }],
    },
    google: {
      object: {
        infoModuleData: { labelValueRows: [{ columns: [{ label: 'TIER', value: '{{nothing}}' }] }] },
        barcode: { type: 'QR_CODE', value: '{{nothing}}' },
      },
    },
  })
  for (const key of ['textModulesData', 'linksModuleData', 'barcode']) expect(built).not.toHaveProperty(key)
  expect(built.infoModuleData).toEqual({ labelValueRows: [] })
  const texts = [
    ...blank.map((body) => ({ header: 'A', body })),
    { header: 'B', localizedBody: empty },
    { header: 'C' },
  ]
  const uris = [...blank.slice(0, 1), 'https://example.com/'].map((uri) => ({ uri, description: 'Site' }))
  const kept = objectOf({
    google: { object: { textModulesData: [...texts, { body: 'D' }], linksModuleData: { uris } } },
  })
  expect(kept.textModulesData).toEqual([{ body: 'D' }])
  expect(kept.linksModuleData).toEqual({ uris: [{ uri: 'https://example.com/', description: 'Site' }] })
})

test('a null barcode in the design or the overrides adds no barcode', () => {
  expect(objectOf({ design: { barcode: null } })).not.toHaveProperty('barcode')
  expect(objectOf({ google: { object: { barcode: null } } })).not.toHaveProperty('barcode')
})

test('the number of a gift card is its barcode message, else the pass ID', () => {
  expect(objectOf({ google: { kind: 'giftCard' } }).cardNumber).toBe('CODE-1')
  const bare = { google: { kind: 'giftCard' as const }, design: { barcode: { message: '{{nothing}}' } } }
  expect(objectOf(bare).cardNumber).toBe(pass().id)
  expect(objectOf(bare)).not.toHaveProperty('barcode')
})

test('a flight takes its passenger from the overrides', () => {
  expect(objectOf({ passType: 'boardingPass', google: flight })).toMatchObject({ ...flight.object })
})

test('under http an object has no image', () => {
  const built = JSON.stringify(objectOf({}, { issuerId: '3388', publicUrl: 'http://127.0.0.1:3000' }))
  expect(built).not.toContain('/images/')
})

test('omits fields without a value, unusable links, and empty labels', () => {
  const built = objectOf({
    design: {
      fields: {
        header: [
          { key: 'blank', label: 'Blank', value: '{{nothing}}' },
          { key: 'bare', value: 'x' },
        ],
      } as typeof design.fields,
      links: [
        { label: 'Script', url: 'javascript:alert(1)' },
        { label: 'Relative', url: '/here' },
        { label: '{{nothing}}', url: 'tel:+41441234567' },
        { label: 'Map', url: 'geo:53.55,9.99' },
      ],
    },
  })
  expect(built.textModulesData).toEqual([{ id: 'bare', body: 'x' }])
  expect(built.linksModuleData).toEqual({
    uris: [
      { id: 'link-2', uri: 'tel:+41441234567', description: 'tel:+41441234567' },
      { id: 'link-3', uri: 'geo:53.55,9.99', description: 'Map' },
    ],
  })
})

test('an empty header falls back to the description', () => {
  const fields = { ...design.fields!, primary: [{ key: 'name', label: '', value: '{{nothing}}' }] }
  const built = objectOf({ design: { fields } })
  expect(built.header).toEqual(text('Season ticket'))
  expect(built).not.toHaveProperty('subheader')
})

const fieldsOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    key: `${prefix}${n + 1}`,
    label: `Label ${n + 1}`,
    value: `Value ${n + 1}`,
  }))

test('ten fields have a module each; with more, those after the ninth share the last one in order', () => {
  const bodies = (back: number) => {
    const fields = {
      header: fieldsOf('h', 2),
      primary: fieldsOf('p', 1),
      secondary: [],
      auxiliary: [],
      back: fieldsOf('b', back),
    }
    const object = objectOf({ passType: 'eventTicket', design: { fields } })
    return object.textModulesData as { id: string; header?: string; body: string }[]
  }
  expect(bodies(7).map(({ id }) => id)).toEqual(['h1', 'h2', 'p1', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7'])
  const modules = bodies(10)
  expect(modules.map(({ id }) => id)).toEqual(['h1', 'h2', 'p1', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'more'])
  expect(modules.at(-1)).toEqual({
    id: 'more',
    body: 'Label 7: Value 7\nLabel 8: Value 8\nLabel 9: Value 9\nLabel 10: Value 10',
  })
})

test('fields of the front rows keep their own module, regardless of the number of earlier ones', () => {
  const fields = {
    header: fieldsOf('h', 3),
    primary: fieldsOf('p', 3),
    secondary: fieldsOf('s', 8),
    auxiliary: fieldsOf('a', 8),
    back: fieldsOf('b', 50),
  }
  const ids = (objectOf({ passType: 'eventTicket', design: { fields } }).textModulesData as { id: string }[]).map(
    ({ id }) => id,
  )
  expect(ids).toEqual(['h1', 'h2', 'h3', 'p1', 'p2', 'p3', 's1', 's2', 's3', 'more'])
})

test('links beyond ten become texts, with one module each while there is space', () => {
  const links = Array.from({ length: 13 }, (_, n) => ({ label: `Link ${n + 1}`, url: `https://example.com/${n + 1}` }))
  const object = objectOf({ design: { links } })
  expect((object.linksModuleData as { uris: unknown[] }).uris).toHaveLength(10)
  expect((object.textModulesData as unknown[]).slice(-2)).toEqual([
    { id: 'more-link-1', header: 'Link 11', body: 'https://example.com/11' },
    { id: 'more', body: 'Link 12: https://example.com/12\nLink 13: https://example.com/13' },
  ])
})
