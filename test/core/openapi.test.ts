import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { entities, eventBodies, requestEntities } from '../../src/core/contract/entities.ts'
import { Pass } from '../../src/core/contract/passes.ts'
import { ErrorBody, ErrorCode } from '../../src/core/contract/schemas/common.ts'
import type { EventType } from '../../src/core/contract/webhooks/event-data.ts'
import { errorTable } from '../../src/core/errors.ts'
import { eventTypes } from '../../src/core/events.ts'
import { openApiDocument } from '../../src/core/openapi/document.ts'
import { examples } from '../../src/core/openapi/examples.ts'
import { withSharedParts } from '../../src/core/openapi/shared-parts.ts'
import { maxBodyBytesOf } from '../../src/core/route.ts'
import { allRoutes } from '../support/conformance.ts'

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  deprecated?: boolean
  description?: string
  schema: { examples?: unknown[] }
}

interface Operation {
  operationId: string
  summary: string
  tags: string[]
  description: string
  security?: object[]
  parameters: Parameter[]
  requestBody?: {
    description: string
    'x-max-bytes': number
    required: boolean
    content: Record<string, { schema?: object; example?: unknown }>
  }
  responses: Record<string, { description: string; content?: Record<string, { schema?: object }> }>
  'x-scope'?: string
}

/** A response with at most this number of properties has no name, such as the response to a void. */
const MAX_UNNAMED_PROPERTIES = 3

const withExamples = Object.entries(examples).flatMap(([resource, byOperation]) =>
  Object.keys(byOperation).map((operation) => `${resource}.${operation}`),
)

// Convert the document to JSON and back, as readers receive it.
const document = JSON.parse(JSON.stringify(openApiDocument())) as ReturnType<typeof openApiDocument> & {
  paths: Record<string, Record<string, Operation>>
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

test('the document has a title and a version', () => {
  expect(document.openapi).toMatch(/^3\.1\./)
  expect(document.info).toMatchObject({ title: expect.any(String), version: '0.3.0' })
  expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer', 'apiKey'])
})

test('contains every route of the contract, and nothing else', () => {
  const inContract = allRoutes.map(({ route }) => `${route.method} ${route.path}`)
  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(inContract.sort())
})

test.each(allRoutes)('the description of $name is complete', ({ name, route }) => {
  const operation = document.paths[route.path]![route.method.toLowerCase()]!
  expect(operation).toMatchObject({ operationId: name, summary: expect.stringMatching(/^[A-Z]/) })
  expect(operation['x-scope'] ?? null).toBe(route.scope)
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path')
  expect(inPath.map((parameter) => `{${parameter.name}}`)).toEqual(route.path.match(/\{\w+\}/g) ?? [])
  expect(inPath.every(({ required }) => required)).toBe(true)
  const inQuery = operation.parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => parameter.name)
  expect(inQuery.sort()).toEqual(Object.keys(route.query?.shape ?? {}).sort())
  expect(Boolean(operation.requestBody)).toBe(Boolean(route.body || route.rawBody))
  if (operation.requestBody) expect(operation.requestBody['x-max-bytes']).toBe(maxBodyBytesOf(route))
  const successes = Object.keys(operation.responses).filter((status) => status < '300')
  expect(successes).toEqual(Object.keys(route.responses))
  for (const [status, response] of Object.entries(operation.responses)) {
    if (status < '300') continue
    const schema = response.content?.['application/json']?.schema
    const name = route.errorsWithoutCode ? 'ErrorWithoutCode' : 'Error'
    expect(schema, status).toEqual({ $ref: `#/components/schemas/${name}` })
    for (const code of response.description.split(', ')) expect(ErrorCode.options, status).toContain(code)
  }
})

test('shared errors and parameters are the same as those of each endpoint', () => {
  const published = JSON.parse(JSON.stringify(withSharedParts(openApiDocument()))) as typeof document
  const { parameters, responses } = published.components as unknown as Record<string, Record<string, object>>
  const text = JSON.stringify(published.paths)
  expect(text).toContain('"#/components/responses/Error401"')
  expect(text).toContain('"#/components/parameters/Limit"')
  const whole = text.replaceAll(/\{"\$ref":"#\/components\/(parameters|responses)\/(\w+)"\}/g, (_, kind, name) =>
    JSON.stringify({ parameters, responses }[kind as 'parameters']![name]),
  )
  expect(JSON.parse(whole)).toEqual(document.paths)
})

test('every reference leads to a place in the document', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
  expect(references).toContain('#/components/schemas/PassCreate')
  for (const reference of new Set(references)) {
    expect(reference).toMatch(/^#\//)
    const steps = reference.slice(2).split('/')
    const place = steps.reduce<unknown>(
      (value, step) => (value as Record<string, unknown> | undefined)?.[step],
      document,
    )
    expect(place, reference).toBeTypeOf('object')
  }
})

