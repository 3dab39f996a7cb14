import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fieldGroups, PassType } from '../../../../src/core/contract/schemas/definition.ts'
import type { Card } from '../../../../src/core/rules/display/card.ts'
import { directionOf } from '../../../../src/server/pages/card/card.ts'
import { previewPage } from '../../../../src/server/pages/card/preview-page.ts'
import { expiryHtml } from '../../../../src/server/pages/link/link-parts.ts'
import { english } from '../../../../src/server/pages/words.ts'
import { hostileTexts, imageId, sampleCard } from './samples.ts'

const picture = 'data:image/png;base64,AAAA'

/** Returns a page with the iPhone card only. */
function cardPage(card: Card, imageUrl: (id: string) => string | undefined = () => picture) {
  const { images } = card
  return previewPage({ title: card.description, subtitle: '', apple: card, google: null, images, at }, { imageUrl })
}

const at = new Date('2027-01-01T00:00:00Z')

/** Returns a card with the same text in every place for text. */
function cardOf(text: string, parts: Partial<Card> = {}): Card {
  const field = { key: 'f', label: text, value: text }
  return sampleCard({
    organizationName: text,
    description: text,
    logoText: text,
    fields: { header: [field], primary: [field], secondary: [field], auxiliary: [field], back: [field] },
    barcode: { format: 'code128', message: text, altText: text },
    links: [{ label: text, url: `https://harbour.example/${text}` }],
    ...parts,
  })
}

/** Tags with the names of their attributes. */
const tagsOf = (html: string) => html.match(/<[^>]*>?/g)!.map((tag) => tag.replaceAll(/"[^"]*"/g, '""'))

test('no text of a definition or a holder adds a tag or an attribute', () => {
  const text = fc.oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: 'binary', maxLength: 40 }))
  // A fixed message, because a barcode cannot encode some of the texts, which would change the tags.
  const barcode = { format: 'qr', message: 'same', altText: 'same' } as const
  const usual = tagsOf(cardPage(cardOf('text', { barcode })).html)
  fc.assert(
    fc.property(text, (hostile) => {
      fc.pre(hostile.trim() !== '')
      const { html } = cardPage(cardOf(hostile, { barcode }))
      expect(tagsOf(html)).toEqual(usual)
    }),
  )
})

test('the card shows every field with its label, and the names', () => {
  const { html } = cardPage(sampleCard())
  const { fields } = sampleCard()
  for (const { label, value } of fieldGroups.flatMap((group) => fields[group])) {
    expect(html).toContain(`<dt dir="auto">${label}</dt><dd dir="auto">${value}</dd>`)
  }
  expect(html).toContain('alt="Harbour Cinema"')
  expect(html).toContain('aria-label="Ticket to the late show"')
  expect(html).toContain('href="https://harbour.example/programme"')
})

test('the page of a card loads no other file', () => {
  const { html } = cardPage(sampleCard())
  expect(html).not.toMatch(/<script|<link|@import|url\(/)
  const addresses = [...html.matchAll(/src="([^"]*)"/g)].map(([, address]) => address)
  expect(addresses).toEqual([picture, picture, picture])
  expect(cardPage(sampleCard(), () => undefined).html).not.toContain('<img')
})

test("the page's policy allows only its style sheet and embedded images", () => {
  const { html, headers } = cardPage(sampleCard())
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)![1]!
  const digest = createHash('sha256').update(style).digest('base64')
  expect(headers['content-security-policy']).toBe(
    `default-src 'none'; style-src 'sha256-${digest}'; img-src data:; base-uri 'none'; ` +
      `form-action 'none'; frame-ancestors 'none'`,
  )
  expect(html).not.toMatch(/\sstyle=/)
})

test('the card has no hero, no icon, and no name except the logo text', () => {
  const images = { hero: imageId, icon: imageId }
  expect(cardPage(sampleCard({ images })).html).not.toMatch(/<img|<span dir="auto">/)
  expect(cardPage(sampleCard({ images, logoText: 'Harbour' })).html).toContain('<span dir="auto">Harbour</span>')
})

