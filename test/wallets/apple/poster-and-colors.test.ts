import { expect, test } from 'vitest'
import type { Definition, DefinitionInput, PassType } from '../../../src/core/contract/schemas/definition.ts'
import { renderCard } from '../../../src/core/rules/display/card.ts'
import { parseRgb, variantsOf } from '../../../src/core/rules/display/colors.ts'
import { lintDefinition } from '../../../src/core/rules/lint/lint.ts'
import { checkPoster } from '../../../src/wallets/apple/overrides/poster-check.ts'
import { buildPassJson } from '../../../src/wallets/apple/pass-json.ts'
import { parseDefinition } from '../../support/definitions.ts'
import { passTypeIdentifier, teamIdentifier, webServiceUrl } from './fixtures.ts'

const id = '00000000-0000-8000-8000-000000000001'
const nfc = { message: 'm', requiresAuthentication: true }
const event = { name: 'Night music', venue: { name: 'Hall' } }

function define(parts: Omit<Partial<DefinitionInput>, 'design'> & { design?: object }): Definition {
  const design = { organizationName: 'Harbour', description: 'Ticket', ...parts.design }
  return parseDefinition({ variables: [{ name: 'tier', label: 'Tier' }], ...parts, design })
}

function passOf(definition: Definition, tier = '') {
  const scope = new Map([['tier', tier]])
  const card = renderCard({ passType: 'eventTicket', definition, scope, expiresAt: null, voided: false })
  const names = { passTypeIdentifier, teamIdentifier }
  return { card, json: buildPassJson({ id, authenticationToken: 'token-of-at-least-16', card }, names, webServiceUrl) }
}

test('a poster ticket prefers the poster style and falls back to the older one', () => {
  const poster = define({ apple: { poster: true, nfc }, event, design: { images: { artwork: id } } })
  expect([...checkPoster(poster, 'eventTicket')]).toEqual([])
  const { json } = passOf(poster)
  expect(json).toMatchObject({ preferredStyleSchemes: ['posterEventTicket', 'eventTicket'] })
  expect(json).not.toHaveProperty('poster')
  const own = define({ apple: { poster: true, preferredStyleSchemes: ['eventTicket'] }, event })
  expect(passOf(own).json).toMatchObject({ preferredStyleSchemes: ['eventTicket'] })
  expect(passOf(define({ event })).json).not.toHaveProperty('preferredStyleSchemes')
})

test('publishing rejects an incomplete poster ticket with the path of each missing part', () => {
  const pathsOf = (definition: Definition, passType: PassType = 'eventTicket') =>
    [...checkPoster(definition, passType)].map(({ path }) => path.join('.'))
  expect(pathsOf(define({ apple: { poster: true, nfc: { message: 'm' } } }))).toEqual([
    'event.name',
    'event.venue.name',
    'design.images.artwork',
    'apple.nfc.requiresAuthentication',
  ])
  const semantics = { eventName: 'Night music', venueName: 'Hall' }
  expect(pathsOf(define({ apple: { poster: true, nfc, semantics }, design: { images: { background: id } } }))).toEqual(
    [],
  )
  expect(pathsOf(define({ apple: { poster: true }, event, design: { images: { artwork: id } } }))).toEqual([
    'apple.nfc',
  ])
  expect(pathsOf(define({ apple: { poster: true, nfc }, event }), 'boardingPass')).toEqual(['apple.poster'])
  expect(pathsOf(define({}))).toEqual([])
  expect(pathsOf(define({ apple: { preferredStyleSchemes: ['posterEventTicket', 'eventTicket'] } }))).toEqual([
    'event.name',
    'event.venue.name',
    'design.images.artwork',
    'apple.nfc',
  ])
  expect(pathsOf(define({ apple: { preferredStyleSchemes: ['eventTicket', 'posterEventTicket'] } }))).toEqual([])
  const variables = [{ name: 'style', label: 'Style', example: 'posterEventTicket' }]
  expect(pathsOf(define({ variables, apple: { preferredStyleSchemes: ['{{style}}', 'eventTicket'] } }))).toEqual([
    'apple.preferredStyleSchemes.0',
  ])
})

