import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type VariableDefinition, VariableFormat } from '../../../../src/core/contract/schemas/definition.ts'
import { systemVariableError } from '../../../../src/core/rules/pass/pass-rules.ts'
import {
  checkDeclarations,
  checkVariablesSize,
  compileVariables,
  formatPatterns,
  type Variables,
  variablesSchema,
} from '../../../../src/core/rules/template/variables.ts'
import { times } from '../../../support/long.ts'

/** Checks with the published schema, like any validator of JSON Schema 2020-12 that considers only own properties. */
function schemaAccepts(declared: VariableDefinition[]): (variables: Variables) => boolean {
  const ajv = new Ajv2020({ ownProperties: true, strict: false, code: { optimize: false } })
  return ajv.compile(variablesSchema({ variables: declared })) as (variables: Variables) => boolean
}

/** Returns the first check of a create request. */
function serverAccepts(declared: VariableDefinition[]): (variables: Variables) => boolean {
  const check = compileVariables({ variables: declared })
  return (variables) => systemVariableError(Object.keys(variables)) === undefined && check(variables).length === 0
}

const letters = [...'abcXYZ']
const names = fc.oneof(
  fc.constantFrom('a', 'b', 'seat', 'constructor', 'toString', 'hasOwnProperty', 'length'),
  fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,63}$/),
)
const formats = fc.constantFrom(...VariableFormat.options)

const declarations = fc.uniqueArray(
  fc.record(
    {
      name: names,
      label: fc.constant('Label'),
      required: fc.boolean(),
      default: fc.constantFrom('x', ''),
      format: formats,
      maxLength: fc.integer({ min: 1, max: 40 }),
    },
    { requiredKeys: ['name', 'label', 'required'] },
  ),
  { selector: (variable) => variable.name, maxLength: 6 },
) as fc.Arbitrary<VariableDefinition[]>

/** Texts near every limit of a rule: code points and units, lone surrogates, almost valid formats. */
const texts = fc.oneof(
  fc.string({ maxLength: 45 }),
  fc.string({ unit: 'binary', maxLength: 45 }),
  fc.string({ unit: fc.constantFrom('😀', 'e\u0301', '\ud83d', '\ude00', 'a', '\0', '\n'), maxLength: 42 }),
  fc.constantFrom(...Object.values(formatPatterns).map(({ example }) => example)),
  fc.constantFrom('2027-02-29', '2028-02-29', '2027-13-01', '2027-05-31T19:30Z', '2027-05-31T19:30+14:00', '-0', '01'),
  fc.constantFrom('1.', '.5', '1e3', 'http://', 'https://a b', 'HTTPS://A', 'a@b', 'a..b@c.de', 'ü@example.com', ''),
  fc.tuple(formats, fc.string({ maxLength: 3 })).map(([format, tail]) => exampleOf(format) + tail),
)
const values = fc.oneof({ weight: 4, arbitrary: texts }, { weight: 1, arbitrary: fc.jsonValue() })
const keys = fc.oneof(
  { weight: 5, arbitrary: names },
  { weight: 2, arbitrary: fc.string({ unit: fc.constantFrom(...letters, '.', '\n', '\ud83d', '$'), maxLength: 6 }) },
)

function exampleOf(format: VariableFormat): string {
  return format === 'text' ? 'text' : formatPatterns[format].example
}

test('the published JSON Schema and the server accept exactly the same variables', () => {
  fc.assert(
    fc.property(
      declarations,
      fc.array(fc.array(fc.tuple(keys, values), { maxLength: 8 }), { maxLength: 8 }),
      (declared, tries) => {
        const bySchema = schemaAccepts(declared)
        const byServer = serverAccepts(declared)
        for (const entries of [...tries, []]) {
          const variables = variablesOf(declared, entries)
          expect(byServer(variables), JSON.stringify({ declared, variables })).toBe(bySchema(variables))
        }
      },
    ),
    { numRuns: times(75, 500) },
  )
})

/** Generates values for declared and other names equally often, so that both results are likely. */
function variablesOf(declared: VariableDefinition[], entries: [string, unknown][]): Variables {
  return Object.fromEntries(
    entries.map(([key, value], index) => [declared[index % (declared.length + 1)]?.name ?? key, value]),
  )
}

