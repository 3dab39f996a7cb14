import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Definition, type DefinitionInput } from '../../../src/core/contract/definition.ts'
import { checkDefinition } from '../../../src/core/rules/definition.ts'
import { resolvePolicies } from '../../../src/core/rules/resolve.ts'
import { usesOf } from '../../../src/core/rules/variable-uses.ts'
import { compileVariables, type Variables, variablesSchema } from '../../../src/core/rules/variables.ts'

const NAMES = ['a', 'b', 'c'] as const
const facts = { id: 'i', externalPassId: 'e', label: 'l', scanCode: 's', templateName: 't', projectName: null }

function schemaAccepts(definition: Definition): (variables: Variables) => boolean {
  const ajv = new Ajv2020({ ownProperties: true, strict: false })
  return ajv.compile(variablesSchema(definition)) as (variables: Variables) => boolean
}

/** As a create: first the variables, then what is made of them. */
function serverAccepts(definition: Definition): (variables: Variables) => boolean {
  const check = compileVariables(definition)
  return (variables) =>
    check(variables).length === 0 && !('issues' in resolvePolicies(definition, { ...facts, variables }))
}

const placeholder = fc.constantFrom(...NAMES.flatMap((name) => [`{{${name}}}`, `{{ ${name} }}`]))
const count = fc.oneof(placeholder, fc.constant(7))
const bound = fc.oneof(placeholder, fc.constant('{{pass.expiresAt}}'), fc.constant('2027-01-01T00:00Z'))

/** One bound a window: that one is before the other cannot be said in a schema, and no more can the names of zones. */
const policies = fc.record(
  {
    windows: fc.array(
      fc.oneof(fc.record({ start: bound }), fc.record({ end: bound, maxUses: count }), fc.constant({})),
      { minLength: 1, maxLength: 3 },
    ),
    maxUses: count,
    perPeriod: fc.record({ unit: fc.constant('day' as const), count, timezone: fc.constant('UTC') }),
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
    expiresAt: fc.oneof(placeholder, fc.constant(null), fc.constant('2030-01-01')),
    redemption: fc.option(policies, { nil: undefined }),
  })
  .map((parts) => Definition.parse({ design: { organizationName: 'O', description: 'D' }, ...parts }))
  // A default that no pass could be made with keeps the definition from being published.
  .filter((definition) => checkDefinition(definition).length === 0)
  // Nor can the schema say that the expiry, which no variable feeds, is missing.
  .filter(({ expiresAt, redemption }) => expiresAt !== null || !JSON.stringify(redemption ?? {}).includes('pass.'))

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
    { numRuns: 600 },
  )
  expect(accepted).toBeGreaterThan(50)
})

test('each whole number of a policy is taken up to its bound exactly', () => {
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
    const pattern = new RegExp(uses.get(name)![0]!.pattern, 'u')
    for (let n = 0; n < 1_000_000; n += 1) {
      if (pattern.test(String(n)) !== (n >= 1 && n <= max)) expect.fail(`${name}: ${n}`)
    }
  }
})

test('a default that expiry or policy cannot take is refused at publish', () => {
  const definition = Definition.parse({
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
    'variables.1.example: Must be a date, a date-time or empty, as the expiry is made of it',
  ])
})
