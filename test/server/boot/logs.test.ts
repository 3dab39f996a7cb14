import { Writable } from 'node:stream'
import { pino } from 'pino'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { newToken } from '../../../src/core/rules/crypto/token.ts'
import { useApi } from '../../support/api.ts'
import { passBody, publishedTemplate } from '../fixtures.ts'

interface Line {
  level: number
  msg: string
  [key: string]: unknown
}

let lines: Line[] = []
const stream = new Writable({
  write(chunk, _, done) {
    lines.push(JSON.parse(String(chunk)))
    done()
  },
})

describe('requests in the log', () => {
  const api = useApi('sqlite', { log: pino({ level: 'debug' }, stream) })

  beforeEach(() => {
    lines = []
  })

  test('requests that can change something are logged at info, others at debug, with client and duration', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    lines = []
    const correlation = { 'x-correlation-id': 'order-4711' }
    const created = await workspace.call(contract.passes.create, { body: passBody(template.id) }, correlation)
    const { id } = created.body as { id: string }
    await workspace.call(contract.passes.get, { params: { id } }, correlation)
    const common = {
      correlationId: 'order-4711',
      ms: expect.any(Number),
      workspaceId: workspace.id,
      address: expect.any(String),
    }
    expect(lines.filter(({ msg }) => msg === 'request')).toEqual([
      expect.objectContaining({ level: 30, method: 'POST', route: '/v1/passes', status: 201, ...common }),
      expect.objectContaining({ level: 20, method: 'GET', route: '/v1/passes/{id}', status: 200, ...common }),
    ])
    expect(lines[0]).toMatchObject({ tokenId: expect.any(String) })
  })

  test('no line contains paths, queries, link tokens, or access tokens', async () => {
    const planted = newToken()
    for (const target of [`/l/${planted}`, `/${planted}`, `/v1/projects?x=${planted}`]) {
      const headers = { 'x-correlation-id': planted, authorization: `Bearer ${planted}`, accept: 'application/json' }
      await api.send('GET', target, { headers })
    }
    const requests = lines.filter(({ msg }) => msg === 'request')
    expect(requests.map(({ route, status }) => [route, status])).toEqual([
      ['/l/{token}', 404],
      ['unknown', 404],
      ['/v1/projects', 401],
    ])
    expect(JSON.stringify(lines)).not.toContain(planted.slice(4))
  })

  test('a rejected client is logged at info with address and reason, and never with the token', async () => {
    const workspace = await api.workspace()
    const planted = newToken()
    const reader = await api.token(workspace.id, { scopes: ['passes:read'] })
    const revoked = await api.token(workspace.id)
    const { id } = (await api.send('GET', '/v1/tokens/current', { headers: { 'x-api-key': revoked } })).body as {
      id: string
    }
    await api.services.store.transaction((tx) => tx.tokens.revoke(workspace.id, id, api.now))
    api.advance(2)
    const attempts: [string, string, string | undefined, object][] = [
      ['GET', '/v1/projects', undefined, { security: 'authentication refused', code: 'UNAUTHORIZED' }],
      ['GET', '/v1/projects', 'psk_x', { security: 'authentication refused', reason: 'malformed' }],
      [
        'GET',
        '/v1/projects',
        planted,
        { security: 'authentication refused', reason: 'unknown', digest: expect.stringMatching(/^[0-9a-f]{8}$/) },
      ],
      ['GET', '/v1/projects', revoked, { security: 'authentication refused', reason: 'revoked', tokenId: id }],
      [
        'GET',
        '/v1/projects',
        reader,
        { security: 'permission denied', scope: 'templates:read', workspaceId: workspace.id },
      ],
      ['GET', `/l/${'A'.repeat(80)}`, undefined, { security: 'forged link', reason: 'tampered', route: '/l/{token}' }],
      ['GET', '/apple/v1/passes/type/serial', undefined, { security: 'authentication refused', code: 'UNAUTHORIZED' }],
    ]
    lines = []
    for (const [method, target, token] of attempts) {
      const headers = { accept: 'application/json', ...(token && { 'x-api-key': token }) }
      await api.send(method, target, { headers })
    }
    expect(lines.filter(({ security }) => security)).toEqual(
      attempts.map(([method, , , facts]) =>
        expect.objectContaining({
          level: 30,
          method,
          address: expect.any(String),
          correlationId: expect.any(String),
          ...facts,
        }),
      ),
    )
    for (const token of [planted, reader, revoked]) expect(JSON.stringify(lines)).not.toContain(token.slice(4, 20))
  })

  test('a change that the database rejects is not logged at info', async () => {
    const workspace = await api.workspace()
    const full = Object.assign(new Error('full'), { code: 'SQLITE_FULL' })
    vi.spyOn(api.services.store.forRequests(workspace.id), 'transaction').mockRejectedValue(full)
    lines = []
    const { status } = await api.send('POST', '/v1/projects', {
      body: { name: 'Summerfest' },
      headers: { authorization: `Bearer ${workspace.token}` },
    })
    expect(status).toBe(503)
    expect(lines.filter(({ msg }) => msg === 'request')).toMatchObject([{ level: 20, status: 503 }])
  })

  test('a change attempted without access has only its line in the security log', async () => {
    for (let n = 0; n < 3; n += 1) await api.send('POST', '/v1/projects', { body: {} })
    expect(lines.filter(({ msg, level }) => msg === 'request' && level > 20)).toEqual([])
  })
})
