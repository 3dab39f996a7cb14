import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ApiError, ConnectionError, createClient, ForeignServerError, paginate } from '../../src/client/client.ts'
import { contract } from '../../src/core/contract/contract.ts'
import { entities, requestEntities } from '../../src/core/contract/entities.ts'
import type { Route } from '../../src/core/route.ts'
import { scriptedServer } from './fake-server.ts'

const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const ok = { status: 200, body: { items: [] } }

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => expect.fail('It should have been refused'),
    (error) => error,
  )
}

/** After a change of the contract, `npx vitest run test/client/client.test.ts -u` records the file again. */
test('a client has every endpoint of the contract', async () => {
  const resources = Object.entries(contract).map(([resource, routes]: [string, Record<string, Route>]) => {
    const rows = Object.entries(routes).map(([operation, { rawBody, ...route }]) => {
      const { method, path, idempotent, compressed, files, eventStream, errorsWithoutCode } = route
      const facts = { method, path, idempotent, compressed, files, eventStream, errorsWithoutCode }
      return `    "${operation}": ${JSON.stringify({ ...facts, rawBody: rawBody && true })}`
    })
    return `  "${resource}": {\n${rows.join(',\n')}\n  }`
  })
  await expect(`{\n${resources.join(',\n')}\n}\n`).toMatchFileSnapshot('../../src/client/endpoints.json')
})

test('a client exports the type of every entity under its name in the API description', () => {
  const text = readFileSync(new URL('../../src/client/types.ts', import.meta.url), 'utf8')
  const lists = [...text.matchAll(/export type \{([^}]*)\}/g)].flatMap(([, names]) => names!.split(','))
  const exported = [
    ...lists.map((name) => name.trim().split(' as ').at(-1)),
    ...[...text.matchAll(/export type (\w+) =/g)].map(([, name]) => name),
  ]
  // `Page` is generic, `EventData` has the events by their types, and `Error` would hide the class of JavaScript.
  const hasOwnType = (name: string) => !/Page$|(?<!Followed|Subscribable)Event$|^Error(?!Code)/.test(name)
  const names = Object.keys({ ...entities, ...requestEntities }).filter(hasOwnType)
  expect(names.filter((name) => !exported.includes(name))).toEqual([])
})

describe('a call', () => {
  test('is sent according to the contract, with the token', async () => {
    const { client, seen } = await scriptedServer([ok])
    await client.templates.list({ query: { limit: 5, projectId: [id, 'null'], cursor: undefined } })
    await client.projects.update({ params: { id }, body: { name: 'é &?' } })
    await client.projects.get({ params: { id: '../x?y=1#z' } })
    await client.images.create({ body: Buffer.from('bytes'), contentType: 'image/png' })
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `GET /v1/templates?limit=5&projectId=${id}&projectId=null`,
      `PATCH /v1/projects/${id}`,
      'GET /v1/projects/..%2Fx%3Fy%3D1%23z',
      'POST /v1/images',
    ])
    expect(seen.every(({ headers }) => headers.authorization === 'Bearer psk_test')).toBe(true)
    expect(seen.map(({ headers }) => headers['content-type'])).toEqual([
      undefined,
      'application/json',
      undefined,
      'image/png',
    ])
    expect(seen.map(({ body }) => body)).toEqual(['', '{"name":"é &?"}', '', 'bytes'])
  })

  test('resolves to the body, or to undefined if there is none', async () => {
    const { client } = await scriptedServer([{ status: 201, body: { id } }, { status: 204 }])
    expect(await client.projects.create({ body: { name: 'x' } })).toEqual({ id })
    expect(await client.projects.delete({ params: { id } })).toBe(undefined)
  })

  test('can be stopped', async () => {
    const { client, seen } = await scriptedServer([ok])
    const error = await failureOf(client.projects.list({}, { signal: AbortSignal.abort() }))
    expect(error.name).toBe('AbortError')
    expect(seen).toEqual([])
  })
})

