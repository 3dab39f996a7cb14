import { expect, test } from 'vitest'
import { keyOf, type StarterKind, starterKinds, starterTemplate } from '../../../src/cli/template/starters.ts'
import { checkDefinition } from '../../../src/core/rules/template/definition.ts'
import { previewOf, samplePass, viewsOf } from '../../../src/server/pages/card/card-preview.ts'
import { definitionWarnings } from '../../../src/server/pages/card/template-warnings.ts'
import { platformIssuesOf, previewWallets } from '../../../src/server/pages/template-dev/content.ts'
import { parseDefinition } from '../../support/definitions.ts'

test.each(starterKinds)('the starter template for %s can be published unchanged', (kind) => {
  const { definition } = starterTemplate(kind, { key: 'k', name: 'Name', organization: 'Fair' })
  expect(checkDefinition(parseDefinition(definition))).toEqual([])
})

test.each(starterKinds)(
  'the starter for %s has no errors or warnings of both platforms except missing images',
  async (kind) => {
    const { definition: input, passType } = starterTemplate(kind, { key: 'k', name: 'Name', organization: 'Fair' })
    const definition = parseDefinition(input)
    const wallets = previewWallets
    const warnings = definitionWarnings({ definition, passType, images: {}, wallets, at: new Date(0) })
    expect(warnings.filter(({ code }) => code !== 'image-missing')).toEqual([])
    const issues = await platformIssuesOf({ definition, passType }, new Date(0))
    expect(issues.filter(({ message }) => !message.startsWith('Google requires a logo'))).toEqual([])
  },
)

test('the flight starter is a semantic boarding pass on an iPhone and a flight on Android', () => {
  const { apple, google } = viewsOfStarter('flight')
  expect(apple).toMatchObject({
    preferredStyleSchemes: ['semanticBoardingPass', 'boardingPass'],
    semantics: { airlineCode: 'GN', flightNumber: 1943, departureCityName: 'Porto', destinationCityName: 'Amsterdam' },
  })
  expect(google).toMatchObject({ title: 'OPO → AMS', rows: [[{ value: 'B12' }], [{}, {}], [{}, {}, {}]] })
})

test('the ticket starter fills the event of both wallets', () => {
  const { apple, google } = viewsOfStarter('event-ticket')
  expect(apple).toMatchObject({ semantics: { eventName: 'Spring fair', venueName: 'Town hall' } })
  expect(google).toMatchObject({ title: 'Spring fair' })
})

function viewsOfStarter(kind: StarterKind) {
  const { definition, passType } = starterTemplate(kind, { key: 'k', name: 'Name', organization: 'Fair' })
  const pass = samplePass(parseDefinition(definition), passType)
  const [at, wallets] = [new Date(0), previewWallets]
  return { apple: previewOf(pass, wallets, at).apple, google: viewsOf(pass, wallets, at).google }
}

test.each([
  ['Café Crème 2027!', 'cafe-creme-2027'],
  ['--', ''],
  ['日本', ''],
  ['a'.repeat(80), 'a'.repeat(64)],
])('derives from the name "%s" the key "%s"', (name, key) => {
  expect(keyOf(name)).toBe(key)
})

test.each(['', 'A', 'a b', 'a'.repeat(65)])('rejects the key "%s"', (key) => {
  expect(() => starterTemplate('coupon', { key, name: 'N', organization: 'O' })).toThrow('cannot be a key')
})
