import { components } from '../../../core/openapi/schemas.ts'
import { escapeHtml } from '../html.ts'
import { inline, link } from './docs-page.ts'

export interface Schema {
  type?: string | string[]
  format?: string
  enum?: unknown[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  description?: string
  default?: unknown
  examples?: unknown[]
  $ref?: string
}

export interface Field {
  name: string
  /** The place of a parameter: path, query, or header. */
  in?: string
  required: boolean
  description?: string
  deprecated?: boolean
  schema: Schema
}

/** Returns the fields of an object, or nothing for other types. */
export function fieldsOf(schema: Schema = {}): Field[] {
  const { properties = {}, required = [] } = schema.$ref ? (components.get(nameOf(schema.$ref)) as Schema) : schema
  return Object.entries(properties).map(([name, property]) => ({
    name,
    required: required.includes(name),
    schema: property,
  }))
}

/** @param objects the address of the page of objects */
export function fieldList(fields: Field[], objects: string): string {
  const rows = fields.map((field) => {
    const { name, description, schema, deprecated } = field
    // A parameter is repeated for each value of a list.
    const isRepeatable = field.in === 'query' && schema.items !== undefined
    const facts = [
      field.in ?? '',
      typeOf(isRepeatable ? schema.items! : schema, objects),
      isRepeatable ? 'repeatable' : '',
      field.required ? 'required' : '',
      deprecated ? 'deprecated' : '',
      schema.default === undefined ? '' : `default ${escapeHtml(JSON.stringify(schema.default))}`,
    ]
    const text = [inline(description ?? schema.description ?? ''), exampleOf(field, isRepeatable)].filter(Boolean)
    return `<dt><code>${escapeHtml(name)}</code> <span>${facts.filter(Boolean).join(', ')}</span></dt><dd>${text.join(' ')}</dd>`
  })
  return `<dl>${rows.join('')}</dl>`
}

function exampleOf({ name, in: place, schema }: Field, isRepeatable: boolean): string {
  const [example] = schema.examples ?? []
  if (example === undefined) return ''
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  const value = isRepeatable ? (example as unknown[]).map((item) => `${name}=${text(item)}`).join('&') : text(example)
  return `Example: <code>${escapeHtml(place === 'query' && !isRepeatable ? `${name}=${value}` : value)}</code>`
}

/** Returns the type of a value as HTML. Named objects are links. */
export function typeOf(schema: Schema, objects: string): string {
  if (schema.$ref) return link(`${objects}#${nameOf(schema.$ref)}`, nameOf(schema.$ref))
  if (schema.enum) return escapeHtml(schema.enum.map(String).join(' | '))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, objects)))].join(' or ')
  if (schema.items) return `array of ${typeOf(schema.items, objects)}`
  return escapeHtml(schema.format ?? [schema.type ?? 'any'].flat().join(' or '))
}

function nameOf($ref: string): string {
  return $ref.split('/').at(-1)!
}
