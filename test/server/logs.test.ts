import { Writable } from 'node:stream'
import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import { newToken } from '../../src/core/rules/token.ts'
import { useApi } from '../support/api.ts'
import { passBody, publishedTemplate } from './fixtures.ts'

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

  test('what may change something is logged at info, what reads at debug, with who asked and how long it took', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    lines = []
    const correlation = { 'x-correlation-id': 'order-4711' }
    const created = await workspace.call(contract.passes.create, { body: passBody(template.id) }, correlation)
    const { id } = created.body as { id: string }
    await workspace.call(contract.passes.get, { params: { id } }, correlation)
    const common = { correlationId: 'order-4711', ms: expect.any(Number), workspaceId: workspace.id }
    expect(lines.filter(({ msg }) => msg === 'request')).toEqual([
      expect.objectContaining({ level: 30, method: 'POST', route: '/v1/passes', status: 201, ...common }),
      expect.objectContaining({ level: 20, method: 'GET', route: '/v1/passes/{id}', status: 200, ...common }),
    ])
    expect(lines[0]).toMatchObject({ tokenId: expect.any(String) })
  })

  test('neither paths nor queries nor link tokens nor access tokens stand in a line', async () => {
    const planted = newToken()
    for (const target of [`/l/${planted}`, `/${planted}`, `/v1/projects?x=${planted}`]) {
      const headers = { 'x-correlation-id': planted, authorization: `Bearer ${planted}`, accept: 'application/json' }
      await api.send('GET', target, { headers })
    }
    expect(lines.map(({ route, status }) => [route, status])).toEqual([
      ['/l/{token}', 404],
      ['unknown', 404],
      ['/v1/projects', 401],
    ])
    expect(JSON.stringify(lines)).not.toContain(planted.slice(4))
  })
})
