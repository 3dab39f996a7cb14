import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  fill,
  fillDeep,
  lonePlaceholder,
  placeholdersDeep,
  placeholdersIn,
} from '../../../../src/core/rules/template/placeholder.ts'

const scope = new Map([
  ['name', 'Ada'],
  ['pass.label', 'Label'],
  ['braces', '{{name}}'],
  ['dollars', '$& $1 $$ $`'],
])

test.each([
  ['Hello {{name}}!', 'Hello Ada!'],
  ['{{ name }}{{name}}', 'AdaAda'],
  ['{{pass.label}}', 'Label'],
  ['{{unknown}}', ''],
  ['{{constructor}}{{__proto__}}', ''.concat('{{__proto__}}')],
  ['{{{name}}}', '{Ada}'],
  ['{{na me}} {{}} {{1}} {name}', '{{na me}} {{}} {{1}} {name}'],
  ['no placeholder', 'no placeholder'],
])('%s renders as %s', (template, expected) => {
  expect(fill(template, scope)).toBe(expected)
})

test('keeps braces and dollar signs inside a value', () => {
  expect(fill('{{braces}}', scope)).toBe('{{name}}')
  expect(fill('{{dollars}}', scope)).toBe('$& $1 $$ $`')
})

test('a value never expands another value, wherever braces meet', () => {
  const pieces = fc.constantFrom('{{', '}}', '{', '}', 'secret', 'a', ' ', '{{a}}', '{{secret}}')
  const text = fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, text, (before, value) => {
      const template = `${before.replaceAll('secret', 'other')}{{a}}`
      const out = fill(
        template,
        new Map([
          ['a', value],
          ['secret', 'MARKER'],
        ]),
      )
      expect(out).not.toContain('MARKER')
      expect(out.endsWith(value)).toBe(true)
    }),
  )
})

test('filling never throws, regardless of template and values', () => {
  const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('{{a}}', '{{', '{{a.b.c}}', '}}{{'))
  fc.assert(
    fc.property(fc.array(anything), anything, (parts, value) => {
      expect(typeof fill(parts.join(''), new Map([['a', value]]))).toBe('string')
    }),
  )
})

test('fills only the strings of a JSON value', () => {
  const filled = fillDeep({ '{{name}}': ['{{name}}', 1, null, { deep: '{{name}}' }], flag: true }, scope)
  expect(filled).toEqual({ '{{name}}': ['Ada', 1, null, { deep: 'Ada' }], flag: true })
})

test('a lone placeholder has no text around it', () => {
  expect(lonePlaceholder('{{ uses }}')).toBe('uses')
  for (const text of ['x{{uses}}', '{{uses}} ', '{{a}}{{b}}', 'uses', '']) expect(lonePlaceholder(text)).toBe(undefined)
})

test('placeholders are found in order, and with the path of the text that holds them', () => {
  expect(placeholdersIn('{{b}} and {{a}} and {{b}}')).toEqual(['b', 'a', 'b'])
  expect([...placeholdersDeep({ list: ['x', { text: '{{a}}' }], top: '{{b.c}}' })]).toEqual([
    { name: 'a', path: ['list', 1, 'text'] },
    { name: 'b.c', path: ['top'] },
  ])
})