test('a poster ticket without NFC needs a barcode and the accepted code', () => {
  const images = { artwork: id }
  const issuesOf = (parts: object, design = {}) => [
    ...checkPoster(define({ apple: { poster: true }, event, design: { images, ...design }, ...parts }), 'eventTicket'),
  ]
  const accept = ['poster-without-nfc']
  expect(issuesOf({ accept })).toEqual([])
  expect(issuesOf({})).toEqual([{ path: ['apple', 'nfc'], message: expect.stringContaining('poster-without-nfc') }])
  expect(issuesOf({ accept }, { barcode: null })).toEqual([
    { path: ['apple', 'nfc'], message: expect.not.stringContaining('poster-without-nfc') },
  ])
  const unauthenticated = { accept, apple: { poster: true, nfc: { message: 'm' } } }
  expect(issuesOf(unauthenticated).map(({ path }) => path.join('.'))).toEqual(['apple.nfc.requiresAuthentication'])
  const design = { images, barcode: { format: 'qr', message: 'T-1' } }
  const { json } = passOf(define({ apple: { poster: true }, event, accept: ['poster-without-nfc'], design }))
  expect(json).toMatchObject({
    preferredStyleSchemes: ['posterEventTicket', 'eventTicket'],
    barcodes: [{ format: 'PKBarcodeFormatQR' }],
  })
})

const tiers = { by: '{{tier}}', map: { gold: '#f5d76e', night: '#101010' }, else: '#ffffff' }

test("a pass has the colors of its tier, and color overrides are written in Apple's format", () => {
  const definition = define({ design: { colors: { background: tiers } }, apple: { labelColor: '#abc' } })
  const colorOf = (tier: string) => passOf(definition, tier).json.backgroundColor
  expect(['gold', 'night', 'tin', ''].map(colorOf)).toEqual([
    'rgb(245, 215, 110)',
    'rgb(16, 16, 16)',
    'rgb(255, 255, 255)',
    'rgb(255, 255, 255)',
  ])
  expect(passOf(definition).json.labelColor).toBe('rgb(170, 187, 204)')
  // A phone draws an override with any valid spaces.
  const { labelColor } = passOf(define({ apple: { labelColor: 'rgb( 26,43,  60)' } })).json
  expect(parseRgb(String(labelColor))).toBe('#1a2b3c')
  expect(
    passOf(define({ design: { colors: { background: { ...tiers, else: undefined } } } }), '__proto__').card.colors
      .background,
  ).toBeNull()
})

test('checks the contrast of each combination of colors', () => {
  const fields = { primary: [{ key: 'name', label: 'Name', value: 'Ada' }] }
  const definition = define({
    design: { fields, colors: { background: tiers, foreground: '#000000', label: '#000000' } },
  })
  const { card } = passOf(definition, 'gold')
  const facts = {
    passType: 'eventTicket' as const,
    apple: card,
    scanned: '',
    google: null,
    images: {},
    strips: new Map(),
    wantedPixels: {},
  }
  const low = lintDefinition({ definition, ...facts }).filter(({ code }) => code === 'contrast-low')
  expect(low.map(({ path }) => path.join('.'))).toEqual([
    'definition.design.colors.foreground',
    'definition.design.colors.label',
  ])
  expect(low[0]!.message).toContain('if the state is night')
})

test('allows 100 states per choice, and checks about 1,000 combinations', () => {
  const choice = (by: string, count: number) => ({
    by: `{{tier}} ${by}`,
    map: Object.fromEntries(Array.from({ length: count }, (_, n) => [`${by}${n}`, '#000000'])),
  })
  const colors = (count: number) => ({
    background: choice('a', count),
    foreground: choice('b', count),
    label: choice('c', count),
  })
  expect(() => define({ design: { colors: colors(101) } })).toThrow(/Must have at most 100 states|Must be a color/)
  const { length } = variantsOf(define({ design: { colors: colors(100) } }).design.colors)
  expect([length >= 1000, length <= 1100]).toEqual([true, true])
})