test('every schema in it is a JSON Schema', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const check = (where: string, schema: object) => {
    // Remove references, because they refer to the document and not to this schema. The referenced schemas are checked
    // separately.
    const alone = JSON.parse(JSON.stringify(schema).replaceAll(/"\$ref":"#[^"]*"/g, '"title":"elsewhere"'))
    expect(ajv.validateSchema(alone), `${where}: ${JSON.stringify(ajv.errors)}`).toBe(true)
    expect(() => ajv.compile(alone), where).not.toThrow()
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) check(name, schema)
  for (const { operation } of operations) {
    for (const { name, schema } of operation.parameters) check(`${operation.operationId} ${name}`, schema)
    const contents = [operation.requestBody, ...Object.values(operation.responses)].map((part) => part?.content)
    for (const content of contents) {
      const schema = content?.['application/json']?.schema
      if (schema) check(operation.operationId, schema)
    }
  }
})

test('each parameter has a schema', () => {
  for (const { operation } of operations) {
    for (const { name, schema } of operation.parameters) {
      expect(JSON.stringify(schema), `${operation.operationId} ${name}`).toMatch(/"(type|anyOf|const|\$ref)"/)
      expect(JSON.stringify(schema), `${operation.operationId} ${name}`).not.toContain('{}')
    }
  }
  const { parameters } = document.paths['/v1/passes']!.get!
  const schemaOf = (name: string) => parameters.find((parameter) => parameter.name === name)!.schema
  expect(schemaOf('limit')).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20, examples: [50] })
  expect(schemaOf('redeemed')).toEqual({ type: 'array', items: { type: 'boolean' }, maxItems: 20, examples: [[false]] })
  expect(schemaOf('search')).toMatchObject({ items: { type: 'string' }, maxItems: 5 })
  expect(schemaOf('variable')).toMatchObject({ items: { type: 'string', pattern: '^[^:]+:' }, maxItems: 5 })
  expect(schemaOf('revision')).toMatchObject({ items: { type: 'string', pattern: '^(?:gte:|lte:)?\\d{1,16}$' } })
})

