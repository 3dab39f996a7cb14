import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PassType } from '../../../src/core/contract/schemas/definition.ts'
import type { Card } from '../../../src/core/rules/display/card.ts'
import { isRefusedByPhones, PassJson } from '../../../src/wallets/apple/overrides/pass-json-schema.ts'
import { buildPassJson } from '../../../src/wallets/apple/pass-json.ts'
import { passTypeIdentifier, type TestPass, teamIdentifier, testPass, webServiceUrl } from './fixtures.ts'

const identity = { passTypeIdentifier, teamIdentifier }

/** Returns pass.json as a phone parses it. */
function build(options: TestPass, card: Partial<Card> = {}) {
  const pass = testPass(options)
  const json = buildPassJson({ ...pass, card: { ...pass.card, ...card } }, identity, webServiceUrl)
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what any phone would find, at any depth.
  return JSON.parse(JSON.stringify(json)) as Record<string, any>
}

/** Checks the types only. Creating and publishing check the rest. */
const refusedByPhones = (json: unknown) => PassJson.safeParse(json).error?.issues.filter(isRefusedByPhones) ?? []

const field = (key: string, value = '{{v}}', more = {}) => ({ key, label: `L ${key}`, value, ...more })
const everyGroup = {
  header: [field('h')],
  primary: [field('p', '{{v}}', { changeMessage: 'Now {{v}} %@' })],
  secondary: [field('s')],
  auxiliary: [field('a')],
  back: [field('b')],
}
const groups = ['headerFields', 'primaryFields', 'secondaryFields', 'auxiliaryFields', 'backFields']

test('a minimal pass has exactly these properties', () => {
  expect(build({ definition: { design: { fields: { primary: [field('name', 'Ada')] } } } })).toEqual({
    formatVersion: 1,
    passTypeIdentifier,
    teamIdentifier,
    serialNumber: '01982f3e-0000-7000-8000-000000000001',
    webServiceURL: 'https://passes.example.com/apple',
    authenticationToken: 'token-of-at-least-16-characters',
    organizationName: 'Example',
    description: 'A pass',
    barcodes: [{ format: 'PKBarcodeFormatQR', message: 'SCANCODE234567', messageEncoding: 'iso-8859-1' }],
    generic: { primaryFields: [{ key: 'name', label: 'L name', value: 'Ada' }] },
  })
})

test.each([
  ['ean13', '4006381333931', 'EAN13'],
  ['code39', 'ABC-1', 'Code39'],
  ['codabar', '123456', 'Codabar'],
  ['itf', '123456', 'I2of5'],
] as const)('%s comes first, and a QR code with the same message for earlier phones', (format, message, name) => {
  const json = build({ definition: { design: { barcode: { format, message, altText: 'No. 1' } } } })
  const rest = { message, messageEncoding: 'iso-8859-1', altText: 'No. 1' }
  const qr = { format: 'PKBarcodeFormatQR', ...rest }
  expect(json.barcodes).toEqual([{ format: `PKBarcodeFormat${name}`, ...rest }, qr])
  expect(json.barcode).toEqual(qr)
  expect(PassJson.safeParse(json).error).toBeUndefined()
})

test('a full pass has exactly these properties', () => {
  const json = build({
    passType: 'eventTicket',
    expiresAt: new Date('2026-12-31T23:59:59.999Z'),
    voided: true,
    definition: {
      design: {
        logoText: 'Logo',
        colors: { background: '#0A141e', foreground: '#ffffff', label: '#000000' },
        barcode: { format: 'pdf417', message: 'm', altText: 'alt' },
        locations: [
          { latitude: 1.5, longitude: -2, relevantText: 'Here' },
          { latitude: 0, longitude: 0 },
        ],
        relevantDate: '2026-08-01T20:00+02:00',
        links: [{ label: 'Site', url: 'https://example.com/?a=1&b=2' }],
        fields: { back: [field('terms', 'None', { changeMessage: '%@' })] },
      },
      apple: { sharingProhibited: true },
    },
  })
  expect(json).toMatchObject({
    logoText: 'Logo',
    backgroundColor: 'rgb(10, 20, 30)',
    foregroundColor: 'rgb(255, 255, 255)',
    labelColor: 'rgb(0, 0, 0)',
    barcodes: [{ format: 'PKBarcodeFormatPDF417', message: 'm', messageEncoding: 'iso-8859-1', altText: 'alt' }],
    locations: [
      { latitude: 1.5, longitude: -2, relevantText: 'Here' },
      { latitude: 0, longitude: 0 },
    ],
    relevantDate: '2026-08-01T18:00:00Z',
    relevantDates: [{ date: '2026-08-01T18:00:00Z', relevantDate: '2026-08-01T18:00:00Z' }],
    expirationDate: '2026-12-31T23:59:59Z',
    voided: true,
    sharingProhibited: true,
    eventTicket: {
      backFields: [
        { key: 'terms', label: 'L terms', value: 'None', changeMessage: '%@' },
        { key: 'link-1', label: 'Site', value: 'https://example.com/?a=1&b=2' },
      ],
    },
  })
})

