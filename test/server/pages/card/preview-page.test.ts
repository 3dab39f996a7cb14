import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PassType } from '../../../../src/core/contract/schemas/definition.ts'
import type { Card } from '../../../../src/core/rules/display/card.ts'
import { readGoogleView } from '../../../../src/core/rules/display/google-view.ts'
import { readPoster } from '../../../../src/core/rules/display/poster.ts'
import { appleCard } from '../../../../src/server/pages/card/card-preview.ts'
import { previewPage } from '../../../../src/server/pages/card/preview-page.ts'
import { hostileTexts, imageId, sampleCard } from './samples.ts'

const at = new Date('2027-01-01T00:00:00Z')
const imageUrl = (id: string) => `data:image/png;base64,${id}`

const fieldPath = (id: string) => ({ firstValue: { fields: [{ fieldPath: `object.textModulesData['${id}']` }] } })
const rows = [{ twoItems: { startItem: fieldPath('seat'), endItem: fieldPath('gate') } }]

/** Returns an object and its class with the same text in every field. */
function googleView(text: string, object: object = {}) {
  const localized = { defaultValue: { language: 'en', value: text } }
  const ofClass = {
    issuerName: text,
    eventName: localized,
    hexBackgroundColor: '#112233',
    classTemplateInfo: { cardTemplateOverride: { cardRowTemplateInfos: rows } },
  }
  return readGoogleView(ofClass, {
    state: 'ACTIVE',
    textModulesData: ['seat', 'gate', 'terms'].map((id) => ({ id, header: text, body: text })),
    linksModuleData: { uris: [{ uri: 'https://harbour.example/', description: text }] },
    ...object,
  })
}

const pageOf = (google: ReturnType<typeof googleView>, images: Card['images'] = {}) =>
  previewPage({ title: 'T', subtitle: 'S', apple: null, google, images, at }, { imageUrl }).html

test('the Android preview shows the rows of the class, and other texts in the details', () => {
  const texts = { seat: 'B7', gate: 'North', terms: 'No refunds.' }
  const textModulesData = Object.entries(texts).map(([id, body]) => ({ id, header: id, body }))
  const html = pageOf(googleView('Harbour', { textModulesData }), { icon: imageId, hero: imageId })
  const [front, details] = html.split('<details') as [string, string]
  for (const text of ['B7', 'North']) expect(front).toContain(text)
  expect(front).not.toContain(texts.terms)
  expect(details).toContain(texts.terms)
  expect(front).toContain(`<img class="google-hero" src="${imageUrl(imageId)}" alt="">`)
  expect(front).toContain('<img class="google-logo"')
})

test('no text of an object or a class adds a tag or an attribute', () => {
  const tagsOf = (html: string) => html.match(/<[^>]*>?/g)!.map((tag) => tag.replaceAll(/"[^"]*"/g, '""'))
  const usual = tagsOf(pageOf(googleView('text')))
  const text = fc.oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: 'binary', maxLength: 40 }))
  fc.assert(
    fc.property(text, (hostile) => {
      fc.pre(hostile.trim() !== '')
      expect(tagsOf(pageOf(googleView(hostile)))).toEqual(usual)
    }),
  )
})

test('renders a page for any JSON of a class or object', () => {
  const json = fc.jsonValue({ maxDepth: 4 })
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), json, json, (object, textModulesData, barcode) => {
      expect(pageOf(readGoogleView(object, { ...object, textModulesData, barcode }))).toContain('Google Wallet')
    }),
  )
})

test.each([
  ['generic', ['logo', 'thumbnail']],
  ['eventTicket', ['logo', 'strip']],
  ['storeCard', ['logo', 'strip']],
  ['coupon', ['logo', 'strip']],
  ['boardingPass', ['logo']],
] as const)('the iPhone preview of a %s shows only the images that its layout has', (passType, roles) => {
  const { images } = appleCard(sampleCard({ passType: PassType.parse(passType) }), {})
  expect(Object.keys(images).sort()).toEqual([...roles])
})

test('the iPhone preview shows the overrides and the fields of pass.json', () => {
  const card = sampleCard({ passType: 'eventTicket' })
  const passJson = {
    organizationName: 'Harbour',
    logoText: 'Quay 7',
    backgroundColor: 'rgb(26, 43, 60)',
    foregroundColor: 'rgb(999, 0, 0)',
    eventTicket: { primaryFields: [{ key: 'n', value: 7 }, { value: 'no key' }, 'no field'], backFields: 'none' },
  }
  const { logoText, colors, fields, links } = appleCard(card, passJson)
  expect([logoText, colors, links]).toEqual(['Quay 7', { background: '#1a2b3c', foreground: null, label: null }, []])
  expect(fields).toMatchObject({ primary: [{ key: 'n', label: '', value: '7' }], header: [], back: [] })
})

test('a page without an iPhone preview includes the shared style sheet', () => {
  expect(pageOf(googleView('Harbour'))).toContain('.fields dt { color: var(--label)')
})

