import { describe, expect, test } from 'vitest'
import { Definition, type DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { parseAs } from '../../../../src/core/errors.ts'
import { renderCard } from '../../../../src/core/rules/display/card.ts'
import { checkDefinition, sampleScope } from '../../../../src/core/rules/template/definition.ts'
import { inLanguage } from '../../../../src/core/rules/template/definition-languages.ts'
import { systemVariables } from '../../../../src/core/rules/template/placeholder.ts'
import { buildScope } from '../../../../src/core/rules/template/resolve.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const facts = { id: 'i', externalPassId: 'e', label: 'Ada', scanCode: 's', templateName: 'T', projectName: null }
const design = { organizationName: 'O', description: 'D' }

function problemsOf(parts: Partial<DefinitionInput>): string[] {
  return checkDefinition(parseDefinition({ design, ...parts })).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  )
}

test('system and declared variables can be used anywhere', () => {
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

test('accepts names of object members for states, languages, and variables, or rejects them with a place', () => {
  const id = '0197b7a2-5b1e-7cc0-a6bb-0242ac120002'
  const named = (name: string) => JSON.parse(`{"by":"{{toString}}","map":{"${name}":"#101010"},"else":"#ffffff"}`)
  const parse = (parts: object) =>
    parseAs(Definition, { variables: [{ name: 'toString', label: 'T', default: 'none' }], design, ...parts })
  const placesOf = (parts: object) => {
    const parsed = parse(parts)
    return 'issues' in parsed ? parsed.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) : []
  }
  expect(placesOf({ design: { ...design, colors: { label: named('__proto__') } } })).toEqual([
    expect.stringMatching(/^design\.colors\.label: /),
  ])
  const strip = JSON.parse(`{"by":"{{toString}}","map":{"__proto__":"${id}"}}`)
  expect(placesOf({ design: { ...design, images: { strip } } })).toEqual([
    expect.stringMatching(/^design\.images\.strip: /),
  ])
  const logoText = JSON.parse('{"en":"Hi","__proto__":"Olá"}')
  const noLanguage = '"__proto__" is not a language such as pt, pt-BR or zh-Hans'
  expect(placesOf({ design: { ...design, logoText } })).toEqual([`design.logoText: ${noLanguage}`])
  const primary = [{ key: 'a', value: 'A', label: logoText }]
  expect(placesOf({ design: { ...design, fields: { primary } } })).toEqual([
    `design.fields.primary.0.label: ${noLanguage}`,
  ])
  const overrides = JSON.parse('{"__proto__":{"userInfo":1}}')
  const refused = '__proto__: Is not allowed as a name: use another name'
  expect(placesOf({ design, apple: overrides })).toEqual([`apple.${refused}`])
  expect(placesOf({ design, google: { object: overrides } })).toEqual([`google.object.${refused}`])
  expect(placesOf({ languages: JSON.parse('{"default":"en","__proto__":[]}') })).not.toEqual([])
  expect(placesOf({ variables: [{ name: '__proto__', label: 'P' }] })).toHaveLength(1)
  for (const name of ['constructor', 'toString']) {
    const parsed = parse({ design: { ...design, colors: { label: named(name) } } })
    if ('issues' in parsed) throw new Error(`${name} is refused`)
    const definition = inLanguage(parsed.value)
    expect(checkDefinition(definition)).toEqual([])
    const labelOf = (value?: string) => {
      const scope = buildScope(definition, {
        ...facts,
        variables: value === undefined ? {} : { toString: value },
      })
      return renderCard({ passType: 'generic', definition, scope, expiresAt: null, voided: false }).colors.label
    }
    expect([name, 'valueOf', undefined].map(labelOf)).toEqual(['#101010', '#ffffff', '#ffffff'])
  }
})

describe('rejects a definition, with path and placeholder, for', () => {
  test.each<[string, Partial<DefinitionInput>, RegExp]>([
    ['an unknown placeholder', { design: { ...design, logoText: 'Hi {{nmae}}' } }, /^design\.logoText: .*\{\{nmae\}\}/],
    ['an unknown system name', { photo: '{{pass.photo}}' }, /^photo: .*\{\{pass\.photo\}\}/],
    ['an unknown placeholder in a list', { apple: { list: [1, '{{gone}}'] } }, /^apple\.list\.1: .*\{\{gone\}\}/],
    [
      'an unknown placeholder in a policy',
      { redemption: { maxUses: '{{uses}}' } },
      /^redemption\.maxUses: .*\{\{uses\}\}/,
    ],
    ['an unknown placeholder in the expiry', { expiresAt: '{{until}}' }, /^expiresAt: .*\{\{until\}\}/],
    ['an expiry that uses itself', { expiresAt: '{{pass.expiresAt}}' }, /^expiresAt: .*itself/],
    ['an expiry that is not a time', { expiresAt: 'soon' }, /^expiresAt: /],
    [
      'braces that are not a placeholder',
      { design: { ...design, logoText: '{{first name}}' } },
      /^design\.logoText: .*\{\{/,
    ],
    ['unclosed braces', { google: { class: { a: ['{{oops'] } } }, /^google\.class\.a\.0: /],
    [
      'a fixed window that is not a time',
      { redemption: { windows: [{ start: 'noon' }] } },
      /^redemption\.windows\.0\.start: /,
    ],
    [
      'a fixed window that ends before it starts',
      { redemption: { windows: [{}, { start: '2027-05-01T10:00+02:00', end: '2027-05-01T07:59Z' }] } },
      /^redemption\.windows\.1\.end: /,
    ],
    [
      'an invalid fixed time zone',
      { redemption: { perPeriod: { unit: 'day', count: 1, timezone: 'Mars/Base' } } },
      /^redemption\.perPeriod\.timezone: /,
    ],
    [
      'a default that does not match its format',
      { variables: [{ name: 'd', label: 'D', format: 'date', default: 'x' }] },
      /^variables\.0\.default: /,
    ],
  ])('%s', (_, parts, expected) => {
    const problems = problemsOf(parts)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(expected)
  })

  test('a field key that is used twice, in any groups', () => {
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

test('tests a definition with its examples, else its defaults, else text of the format', () => {
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
