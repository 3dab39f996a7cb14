import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { PassUpdate } from '../../src/core/contract/passes.ts'
import { parseAs } from '../../src/core/errors.ts'
import { oddValues } from '../server/http/json-values.ts'
import { allRoutes } from '../support/conformance.ts'
import { times } from '../support/long.ts'

test.each<[z.ZodType, unknown, string]>([
  [z.string(), undefined, 'Is required'],
  [z.enum(['a', 'b']), undefined, 'Is required'],
  [z.union([z.string(), z.number()]), undefined, 'Is required'],
  [z.string(), 1, 'Must be a string'],
  [z.int(), 1.5, 'Must be a whole number'],
  [z.strictObject({}), null, 'Must be an object'],
  [z.literal('VOID'), 'void', 'Must be "VOID"'],
  [z.enum(['a', 'b']), 'c', 'Must be one of a, b'],
  [z.int().min(3), 2, 'Must be at least 3'],
  [z.int().max(3), 4, 'Must be at most 3'],
  [z.string().min(3), 'ab', 'Must have at least 3 characters'],
  [z.array(z.string()).min(1), [], 'Must not be empty'],
  [z.array(z.string()).max(1), ['a', 'b'], 'Must have at most 1 items'],
  [PassUpdate.shape.templateVersion, 1.5, 'Must be a whole number, or must be "latest"'],
  [PassUpdate.shape.templateVersion, '1', 'Must be a number, or must be "latest"'],
  [PassUpdate.shape.templateVersion, 0, 'Must be at least 1'],
])('%# an issue states what the value must be', (schema, value, message) => {
  expect(parseAs(schema, value)).toEqual({ issues: [{ path: [], message }] })
})

test('each unknown key is a separate issue', () => {
  expect(parseAs(z.strictObject({ a: z.strictObject({}) }), { a: { b: 1, c: 2 }, d: 3 }, 'parameter')).toEqual({
    issues: [
      { path: ['a', 'b'], message: 'Unknown parameter' },
      { path: ['a', 'c'], message: 'Unknown parameter' },
      { path: ['d'], message: 'Unknown parameter' },
    ],
  })
})

const parts = allRoutes.flatMap(({ name, route }) =>
  (['params', 'query', 'headers', 'body'] as const).flatMap((part) => {
    const schema = route[part]
    return schema ? [{ name: `${name} ${part}`, schema }] : []
  }),
)

test.each(parts)('no error of $name has the wording of the validator', ({ schema }) => {
  const keys = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  const values = fc.oneof(
    oddValues,
    fc.record(Object.fromEntries(keys.map((key) => [key, oddValues])), { requiredKeys: [] }),
  )
  fc.assert(
    fc.property(values, (value) => {
      const parsed = parseAs(schema, value)
      for (const { message } of 'issues' in parsed ? parsed.issues : []) {
        expect(message).not.toMatch(/^(Invalid|Too |Unrecognized)|expected|API schema/)
        expect(message.length).toBeGreaterThan(4)
      }
    }),
    { numRuns: times(40, 200) },
  )
})
