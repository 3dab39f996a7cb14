import { z } from 'zod'
import { entities, requestEntities } from '../contract/entities.ts'

/** The direction of a schema. Only requests reject unknown properties, so an object has one schema per direction. */
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

/** Gives each named schema an `id`. Without it, zod would repeat the schema instead of referring to it. */
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

export const components = new Map<string, JsonSchema>()

/** Converts a schema to JSON Schema. Replaces the named schemas in it by references, and adds them to `components`. */
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

/** Adapts the output of zod to tools that read OpenAPI. Applies and removes our metadata, such as `describedAs`. */
function adapt(schema: z.core.$ZodType, json: z.core.JSONSchema.BaseSchema, direction: Direction): void {
  // Batch items are declared as `unknown`, because each is parsed separately. Refer to the schema that parses them.
  if (json.itemSchema) json.$ref = `${PREFIX}${json.itemSchema}`
  // The schema of a query parameter accepts both a text and the parsed value. Describe only the parsed value.
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

/** Removes the escapes of slashes. Otherwise, generators that write patterns as /…/ would escape slashes twice. */
function withoutEscapedSlashes(pattern: string): string {
  return pattern.replaceAll(/\\(.)/g, (escaped, character) => (character === '/' ? '/' : escaped))
}

/** Removes bounds that responses of a later version could exceed, and patterns that the format already implies. */
function relax(json: z.core.JSONSchema.BaseSchema): void {
  if (json.additionalProperties === false) delete json.additionalProperties
  if (json.format !== undefined) delete json.pattern
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
}

/** Sets `required` and `default`. For a preprocessed property, zod itself would set neither of them. */
function requireWithoutDefault(schema: z.ZodObject, json: z.core.JSONSchema.BaseSchema): void {
  const required = Object.entries(schema.shape).flatMap(([name, property]) => {
    const { success, data } = (property as z.ZodType).safeParse(undefined)
    const described = json.properties?.[name]
    if (data !== undefined && typeof described === 'object') described.default ??= data as z.core.util.JSONType
    return success ? [] : [name]
  })
  if (required.length > 0) json.required = required
}