test.each([
  ['PKTransitTypeAir', 'Flight'],
  ['PKTransitTypeTrain', 'Train'],
  ['PKTransitTypeBus', 'Bus'],
  ['PKTransitTypeBoat', 'Boat'],
  ['PKTransitTypeGeneric', 'To'],
  [undefined, 'To'],
])('a boarding pass of the type %s shows its symbol between the two places', (transitType, name) => {
  const { fields } = sampleCard()
  const places = ['HAM', 'STO'].map((value) => ({ key: value, label: '', value }))
  const parts = { passType: 'boardingPass' as const, apple: { transitType }, fields: { ...fields, primary: places } }
  const { html } = cardPage(sampleCard(parts))
  expect(html).toMatch(new RegExp(`>HAM</dd>.*<svg class="sign"[^>]*aria-label="${name}">.*>STO</dd>`))
})

test.each(['javascript:alert(1)', 'data:text/html,<script>', ' javascript:alert(1)', 'vbscript:x', 'nonsense', '//x'])(
  'omits a link that a phone would not open: %s',
  (url) => {
    const { html } = cardPage(sampleCard({ links: [{ label: 'L', url }] }))
    expect(html).not.toContain('<a ')
  },
)

test.each(['sms:+4930123456', 'geo:53.55,9.99'])(
  'shows a link of every scheme that a definition can have: %s',
  (url) => {
    const { html } = cardPage(sampleCard({ links: [{ label: 'L', url }] }))
    expect(html).toContain(`<a href="${url}"`)
  },
)

test('shows an expiry with its time zone, and nothing for a pass without one', () => {
  const card = sampleCard({ expiresAt: new Date('2027-05-21T21:00:00Z') })
  const { words } = english
  expect(expiryHtml(card, { language: 'en', words })).toContain(
    'Valid until <time datetime="2027-05-21T21:00:00.000Z">21 May 2027 at 21:00 UTC</time>',
  )
  expect(expiryHtml(card, { language: 'en', words, timeZone: 'Europe/Lisbon' })).toContain(
    '21 May 2027 at 22:00 WEST</time>',
  )
  expect(expiryHtml(sampleCard(), { language: 'en', words })).toBe('')
})

test.each(PassType.options)('draws a card that has only required parts: %s', (passType) => {
  const fields = { header: [], primary: [], secondary: [], auxiliary: [], back: [] }
  const barcode = { format: 'qr', message: '', altText: null } as const
  const { html } = cardPage(sampleCard({ passType, fields, barcode, images: {}, links: [], logoText: '' }))
  expect(html).toContain(`class="card ${passType}"`)
  expect(html).not.toMatch(/<dl|<img|<figure|<details/)
})

test('the back omits fields with an empty value, and is omitted if nothing is left', () => {
  const back = [
    { key: 'row', label: 'Row', value: ' ' },
    { key: 'terms', label: 'Terms', value: 'No refunds.' },
  ]
  const { fields } = sampleCard()
  const { html } = cardPage(sampleCard({ fields: { ...fields, auxiliary: [], back } }))
  expect([html.includes('Row'), html.includes('Terms')]).toEqual([false, true])
  const empty = cardPage(sampleCard({ fields: { ...fields, back: back.slice(0, 1) }, links: [] }))
  expect(empty.html).not.toContain('<details')
})

test.each([
  ['Harbour', 'ltr'],
  ['123 !', 'ltr'],
  ['', 'ltr'],
  ['מכבי', 'rtl'],
  ['«مكتبة» Library', 'rtl'],
  ['Library مكتبة', 'ltr'],
  ['𞤀𞤣', 'rtl'],
])('the first letter decides the text direction of "%s"', (text, direction) => {
  expect(directionOf(text)).toBe(direction)
  expect(cardPage(sampleCard({ organizationName: text || ' ', description: 'D' })).html).toContain(
    `<article class="card eventTicket" dir="${direction}"`,
  )
})
