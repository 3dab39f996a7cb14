import fc from 'fast-check'

interface JsonSchema {
  type?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  additionalProperties?: boolean | JsonSchema
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
}

/** Values near the limits of databases, wallets, and templates. */
export const oddValues = fc.oneof(
  fc.constantFrom<unknown>(
    '',
    ' ',
    '\0',
    '\ud800',
    '😀',
    '{{tier}}',
    '{{unknown}}',
    '{{',
    '%@',
    "'; drop table passes --",
  ),
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e308, 2 ** 53, [], {}, [[]], { a: { b: null } }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.integer({ min: 1, max: 3 }).map((length) => 'x'.repeat(length * 300)),
)

const shaped = fc.constantFrom(
  ...['#1a2b3c', 'key-1', 'name', 'tier', 'seat', '2027-05-31', '2027-05-31T19:30:00Z', 'Europe/Lisbon', '{{tier}}'],
)

/** IDs of existing rows by the name of a property that can hold them, such as templateId. */
export type KnownIds = Record<string, string[]>

/** Generates values of a JSON Schema. Occasionally, a nested value does not match it. */
export function valuesOf(schema: JsonSchema, ids: KnownIds, name = ''): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 40, arbitrary: soundValues(schema, ids, name) }, { weight: 1, arbitrary: oddValues })
}

function soundValues(schema: JsonSchema, ids: KnownIds, name: string): fc.Arbitrary<unknown> {
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return fc.oneof(...alternatives.map((one) => soundValues(one, ids, name)))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.type === 'object') return objects(schema, ids)
  if (schema.type === 'array') {
    return fc.array(valuesOf(schema.items ?? {}, ids), { minLength: schema.minItems ?? 0, maxLength: 3 })
  }
  if (schema.type === 'string') return strings(schema, ids, name)
  if (schema.type === 'integer')
    return fc.integer({ min: schema.minimum ?? -5, max: Math.min(schema.maximum ?? 5, 1000) })
  if (schema.type === 'number') return fc.double({ min: schema.minimum ?? -5, max: schema.maximum ?? 5, noNaN: true })
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'null') return fc.constant(null)
  return fc.oneof(fc.jsonValue({ maxDepth: 2 }), oddValues)
}

function objects({ properties = {}, required = [], additionalProperties }: JsonSchema, ids: KnownIds) {
  const known = Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, valuesOf(value, ids, name)]),
  )
  const record = fc.record(known, { requiredKeys: required.filter((name) => name in known) })
  if (!additionalProperties) return record
  const names = fc.oneof(shaped, fc.string({ unit: 'binary', maxLength: 8 }))
  const others = fc.dictionary(names, oddValues, { maxKeys: 3 })
  return fc.tuple(others, record).map(([more, sound]) => ({ ...more, ...sound }))
}

function strings(schema: JsonSchema, ids: KnownIds, name: string) {
  if (schema.format === 'uuid') return fc.constantFrom(...(ids[name] ?? Object.values(ids).flat()))
  const { pattern, minLength = 0, maxLength = 100 } = schema
  const key = JSON.stringify([pattern, minLength, maxLength])
  const texts = known.get(key) ?? textsOf(pattern, minLength, Math.min(maxLength, Math.max(minLength, 30)))
  known.set(key, texts)
  return texts
}

/** Kept, because fast-check takes long to create an arbitrary of strings, and the contract has hundreds of strings. */
const known = new Map<string, fc.Arbitrary<string>>()

function textsOf(pattern: string | undefined, minLength: number, maxLength: number): fc.Arbitrary<string> {
  if (pattern === undefined) return fc.string({ minLength, maxLength })
  // fc.stringMatching does not support assertions.
  if (pattern.includes('(?!') || pattern.includes('(?=')) return shaped
  return fc.oneof(shaped, fc.stringMatching(new RegExp(pattern)))
}
