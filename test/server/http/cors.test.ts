import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { allRoutes } from '../../support/conformance.ts'
import { oneDialect } from '../../support/databases.ts'

const origin = 'https://app.example.com'
const others = ['https://app.example.com.evil.example', 'http://app.example.com', 'https://app.example.com:444', 'null']

const isCors = ([name]: [string, string]) => name.startsWith('access-control-')

describe.each(oneDialect)('on %s, with an allowed origin', (dialect) => {
  const api = useApi(dialect, { corsOrigins: [origin, 'http://localhost:5173'] })
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  test('lets its pages read responses and errors of every kind, without cookies', async () => {
    const headers = { origin }
    const answers = [
      await workspace.send('GET', '/v1/projects', { headers }),
      await workspace.send('POST', '/v1/projects', { headers, body: { name: '' } }),
      await api.send('GET', '/v1/projects', { headers }),
      await api.send('GET', '/v1/nothing', { headers }),
      await workspace.send('PUT', '/v1/projects', { headers }),
      await workspace.send('GET', '/v1/events', { headers }),
      await workspace.send('HEAD', '/v1/events', { headers }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 401, 404, 405, 200, 200])
    for (const { headers } of answers) {
      expect([...headers].filter(isCors)).toEqual([
        ['access-control-allow-origin', origin],
        ['access-control-expose-headers', 'ETag, Retry-After, X-Correlation-Id'],
      ])
      expect(headers.get('vary')).toBe('Origin')
    }
    const { id } = await workspace.ok(contract.projects.create, { body: { name: 'Polyglot' } })
    const compressed = await workspace.send('GET', `/v1/scanner/snapshot?projectId=${id}`, { headers })
    expect([compressed.status, compressed.headers.get('vary')]).toEqual([200, 'Accept-Encoding, Origin'])
  })

  test('answers preflights of its pages for every endpoint, method, and header of the API', async () => {
    for (const { route } of allRoutes) {
      const asked = { 'access-control-request-method': route.method, 'access-control-request-headers': 'authorization' }
      const request = new Request(`https://passes.example${route.path}`, { method: 'OPTIONS', headers: asked })
      request.headers.set('origin', origin)
      const response = await api.app.fetch(request)
      const { status, headers } = response
      const shown = [status, await response.text(), headers.get('access-control-allow-origin')]
      expect(shown, route.path).toEqual([204, '', origin])
      expect(headers.get('access-control-allow-methods')!.split(', ')).toContain(route.method)
      const names = Object.keys(route.headers?.shape ?? {})
      const allowed = headers.get('access-control-allow-headers')!.split(', ')
      expect(allowed).toEqual(expect.arrayContaining(['authorization', 'content-type', 'x-correlation-id', ...names]))
      expect([headers.get('access-control-max-age'), headers.get('vary')]).toEqual(['7200', 'Origin'])
      expect(headers.has('access-control-allow-credentials')).toBe(false)
    }
  })

  test('gives pages of other origins nothing, and makes caches keep their responses apart', async () => {
    const asked = { 'access-control-request-method': 'GET' }
    for (const other of others) {
      const preflight = await api.send('OPTIONS', '/v1/projects', { headers: { origin: other, ...asked } })
      const read = await workspace.send('GET', '/v1/projects', { headers: { origin: other } })
      expect([preflight.status, read.status], other).toEqual([405, 200])
      for (const { headers } of [preflight, read]) {
        expect([...headers].filter(isCors)).toEqual([])
        expect(headers.get('vary')).toBe('Origin')
      }
    }
    const withoutOrigin = await workspace.send('GET', '/v1/projects')
    expect(withoutOrigin.headers.get('vary')).toBe('Origin')
    const noPreflight = await api.send('OPTIONS', '/v1/projects', { headers: { origin } })
    expect(noPreflight.status).toBe(405)
  })

  test('applies to /v1 only', async () => {
    for (const path of ['/docs', '/openapi.json', '/healthz', '/l/none', '/']) {
      const { headers } = await api.send('GET', path, { headers: { origin } })
      expect([...headers].filter(isCors), path).toEqual([])
      expect(headers.get('vary') ?? '').not.toContain('Origin')
    }
  })
})

describe.each(oneDialect)('on %s, without allowed origins', (dialect) => {
  const api = useApi(dialect)

  test('the responses to pages of other origins are the same as to any client', async () => {
    const workspace = await api.workspace()
    const asked = { 'access-control-request-method': 'GET', 'x-correlation-id': 'same' }
    for (const [method, path] of [
      ['GET', '/v1/projects'],
      ['OPTIONS', '/v1/projects'],
      ['GET', '/v1/nothing'],
    ] as const) {
      const plain = await workspace.send(method, path, { headers: { 'x-correlation-id': 'same' } })
      const cross = await workspace.send(method, path, { headers: { origin, ...asked } })
      expect([cross.status, cross.text, [...cross.headers]]).toEqual([plain.status, plain.text, [...plain.headers]])
      expect([...cross.headers].filter(isCors)).toEqual([])
      expect(cross.headers.has('vary')).toBe(false)
    }
  })
})
