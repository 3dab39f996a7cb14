import { expect, test } from 'vitest'
import type { DefinitionInput, PassType } from '../../../src/core/contract/schemas/definition.ts'
import { renderCard } from '../../../src/core/rules/display/card.ts'
import { otherLanguages } from '../../../src/core/rules/template/definition-languages.ts'
import { checkOverrides } from '../../../src/wallets/apple/overrides/override-check.ts'
import { checkPoster } from '../../../src/wallets/apple/overrides/poster-check.ts'
import { buildPassJson } from '../../../src/wallets/apple/pass-json.ts'
import { stringsOf } from '../../../src/wallets/apple/strings.ts'
import { parseDefinition } from '../../support/definitions.ts'
import { passTypeIdentifier, teamIdentifier, webServiceUrl } from './fixtures.ts'

/** The poster style of iOS 27, in the finished pass.json. */

const id = '00000000-0000-8000-8000-000000000001'

const fields = {
  header: [{ key: 'number', label: 'Guest No.', value: '{{number}}' }],
  primary: [{ key: 'name', label: 'Name', value: '{{name}}', changeMessage: 'Welcome, %@' }],
  secondary: [{ key: 'tier', label: 'Type', value: '{{tier}}', align: 'end' as const }],
  auxiliary: [{ key: 'until', label: 'Until', value: '{{until}}' }],
  back: [{ key: 'terms', label: 'Terms', value: 'Not transferable' }],
}

type Parts = Omit<Partial<DefinitionInput>, 'design'> & { design?: object }

function define({ design, ...parts }: Parts = {}) {
  return parseDefinition({
    variables: ['number', 'name', 'tier', 'until'].map((name) => ({ name, label: name })),
    apple: { poster: true },
    ...parts,
    design: { organizationName: 'Museum', description: 'Membership', images: { artwork: id }, fields, ...design },
  })
}

interface PassOptions {
  passType?: PassType
  values?: Record<string, string>
  message?: string
  definition?: ReturnType<typeof define>
}

function passJson(
  parts: Parts,
  { passType = 'generic', values = {}, message, definition = define(parts) }: PassOptions = {},
) {
  const scope = new Map(Object.entries({ number: '102035', name: 'Ada', tier: 'Family', until: '2027', ...values }))
  const card = renderCard({ passType, definition, scope, expiresAt: null, voided: false })
  const pass = { id, authenticationToken: 'token-of-at-least-16', card, ...(message !== undefined && { message }) }
  return JSON.parse(JSON.stringify(buildPassJson(pass, { passTypeIdentifier, teamIdentifier }, webServiceUrl)))
}

const number = { key: 'number', label: 'Guest No.', value: '102035' }
const name = { key: 'name', label: 'Name', value: 'Ada', changeMessage: 'Welcome, %@' }
const until = { key: 'until', label: 'Until', value: '2027' }

test.each(['generic', 'storeCard', 'coupon'] as const)('a %s has the classic style and the poster', (passType) => {
  const json = passJson({ design: { links: [{ label: 'Shop', url: 'https://museum.example' }] } }, { passType })
  const backFields = [
    { key: 'terms', label: 'Terms', value: 'Not transferable' },
    { key: 'link-1', label: 'Shop', value: 'https://museum.example' },
  ]
  expect(json[passType]).toEqual({
    headerFields: [number],
    primaryFields: [name],
    secondaryFields: [{ key: 'tier', label: 'Type', value: 'Family', textAlignment: 'PKTextAlignmentRight' }],
    auxiliaryFields: [until],
    backFields,
  })
  // Apple allows no alignment in primary fields.
  expect(json.posterGeneric).toEqual({
    headerFields: [number],
    primaryFields: [name, { key: 'tier', label: 'Type', value: 'Family' }],
    footerFields: [until],
    backFields,
  })
  expect(json).not.toHaveProperty('preferredStyleSchemes')
  expect(json).not.toHaveProperty('poster')
})

test('a pass without poster has only the classic style', () => {
  expect(passJson({ apple: {} })).not.toHaveProperty('posterGeneric')
  expect(passJson({}, { passType: 'eventTicket' })).not.toHaveProperty('posterGeneric')
})

test('a message is on the back of both styles, with the same key', () => {
  const message = { key: 'message', label: 'Museum', value: 'Open late', changeMessage: '%@' }
  const json = passJson({}, { message: 'Open late' })
  expect(json.generic.backFields[0]).toEqual(message)
  expect(json.posterGeneric.backFields[0]).toEqual(message)
  const own = { posterGeneric: { backFields: [{ key: 'message', label: '', value: 'Own' }] } }
  const renamed = passJson({ apple: { poster: true, ...own } }, { message: 'Open late' })
  const keys = [renamed.generic, renamed.posterGeneric].map(({ backFields }) => backFields[0].key)
  expect(keys).toEqual(['message-2', 'message-2'])
})

