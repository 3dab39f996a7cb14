import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import { maxBodyBytesOf, type Route } from '../../../src/core/route.ts'
import { type TestWorkspace, targetOf, useApi } from '../../support/api.ts'
import { allRoutes, codeOf } from '../../support/conformance.ts'
import { oneDialect } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'

let turns = 0

/** Returns the next of the variants of a mistake, so that all routes together try each, or all in the long form. */
function oneOf<T>(variants: readonly T[]): readonly T[] {
  turns += 1
  return isLong ? variants : [variants[turns % variants.length]!]
}

const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const withIds = allRoutes.filter(({ route }) => route.params)
const withJson = allRoutes.filter(({ route }) => route.body)
const withoutJson = allRoutes.filter(({ route }) => !route.body && !route.rawBody && route.method !== 'GET')
const withBody = allRoutes.filter(({ route }) => route.body || route.rawBody)

const paths = [...new Set(allRoutes.map(({ route }) => route.path))].map((path) => {
  const routes = allRoutes.map(({ route }) => route).filter((route) => route.path === path)
  return { path, route: routes[0]!, methods: routes.map(({ method }) => method) }
})

// The code between a request and the handlers is the same on both databases.
describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  const rejection = async (route: Route, target: string, options: Parameters<TestWorkspace['send']>[2] = {}) => {
    const answer = await workspace.send(route.method, target, options)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { errorCode, details, message } = answer.body as ErrorBody
    const issues = (details?.issues ?? []) as { path: (string | number)[]; message: string }[]
    return { status: answer.status, errorCode, message, issues }
  }
  const invalidAt = (route: Route, path: (string | number)[], message: string) => ({
    status: 400,
    errorCode: codeOf(route, 'VALIDATION_ERROR'),
    issues: expect.arrayContaining([{ path, message }]),
  })
  const rawType = (route: Route): Record<string, string> =>
    route.rawBody ? { 'content-type': route.rawBody.contentTypes[0]! } : {}

  test.each(allRoutes)('$name rejects an unknown parameter', async ({ route }) => {
    for (const name of oneOf(['surprise', '__proto__', 'constructor'])) {
      const target = targetOf(route, { params: { id }, query: { [name]: '1' } })
      const options = route.rawBody ? { body: 'x', headers: rawType(route) } : {}
      expect(await rejection(route, target, options), name).toMatchObject(invalidAt(route, [name], 'Unknown parameter'))
    }
  })

  test('explains how to send several values of a parameter, on every list', async () => {
    const wrong = 'no, such'
    let explained = 0
    for (const { route, name } of allRoutes.filter(({ route }) => route.query)) {
      for (const parameter of Object.keys(route.query!.shape)) {
        const schema = route.query!.shape[parameter] as z.ZodType
        const isRepeatable = 'repeatable' in z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
        const issuesOf = async (query: Record<string, string>) =>
          (await rejection(route, targetOf(route, { params: { id }, query }))).issues
        const hint = `For several values, repeat the parameter: ${parameter}=…&${parameter}=…`
        for (const sent of [`${parameter}[]`, `${parameter}[0]`]) {
          const message = isRepeatable ? `Unknown parameter. ${hint}` : 'Unknown parameter'
          expect(await issuesOf({ [sent]: 'x' }), name).toContainEqual({ path: [sent], message })
        }
        if (!isRepeatable || schema.safeParse(wrong).success) continue
        expect(await issuesOf({ [parameter]: wrong }), name).toContainEqual({
          path: [parameter],
          message: expect.stringContaining(`. ${hint}`),
        })
        explained += 1
      }
    }
    expect(explained).toBeGreaterThan(20)
  })

  test.each(withJson)('$name rejects an unknown property', async ({ route }) => {
    for (const name of oneOf(['surprise', '__proto__', 'constructor'])) {
      const answer = await rejection(route, targetOf(route, { params: { id } }), { body: `{"${name}":1}` })
      expect(answer, name).toMatchObject(invalidAt(route, [name], 'Unknown property'))
    }
  })

  test.each(withIds)('$name rejects an ID that is not a UUID', async ({ route }) => {
    for (const bad of oneOf(['7', 'null', `${id}0`, '%00', '%F0%9F%98%80', '..%2f', `${id}%20`])) {
      const names = Object.keys(route.params!.shape).filter((name) => /^id$|Id$/.test(name))
      const target = route.path.replaceAll(/\{(\w+)\}/g, (_, name) => (names.includes(name) ? bad : 'points'))
      const answer = await rejection(route, target)
      expect(answer, bad).toMatchObject({ status: 400, errorCode: codeOf(route, 'VALIDATION_ERROR') })
      expect(
        answer.issues.map(({ path }) => path),
        bad,
      ).toEqual(expect.arrayContaining(names.map((name) => [name])))
    }
  })

  test.each(withIds)('$name rejects a path that cannot be decoded', async ({ route }) => {
    for (const bad of oneOf(['%E0%A4', '%', '%zz'])) {
      const answer = await rejection(route, route.path.replaceAll(/\{\w+\}/g, bad))
      expect(answer, bad).toMatchObject({ status: 400, errorCode: codeOf(route, 'VALIDATION_ERROR') })
    }
  })

  test.each(withJson)('$name rejects malformed JSON', async ({ route }) => {
    for (const body of oneOf(['{', '{"a":1,}', "{'a':1}", 'undefined', '{}{}'])) {
      const answer = await rejection(route, targetOf(route, { params: { id } }), { body })
      expect(answer, body).toMatchObject({ status: 400, errorCode: codeOf(route, 'INVALID_FORMAT') })
    }
  })

  test.each(withJson)('$name rejects JSON that is not an object', async ({ route }) => {
    for (const body of oneOf(['null', '[]', '1', '"text"', 'true'])) {
      const answer = await rejection(route, targetOf(route, { params: { id } }), { body })
      expect(answer, body).toMatchObject({ status: 400, errorCode: codeOf(route, 'VALIDATION_ERROR') })
    }
  })

  test.each(withJson)('$name rejects too deep nesting', async ({ route }) => {
    for (const body of oneOf([
      `${'['.repeat(400_000)}${']'.repeat(400_000)}`,
      `{"a":${'{"a":'.repeat(100)}1${'}'.repeat(101)}`,
    ])) {
      const answer = await rejection(route, targetOf(route, { params: { id } }), { body })
      const isTooLarge = body.length > maxBodyBytesOf(route)
      const expected = isTooLarge ? [413, 'INVALID_INPUT'] : [400, codeOf(route, 'INVALID_FORMAT')]
      expect([answer.status, answer.errorCode]).toEqual(expected)
    }
  })

  test.each(withBody)('$name rejects another content type', async ({ route }) => {
    for (const type of oneOf([
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'image/gif',
      '',
    ])) {
      const options = { body: '{}', headers: { 'content-type': type } }
      const answer = await rejection(route, targetOf(route, { params: { id } }), options)
      expect(answer, type).toMatchObject({ status: 415, errorCode: codeOf(route, 'INVALID_INPUT') })
    }
  })

  test.each(withJson)('$name accepts JSON with a charset', async ({ route }) => {
    const options = { body: '{"surprise":1}', headers: { 'content-type': 'Application/JSON; charset=utf-8' } }
    expect(await rejection(route, targetOf(route, { params: { id } }), options)).toMatchObject({ status: 400 })
  })

  test.each(withJson)('$name rejects bytes that are not UTF-8', async ({ route }) => {
    for (const bytes of oneOf([[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]])) {
      const body = Buffer.concat([Buffer.from('{"surprise":"'), Buffer.from(bytes), Buffer.from('"}')])
      const answer = await rejection(route, targetOf(route, { params: { id } }), { body })
      expect(answer, String(bytes)).toMatchObject({ status: 400, errorCode: codeOf(route, 'INVALID_FORMAT') })
    }
  })

  test.each(withJson)('$name rejects a charset other than UTF-8', async ({ route }) => {
    for (const charset of oneOf(['iso-8859-1', '"windows-1252"', 'utf-16', 'UTF-7'])) {
      const options = { body: '{}', headers: { 'content-type': `application/json; charset=${charset}` } }
      const answer = await rejection(route, targetOf(route, { params: { id } }), options)
      expect(answer, charset).toMatchObject({ status: 415, errorCode: codeOf(route, 'INVALID_INPUT') })
    }
  })

  test.each(withBody)('$name rejects a body that is declared as compressed', async ({ route }) => {
    for (const coding of oneOf(['gzip', 'br', 'identity, gzip'])) {
      const options = { body: '{}', headers: { ...rawType(route), 'content-encoding': coding } }
      const answer = await rejection(route, targetOf(route, { params: { id } }), options)
      expect(answer, coding).toMatchObject({ status: 415, errorCode: codeOf(route, 'INVALID_INPUT') })
    }
  })

  test('a truncated body is not a server error', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    const answer = await workspace.send('POST', '/v1/projects', { body })
    expect(answer.body).toMatchObject({
      errorCode: 'INVALID_FORMAT',
      message: 'The body is incomplete. Send the request again.',
    })
  })

  test.each(withBody)('$name rejects a body over its limit, announced or not', async ({ route }) => {
    const limit = maxBodyBytesOf(route)
    const body = new Uint8Array(limit + 1).fill(0x20)
    const target = targetOf(route, { params: { id } })
    const announced = { 'content-length': String(body.length), ...rawType(route) }
    const expected = { status: 413, errorCode: codeOf(route, 'INVALID_INPUT') }
    expect(await rejection(route, target, { body, headers: announced })).toMatchObject(expected)
    const stream = new Blob([body]).stream()
    expect(await rejection(route, target, { body: stream, headers: rawType(route) })).toMatchObject(expected)
    const exactly = await rejection(route, target, { body: body.subarray(1), headers: rawType(route) })
    expect(exactly.status, exactly.message).toBe(400)
  })

  test.each(withoutJson)('$name accepts no body, or an empty object', async ({ route }) => {
    const target = targetOf(route, { params: { id } })
    for (const body of oneOf(['{"a":1}', '[]', 'null', '""', 'text'])) {
      const answer = await rejection(route, target, { body })
      expect(answer, body).toMatchObject({ status: 400, errorCode: codeOf(route, 'VALIDATION_ERROR') })
    }
    const without = await rejection(route, target)
    for (const body of ['{}', ' {\n} ']) expect(await rejection(route, target, { body }), body).toEqual(without)
  })

  test.each(paths)('$path returns 405 to any other method, and names its own', async ({ route, methods }) => {
    const all = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
    const taken = all.filter((name) => methods.includes((name === 'HEAD' ? 'GET' : name) as 'GET'))
    for (const method of all.filter((name) => !taken.includes(name))) {
      const answer = await workspace.send(method, targetOf(route, { params: { id } }))
      expect(answer.status, method).toBe(405)
      expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(taken.sort())
    }
  })

  test.each(allRoutes.filter(({ route }) => route.method === 'GET'))(
    '$name responds to HEAD as to GET',
    async ({ route }) => {
      const target = targetOf(route, { params: { id } })
      const [get, head] = [await workspace.send('GET', target), await workspace.send('HEAD', target)]
      expect(head.status).toBe(get.status)
      expect([...head.headers.keys()]).toEqual([...get.headers.keys()])
    },
  )

  test.each(['/images/x', '/assets/x', '/docs', '/openapi.json', '/healthz', '/readyz', '/l/x'])(
    '%s returns 405 to POST',
    async (path) => {
      const answer = await workspace.send('POST', path)
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    },
  )

  test.each([
    '/v1/passes/',
    '/v1',
    '/v1/nothing',
    '/v2/projects',
    '/v1/projects/x/y/z',
    '/<script>alert(1)</script>?<b>',
    '/%00',
  ])('an unknown route is 404 and never echoed: %s', async (path) => {
    const answer = await workspace.send('GET', path)
    expect([answer.status, (answer.body as ErrorBody).errorCode]).toEqual([404, 'NOT_FOUND'])
    expect(answer.headers.get('content-type')).toContain('application/json')
    expect(answer.text).not.toMatch(/script|nothing|v2|x\/y/)
  })

  test('all errors of path, query, and body are reported at once', async () => {
    const target = '/v1/templates/nope/versions'
    const answer = await workspace.send('POST', target, { body: { definition: { design: {} }, other: 1 } })
    const { issues } = (answer.body as ErrorBody).details as { issues: { path: string[] }[] }
    expect(issues.map(({ path }) => path.join('.')).sort()).toEqual([
      'definition.design.description',
      'definition.design.organizationName',
      'id',
      'other',
    ])
  })
})
