import { z } from 'zod'
import { contract } from './contract/contract.ts'
import { Definition } from './contract/definition.ts'
import { PassCreate } from './contract/passes.ts'
import { ErrorBody, ErrorBodyWithoutCode, type ErrorCode, errorTable } from './errors.ts'
import type { Route } from './route.ts'

/** The description of the interface (OpenAPI 3.1), made from the contract that the server enforces. */
export function openApiDocument() {
  return {
    openapi: '3.1.0',
    info: { title: 'passes', version: '0.3.0', description: DESCRIPTION },
    security: [{ bearer: [] }, { apiKey: [] }],
    paths: paths(),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
      schemas: {
        Error: toSchema(ErrorBody, 'output'),
        ErrorWithoutCode: toSchema(ErrorBodyWithoutCode, 'output'),
        PassCreate: toSchema(PassCreate, 'input'),
        Definition: toSchema(Definition, 'input'),
      },
    },
  }
}

const DESCRIPTION = [
  'Issues Apple Wallet and Google Wallet passes and looks after them.',
  '',
  '| errorCode | status | meaning |',
  '|---|---|---|',
  ...Object.entries(errorTable).map(([code, [status, meaning]]) => `| ${code} | ${status} | ${meaning} |`),
].join('\n')

/** Codes that any endpoint may answer. */
const COMMON: ErrorCode[] = [
  ...(['UNAUTHORIZED', 'TOKEN_INVALID', 'TOKEN_EXPIRED', 'FORBIDDEN', 'TENANT_SUSPENDED', 'TENANT_EXPIRED'] as const),
  ...(['VALIDATION_ERROR', 'INVALID_FORMAT', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'] as const),
]

function paths() {
  const result: Record<string, Record<string, unknown>> = {}
  for (const [resource, operations] of Object.entries(contract)) {
    for (const [operation, route] of Object.entries(operations) as [string, Route][]) {
      result[route.path] = { ...result[route.path], [route.method.toLowerCase()]: describe(resource, operation, route) }
    }
  }
  return result
}

function describe(resource: string, operation: string, route: Route) {
  return {
    operationId: `${resource}.${operation}`,
    tags: [resource],
    summary: route.summary,
    ...(route.description && { description: route.description }),
    ...(route.scope && { 'x-scope': route.scope }),
    ...(route.role && { 'x-role': route.role }),
    ...(route.idempotent && { 'x-idempotent': true }),
    parameters: [
      ...parameters(route.params, 'path'),
      ...parameters(route.query, 'query'),
      ...parameters(route.headers, 'header'),
    ],
    ...requestBody(route),
    responses: { ...successes(route), ...failures(route) },
  }
}

function parameters(schema: z.ZodObject | undefined, where: 'path' | 'query' | 'header') {
  return Object.entries(schema?.shape ?? {}).map(([name, value]) => {
    const { deprecated, ...json } = toSchema(value as z.ZodType, 'output') as { deprecated?: boolean }
    return {
      name,
      in: where,
      required: where === 'path' || !(value as z.ZodType).safeParse(undefined).success,
      ...(deprecated && { deprecated }),
      schema: json,
    }
  })
}

function requestBody({ body, rawBody }: Route) {
  if (rawBody) {
    return {
      requestBody: { required: true, content: Object.fromEntries(rawBody.contentTypes.map((type) => [type, {}])) },
    }
  }
  if (!body) return {}
  const required = !body.safeParse(undefined).success
  return { requestBody: { required, content: { 'application/json': { schema: toSchema(body, 'input') } } } }
}

function successes(route: Route) {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, schema]) => [
      status,
      schema
        ? {
            description: 'Success',
            content: {
              'application/json': { schema: toSchema(schema, 'output') },
              ...Object.fromEntries((route.files ?? []).map((type) => [type, {}])),
            },
          }
        : { description: 'Done; no content' },
    ]),
  )
}

function failures(route: Route) {
  const codes = new Set<ErrorCode>([
    ...COMMON,
    ...(route.errors ?? []),
    ...(route.params ? (['NOT_FOUND'] as const) : []),
    ...(route.body ? (['INVALID_FORMAT'] as const) : []),
  ])
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of codes) {
    const status = errorTable[code][0]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  // A body that is too large, or of another type than the route takes.
  if (route.body || route.rawBody) for (const status of [413, 415]) byStatus.set(status, ['INVALID_INPUT'])
  const $ref = `#/components/schemas/${route.errorsWithoutCode ? 'ErrorWithoutCode' : 'Error'}`
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: group.join(', '),
        content: { 'application/json': { schema: { $ref } } },
      },
    ]),
  )
}

function toSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // A batch item is parsed by itself; what it must look like is a single create.
      if (jsonSchema.itemSchema) {
        Object.assign(jsonSchema, { $ref: `#/components/schemas/${jsonSchema.itemSchema}` })
        delete jsonSchema.itemSchema
      }
      delete jsonSchema.repeatable
    },
  })
  return json
}
