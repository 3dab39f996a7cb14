import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Definition, DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { compilePass } from '../../../../src/core/rules/pass/pass-rules.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { usesOf } from '../../../../src/core/rules/template/variable-uses.ts'
import { type Variables, variablesSchema } from '../../../../src/core/rules/template/variables.ts'
import { parseDefinition } from '../../../support/definitions.ts'
import { times } from '../../../support/long.ts'

const NAMES = ['a', 'b', 'c'] as const
const facts = { id: 'i', externalPassId: 'e', label: 'l', scanCode: 's', templateName: 't', projectName: null }

function schemaAccepts(definition: Definition): (variables: Variables) => boolean {
  const ajv = new Ajv2020({ ownProperties: true, strict: false, code: { optimize: false } })
  return ajv.compile(variablesSchema(definition)) as (variables: Variables) => boolean
}

/** Checks variables like a create request. */
function serverAccepts(definition: Definition): (variables: Variables) => boolean {
  const check = compilePass(definition)
  return (variables) => !('issues' in check({ ...facts, variables }))
}

const placeholder = fc.constantFrom(...NAMES.flatMap((name) => [`{{${name}}}`, `{{ ${name} }}`]))
const count = fc.oneof(placeholder, fc.constant(7))
const dated = fc
  .tuple(
    fc.constantFrom('{{a}}', '{{b}}', '2027-05-31', '0000-01-01'),
    fc.constantFrom('{{b}}', '{{c}}', '10:00', '{{a}}:{{b}}:00', '{{c}}:30'),
    fc.constantFrom('{{a}}', '{{c}}', 'Z', '+05:00'),
  )
  .map(([date, time, offset]) => `${date}T${time}${offset}`)
const composed = fc.oneof(
  dated,
  fc.constantFrom('{{a}}T{{b}}', '{{a}}Z', '{{a}}{{b}}', '{{a}}-05-31T10:00Z', '{{ c }}T10:00Z'),
)
const bound = fc.oneof(placeholder, composed, fc.constant('{{pass.expiresAt}}'), fc.constant('2027-01-01T00:00Z'))
const zone = fc.constantFrom('{{a}}', '{{ b }}', 'Europe/{{c}}', '{{a}}/Lisbon', 'UTC', '{{a}}/{{b}}')

/** Policies whose windows have one bound each, because a schema cannot express that one bound is before another. */
const policies = fc.record(
  {
    windows: fc.array(
      fc.oneof(fc.record({ start: bound }), fc.record({ end: bound, maxUses: count }), fc.constant({})),
      { minLength: 1, maxLength: 2 },
    ),
    maxUses: count,
    perPeriod: fc.record({ unit: fc.constant('day' as const), count, timezone: zone }),
    minIntervalMinutes: count,
    activation: fc.record({ basis: fc.constant('firstScan' as const), validForHours: count }),
  },
  { requiredKeys: [] },
)

const texts = fc.oneof(
  fc.integer({ min: -1, max: 600_000 }).map(String),
  fc.constantFrom('', ' ', '\n', '1', '0', '01', '1.0', '0x10', '1e2', ' 5', '5 ', '87840', '87841', '99999', '100000'),
  fc.constantFrom('100001', '527039', '527040', '527041', '١', 'banana', '{{a}}', '2027-05-31', ' 2027-05-31\t'),
  fc.constantFrom('2027-02-29', '2027-05-31T19:30Z', '\u00a02027-05-31T19:30:00.5+02:00', '2027-05-31T19:30'),
  fc
    .tuple(
      fc.constantFrom('0000-01-01', '0000-01-02', '9999-12-31', '9999-12-30', '0000-12-31'),
      fc.constantFrom('00:00', '05:30:00', '23:59:59', '23:59:59.999'),
      fc.constantFrom('Z', '+00:00', '-00:00', '+05:00', '-05:00', '+23:59', '-23:59'),
    )
    .map(([date, time, offset]) => `${date}T${time}${offset}`),
  fc.constantFrom('Europe/Lisbon', 'europe/lisbon', 'Mars/Phobos', 'Lisbon', 'Europe', 'UTC', 'Asia/Kolkata', '+01:00'),
  fc.constantFrom('19:30', '19:30:00', '10', '59', '24', '24:00', '19:30:00.5Z', 'Z', '+02:00', '-23:59', '+24:00'),
  fc.string({ maxLength: 12 }),
)

