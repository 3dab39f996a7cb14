import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Card } from '../../../src/core/rules/display/card.ts'
import { createGoogleWallet } from '../../../src/wallets/google/google-wallet.ts'
import { kindOf } from '../../../src/wallets/google/resource.ts'
import { allKinds, at, googleOf, identity, pass, publicUrl } from './samples.ts'

const wallet = createGoogleWallet({ identity, publicUrl })

test.each(allKinds)('a pass of the kind %s has every field that Google requires', async (kind) => {
  await expect(wallet.check(pass({ google: googleOf(kind) }), at)).resolves.toBeUndefined()
})

test('rejects a flight without the fields that only its definition can set, and names each', async () => {
  const attempt = wallet.check(pass({ passType: 'boardingPass', google: { kind: 'flight' } }), at)
  await expect(attempt).rejects.toMatchObject({
    code: 'PASS_ISSUING_FAILED',
    message: expect.stringContaining('google.class.destination: Google requires this field'),
    details: {
      platform: 'google',
      issues: [
        { path: ['class', 'destination'], message: 'Google requires this field in a FlightClass' },
        { path: ['class', 'flightHeader'], message: 'Google requires this field in a FlightClass' },
        { path: ['class', 'localScheduledDepartureDateTime'], message: 'Google requires this field in a FlightClass' },
        { path: ['class', 'origin'], message: 'Google requires this field in a FlightClass' },
        { path: ['object', 'passengerName'], message: 'Google requires this field in a FlightObject' },
        { path: ['object', 'reservationInfo'], message: 'Google requires this field in a FlightObject' },
      ],
    },
  })
})

test('rejects an override that removes a required field', async () => {
  await expect(wallet.check(pass({ google: { object: { header: null } } }), at)).rejects.toMatchObject({
    code: 'PASS_ISSUING_FAILED',
    details: { issues: [{ path: ['object', 'header'], message: 'Google requires this field in a GenericObject' }] },
  })
})

test('does not double a trailing slash of the public URL', () => {
  const slashed = createGoogleWallet({ identity, publicUrl: `${publicUrl}/` })
  expect(slashed.objectOf(pass(), at)).toEqual(wallet.objectOf(pass(), at))
})

const hostile = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    ' ',
    '👩‍👩‍👧‍👦',
    '\u202eגוף',
    '"\'\\`{{}}</script>',
    '\ud800',
    'a\udc00b',
    '\0',
    '__proto__',
    'x'.repeat(10_000),
  ),
)
const field = fc.record({ key: hostile, label: hostile, value: hostile })
const fields = fc.array(field, { maxLength: 4 })
const hostileCard = fc.record<Card>({
  passType: fc.constantFrom('generic', 'eventTicket', 'storeCard', 'coupon', 'boardingPass'),
  organizationName: hostile,
  description: hostile,
  logoText: fc.option(hostile),
  colors: fc.record({ background: fc.option(hostile), foreground: fc.option(hostile), label: fc.option(hostile) }),
  images: fc.record({ logo: hostile, hero: hostile }, { requiredKeys: [] }),
  fields: fc.record({ header: fields, primary: fields, secondary: fields, auxiliary: fields, back: fields }),
  barcode: fc.record({
    format: fc.constantFrom('qr', 'pdf417', 'aztec', 'code128'),
    message: hostile,
    altText: fc.option(hostile),
  }),
  locations: fc.array(fc.record({ latitude: fc.double(), longitude: fc.double() }), { maxLength: 2 }),
  relevantDate: fc.option(hostile),
  links: fc.array(fc.record({ label: hostile, url: fc.oneof(hostile, fc.webUrl()) }), { maxLength: 3 }),
  expiresAt: fc.option(fc.date({ noInvalidDate: true })),
  voided: fc.boolean(),
  apple: fc.record({ transitType: hostile }),
  google: fc.record(
    {
      kind: fc.constantFrom(...allKinds),
      class: fc.dictionary(hostile, fc.jsonValue(), { maxKeys: 3 }),
      object: fc.dictionary(hostile, fc.jsonValue(), { maxKeys: 3 }),
    },
    { requiredKeys: [] },
  ),
})

test('builds class and object as JSON for any card, with their IDs and state', () => {
  fc.assert(
    fc.property(hostileCard, (card) => {
      const { templateCard, ...rest } = pass()
      const sample = { ...rest, card, templateCard: { ...templateCard, passType: card.passType, google: card.google } }
      const built = { class: wallet.classOf(sample), object: wallet.objectOf(sample, at) }
      const json = JSON.stringify(built)
      expect(json.isWellFormed()).toBe(true)
      const read = JSON.parse(json)
      expect(read.class.id).toBe(`${identity.issuerId}.template-${sample.templateId}-v2-${kindOf(card)}`)
      expect(read.object.id).toBe(`${identity.issuerId}.${sample.id}-${kindOf(card)}`)
      expect(read.object.classId).toBe(read.class.id)
      expect(read.object.state).toBe(
        card.voided ? 'INACTIVE' : card.expiresAt && card.expiresAt <= at ? 'EXPIRED' : 'ACTIVE',
      )
    }),
    { numRuns: 300 },
  )
})

test('sends no empty text to Google for any card', () => {
  fc.assert(
    fc.property(hostileCard, (card) => {
      const sample = { ...pass(), card: { ...card, google: {} } }
      for (const text of textsIn([wallet.classOf(sample), wallet.objectOf(sample, at)])) expect(text).not.toBe('')
    }),
    { numRuns: 300 },
  )
})

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  // The definition sets IDs and colors, and its schema rejects empty ones.
  if (typeof value !== 'object' || value === null) return []
  const skipped = new Set(['id', 'hexBackgroundColor'])
  return Object.entries(value).flatMap(([key, item]) => (skipped.has(key) ? [] : textsIn(item)))
}
