import { publishTemplate } from '../../e2e/support/passes.ts'
import type { ServerProcess } from '../../e2e/support/server.ts'
import type { Arena, Scene } from '../arena.ts'
import { startFleet } from '../fleet.ts'
import { issuedPass } from '../issued.ts'

export const creates: Scene = {
  name: 'creates',
  promise: 6,
  promised: '100 concurrent requests with one externalPassId, idempotencyKey, or externalRef create one resource',
  run: raceCreates,
}

const REQUESTS = 100

async function raceCreates(arena: Arena): Promise<void> {
  const servers = await startFleet(arena, 2)
  const [{ client }] = servers as [ServerProcess]
  const templateId = await publishTemplate(client)
  const { id: projectId } = await client.projects.create({ body: { name: 'Race' } })
  const passId = await issuedPass(arena, client, { maxUses: 50 })
  const message = { body: 'Once', platforms: ['apple'] }
  for (let round = 0; round < arena.size(2, 10) && !(round > 0 && arena.isOver()); round += 1) {
    const key = `the only one ${round}`
    const create = { externalPassId: key, label: 'Ada', templateId }
    await race(arena, servers, 'POST /v1/passes', '/v1/passes', create, 201)
    await race(arena, servers, 'a batch', '/v1/passes/batch', { passes: [{ ...create, externalPassId: `b ${key}` }] })
    const keyed = { ...message, idempotencyKey: key }
    await race(arena, servers, 'a notification', `/v1/passes/${passId}/notifications`, keyed, 201)
    await race(arena, servers, 'a broadcast', `/v1/projects/${projectId}/broadcasts`, keyed, 201)
    await race(arena, servers, 'a scan', '/v1/scans', { passId, externalRef: key })
    const counts = {
      passes: (await client.passes.list({ query: { templateId: [templateId], limit: 1 } })).total,
      notifications: (await client.notifications.list({ params: { id: passId }, query: { limit: 1 } })).total,
      broadcasts: (await client.broadcasts.list({ params: { id: projectId }, query: { limit: 1 } })).total,
      scans: (await client.scans.list({ query: { limit: 1 } })).total,
    }
    const n = round + 1
    const isOnce =
      counts.passes === 2 * n && counts.notifications === n && counts.broadcasts === n && counts.scans === n
    arena.check(isOnce, `after ${n} rounds there are ${JSON.stringify(counts)}`)
  }
}

/**
 * Sends the same request concurrently from all clients. One response reports the creation, and all return the same
 * resource.
 */
async function race(
  arena: Arena,
  servers: ServerProcess[],
  what: string,
  path: string,
  body: object,
  created?: number,
): Promise<void> {
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, n) => {
      const { url, token } = servers[n % servers.length]!
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      const json = (await answer.json()) as Answer
      return { status: answer.status, id: json.scan?.id ?? json.results?.[0]?.pass?.id ?? json.id, json }
    }),
  )
  arena.did('requests', REQUESTS)
  const ids = new Set(answers.map(({ id }) => id))
  arena.check(ids.size === 1 && !ids.has(undefined), `${what} created ${ids.size} resources: ${[...ids].join(', ')}`)
  const wrong = answers.find(({ status }) => status !== 200 && status !== created)
  arena.check(!wrong, `${what} returned ${wrong?.status}: ${JSON.stringify(wrong?.json)}`)
  if (!created) return
  const first = answers.filter(({ status }) => status === created).length
  arena.check(first === 1, `${what} returned ${created} ${first} times`)
}

interface Answer {
  id?: string
  scan?: { id: string }
  results?: { pass?: { id: string } }[]
}
