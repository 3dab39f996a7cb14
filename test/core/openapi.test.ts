import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { ErrorBody, ErrorCode } from '../../src/core/contract/schemas/common.ts'
import { errorTable } from '../../src/core/errors.ts'
import { openApiDocument } from '../../src/core/openapi/document.ts'
import { examples } from '../../src/core/openapi/examples.ts'
import { maxBodyBytesOf } from '../../src/core/route.ts'
import { allRoutes } from '../support/conformance.ts'

interface Operation {
  operationId: string
  summary: string
  tags: string[]
  description: string
  security?: object[]
  parameters: { name: string; in: string; required: boolean; deprecated?: boolean; schema: object }[]
  requestBody?: {
    description: string
    'x-max-bytes': number
    required: boolean
    content: Record<string, { schema?: object; example?: unknown }>
  }
  responses: Record<string, { description: string; content?: Record<string, { schema?: object }> }>
  'x-scope'?: string
}

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
  expect(schemaOf('limit')).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
  expect(schemaOf('redeemed')).toEqual({ type: 'array', items: { type: 'boolean' }, maxItems: 20 })
  expect(schemaOf('search')).toMatchObject({ items: { type: 'string' }, maxItems: 5 })
  expect(schemaOf('variable')).toMatchObject({ items: { type: 'string', pattern: '^[^:]+:' }, maxItems: 5 })
  expect(schemaOf('revision')).toMatchObject({ items: { type: 'string', pattern: '^(?:gte:|lte:)?\\d{1,16}$' } })
})

test('each operation belongs to a described resource and lists the scopes that the token needs', () => {
  const told = document.tags.map(({ name }) => name)
  for (const { operation } of operations) {
    expect(told, operation.operationId).toContain(operation.tags[0])
    const scope = operation['x-scope']
    const isPublic = operation.operationId === 'doors.claim'
    const without = isPublic ? 'Requires no token.' : 'Accepts any valid token.'
    expect(operation.description).toContain(scope ? `Requires the scope \`${scope}\`` : without)
    const withoutScope = isPublic ? [] : undefined
    expect(operation.security).toEqual(scope ? [{ bearer: [scope] }, { apiKey: [scope] }] : withoutScope)
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
  expect(JSON.stringify(document).length).toBeLessThan(660_000)
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

test('contains no trace of how it was generated', () => {
  expect(JSON.stringify(document)).not.toMatch(/itemSchema|"repeatable"|describedAs|~standard/)
})