const hostile = {
  number: '42',
  'number beyond doubles': '90071992547409931e999',
  emoji: '👩‍👩‍👧‍👦 🇩🇪',
  'right to left': '\u202eשלום عالم',
  'as much as a field holds': 'ä'.repeat(4_000),
  braces: '{{v}} {{pass.id}} {{',
  quotes: `"'\\"},"voided":true,"x":{"`,
  'lone surrogates': 'a\ud800b\udc00',
  'control characters': '\u0000\u0007\r\n\u2028',
  html: '<a href="javascript:alert(1)">x</a>',
  empty: '',
}

describe.each(PassType.options)('%s', (passType) => {
  test.each(Object.entries(hostile))('writes %s as text in every place', (_, v) => {
    const json = build({
      passType,
      variables: { v },
      definition: {
        variables: [{ name: 'v', label: 'V' }],
        design: {
          organizationName: '{{v}}',
          description: '{{v}}',
          logoText: '{{v}}',
          fields: everyGroup,
          barcode: { message: '{{v}}', altText: '{{v}}' },
          locations: [{ latitude: 1, longitude: 2, relevantText: '{{v}}' }],
          relevantDate: '{{v}}',
          links: [{ label: '{{v}}', url: '{{v}}' }],
        },
        apple: { userInfo: { note: '{{v}}' } },
      },
    })
    expect(refusedByPhones(json)).toEqual([])
    const value = v.toWellFormed()
    if (value === '') expect(groups.filter((group) => group in json[passType])).toEqual([])
    else {
      for (const group of groups) expect(json[passType][group][0].value).toBe(value)
      expect(json[passType].primaryFields[0].changeMessage).toBe(`Now ${value} %@`)
      expect(json[passType].backFields.at(-1)).toEqual({ key: 'link-1', value, label: value })
    }
    expect(json.barcodes?.[0].message).toBe(value || undefined)
    expect(json.userInfo.note).toBe(value)
    expect(json.voided).toBeUndefined()
    expect(json).not.toHaveProperty('relevantDate')
    expect(Object.keys(json).filter((key) => PassType.options.includes(key as PassType))).toEqual([passType])
    if (passType === 'boardingPass') expect(json.boardingPass.transitType).toBe('PKTransitTypeGeneric')
    else expect(json[passType]).not.toHaveProperty('transitType')
  })
})

test('a missing description falls back to the organization name, and that to a generic name', () => {
  expect(build({}, { description: ' ' })).toMatchObject({ description: 'Example' })
  expect(build({}, { organizationName: '' })).toMatchObject({ organizationName: 'A pass', description: 'A pass' })
  expect(build({}, { organizationName: '', description: '' })).toMatchObject({
    organizationName: 'Pass',
    description: 'Pass',
  })
})

test.each([
  ['ean13', '4006381333931', 'PKBarcodeFormatEAN13'],
  ['code39', 'MEMBER-1', 'PKBarcodeFormatCode39'],
  ['codabar', 'A123456B', 'PKBarcodeFormatCodabar'],
  ['itf', '123456', 'PKBarcodeFormatI2of5'],
] as const)(
  'a linear barcode of iOS 27, %s, is followed by a QR code for earlier versions',
  (format, message, name) => {
    const linear = { format: name, message, messageEncoding: 'iso-8859-1', altText: 'No. 1' }
    const qr = { ...linear, format: 'PKBarcodeFormatQR' }
    const json = build({}, { barcode: { format, message, altText: 'No. 1' } })
    expect({ barcodes: json.barcodes, barcode: json.barcode }).toEqual({ barcodes: [linear, qr], barcode: qr })
  },
)

