import { expect, test } from 'vitest'
import { keyOf, starterKinds, starterTemplate } from '../../../src/cli/template/starters.ts'
import { Definition } from '../../../src/core/contract/definition.ts'
import { checkDefinition } from '../../../src/core/rules/template/definition.ts'

test.each(starterKinds)('the template to begin with for %s can be published as it is', (kind) => {
  const { definition } = starterTemplate(kind, { key: 'k', name: 'Name', organization: 'Fair' })
  expect(checkDefinition(Definition.parse(definition))).toEqual([])
})

test.each([
  ['Café Crème 2027!', 'cafe-creme-2027'],
  ['--', ''],
  ['日本', ''],
  ['a'.repeat(80), 'a'.repeat(64)],
])('the key of "%s" is "%s"', (name, key) => {
  expect(keyOf(name)).toBe(key)
})

test.each(['', 'A', 'a b', 'a'.repeat(65)])('"%s" is refused as a key', (key) => {
  expect(() => starterTemplate('coupon', { key, name: 'N', organization: 'O' })).toThrow('cannot be a key')
})
