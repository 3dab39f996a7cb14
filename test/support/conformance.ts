import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import { ErrorBody, ErrorBodyWithoutCode } from '../../src/core/contract/schemas/common.ts'
import { type ErrorCode, errorTable } from '../../src/core/errors.ts'
import { openApiDocument } from '../../src/core/openapi/document.ts'
import type { Route } from '../../src/core/route.ts'

/** Every route of the contract, so that tests of all routes include new ones. */
export const allRoutes: { name: string; route: Route }[] = Object.entries(contract).flatMap(([resource, operations]) =>
  Object.entries(operations).map(([operation, route]) => ({ name: `${resource}.${operation}`, route })),
)

/** The response to a request. */
export interface Answer {
  status: number
  headers: Headers
  /** The parsed body if it is JSON, or its text. */
  body: unknown
  text: string
  bytes: Buffer
}

/** Fails the test unless the contract and its published description allow the response. */
export function checkConformance(method: string, path: string, answer: Answer): void {
  const { status, headers, text } = answer
  const what = `${method} ${path} -> ${status} ${text.slice(0, 1000)}`
  holds(/^[A-Za-z0-9._-]{1,128}$/.test(headers.get('x-correlation-id') ?? ''), `${what}: without a correlation id`)
  if (status >= 400) checkError(method, path, answer, what)
  else if (path.startsWith('/v1/')) checkSuccess(method, path, answer, what)
}

function checkSuccess(method: string, path: string, answer: Answer, what: string): void {
  const { status, headers, text } = answer
  const route = routeOf(method, path)
  const schema = route?.responses[status]
  holds(schema !== undefined, `${what}: the contract has no such success`)
  if (!schema) {
    expect(text, what).toBe('')
    return
  }
  const contentType = headers.get('content-type')
  if (route?.files?.includes(contentType?.split(';')[0] ?? '')) return
  if (route?.eventStream) {
    expect(contentType, what).toBe('text/event-stream')
    expect(text, what).toMatch(/^id: [0-9a-f-]{36}\n\n/)
    return
  }
  holds(contentType === 'application/json', `${what}: as ${contentType}`)
  const { success, error } = schema.safeParse(answer.body)
  holds(success, `${what}: ${error?.message}`)
  const isDescribed = describedSuccess(route!, status)
  holds(isDescribed(answer.body), () => `${what}: ${JSON.stringify(isDescribed.errors)}`)
}

/** Does the same as expect(isSo).toBe(true) in a tenth of the time, because every response of every test is checked. */
function holds(isSo: boolean, what: string | (() => string)): void {
  if (!isSo) expect.fail(typeof what === 'string' ? what : what())
}

/** Codes with several statuses. */
const otherStatuses: Partial<Record<keyof typeof errorTable, number[]>> = {
  INVALID_INPUT: [413, 415],
  NOT_FOUND: [405],
}

function checkError(method: string, path: string, { status, headers, body }: Answer, what: string): void {
  expect(status, what).not.toBe(500)
  // Skip pages, which people get if they open a link, and the readiness report, which has its own format.
  if (headers.get('content-type')?.startsWith('text/html') || path === '/readyz') return
  const route = status === 405 ? undefined : routeOf(method, path)
  if (route?.errorsWithoutCode) {
    expect(ErrorBodyWithoutCode.safeParse(body).error?.issues ?? [], what).toEqual([])
    expect(operationOf(route).responses[status], `${what}: not in /openapi.json`).toBeDefined()
    return
  }
  const { data: error, error: misfit } = ErrorBody.safeParse(body)
  expect(misfit?.issues ?? [], what).toEqual([])
  const { errorCode, correlationId } = error!
  expect(correlationId, what).toBe(headers.get('x-correlation-id'))
  expect([errorTable[errorCode][0], ...(otherStatuses[errorCode] ?? [])], what).toContain(status)
  if (status === 401) expect(headers.get('www-authenticate'), what).toBe('Bearer')
  if (status === 405) expect(headers.get('allow'), what).toBeTruthy()
  if (status === 429 || status === 503) expect(headers.get('retry-after'), what).toMatch(/^[1-9]\d*$/)
  // Skip CSRF errors: the description is for tokens, and only sessions of people need a CSRF token.
  if (!route || errorCode === 'CSRF_TOKEN_INVALID') return
  const documented = operationOf(route).responses[status]?.description ?? ''
  expect(documented.split(', '), `${what}: not in /openapi.json`).toContain(errorCode)
}

/** The patterns of all routes. Fixed paths come first, as in the router. */
const patterns = allRoutes
  .map(({ route }) => ({ route, pattern: new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  .toSorted((a, b) => Number(a.route.path.includes('{')) - Number(b.route.path.includes('{')))

/** Returns the route that serves a request. */
function routeOf(method: string, path: string): Route | undefined {
  return patterns.find(({ route, pattern }) => route.method === method && pattern.test(path))?.route
}

interface Operation {
  responses: Record<string, { description: string } | undefined>
}

const document = openApiDocument()

function operationOf(route: Route): Operation {
  return document.paths[route.path]![route.method.toLowerCase()] as Operation
}

/**
 * The options with which a schema compiles in a fifth of the time. The slower checks do not matter, because each runs
 * only a few times.
 */
const fastToCompile = { code: { optimize: false }, inlineRefs: false }
const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true, ...fastToCompile })
ajv.addSchema({ ...document, $id: 'openapi' })
const compiled = new Map<string, ValidateFunction>()

/** Returns the check for the schema at a JSON pointer below the operation of a route in the published description. */
export function described(route: Route, pointer: string): ValidateFunction {
  const $ref = `openapi${fragmentOf(route, pointer)}`
  const known = compiled.get($ref) ?? ajv.compile({ $ref })
  compiled.set($ref, known)
  return known
}

/** Returns the check of the body of a success, or of each event of a stream. */
export function describedSuccess(route: Route, status: number | string): ValidateFunction {
  const type = route.eventStream ? 'text~1event-stream' : 'application~1json'
  return described(route, `/responses/${status}/content/${type}/schema`)
}

/** Returns the code in a rejection by a route; `undefined` for recording scans, whose errors have no code. */
export function codeOf(route: Route, code: ErrorCode): ErrorCode | undefined {
  return route.errorsWithoutCode ? undefined : code
}

/** Returns the JSON Schema at a pointer, with all referenced schemas. */
export function schemaAt(route: Route, pointer: string): object {
  const whole = (_: string, value: { $ref?: string } | null) =>
    value?.$ref ? lookUp(document, value.$ref.slice(1)) : value
  return JSON.parse(JSON.stringify(lookUp(operationOf(route), pointer), whole))
}

function lookUp(root: unknown, pointer: string): unknown {
  const steps = pointer.split('/').slice(1)
  return steps.reduce<unknown>(
    (value, step) => (value as Record<string, unknown>)[step.replaceAll('~1', '/').replaceAll('~0', '~')],
    root,
  )
}

function fragmentOf(route: Route, pointer: string): string {
  const path = route.path.replaceAll('/', '~1')
  return `#/paths/${encodeURIComponent(path)}/${route.method.toLowerCase()}${pointer}`
}