test('each parameter has a description, and each filter an example that the server accepts', () => {
  for (const { name, route } of allRoutes) {
    for (const parameter of document.paths[route.path]![route.method.toLowerCase()]!.parameters) {
      const { in: place, description, schema } = parameter
      const where = `${name} ${parameter.name}`
      expect(description, where).toMatch(/^[A-Z`].*\.$/)
      if (place === 'path' || parameter.name === 'cursor') continue
      const shape = (place === 'query' ? route.query : route.headers)!.shape as Record<string, z.ZodType>
      const [example] = schema.examples ?? []
      expect(example, where).toBeDefined()
      expect(shape[parameter.name]!.safeParse(example).error, where).toBeUndefined()
    }
  }
  const [id] = document.paths['/v1/template-versions/{id}']!.get!.parameters
  expect(id!.description).toBe('The ID of the template version.')
})

test('each entity is a component, and responses refer to entities', () => {
  const names = Object.keys(document.components.schemas)
  expect(names).toEqual(expect.arrayContaining([...Object.keys(entities), ...Object.keys(requestEntities)]))
  const pasted = operations.flatMap(({ operation }) =>
    Object.values(operation.responses).flatMap(({ content = {} }) =>
      Object.values(content).flatMap(({ schema }) =>
        'properties' in schema! && Object.keys(schema.properties as object).length > MAX_UNNAMED_PROPERTIES
          ? [operation.operationId]
          : [],
      ),
    ),
  )
  expect(pasted).toEqual([])
})

test('responses allow properties that later versions add', () => {
  const inRequests = /Input$/
  const ofResponses = Object.entries(document.components.schemas).filter(
    ([name]) => !inRequests.test(name) && !(name in requestEntities),
  )
  const responses = [...operations.map(({ operation }) => operation.responses), Object.fromEntries(ofResponses)]
  for (const response of responses) expect(JSON.stringify(response)).not.toContain('"additionalProperties":false')
  expect(JSON.stringify(document.components.schemas.RedemptionPolicyInput)).toContain('"additionalProperties":false')
})

test('a window in a response can lack seconds, so it has no format date-time', () => {
  const { properties } = document.components.schemas.RedemptionPolicy as { properties: { windows: object } }
  expect(JSON.stringify(properties.windows)).not.toContain('date-time')
  expect(Pass.shape.redemption.parse({ windows: [{ start: '2027-05-20T06:00Z' }] })).toBeTruthy()
})

test('each file in a body has a schema', () => {
  const bodies = operations.flatMap(({ operation }) => [operation.requestBody, ...Object.values(operation.responses)])
  const contents = bodies.flatMap((body) => Object.entries(body?.content ?? {}))
  const files = contents.filter(([type]) => /^(image|application\/vnd)/.test(type))
  expect(files.length).toBeGreaterThan(2)
  for (const [type, { schema }] of files) expect(schema, type).toEqual({ type: 'string', format: 'binary' })
  for (const [type, { schema }] of contents) expect(schema, type).toBeDefined()
})

test('describes the request for each event, with an example that fits', () => {
  expect(Object.keys(document.webhooks).sort()).toEqual([...eventTypes].sort())
  for (const [type, { post }] of Object.entries(document.webhooks)) {
    const { schema, example } = post.requestBody.content['application/json']
    expect(schema.$ref, type).toMatch(/^#\/components\/schemas\/\w+Event$/)
    expect(eventBodies.get(type as EventType)!.safeParse(example).error, type).toBeUndefined()
  }
})

test('each operation belongs to a described resource and lists the scopes that the token needs', () => {
  const told = document.tags.map(({ name }) => name)
  for (const { operation } of operations) {
    expect(told, operation.operationId).toContain(operation.tags[0])
    const scope = operation['x-scope']
    const isPublic = operation.operationId === 'doors.claim'
    const without = isPublic ? 'Requires no token.' : 'Accepts any valid token.'
    expect(operation.description).toContain(scope ? `Requires the scope \`${scope}\`` : without)
    expect(operation.security).toEqual(isPublic ? [] : undefined)
  }
})

test.each(allRoutes)('$name accepts its example', ({ name, route }) => {
  const content = document.paths[route.path]![route.method.toLowerCase()]!.requestBody?.content['application/json']
  if (content?.example === undefined) return expect(withExamples).not.toContain(name)
  expect(route.body!.safeParse(content.example).error).toBeUndefined()
})

test('the errors that are an endpoint’s own have an example, which fits', () => {
  const shown = new Set<string>()
  for (const { name, route } of allRoutes) {
    const { responses } = document.paths[route.path]![route.method.toLowerCase()]!
    for (const code of route.errorsWithoutCode ? [] : (route.errors ?? [])) {
      const content = responses[errorTable[code][0]]!.content!['application/json'] as { examples?: object }
      expect(content.examples, name).toMatchObject({ [code]: { $ref: `#/components/examples/${code}` } })
      shown.add(code)
    }
  }
  const { examples } = document.components
  expect(Object.keys(examples)).toEqual([...shown].sort())
  for (const [code, { value }] of Object.entries(examples)) {
    expect(ErrorBody.parse(value)).toMatchObject({ errorCode: code, message: errorTable[code as ErrorCode][1] })
  }
})

test('the document stays below its size limit', () => {
  expect(JSON.stringify(withSharedParts(openApiDocument())).length).toBeLessThan(460_000)
})

test('marks deprecated parts: the offset of every list, and the version of a pass', () => {
  for (const { operation } of operations) {
    for (const parameter of operation.parameters) {
      expect(parameter.deprecated ?? false, operation.operationId).toBe(parameter.name === 'offset')
    }
  }
  const { properties } = document.components.schemas.Pass as { properties: Record<string, { deprecated?: boolean }> }
  const deprecated = Object.keys(properties).filter((name) => properties[name]!.deprecated)
  expect(deprecated).toEqual(['version'])
})

test('a table explains each error code, and lists reserved ones', () => {
  for (const [code, [status, meaning]] of Object.entries(errorTable)) {
    expect(document.info.description).toContain(`| ${code} | ${status} | ${meaning} |`)
  }
})

test('every pattern compiles in JavaScript without a flag, and has only syntax of RE2', () => {
  const patterns = new Set(
    [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, text]) => JSON.parse(text!)),
  )
  expect(patterns.size).toBeGreaterThan(10)
  for (const pattern of patterns) {
    for (const flags of ['', 'u']) expect(() => new RegExp(pattern, flags), `${pattern} with ${flags}`).not.toThrow()
    // RE2 has neither lookaround nor backreferences, and repeats at most 1,000 times.
    expect(pattern).not.toMatch(/\(\?<?[=!]|\\[1-9kpPuc]/)
    for (const [, most] of pattern.matchAll(/\{\d*,?(\d+)\}/g)) expect(Number(most), pattern).toBeLessThanOrEqual(1000)
  }
})

test('contains no trace of how it was generated', () => {
  expect(JSON.stringify(document)).not.toMatch(/itemSchema|"repeatable"|describedAs|~standard/)
})
