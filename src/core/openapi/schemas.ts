import { z } from 'zod'
import { entities, requestEntities } from '../contract/entities.ts'

/** Requests reject unknown properties and responses can get new ones, so an object has a schema for each direction. */
type Direction = 'input' | 'output'

type JsonSchema = Record<string, unknown>

const PREFIX = '#/components/schemas/'

const entityNames = namesOf(entities)
const requestNames = namesOf(requestEntities)

function namesOf(named: Record<string, z.ZodType>): Map<z.core.$ZodType, string> {
  return new Map(Object.entries(named).map(([name, schema]) => [schema, name]))
}

function nameOf(schema: z.core.$ZodType, direction: Direction): string | undefined {
  const name = entityNames.get(schema)
  if (name === undefined) return requestNames.get(schema)
  return direction === 'output' || schema instanceof z.ZodEnum ? name : `${name}Input`
}

/** Gives named schemas an `id`, so that zod refers to them instead of repeating them. */
class NamedMetadata extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  private readonly direction: Direction

  constructor(direction: Direction) {
    super()
    this.direction = direction
  }

  override get(schema: z.core.$ZodType) {
    const id = nameOf(schema, this.direction)
    const known = z.globalRegistry.get(schema)
    return id === undefined ? known : { ...known, id }
  }
}

const metadata = { input: new NamedMetadata('input'), output: new NamedMetadata('output') }

/** The named schemas that the converted schemas refer to. */
export const components = new Map<string, JsonSchema>()

/** Returns a schema as JSON Schema. Adds the named schemas in it to `components`, and refers to them. */
export function toSchema(schema: z.ZodType, direction: Direction): JsonSchema {
  const name = nameOf(schema, direction)
  if (name !== undefined && components.has(name)) return { $ref: PREFIX + name }
  const {
    $schema: _,
    $defs = {},
    ...json
  } = z.toJSONSchema(schema, {
    io: direction,
    metadata: metadata[direction],
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => adapt(zodSchema, jsonSchema, direction),
  })
  for (const [id, definition] of Object.entries($defs)) components.set(id, withComponents(definition))
  return withComponents(json)
}

function withComponents(json: object): JsonSchema {
  return JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', `"${PREFIX}`))
}

/**
 * Adapts the output of zod to tools that read OpenAPI. Applies the metadata that overrides the output, such as
 * `describedAs`, and then removes this metadata.
 */
function adapt(schema: z.core.$ZodType, json: z.core.JSONSchema.BaseSchema, direction: Direction): void {
  // A batch item is parsed separately, so refer to the schema of a single create.
  if (json.itemSchema) json.$ref = `${PREFIX}${json.itemSchema}`
  // The schema accepts a parameter as text or as a value. Describe only the value.
  if (json.describedAs) {
    delete json.anyOf
    delete json.enum
    Object.assign(json, json.describedAs)
  }
  for (const key of ['itemSchema', 'describedAs', 'repeatable']) delete json[key]
  if ('const' in json) {
    json.enum = [json.const ?? null]
    delete json.const
  }
  if (json.pattern) json.pattern = withoutEscapedSlashes(json.pattern)
  if (direction === 'output') relax(json)
  else if (schema instanceof z.ZodObject) requireWithoutDefault(schema, json)
}

/**
 * Removes the escapes of slashes, because some generators write a pattern between slashes and escape its slashes
 * themselves.
 */
function withoutEscapedSlashes(pattern: string): string {
  return pattern.replaceAll(/\\(.)/g, (escaped, character) => (character === '/' ? '/' : escaped))
}

/** Removes bounds that a response of a later version could exceed, and patterns that the format already implies. */
function relax(json: z.core.JSONSchema.BaseSchema): void {
  if (json.additionalProperties === false) delete json.additionalProperties
  if (json.format !== undefined) delete json.pattern
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
}

/** Sets `required` and `default`, because zod describes a preprocessed property as optional and without a default. */
function requireWithoutDefault(schema: z.ZodObject, json: z.core.JSONSchema.BaseSchema): void {
  const required = Object.entries(schema.shape).flatMap(([name, property]) => {
    const { success, data } = (property as z.ZodType).safeParse(undefined)
    const described = json.properties?.[name]
    if (data !== undefined && typeof described === 'object') described.default ??= data as z.core.util.JSONType
    return success ? [] : [name]
  })
  if (required.length > 0) json.required = required
}
