import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Definition } from '../../../src/core/contract/schemas/definition.ts'

interface Schema {
  type?: string
  properties?: Record<string, Schema>
  additionalProperties?: unknown
  items?: Schema
  anyOf?: Schema[]
  enum?: unknown[]
  minLength?: number
  maxLength?: number
  maxItems?: number
  minimum?: number
  maximum?: number
}

/** Yields a row of the table for each key, at any depth. */
function* rowsOf(schema: Schema, path: string): Generator<string> {
  for (const part of schema.anyOf ?? []) yield* rowsOf(part, path)
  if (schema.items) yield* rowsOf(schema.items, `${path}[]`)
  for (const [key, part] of Object.entries(schema.properties ?? {})) {
    const place = path === '' ? key : `${path}.${key}`
    yield `| \`${withoutNames(place)}\` | ${shapeOf(part)} |`
    yield* rowsOf(part, place)
  }
}

/** Replaces names of siblings that have the same keys. */
function withoutNames(path: string): string {
  return path
    .replace(/^design\.(colors|images)\.\w+\./, 'design.$1.*.')
    .replace(/^design\.fields\.\w+(?=\[\]\.)/, 'design.fields.*')
}

function shapeOf(schema: Schema): string {
  const { type, anyOf, items, maxItems, properties, additionalProperties } = schema
  // A longer list has a table in the docs.
  if (schema.enum && schema.enum.length > 10) return 'code'
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (anyOf) return [...new Set(anyOf.map(shapeOf))].join(', or ')
  if (items) return `list${maxItems === undefined ? '' : `, at most ${maxItems}`}, of: ${shapeOf(items)}`
  if (type === 'object' && !properties && typeof additionalProperties === 'object')
    return 'object with a value per name'
  if (type === 'string') return boundsOf('text', schema.minLength, schema.maxLength, ' characters')
  if (type === 'integer' || type === 'number') return boundsOf('number', schema.minimum, schema.maximum)
  return type ?? 'any value'
}

function boundsOf(name: string, min: number | undefined, max: number | undefined, unit = ''): string {
  if (max === undefined || max === Number.MAX_SAFE_INTEGER) return name
  return `${name}, ${min ?? 0} to ${max}${unit}`
}

test('docs/templates.md has a row for each key of a definition', () => {
  const docs = readFileSync(new URL('../../../docs/templates.md', import.meta.url), 'utf8')
  const [, section = ''] = docs.split('\n## All keys\n')
  const found = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  const schema = z.toJSONSchema(Definition, { io: 'input', reused: 'inline' }) as Schema
  expect(found).toEqual([...new Set(rowsOf(schema, ''))])
})