describe('a rejection', () => {
  test('contains the complete error response', async () => {
    const details = { issues: [{ path: ['name'], message: 'Must not be empty' }] }
    const body = { errorCode: 'VALIDATION_ERROR', message: 'name: Must not be empty', correlationId: 'c-1', details }
    const { client } = await scriptedServer([{ status: 400, body }])
    const error = await failureOf(client.projects.update({ params: { id }, body: { name: '' } }))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({
      name: 'ApiError',
      status: 400,
      errorCode: 'VALIDATION_ERROR',
      code: 'VALIDATION_ERROR',
      message: 'name: Must not be empty',
      correlationId: 'c-1',
      details,
      request: { method: 'PATCH', path: `/v1/projects/${id}` },
      retryAfterSeconds: undefined,
    })
  })

  test('reports a service that is not ours, for any status', async () => {
    for (const status of [404, 200]) {
      const { client } = await scriptedServer([
        { status, body: '<h1>Hello</h1>', headers: { 'x-correlation-id': 'proxy-7' } },
      ])
      const error = await failureOf(client.projects.get({ params: { id } }))
      expect(error).toBeInstanceOf(ApiError)
      expect(error).toMatchObject({ status, code: 'INTERNAL_ERROR', correlationId: 'proxy-7', details: {} })
      expect(error.message).toContain(String(status))
    }
  })

  test.each([
    [200, { a: 1 }],
    [200, '<h1>Hello</h1>'],
    [302, '<h1>Log in</h1>'],
  ])('distinguishes our server from others: %s %j', async (status, body) => {
    const { client, url } = await scriptedServer([{ status, body, headers: { 'x-correlation-id': '' } }], {
      attempts: 1,
    })
    const error = await failureOf(client.projects.list())
    expect(error).toBeInstanceOf(ForeignServerError)
    expect(error.message).toBe(`${url} is not a passes server`)
  })

  test('never holds the token', async () => {
    const { client } = await scriptedServer([{ status: 401, body: {} }])
    const error = await failureOf(client.projects.list())
    expect(JSON.stringify({ ...error, message: error.message, stack: error.stack })).not.toContain('psk_test')
  })
})

// undici 7 throws an uncaught error if a connection ends while its response is paused (nodejs/undici#5360).
test('an event stream that is read late is complete if the server closes the connection', async () => {
  const body = ': '.padEnd(100_000, '.')
  const head = [
    'HTTP/1.1 200 OK',
    'content-type: text/event-stream',
    'x-correlation-id: c-0',
    'connection: close',
    '',
    '',
  ]
  const server = createServer((socket) => socket.once('data', () => socket.end(head.join('\r\n') + body)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const client = createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'x' })
  const { stream } = await client.request({ method: 'GET', path: '/v1/events' })
  await sleep(50)
  let bytes = 0
  for await (const piece of stream!) bytes += piece.length
  expect(bytes).toBe(body.length)
})

test('an unreachable server is a ConnectionError with its address', async () => {
  const { url, client } = await scriptedServer(['lost'], { attempts: 1 })
  const lost = await failureOf(client.projects.list())
  expect(lost).toBeInstanceOf(ConnectionError)
  expect(lost).toMatchObject({ url, cause: expect.any(Error) })
  // A port that no one listens on.
  const nobody = createClient({ url: 'http://127.0.0.1:1', token: 'x', attempts: 1 })
  const refused = await failureOf(nobody.projects.list())
  await nobody.close()
  expect(refused).toBeInstanceOf(ConnectionError)
  expect(refused.message).toMatch(/No response from http:\/\/127\.0\.0\.1:1 \(.+\)/)
})

describe('paginate', () => {
  const page = (items: string[], nextCursor: string | null) => ({ status: 200, body: { items, nextCursor } })

  test('shows the items of every page, a hundred at a time, until there is no cursor', async () => {
    const { client, seen } = await scriptedServer([page(['a', 'b'], 'one'), page([], 'two'), page(['c'], null)])
    const items = []
    for await (const item of paginate(client.projects.list, { sortBy: 'name' })) items.push(item)
    expect(items).toEqual(['a', 'b', 'c'])
    expect(seen.map(({ url }) => url)).toEqual([
      '/v1/projects?limit=100&sortBy=name',
      '/v1/projects?limit=100&sortBy=name&cursor=one',
      '/v1/projects?limit=100&sortBy=name&cursor=two',
    ])
  })

  test('accepts a page size, and requests only pages that are read', async () => {
    const { client, seen } = await scriptedServer([page(['a', 'b'], 'one')])
    for await (const item of paginate(client.projects.list, { limit: 2 })) if (item) break
    expect(seen.map(({ url }) => url)).toEqual(['/v1/projects?limit=2'])
  })
})
