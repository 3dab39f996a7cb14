import { expect, test } from 'vitest'
import { keyOf, starterKinds, starterTemplate } from '../../../src/cli/template/starters.ts'
import { checkDefinition } from '../../../src/core/rules/template/definition.ts'
import { samplePass, viewsOf } from '../../../src/server/pages/card/card-preview.ts'
import { definitionWarnings } from '../../../src/server/pages/card/template-warnings.ts'
import { previewWallets } from '../../../src/server/pages/template-dev/content.ts'
import { parseDefinition } from '../../support/definitions.ts'

test.each(starterKinds)('the starter template for %s can be published unchanged', (kind) => {
  const { definition } = starterTemplate(kind, { key: 'k', name: 'Name', organization: 'Fair' })
  expect(checkDefinition(parseDefinition(definition))).toEqual([])
})

test.each(starterKinds)(
  'the starter for %s has no warnings except missing images, and a flight is a Google flight',
  (kind) => {
    const { definition: input, passType } = starterTemplate(kind, { key: 'k', name: 'Name', organization: 'Fair' })
    const definition = parseDefinition(input)
    const wallets = previewWallets
    const warnings = definitionWarnings({ definition, passType, images: {}, wallets, at: new Date(0) })
    expect(warnings.filter(({ code }) => code !== 'image-missing')).toEqual([])
    const { google } = viewsOf(samplePass(definition, passType), wallets, new Date(0))
    if (kind === 'flight')
      expect(google).toMatchObject({ title: 'OPO → LIS', rows: [[{ value: 'B12' }], [{}, {}], [{}, {}]] })
  },
)

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
