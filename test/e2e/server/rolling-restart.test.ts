import { once } from 'node:events'
import { connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../../src/client/client.ts'
import { LARGE_BODY_BYTES } from '../../../src/core/route.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { hostFleet, type Member } from '../support/fleet.ts'
import { hasNginx, startNginx } from '../support/nginx.ts'
import { batchOf, publishTemplate } from '../support/passes.ts'
import { type HostedServer, hostServer } from '../support/server.ts'

/** Longer than in compose.yaml, because the proxy that checks the servers shares their processors and may be late. */
const DRAIN = ['--drain-seconds', '4']

/** Enough that each server always has some requests. More would only cost processor time while the servers start. */
const LANES = times(2, 6)
const PAUSE_MS = times(60, 5)

test('servers that restart in turn fail /readyz, close connections, and complete every request of a load', async () => {
  const { apis, token } = await hostFleet({ roles: ['api'], args: DRAIN })
  const balancer = await startBalancer(apis.map(({ url }) => url))
  const load = await startLoad(balancer.url, token)
  const throughNginx = hasNginx ? await startLoad((await startNginx(apis.map(({ url }) => url))).url, token) : undefined
  for (const api of apis) {
    await eventually(() => expect(balancer.ready()).toHaveLength(apis.length))
    await goesOn(balancer, api.url)
    await stopWatched(api, token)
    await api.start()
  }
  await eventually(() => expect(balancer.ready()).toHaveLength(apis.length))
  for (const api of apis) await goesOn(balancer, api.url)
  expect(await load.stop()).toEqual([])
  expect(load.done()).toBeGreaterThan(100)
  if (!throughNginx) return
  expect(await throughNginx.stop()).toEqual([])
  expect(throughNginx.done()).toBeGreaterThan(100)
})

test('nginx, configured as in the guide, passes on HTTP/2, large bodies, and the client address', async (context) => {
  if (!hasNginx) return context.skip('nginx is not installed')
  const server = await hostServer({ args: ['--trusted-proxies', '1', '--log-level', 'info'] })
  const { url, secureUrl, ca } = await startNginx([server.url])
  const session = connect(secureUrl, { ca })
  onTestFinished(() => session.close())
  const stream = session.request({
    ':path': '/v1/projects',
    authorization: 'Bearer psk_wrong',
    'x-forwarded-for': '192.0.2.7',
  })
  const [headers] = await once(stream, 'response')
  stream.close()
  expect(headers[':status']).toBe(401)
  await eventually(() => expect(server.stderr()).toContain('"address":"127.0.0.1"'))
  expect(server.stderr()).not.toContain('192.0.2.7')
  const large = { method: 'POST', headers: { authorization: 'Bearer psk_wrong' }, body: Buffer.alloc(LARGE_BODY_BYTES) }
  expect((await fetch(`${url}/v1/passes/batch`, large)).status).toBe(401)
})

/** Stops a server, and checks its responses before, while, and after it drains. */
async function stopWatched({ url, server }: Member<HostedServer>, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const before = await fetch(`${url}/v1/passes`, { headers })
  expect(before.headers.get('connection')).toBe('keep-alive')
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({
    status: 'ready',
    checks: { database: true, migrations: true, writable: true, serving: true },
  })
  const stopped = server().stop()
  await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(503))
  const [ready, health, passes] = await Promise.all(
    ['/readyz', '/healthz', '/v1/passes'].map((path) => fetch(`${url}${path}`, { headers })),
  )
  expect([ready!.status, health!.status, passes!.status]).toEqual([503, 200, 200])
  expect(await ready!.json()).toEqual({
    status: 'unavailable',
    checks: { database: true, migrations: true, writable: true, serving: false },
  })
  for (const answer of [ready!, health!, passes!]) expect(answer.headers.get('connection')).toBe('close')
  await stopped
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
}

/** Sends reads and writes on several queues until told to stop. Resolves to the failed requests. */
async function startLoad(url: string, token: string) {
  const client = createClient({ url, token, attempts: 1 })
  onTestFinished(() => client.close())
  const templateId = await publishTemplate(client)
  const failures: unknown[] = []
  let isOver = false
  let done = 0
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    for (let n = 0; !isOver; n += 1) {
      try {
        await client.passes.createBatch({ body: { passes: batchOf(templateId, `${lane}-${n}`, 2) } })
        await client.passes.list({ query: { limit: 5 } })
        done += 2
      } catch (error) {
        failures.push(error)
      }
      await sleep(PAUSE_MS)
    }
  })
  return {
    done: () => done,
    async stop() {
      isOver = true
      await Promise.all(lanes)
      return failures
    },
  }
}

/** Waits until the server has received more requests. */
async function goesOn({ sent }: Balancer, url: string): Promise<void> {
  const before = sent.get(url) ?? 0
  await eventually(() => expect(sent.get(url)).toBeGreaterThan(before + 10))
}