const definitions = fc
  .record({
    variables: fc.tuple(
      ...NAMES.map((name) =>
        fc.record(
          {
            name: fc.constant(name),
            label: fc.constant(name),
            required: fc.boolean(),
            default: texts,
            format: fc.constantFrom('text' as const, 'date' as const, 'date-time' as const, 'number' as const),
          },
          { requiredKeys: ['name', 'label'] },
        ),
      ),
    ),
    expiresAt: fc.oneof(placeholder, composed, fc.constantFrom(' {{a}} ', null, '2030-01-01')),
    redemption: fc.option(policies, { nil: undefined }),
  })
  .map((parts) => parseDefinition({ design: { organizationName: 'O', description: 'D' }, ...parts }))
  // A definition with an invalid default, or with a text whose placeholders have no clear type, cannot be published.
  .filter((definition) => checkDefinition(definition).length === 0)

const tries = fc.array(fc.record({ a: texts, b: texts, c: texts, other: fc.jsonValue() }, { requiredKeys: [] }), {
  minLength: 1,
  maxLength: 12,
})

test('the published JSON Schema and a create agree on values that expiry and policy are made of', () => {
  let accepted = 0
  fc.assert(
    fc.property(definitions, tries, (definition, given) => {
      const [bySchema, byServer] = [schemaAccepts(definition), serverAccepts(definition)]
      for (const variables of given as Variables[]) {
        const isAccepted = bySchema(variables)
        expect(byServer(variables), JSON.stringify({ definition, variables })).toBe(isAccepted)
        if (isAccepted) accepted += 1
      }
    }),
    { numRuns: times(40, 150) },
  )
  expect(accepted).toBeGreaterThan(times(5, 20))
})

test('accepts each integer of a policy exactly up to its bound', () => {
  const redemption: DefinitionInput['redemption'] = {
    maxUses: '{{a}}',
    minIntervalMinutes: '{{b}}',
    activation: { basis: 'firstScan', validForHours: '{{c}}' },
  }
  const uses = usesOf({ expiresAt: null, redemption })
  for (const [name, max] of [
    ['a', 100_000],
    ['b', 527_040],
    ['c', 87_840],
  ] as const) {
    const { rule } = uses.get(name)![0]!
    if (!('pattern' in rule)) expect.fail('A number is said by a pattern')
    const pattern = new RegExp(rule.pattern, 'u')
    for (let n = 0; n < 1_000_000; n += 1) {
      if (pattern.test(String(n)) !== (n >= 1 && n <= max)) expect.fail(`${name}: ${n}`)
    }
  }
})

test('publishing rejects a default that expiry or policy cannot use', () => {
  const definition = parseDefinition({
    variables: [
      { name: 'uses', label: 'Uses', default: '1.0' },
      { name: 'until', label: 'Until', example: 'soon' },
    ],
    design: { organizationName: 'O', description: 'D' },
    expiresAt: '{{until}}',
    redemption: { maxUses: '{{uses}}' },
  })
  expect(checkDefinition(definition).map(({ path, message }) => `${path.join('.')}: ${message}`)).toEqual([
    'variables.0.default: Must be a whole number from 1 to 100000',
    'variables.1.example: Must be a date, a date-time or empty, because the expiry uses it',
  ])
})

const policyOf = (start: string) => ({ windows: [{ start }] })
const zoned = (timezone: string) => ({ perPeriod: { unit: 'day' as const, count: 1, timezone } })

