import type { z } from 'zod'
import { type Contract, contract } from '../contract/contract.ts'
import { requestEntities } from '../contract/entities.ts'
import { Pass, UpdatedPass } from '../contract/passes.ts'
import { ErrorBody, ErrorBodyWithoutCode } from '../contract/schemas/common.ts'
import { type ErrorCode, errorTable } from '../errors.ts'
import { groupBy } from '../group-by.ts'
import { maxBodyBytesOf, type Route } from '../route.ts'
import { codeSamples, commandSamples, errorDetails, examples, type SampleRequest } from './examples.ts'
import answers from './response-examples.json' with { type: 'json' }
import { components, toSchema } from './schemas.ts'
import { DESCRIPTION, tags } from './text.ts'
import { describeWebhooks } from './webhooks.ts'

/** Cached, because it takes half a second to describe all routes. */
const described = new Map<Route, ReturnType<typeof describe>>()

/** Describes all routes, one per step. Between the steps, a server can do other work. */
export function* describeRoutes(): Generator<void> {
  for (const [resource, operations] of Object.entries(contract)) {
    for (const [operation, route] of Object.entries(operations) as [string, Route][]) {
      if (described.has(route)) continue
      described.set(route, describe(resource as keyof Contract, operation, route))
      yield
    }
  }
}

export const info = {
  title: 'passes',
  version: '0.3.0',
  description: DESCRIPTION,
  contact: { name: 'The operator of this server' },
  license: { name: 'MIT', identifier: 'MIT' },
}

/** Returns the API description (OpenAPI 3.1). It is generated from the contract that the server enforces. */
export function openApiDocument() {
  return {
    openapi: '3.1.0',
    info,
    // The URL is relative to this document. An absolute path would be wrong behind a proxy that adds a path.
    servers: [{ url: '.', description: 'This server' }],
    tags: Object.values(tags),
    security: [{ bearer: [] }, { apiKey: [] }],
    paths: paths(),
    webhooks: describeWebhooks(),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An access token, `psk_…`.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An access token, `psk_…`.' },
      },
      headers: {
        CorrelationId: {
          description: 'The ID of the request, which its jobs, deliveries, and log lines also have.',
          schema: { type: 'string' },
        },
        Revision: { description: 'The revision of the pass, for If-Match.', schema: { type: 'string' } },
        RetryAfter: {
          description: 'The number of seconds to wait before the next attempt.',
          schema: { type: 'integer' },
        },
      },
      examples: errorExamples(),
      schemas: schemas(),
    },
  }
}