test('a poster that only the overrides define gets messages, too', () => {
  const posterGeneric = { primaryFields: [{ key: 'who', label: '', value: '{{name}}' }] }
  const json = passJson({ apple: { posterGeneric } }, { message: 'Open late' })
  expect(json.posterGeneric).toEqual({
    primaryFields: [{ key: 'who', label: '', value: 'Ada' }],
    backFields: [{ key: 'message', label: 'Museum', value: 'Open late', changeMessage: '%@' }],
  })
})

test('an empty value removes its field from both styles', () => {
  const json = passJson({}, { values: { number: '', until: ' ' } })
  expect(Object.keys(json.generic)).toEqual(['primaryFields', 'secondaryFields', 'backFields'])
  expect(Object.keys(json.posterGeneric)).toEqual(['primaryFields', 'backFields'])
})

test('an update changes both styles', () => {
  const [before, after] = ['Family', 'Single'].map((tier) => passJson({}, { values: { tier } }))
  for (const [json, tier] of [
    [before, 'Family'],
    [after, 'Single'],
  ]) {
    expect(json.generic.secondaryFields[0].value).toBe(tier)
    expect(json.posterGeneric.primaryFields[1].value).toBe(tier)
  }
})

test('the translations of a package contain the texts of both styles', () => {
  const translated = { ...fields, primary: [{ key: 'name', label: { en: 'Name', pt: 'Nome' }, value: '{{name}}' }] }
  const own = { additionalInfoFields: [{ key: 'hours', label: 'Hours', value: '10-18' }] }
  const definition = define({
    languages: { default: 'en', others: ['pt'] },
    design: { fields: translated },
    apple: { poster: true, posterGeneric: own },
  })
  const [portuguese] = otherLanguages(definition)
  const json = passJson({}, { definition })
  const other = passJson({}, { definition: portuguese! })
  expect(json.posterGeneric.primaryFields[0].label).toBe('Name')
  expect(other.posterGeneric.primaryFields[0].label).toBe('Nome')
  expect([...stringsOf(json, other).strings]).toEqual([['Name', 'Nome']])
})

test('apple.posterGeneric replaces groups of the poster, and the classic style stays as it is', () => {
  const posterGeneric = {
    footerFields: [{ key: 'points', label: 'Points', value: '{{number}}', numberStyle: 'PKNumberStyleDecimal' }],
    additionalInfoFields: [{ key: 'hours', label: 'Hours', value: '10-18' }],
  }
  const json = passJson({ apple: { poster: true, posterGeneric } })
  expect(json.posterGeneric).toMatchObject({
    headerFields: [number],
    footerFields: [{ key: 'points', value: 102035 }],
    additionalInfoFields: [{ key: 'hours' }],
  })
  expect(json.generic.auxiliaryFields).toEqual([until])
})

const field = (key: string) => ({ key, label: key, value: key })
const many = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => field(`${prefix}${n}`))
const publish = (parts: Parts, passType: PassType = 'generic') => {
  const definition = define(parts)
  const issues = [...checkOverrides(definition, passType), ...checkPoster(definition, passType)]
  return issues.map(({ path }) => path.join('.'))
}

test('publishing rejects what a poster has no place for, with its path', () => {
  expect(publish({})).toEqual([])
  expect(publish({ design: { images: {} } })).toEqual(['design.images.artwork'])
  expect(publish({ design: { images: { background: id } } })).toEqual([])
  expect(publish({ design: { fields: { header: many(2, 'h') } } })).toEqual(['design.fields.header.1'])
  expect(publish({ design: { fields: { primary: many(1, 'p'), secondary: many(4, 's') } } })).toEqual([
    'design.fields.secondary.3',
  ])
  expect(publish({ design: { fields: { auxiliary: many(3, 'a') } } })).toEqual(['design.fields.auxiliary.2'])
  const apple = { poster: true, posterGeneric: { headerFields: [field('one')] } }
  expect(publish({ apple, design: { fields: { header: many(2, 'h') } } })).toEqual([])
  expect(publish({}, 'boardingPass')).toEqual(['apple.poster'])
})

test('publishing rejects overrides of a poster that no phone shows, with their path', () => {
  const own = (posterGeneric: unknown) => publish({ apple: { poster: true, posterGeneric } })
  expect(own({ headerFields: many(2, 'h') })).toEqual(['apple.posterGeneric.headerFields.1'])
  expect(own({ primaryFields: many(5, 'p') })).toEqual(['apple.posterGeneric.primaryFields.4'])
  expect(own({ footerFields: many(3, 'f') })).toEqual(['apple.posterGeneric.footerFields.2'])
  expect(own({ secondaryFields: many(1, 's') })).toEqual(['apple.posterGeneric.secondaryFields'])
  expect(own({ headerFields: [{ key: 'x', value: true }] })).toEqual(['apple.posterGeneric.headerFields.0.value'])
  expect(own({ headerFields: [{ key: 'x', value: 'x', size: 1 }] })).toEqual([
    'apple.posterGeneric.headerFields.0.size',
  ])
  // The key of a field that the poster takes from the design.
  expect(own({ footerFields: [field('name')] })).toEqual(['apple.posterGeneric.footerFields.0.key'])
  expect(own('poster')).toEqual(['apple.posterGeneric'])
})