test.each([199, 200, 201])('schema and server reject the same number of %i keys', (count) => {
  const variables = Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, index]))
  expect(serverAccepts([])(variables)).toBe(count <= 200)
  expect(schemaAccepts([])(variables)).toBe(count <= 200)
})

test('a key with a dot belongs to the system, wherever the dot is', () => {
  for (const key of ['pass.id', '.', 'a.', '.a', 'new\n.line']) {
    expect(systemVariableError(['fine', key])?.details).toEqual({ variable: key })
  }
  expect(systemVariableError(['passId', 'a·b'])).toBe(undefined)
})

describe('a declared variable', () => {
  const declare = (parts: Partial<VariableDefinition>) =>
    compileVariables({ variables: [{ name: 'v', label: 'Value', required: false, ...parts }] })

  test('is counted in code points', () => {
    expect(declare({ maxLength: 3 })({ v: '😀😀😀' })).toEqual([])
    expect(declare({ maxLength: 3 })({ v: '😀😀😀😀' })).toEqual([
      { path: ['variables', 'v'], message: 'Must have at most 3 characters' },
    ])
  })

  test('is required if it is marked so and has no default', () => {
    expect(declare({ required: true })({})).toEqual([{ path: ['variables', 'v'], message: 'Is required (Value)' }])
    expect(declare({ required: true, default: 'x' })({})).toEqual([])
    expect(variablesSchema({ variables: [{ name: 'v', label: 'V', required: true, default: 'x' }] }).required).toEqual(
      [],
    )
  })

  test.each([[null], [1], [true], [{}], [['x']]])('rejects %j: only text is rendered', (value) => {
    expect(declare({ default: 'x' })({ v: value })).toHaveLength(1)
  })

  const accepted: [VariableFormat, string[]][] = [
    ['date', ['2027-05-31', '2028-02-29']],
    ['date-time', ['2027-05-31T19:30:00Z', '2027-05-31T19:30Z', '2027-05-31T19:30:00.5+05:45']],
    ['number', ['0', '-1.50', '12345678901234567890']],
    ['url', ['https://example.com', 'http://[::1]:8080/ä?q#f']],
    ['email', ['ada@example.com', "o'neil+tag@mail.example.co.uk"]],
    ['text', ['', 'anything\nat all {{x}}']],
  ]
  test.each(accepted)('of the format %s accepts common spellings', (format, examples) => {
    for (const v of examples) expect(declare({ format })({ v }), v).toEqual([])
  })

  const refused: [VariableFormat, string[]][] = [
    ['date', ['', '2027-02-29', '2027-1-1', '31.05.2027', '2027-05-31\n', '2027-05-31T00:00:00Z']],
    ['date-time', ['2027-05-31', '2027-05-31T19:30:00', '2027-05-31T24:00:00Z', '2027-05-31 19:30:00Z']],
    ['number', ['', '01', '+1', '1,5', '1e5', 'NaN', '٣']],
    ['url', ['', 'example.com', 'javascript:alert(1)', 'https://', 'https://a b', 'ftp://example.com']],
    ['email', ['', 'ada', 'ada@example', '@example.com', 'ada@exa mple.com', 'a..b@example.com']],
  ]
  test.each(refused)('of the format %s rejects anything else', (format, examples) => {
    for (const v of examples) expect(declare({ format })({ v }), v).toHaveLength(1)
  })
})

test('64 KiB are counted in bytes of JSON', () => {
  const overhead = JSON.stringify({ v: '' }).length
  const issue = { path: ['variables'], message: 'Must have at most 64 KiB as JSON' }
  expect(checkVariablesSize({ v: 'x'.repeat(64 * 1024 - overhead) })).toEqual([])
  expect(checkVariablesSize({ v: 'x'.repeat(64 * 1024 - overhead + 1) })).toEqual([issue])
  expect(checkVariablesSize({ v: 'é'.repeat(33 * 1024) })).toEqual([issue])
})

test('rejects contradictory declarations, each with its path', () => {
  const issues = checkDeclarations({
    variables: [
      { name: 'a', label: 'A', required: false, format: 'date', default: 'tomorrow', example: '2027-01-01' },
      { name: 'b', label: 'B', required: false, maxLength: 2, example: 'long' },
      { name: 'a', label: 'Again', required: false },
    ],
  })
  expect(issues.map(({ path }) => path.join('.'))).toEqual([
    'variables.0.default',
    'variables.1.example',
    'variables.2.name',
  ])
})
