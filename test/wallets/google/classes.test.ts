import { expect, test } from 'vitest'
import { buildClass } from '../../../src/wallets/google/classes.ts'
import { design, flight, hero, logo, pass, publicUrl } from './samples.ts'

const issuer = { issuerId: '3388', publicUrl }
const classOf = (options: Parameters<typeof pass>[0], from = issuer) => buildClass(from, pass(options))
const text = (value: string) => ({ defaultValue: { language: 'en', value } })
const logoImage = {
  sourceUri: { uri: `${publicUrl}/images/${logo}` },
  contentDescription: text('Example Arts'),
}

const common = (kind: string) => ({
  id: `3388.template-018f2f5e-7c1a-7000-8000-0123456789ab-v2-${kind}`,
  callbackOptions: { url: `${publicUrl}/google/callbacks` },
})
const reviewed = (kind: string) => ({ ...common(kind), issuerName: 'Example Arts', reviewStatus: 'UNDER_REVIEW' })

test.each([
  ['eventTicket', { ...reviewed('eventTicket'), eventName: text('Season ticket'), logo: logoImage }],
  [
    'storeCard',
    { ...reviewed('loyalty'), programName: 'EXAMPLE', programLogo: logoImage, hexBackgroundColor: '#1a2b3c' },
  ],
  [
    'coupon',
    {
      ...reviewed('offer'),
      title: 'Season ticket',
      provider: 'Example Arts',
      redemptionChannel: 'BOTH',
      titleImage: logoImage,
      hexBackgroundColor: '#1a2b3c',
    },
  ],
  ['boardingPass', { ...reviewed('transit'), transitType: 'OTHER', logo: logoImage }],
] as const)('the class of a %s has the fields that Google requires', (passType, expected) => {
  const { classTemplateInfo: _, ...rest } = classOf({ passType })
  expect(rest).toEqual(expected)
})

test('a generic class has its ID and the layout of the front', () => {
  const item = (key: string) => ({ firstValue: { fields: [{ fieldPath: `object.textModulesData['${key}']` }] } })
  expect(classOf({ passType: 'generic' })).toEqual({
    ...common('generic'),
    classTemplateInfo: {
      cardTemplateOverride: {
        // The first primary field is the header of the card and needs no row.
        cardRowTemplateInfos: [
          { oneItem: { item: item('gate') } },
          { oneItem: { item: item('seat') } },
          { threeItems: { startItem: item('row'), middleItem: item('block'), endItem: item('door') } },
        ],
      },
    },
  })
})

test('two fields of a group share a row', () => {
  const fields = { header: [], primary: [], secondary: design.fields!.secondary!.slice(0, 2), auxiliary: [], back: [] }
  const built = JSON.stringify(classOf({ passType: 'generic', design: { fields } }).classTemplateInfo)
  expect(built).toMatch(/"twoItems":\{"startItem":.*row.*"endItem":.*block/)
})

test('the front has the fields that google.rows names, in its rows', () => {
  const google = { rows: [['seat', 'name', 'terms'], ['gate']] }
  const built = JSON.stringify(classOf({ passType: 'generic', google }))
  const paths = [...built.matchAll(/textModulesData\['(\w+)'\]/g)].map(([, key]) => key)
  expect(paths).toEqual(['seat', 'name', 'terms', 'gate'])
})

test('google.kind selects a gift card or a flight', () => {
  expect(classOf({ google: { kind: 'giftCard' } })).toMatchObject({
    ...reviewed('giftCard'),
    merchantName: 'Example Arts',
  })
  const { classTemplateInfo: _, ...rest } = classOf({ passType: 'boardingPass', google: flight })
  expect(rest).toEqual({ ...reviewed('flight'), ...flight.class })
})

test.each([
  ['PKTransitTypeBoat', 'FERRY'],
  ['PKTransitTypeBus', 'BUS'],
  ['PKTransitTypeTrain', 'RAIL'],
  ['PKTransitTypeAir', 'OTHER'],
] as const)('maps the transit type %s to %s', (transitType, expected) => {
  expect(classOf({ passType: 'boardingPass', apple: { transitType } }).transitType).toBe(expected)
})

test('under http a class has no image and no callback, which Google could not reach', () => {
  for (const passType of ['generic', 'eventTicket', 'storeCard', 'coupon', 'boardingPass'] as const) {
    const built = JSON.stringify(classOf({ passType }, { issuerId: '3388', publicUrl: 'http://127.0.0.1:3000' }))
    expect(built).not.toContain('127.0.0.1')
    expect(built).not.toContain('Image')
  }
})

test('the round logo of a class is the icon, if there is one', () => {
  const built = classOf({ passType: 'storeCard', design: { images: { icon: hero, logo } } })
  expect(built.programLogo).toMatchObject({ sourceUri: { uri: `${publicUrl}/images/${hero}` } })
})

test('an empty text falls back to the organization name, and that to other texts', () => {
  const empty = { organizationName: '{{nothing}}', description: ' {{nothing}}', logoText: '' }
  expect(classOf({ passType: 'eventTicket', design: { description: '{{nothing}}' } }).eventName).toEqual(
    text('Example Arts'),
  )
  expect(classOf({ passType: 'eventTicket', design: { organizationName: '{{nothing}}' } }).issuerName).toBe('EXAMPLE')
  expect(classOf({ passType: 'storeCard', design: empty })).toMatchObject({ issuerName: 'Pass', programName: 'Pass' })
})

test('overrides of the definition are merged deeply into the class', () => {
  const built = classOf({
    passType: 'eventTicket',
    google: { class: { eventName: { defaultValue: { value: 'Gala' } }, venue: { name: text('Hall') } } },
  })
  expect(built.eventName).toEqual(text('Gala'))
  expect(built.venue).toEqual({ name: text('Hall') })
  expect(built.issuerName).toBe('Example Arts')
})

test('a template has a separate class ID for each kind', () => {
  const ids = (['generic', 'giftCard', 'loyalty'] as const).map((kind) => classOf({ google: { kind } }).id)
  expect(new Set(ids).size).toBe(3)
})