test('draws a poster ticket over its artwork next to the older style, and escapes its texts', () => {
  const semantics = {
    eventName: hostileTexts[0]!,
    venueName: 'Hall',
    admissionLevel: 'Balcony',
    seats: [{ seatRow: hostileTexts[1]! }],
  }
  const passJson = { preferredStyleSchemes: ['posterEventTicket', 'eventTicket'], eventTicket: {}, semantics }
  const page = (json: Record<string, unknown>) => {
    const apple = appleCard(sampleCard(), json)
    const poster = readPoster(json, { language: 'en' })
    const facts = { title: 'T', subtitle: 'S', apple, poster, google: null, images: { artwork: imageId }, at }
    return previewPage(facts, { imageUrl }).html
  }
  const html = page(passJson)
  expect(html).toContain('Apple Wallet, before iOS 18')
  expect(html).toContain('A poster ticket shows the facts of the event')
  expect(html).toContain('Balcony')
  expect(html).toContain(`<img class="artwork" src="${imageUrl(imageId)}" alt="">`)
  for (const hostile of hostileTexts.slice(0, 2)) expect(html).not.toContain(hostile)
  // Phones show a pass with less than a poster needs in the older style.
  for (const lacking of [
    { ...passJson, semantics: { eventName: 'E' } },
    { ...passJson, preferredStyleSchemes: ['eventTicket'] },
  ]) {
    expect(page(lacking)).not.toContain('<article class="poster"')
  }
})

test('draws the poster of iOS 27 with its fields, the code, and its images, next to the classic style', () => {
  const field = (key: string, label = key) => ({ key, label, value: `value of ${key}` })
  const poster = {
    headerFields: [field('guest'), field('surplus')],
    primaryFields: [field('title', ''), field('name')],
    footerFields: [field('until')],
    additionalInfoFields: [field('hours')],
    backFields: [{ key: 'hostile', label: '', value: hostileTexts[0] }],
  }
  const barcodes = [{ format: 'PKBarcodeFormatQR', message: 'M-1' }]
  const json = { generic: { primaryFields: [field('classic')] }, posterGeneric: poster, barcodes }
  const apple = appleCard(sampleCard({ passType: 'generic' }), json)
  const images = { artwork: imageId, primaryLogo: imageId }
  const facts = {
    title: 'T',
    subtitle: 'S',
    apple,
    poster: readPoster(json, { language: 'en' }),
    google: null,
    images,
    at,
  }
  const { html } = previewPage(facts, { imageUrl })
  const [newer, older] = html.split('Apple Wallet, before iOS 27')
  for (const key of ['guest', 'title', 'name', 'until', 'hours']) expect(newer).toContain(`value of ${key}`)
  for (const role of ['artwork', 'primaryLogo']) expect(newer).toContain(`<img class="${role}"`)
  for (const key of ['surplus', 'classic']) expect(newer).not.toContain(`value of ${key}`)
  expect(newer).toContain('class="barcode')
  expect(newer).not.toContain('class="reader"')
  expect(older).toContain('value of classic')
  expect(html).not.toContain(hostileTexts[0]!)
})

test('draws an approximation of the layout of iOS 26 for a flight, next to the classic style', () => {
  const apple = appleCard(sampleCard(), { boardingPass: {} })
  const semantic = { ...apple.fields, primary: [{ key: 'from', label: 'Lisboa', value: hostileTexts[0]! }] }
  const facts = { title: 'Flight', subtitle: '', apple, google: null, images: { primaryLogo: 'wordmark' }, at }
  const { html } = previewPage({ ...facts, semantic }, { imageUrl })
  const [newer, older] = html.split('Apple Wallet, before iOS 26')
  expect(newer).toContain('Lisboa')
  expect(newer).toContain('An approximation: since iOS 26')
  expect([newer, older].map((part) => part!.includes(imageUrl('wordmark')))).toEqual([true, false])
  expect(html).not.toContain(hostileTexts[0]!)
  expect(older).not.toContain('Lisboa')
  expect(previewPage({ ...facts, semantic: null }, { imageUrl }).html).not.toContain('iOS 26')
})

test.each([
  [{ language: 'en' }, /6:00\sPM UTC\+1$/],
  [{ language: 'en', fallbackZone: 'UTC' }, /5:00\sPM UTC$/],
  [{ language: 'en', timeZone: 'Europe/Berlin' }, /7:00\sPM GMT\+2$/],
])('a poster ticket starts in the zone of the pass, or else in the offset of its time: %j', (locale, expected) => {
  const semantics = { eventName: 'Fair', venueName: 'Hall', eventStartDate: '2027-07-09T18:00:00+01:00' }
  const passJson = { preferredStyleSchemes: ['posterEventTicket'], eventTicket: {}, semantics }
  expect(readPoster(passJson, locale)).toMatchObject({ starts: expect.stringMatching(expected) })
})
