import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { renderCard } from '../../../../src/core/rules/display/card.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { fill } from '../../../../src/core/rules/template/placeholder.ts'
import {
  bytesIn,
  compileSizes,
  MAX_CARD_BYTES,
  MAX_TEXT_BYTES,
  toValueIssues,
} from '../../../../src/core/rules/template/rendered-size.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const design = { organizationName: 'O', description: 'D' }
const back = (value: string) => ({ ...design, fields: { back: [{ key: 'a', value }] } })

function problemsOf(parts: Partial<DefinitionInput>): string[] {
  return checkDefinition(parseDefinition({ design, ...parts })).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  )
}

describe('at publish', () => {
  test('the error of a field that can become too large names the field, the variable, and the setting', () => {
    const variables = [{ name: 'a', label: 'A' }]
    expect(problemsOf({ variables, design: back('{{a}}'.repeat(400)) })).toEqual([
      expect.stringMatching(/^: The whole card can be up to 4\d{5} bytes, and at most 262144 .* maxLength .* a \(/),
      'design.fields.back.0.value: Can be up to 409600 bytes, and at most 8192 are allowed: set maxLength of the ' +
        'variable a (it appears 400 times). Without maxLength, each use counts as 1024 bytes',
    ])
  })

  test.each<[string, number, Partial<DefinitionInput>]>([
    ['accepts eight variables without maxLength in a text', 0, { design: back('{{a}}'.repeat(8)) }],
    ['rejects nine variables without maxLength in a text', 1, { design: back('{{a}}'.repeat(9)) }],
    [
      'accepts the largest maxLength',
      0,
      { variables: [{ name: 'a', label: 'A', maxLength: 8192 }], design: back('{{a}}') },
    ],
    [
      'rejects a larger maxLength',
      1,
      { variables: [{ name: 'a', label: 'A', maxLength: 8193 }], design: back('{{a}}') },
    ],
    [
      'rejects a default that is too long',
      1,
      { variables: [{ name: 'a', label: 'A', default: 'ü'.repeat(4097) }], design: back('{{a}}') },
    ],
    [
      'rejects an example that is too long',
      1,
      { variables: [{ name: 'a', label: 'A', example: 'x'.repeat(8193) }], design: back('{{a}}') },
    ],
    ['counts a label at its maximum length', 1, { design: back('{{pass.label}}'.repeat(33)) }],
    ['accepts a long text without placeholders', 0, { design: back('x'.repeat(10_000)) }],
    ['rejects a photo that is too long', 1, { photo: '{{a}}'.repeat(9) }],
    ['rejects an override that is too long', 1, { apple: { userInfo: { list: ['{{a}}'.repeat(9)] } } }],
    ['rejects a card of too many texts', 1, { google: { object: { list: Array(300).fill('{{a}}') } } }],
    ['rejects a card of one text that is too long', 1, { apple: { userInfo: 'x'.repeat(262_144) } }],
  ])('%s', (_, problems, parts) => {
    const variables = [{ name: 'a', label: 'A' }]
    expect(problemsOf({ variables, ...parts })).toHaveLength(problems)
  })
})

test('names the largest of values that are too large, with its field', () => {
  const find = compileSizes(parseDefinition({ design: back('{{a}}{{b}}{{pass.label}}') }))
  const issuesOf = (scope: Record<string, string>) => toValueIssues(find(bytesIn(new Map(Object.entries(scope)))))
  expect(issuesOf({ a: 'x'.repeat(8000), b: 'ü'.repeat(96), 'pass.label': '' })).toEqual([])
  expect(issuesOf({ a: 'x'.repeat(8000), b: 'ü'.repeat(96), 'pass.label': 'L' })).toEqual([
    {
      path: ['variables', 'a'],
      message: 'With this value, design.fields.back.0.value has 8193 bytes, and at most 8192 are allowed: shorten it',
    },
  ])
  expect(issuesOf({ a: '', b: '', 'pass.label': 'L'.repeat(8193) })[0]!.path).toEqual(['label'])
})

test('computes the size of a rendered text to the byte', () => {
  const value = fc.string({ unit: 'grapheme', maxLength: 30 })
  const pieces = fc.array(fc.constantFrom('{{a}}', '{{ b }}', '{{c}}', 'ü', '{', '}', 'text ', '李'), { maxLength: 20 })
  fc.assert(
    fc.property(pieces, value, value, (parts, a, b) => {
      const photo = `${parts.join('')}{{a}}`
      const scope = new Map([
        ['a', a],
        ['b', b],
      ])
      const bytes = Buffer.byteLength(fill(photo, scope))
      // Another placeholder fills the text up to its limit.
      const full = new Map([...scope, ['full', 'x'.repeat(MAX_TEXT_BYTES - bytes)]])
      const find = compileSizes({ photo: `${photo}{{full}}` })
      expect(find(bytesIn(full))).toEqual([])
      expect(find(bytesIn(full.set('full', `${full.get('full')}x`)))).toMatchObject([{ bytes: MAX_TEXT_BYTES + 1 }])
    }),
  )
})

test('rejects oversized results before any of them is rendered', () => {
  const bomb = parseDefinition({
    design,
    apple: { userInfo: { x: '{{a}}'.repeat(96_000), y: Array(9_000).fill('{{a}}') } },
  })
  const scope = new Map([['a', 'x'.repeat(60_000)]])
  const before = process.memoryUsage().heapUsed
  const render = () => renderCard({ passType: 'generic', definition: bomb, scope, expiresAt: null, voided: false })
  expect(render).toThrow(
    expect.objectContaining({
      code: 'PASS_ISSUING_FAILED',
      message: expect.stringMatching(/^The pass is too large: the whole card/),
    }),
  )
  // The filled text would have 6.3 GB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * MAX_CARD_BYTES)
})