test('a barcode that all versions of iOS show has no QR code next to it', () => {
  const json = build({}, { barcode: { format: 'code128', message: 'M-1', altText: null } })
  expect(json.barcodes).toHaveLength(1)
  expect(json).not.toHaveProperty('barcode')
})

test('a barcode beyond Latin-1 is written as UTF-8', () => {
  const encoding = (message: string) =>
    build({}, { barcode: { format: 'qr', message, altText: null } }).barcodes[0].messageEncoding
  expect(encoding('Zoë ÿ')).toBe('iso-8859-1')
  expect(encoding('Łódź')).toBe('utf-8')
  expect(encoding('🎫')).toBe('utf-8')
})

test("a relevant date without a time starts that day in the definition's time zone, else in UTC", () => {
  const dates = (timeZone?: string) =>
    build({ definition: { design: { relevantDate: '2026-08-01' }, ...(timeZone && { timeZone }) } })
  expect(dates()).toMatchObject({ relevantDate: '2026-08-01T00:00:00Z' })
  expect(dates('Europe/Lisbon')).toMatchObject({
    relevantDate: '2026-07-31T23:00:00Z',
    relevantDates: [{ date: '2026-07-31T23:00:00Z', relevantDate: '2026-07-31T23:00:00Z' }],
  })
})

test('omits a field with an empty value, and keeps the keys of the others', () => {
  const genericOf = (v: string) =>
    build({
      variables: { v },
      definition: {
        variables: [{ name: 'v', label: 'V' }],
        design: {
          fields: { header: [field('a')], back: [field('link-1'), field('b', 'B')] },
          links: [{ label: 'L', url: 'https://example.com' }],
        },
      },
    }).generic
  const keys = (generic: ReturnType<typeof genericOf>) => generic.backFields.map(({ key }: { key: string }) => key)
  expect(keys(genericOf('x'))).toEqual(['link-1', 'b', 'link-1-2'])
  expect(keys(genericOf(' '))).toEqual(['b', 'link-1-2'])
  expect(genericOf(' ')).not.toHaveProperty('headerFields')
})

test('a definition whose barcode is null has none', () => {
  expect(build({ definition: { design: { barcode: null } } })).not.toHaveProperty('barcodes')
})

test.each(['', 'tomorrow', '2026-02-30', '2026-02-30T10:00:00Z', '1754078400', '2026-08-01T20:00:00'])(
  'omits the relevant date "%s"',
  (relevantDate) => {
    const json = build({}, { relevantDate })
    expect(json).not.toHaveProperty('relevantDate')
    expect(json).not.toHaveProperty('relevantDates')
  },
)

test('field keys are unique over all groups, and stay the same from one build to the next', () => {
  const twice = (key: string) => field(key, 'x')
  const fields = { header: [twice('a')], primary: [twice('a'), twice('link-1')], back: [twice('a-2'), twice('a')] }
  const options = { definition: { design: { fields, links: [{ label: 'L', url: 'https://example.com' }] } } }
  const keys = groups.flatMap((group) => (build(options).generic[group] ?? []).map(({ key }: { key: string }) => key))
  expect(keys).toEqual(['a', 'a-2', 'link-1', 'a-2-2', 'a-3', 'link-1-2'])
})