test.each<[string, Partial<DefinitionInput>, Variables[], Variables[]]>([
  [
    'a date',
    { redemption: policyOf('{{a}}T10:00:00Z') },
    [{ a: '2028-02-29' }, { a: '0000-01-01' }],
    [{}, { a: '' }, { a: '2027-02-29' }, { a: '2027-05-31T' }],
  ],
  [
    'a date next to an offset, except days that it could move out of the calendar',
    { redemption: policyOf('{{a}}T10:00+02:00') },
    [{ a: '2027-05-31' }],
    [{ a: '0000-01-01' }, { a: '9999-12-31' }],
  ],
  [
    'date, time and offset',
    { expiresAt: ' {{a}}T{{b}}{{c}} ' },
    [{ a: '2027-05-31', b: '19:30', c: 'Z' }],
    [
      { a: '2027-05-31', b: '19:30' },
      { a: '2027-05-31T19:30', b: '', c: 'Z' },
      { a: '2027-05-31', b: '24:00', c: 'Z' },
    ],
  ],
  ['hours', { redemption: policyOf('2027-05-31T{{a}}:00Z') }, [{ a: '09' }], [{ a: '9' }, { a: '24' }]],
  [
    'time with offset',
    { redemption: policyOf('2027-05-31T{{a}}') },
    [{ a: '09:00Z' }, { a: '09:00:30.5+01:00' }],
    [{ a: '09:00' }],
  ],
  ['all but the offset', { redemption: policyOf('{{a}}Z') }, [{ a: '2027-05-31T09:00' }], [{ a: '2027-05-31' }]],
  [
    'a whole zone',
    { redemption: zoned('{{a}}') },
    [{ a: 'US/Eastern' }, { a: 'UTC' }],
    [{ a: 'Mars/Phobos' }, { a: '+01:00' }],
  ],
  ['a city', { redemption: zoned('Europe/{{a}}') }, [{ a: 'Kyiv' }], [{}, { a: '' }, { a: 'Phobos' }, { a: 'lisbon' }]],
  [
    'the expiry that a policy names',
    { expiresAt: '{{a}}', redemption: policyOf('{{pass.expiresAt}}') },
    [{ a: ' 2027-05-31' }],
    [{}, { a: '' }],
  ],
])('the schema and a create accept the same variables for %s', (_, parts, taken, refused) => {
  const definition = define(parts)
  expect(checkDefinition(definition)).toEqual([])
  for (const accepts of [schemaAccepts(definition), serverAccepts(definition)]) {
    expect(taken.map(accepts)).toEqual(taken.map(() => true))
    expect(refused.map(accepts)).toEqual(refused.map(() => false))
  }
})

test.each<[string, Partial<DefinitionInput>, string]>([
  [
    'a part of a date',
    { redemption: policyOf('{{a}}-05-31T10:00Z') },
    'redemption.windows.0.start: Is not a date-time',
  ],
  ['text that is never a date-time', { expiresAt: 'until {{a}}' }, 'expiresAt: Is not a date-time'],
  [
    'a time zone from two variables',
    { redemption: zoned('{{a}}/{{b}}') },
    'redemption.perPeriod.timezone: A timezone can have the',
  ],
  [
    'an expiry in place of a number',
    { expiresAt: '{{a}}', redemption: { maxUses: '{{pass.expiresAt}}' } },
    'redemption.maxUses: Must be a whole',
  ],
  ['a missing expiry', { redemption: policyOf('{{pass.expiresAt}}') }, 'redemption.windows.0.start: The def'],
])('rejects %s on publish, because the schema cannot express its values', (_, parts, expected) => {
  const issues = checkDefinition(define(parts)).map(({ path, message }) => `${path.join('.')}: ${message}`)
  expect(issues).toEqual([expect.stringContaining(expected)])
})

function define(parts: Partial<DefinitionInput>): Definition {
  const variables = NAMES.map((name) => ({ name, label: name }))
  return parseDefinition({ variables, design: { organizationName: 'O', description: 'D' }, ...parts })
}
