import { describe, expect, test } from 'vitest'
import type { DefinitionInput } from '../../../../src/core/contract/definition.ts'
import { checkDefinition, sampleScope } from '../../../../src/core/rules/template/definition.ts'
import { systemVariables } from '../../../../src/core/rules/template/placeholder.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const design = { organizationName: 'O', description: 'D' }

function problemsOf(parts: Partial<DefinitionInput>): string[] {
  return checkDefinition(parseDefinition({ design, ...parts })).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  )
}

test('every system variable and every declared one may stand anywhere', () => {
  const text = ['mine', ...systemVariables].map((name) => `{{${name}}}`).join(' ')
  const problems = problemsOf({
    variables: [{ name: 'mine', label: 'Mine' }],
    design: { ...design, description: text, links: [{ label: text, url: text }] },
    apple: { userInfo: [text] },
    google: { object: { a: text } },
    redemption: { windows: [{ start: '{{mine}}', end: '2020-01-01T00:00Z' }], maxUses: '{{mine}}' },
    expiresAt: '{{mine}}',
    photo: '{{mine}}',
  })
  expect(problems).toEqual([])
})

describe('a definition is refused with path and placeholder for', () => {
  test.each<[string, Partial<DefinitionInput>, RegExp]>([
    ['an unknown placeholder', { design: { ...design, logoText: 'Hi {{nmae}}' } }, /^design\.logoText: .*\{\{nmae\}\}/],
    ['an unknown system name', { photo: '{{pass.photo}}' }, /^photo: .*\{\{pass\.photo\}\}/],
    ['one in a list', { apple: { list: [1, '{{gone}}'] } }, /^apple\.list\.1: .*\{\{gone\}\}/],
    ['one in a policy', { redemption: { maxUses: '{{uses}}' } }, /^redemption\.maxUses: .*\{\{uses\}\}/],
    ['one in the expiry', { expiresAt: '{{until}}' }, /^expiresAt: .*\{\{until\}\}/],
    ['an expiry that needs itself', { expiresAt: '{{pass.expiresAt}}' }, /^expiresAt: .*itself/],
    ['an expiry that is no moment', { expiresAt: 'soon' }, /^expiresAt: /],
    [
      'braces that are no placeholder',
      { design: { ...design, logoText: '{{first name}}' } },
      /^design\.logoText: .*\{\{/,
    ],
    ['braces left open', { google: { class: { a: ['{{oops'] } } }, /^google\.class\.a\.0: /],
    [
      'a fixed window that is no moment',
      { redemption: { windows: [{ start: 'noon' }] } },
      /^redemption\.windows\.0\.start: /,
    ],
    [
      'a fixed window that is over before it begins',
      { redemption: { windows: [{}, { start: '2027-05-01T10:00+02:00', end: '2027-05-01T07:59Z' }] } },
      /^redemption\.windows\.1\.end: /,
    ],
    [
      'a fixed zone that is none',
      { redemption: { perPeriod: { unit: 'day', count: 1, timezone: 'Mars/Base' } } },
      /^redemption\.perPeriod\.timezone: /,
    ],
    [
      'a default that breaks its format',
      { variables: [{ name: 'd', label: 'D', format: 'date', default: 'x' }] },
      /^variables\.0\.default: /,
    ],
  ])('%s', (_, parts, expected) => {
    const problems = problemsOf(parts)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(expected)
  })

  test('a field key that stands twice, in whatever groups', () => {
    const fields = {
      header: [{ key: 'a', value: '' }],
      back: [
        { key: 'b', value: '' },
        { key: 'a', value: '' },
      ],
    }
    expect(problemsOf({ design: { ...design, fields } })).toEqual([
      expect.stringMatching(/^design\.fields\.back\.1\.key: /),
    ])
  })

  test('everything at once', () => {
    expect(problemsOf({ design: { ...design, logoText: '{{x}}' }, expiresAt: 'soon', photo: '{{y}}' })).toHaveLength(3)
  })
})

test('a definition is tried with its examples, else its defaults, else text that fits the format', () => {
  const definition = parseDefinition({
    design,
    variables: [
      { name: 'a', label: 'A', example: 'example', default: 'default' },
      { name: 'b', label: 'B', default: 'default' },
      { name: 'c', label: 'C', format: 'date' },
      { name: 'd', label: 'D', maxLength: 2 },
    ],
  })
  const scope = sampleScope(definition)
  expect(['a', 'b', 'c', 'd'].map((name) => scope.get(name))).toEqual(['example', 'default', '2030-01-31', 'Te'])
})