/** Call this function after all routes are described, because each description adds schemas. */
function schemas() {
  for (const schema of Object.values(requestEntities)) toSchema(schema, 'input')
  return Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The error codes that any endpoint can return. */
const COMMON: ErrorCode[] = [
  'UNAUTHORIZED',
  'TOKEN_INVALID',
  'TOKEN_EXPIRED',
  'FORBIDDEN',
  'TENANT_SUSPENDED',
  'TENANT_EXPIRED',
  'VALIDATION_ERROR',
  'INVALID_FORMAT',
  'RATE_LIMITED',
  'TOO_MANY_REQUESTS',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
]

function paths() {
  for (const _ of describeRoutes());
  const result: Record<string, Record<string, unknown>> = {}
  for (const [route, description] of described) {
    result[route.path] = { ...result[route.path], [route.method.toLowerCase()]: description }
  }
  return result
}

function describe(resource: keyof Contract, operation: string, route: Route) {
  const operationId = `${resource}.${operation}`
  const { request } = answersOf(resource, operation) as { request?: SampleRequest }
  const body = exampleOf(resource, operation) ?? request?.body
  const command = commandSamples[operationId as keyof typeof commandSamples]
  return {
    operationId,
    tags: [tags[resource].name],
    summary: route.summary,
    description: [route.description, access(route)].filter(Boolean).join('\n\n'),
    ...(route.scope && { 'x-scope': route.scope }),
    ...(route.isPublic && { security: [] }),
    'x-role': route.role,
    'x-idempotent': route.idempotent,
    parameters: [
      ...parameters(route.params, 'path'),
      ...parameters(route.query, 'query'),
      ...parameters(route.headers, 'header'),
    ],
    ...requestBody(route, body),
    responses: { ...successes(route, answersOf(resource, operation)), ...failures(route) },
    'x-codeSamples': codeSamples(operationId, route, { ...request, body }, command),
  }
}

/** Returns the required permissions as a sentence, because not every API viewer shows the scopes of a bearer token. */
function access({ scope, role, isPublic }: Route): string {
  if (isPublic) return 'Requires no token.'
  const needed = scope ? `Requires the scope \`${scope}\`` : 'Accepts any valid token'
  return role ? `${needed}, and the role ${role}.` : `${needed}.`
}

function exampleOf(resource: keyof Contract, operation: string): unknown {
  return (examples[resource] as Record<string, unknown> | undefined)?.[operation]
}

function answersOf(resource: keyof Contract, operation: string): Partial<Record<string, unknown>> {
  return (answers as Record<string, Record<string, unknown>>)[`${resource}.${operation}`] ?? {}
}

function parameters(schema: z.ZodObject | undefined, where: 'path' | 'query' | 'header') {
  return Object.entries(schema?.shape ?? {}).map(([name, value]) => {
    const { deprecated, description, example, ...json } = toSchema(value as z.ZodType, 'input')
    const { success: isOptional, data: fallback } = (value as z.ZodType).safeParse(undefined)
    const examples = example !== undefined && [json.type === 'array' ? [example] : example]
    return {
      name,
      in: where,
      required: where === 'path' || !isOptional,
      ...(deprecated === true && { deprecated }),
      ...(typeof description === 'string' && { description }),
      schema: { ...json, ...(fallback !== undefined && { default: fallback }), ...(examples && { examples }) },
    }
  })
}

const FILE = { type: 'string', format: 'binary' }

const KIB = 1024
const MIB = KIB * KIB

function requestBody(route: Route, example: unknown) {
  const { body, rawBody } = route
  const size = maxBodyBytesOf(route)
  const description = size < MIB ? `At most ${size / KIB} KiB.` : `At most ${size / MIB} MiB.`
  if (rawBody) {
    const content = Object.fromEntries(rawBody.contentTypes.map((type) => [type, { schema: FILE }]))
    return { requestBody: { description, 'x-max-bytes': size, required: true, content } }
  }
  if (!body) return {}
  const required = !body.safeParse(undefined).success
  const content = { schema: toSchema(body, 'input'), ...withExample(example) }
  return {
    requestBody: { description, 'x-max-bytes': size, required, content: { 'application/json': content } },
  }
}

function withExample(example: unknown) {
  return example === undefined ? {} : { example }
}

/** Returns the content type of a success response. For an event stream, the schema describes one event. */
function contentTypeOf({ eventStream }: Route): string {
  return eventStream ? 'text/event-stream' : 'application/json'
}

const CORRELATION = { 'X-Correlation-Id': { $ref: '#/components/headers/CorrelationId' } }
const RETRY_AFTER = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
const PASSES: (z.ZodType | null)[] = [Pass, UpdatedPass]
const SUCCESSES: Record<string, string> = { 201: 'Created', 202: 'Queued' }

function successes(route: Route, examples: Partial<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, schema]) => [
      status,
      schema
        ? {
            description: SUCCESSES[status] ?? 'Success',
            headers: {
              ...CORRELATION,
              ...(PASSES.includes(schema) && { ETag: { $ref: '#/components/headers/Revision' } }),
            },
            content: {
              [contentTypeOf(route)]: {
                schema: toSchema(schema, 'output'),
                ...withExample(examples[status]),
              },
              ...Object.fromEntries(
                (route.files ?? []).map((type) => [type, { schema: type === 'text/html' ? { type: 'string' } : FILE }]),
              ),
            },
          }
        : { description: 'Success, without content', headers: CORRELATION },
    ]),
  )
}

function failures(route: Route) {
  const codes = new Set<ErrorCode>([
    ...COMMON,
    ...(route.errors ?? []),
    ...(route.params ? (['NOT_FOUND'] as const) : []),
  ])
  const byStatus = groupBy<ErrorCode, number>(codes, (code) => errorTable[code][0])
  // A body can be too large (413) or have an unsupported type (415).
  if (route.body || route.rawBody) for (const status of [413, 415]) byStatus.set(status, ['INVALID_INPUT'])
  const schema = toSchema(route.errorsWithoutCode ? ErrorBodyWithoutCode : ErrorBody, 'output')
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: group.join(', '),
        headers: { ...CORRELATION, ...((status === 429 || status === 503) && RETRY_AFTER) },
        content: { 'application/json': { schema, ...errorExamplesOf(route, group) } },
      },
    ]),
  )
}

function ownErrors(route: Route): readonly ErrorCode[] {
  return route.errorsWithoutCode ? [] : (route.errors ?? [])
}

function errorExamplesOf(route: Route, group: ErrorCode[]) {
  const own = ownErrors(route).filter((code) => group.includes(code))
  if (own.length === 0) return {}
  return { examples: Object.fromEntries(own.map((code) => [code, { $ref: `#/components/examples/${code}` }])) }
}

function errorExamples() {
  const routes = Object.values(contract).flatMap((operations): Route[] => Object.values(operations))
  const codes = [...new Set(routes.flatMap(ownErrors))].sort()
  return Object.fromEntries(codes.map((errorCode) => [errorCode, { value: errorExample(errorCode) }]))
}

export function errorExample(errorCode: ErrorCode): ErrorBody {
  const [, message] = errorTable[errorCode]
  return {
    errorCode,
    message,
    correlationId: '01985f0c-7d04-7a6b-9c35-1b2d3e4f5a06',
    details: { ...errorDetails[errorCode] },
  }
}