describe('overrides of pass.json', () => {
  test('merge objects, replace arrays and other values, and remove keys with null', () => {
    const json = build({
      variables: { v: 'x' },
      definition: {
        variables: [{ name: 'v', label: 'V' }],
        design: { logoText: 'Old', fields: everyGroup, locations: [{ latitude: 1, longitude: 2 }] },
        apple: {
          generic: { headerFields: [{ key: 'x', value: 7, numberStyle: 'PKNumberStylePercent' }] },
          logoText: null,
          locations: [],
          suppressStripShine: false,
        },
      },
    })
    expect(json.generic.headerFields).toEqual([{ key: 'x', value: 7, numberStyle: 'PKNumberStylePercent' }])
    expect(json.generic.backFields).toHaveLength(1)
    expect(json).not.toHaveProperty('logoText')
    expect(json).toMatchObject({ locations: [], suppressStripShine: false })
  })

  test('move the transit type into a boarding pass, and drop it in other styles', () => {
    const definition = { apple: { transitType: 'PKTransitTypeTrain' as const } }
    const boarding = build({ passType: 'boardingPass', definition })
    expect(boarding.boardingPass).toEqual({ transitType: 'PKTransitTypeTrain' })
    expect(boarding).not.toHaveProperty('transitType')
    expect(build({ passType: 'coupon', definition })).not.toHaveProperty('transitType')
  })

  test('never change properties that the service sets', () => {
    const apple = {
      formatVersion: 2,
      passTypeIdentifier: 'x',
      teamIdentifier: 'x',
      serialNumber: 'x',
      webServiceURL: 'x',
      authenticationToken: 'x',
      voided: true,
      expirationDate: 'x',
    }
    expect(build({}, { apple })).toEqual(build({}))
  })

  test('cannot add a second style or replace the style', () => {
    const apple = { coupon: {}, generic: 'text', boardingPass: [] }
    expect(build({}, { apple })).toEqual(build({}))
  })

  test('treat prototype keys as data', () => {
    const apple = JSON.parse(
      '{"__proto__":{"polluted":1},"generic":{"__proto__":{"polluted":1}},"constructor":{"a":1}}',
    )
    const json = build({}, { apple })
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
    expect(json.generic.polluted).toBeUndefined()
    expect(Object.getPrototypeOf(json)).toBe(Object.prototype)
  })

  test('replace lone surrogates', () => {
    expect(build({}, { apple: { userInfo: { a: ['\ud800'] } } }).userInfo).toEqual({ a: ['\ufffd'] })
  })
})

const anyText = fc.string({ unit: 'binary' })
const anyFields = fc.array(fc.record({ key: anyText, label: anyText, value: anyText }), { maxLength: 4 })

test('pass.json is built for any text of a card, and has the types that phones require', () => {
  fc.assert(
    fc.property(
      fc.record({
        passType: fc.constantFrom(...PassType.options),
        organizationName: anyText,
        description: anyText,
        logoText: fc.option(anyText),
        fields: fc.record({
          header: anyFields,
          primary: anyFields,
          secondary: anyFields,
          auxiliary: anyFields,
          back: anyFields,
        }),
        barcode: fc.record({
          format: fc.constantFrom('qr' as const, 'code128' as const),
          message: anyText,
          altText: fc.option(anyText),
        }),
        relevantDate: fc.option(
          fc.oneof(
            anyText,
            fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
          ),
        ),
        expiresAt: fc.option(fc.date({ noInvalidDate: true })),
        links: fc.array(fc.record({ label: anyText, url: anyText }), { maxLength: 3 }),
        apple: fc.dictionary(anyText, fc.jsonValue()),
      }),
      ({ apple, ...card }) => {
        expect(refusedByPhones(build({}, card))).toEqual([])
        expect(() => build({}, { ...card, apple: apple as Record<string, unknown> })).not.toThrow()
      },
    ),
  )
})

test('a typed field is a number or a date of its type, and keeps its change message', () => {
  const { generic } = build({
    variables: { points: '1250' },
    definition: {
      timeZone: 'Europe/Lisbon',
      design: {
        fields: {
          primary: [{ key: 'points', value: '{{points}}', as: 'number', changeMessage: 'Now %@' }],
          secondary: [{ key: 'from', value: '2027-05-31T19:30:00Z', as: 'dateTime', align: 'end' }],
          auxiliary: [{ key: 'none', value: '{{missing}}', as: 'currency', currency: 'EUR' }],
        },
      },
    },
  })
  expect(generic).toEqual({
    primaryFields: [{ key: 'points', value: 1250, numberStyle: 'PKNumberStyleDecimal', changeMessage: 'Now %@' }],
    secondaryFields: [
      {
        key: 'from',
        value: '2027-05-31T20:30:00+01:00',
        dateStyle: 'PKDateStyleShort',
        timeStyle: 'PKDateStyleShort',
        ignoresTimeZone: true,
        textAlignment: 'PKTextAlignmentRight',
      },
    ],
  })
})
