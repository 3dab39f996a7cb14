import { describe, expect, test } from 'vitest'
import { dialects, type TestDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import { batchOf, inspect, publishTemplate } from '../support/passes.ts'
import { hostServer, type ServerOptions, type ServerProcess, startServer, type TestServer } from '../support/server.ts'

const KILLS = times(1, 4)
const IN_FLIGHT = 6
const BATCH_SIZE = times(10, 25)

describe.each(dialects)('on %s', (dialect) => {
  test('50 parallel creates of one externalPassId create one pass', async () => {
    const server = await hostServer({ dialect })
    const templateId = await publishTemplate(server.client)
    const body = JSON.stringify({ externalPassId: 'same', label: 'Ada', templateId })
    const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const answer = await fetch(`${server.url}/v1/passes`, { method: 'POST', headers, body })
        return { status: answer.status, id: ((await answer.json()) as { id: string }).id }
      }),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49)
    const [first] = answers
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([first!.id]))
    const { passes } = inspect(server.database)
    await eventually(async () => {
      expect(await passes()).toEqual([{ id: first!.id, externalPassId: 'same', status: 'ISSUED', issuedEvents: 1 }])
    })
  })
})

test('a server killed under load keeps every acknowledged pass once, and issues it after a restart', async () => {
  const killed: Killed[] = []
  for (const dialect of dialects) killed.push(await killUnderLoad(dialect))
  // The leases of the killed workers end at the same time.
  await Promise.all(killed.map(recover))
})

interface Killed {
  options: ServerOptions & { database: string }
  /** IDs of acknowledged passes by external ID. */
  acknowledged: Map<string, string>
}

async function killUnderLoad(dialect: TestDialect): Promise<Killed> {
  const first = await startServer({ dialect })
  const { database, token } = first
  let server: ServerProcess | undefined = first
  const templateId = await publishTemplate(first.client)
  const acknowledged = new Map<string, string>()
  for (let kill = 0; kill < KILLS; kill++) {
    server ??= await startServer({ dialect, database, token })
    const load = startLoad(server, templateId, `kill-${kill}`)
    await eventually(() => expect(load.acknowledged.size).toBeGreaterThan(BATCH_SIZE * 4 * (kill + 1)))
    await server.kill()
    await load.ended
    expect(load.refused).toEqual([])
    for (const [externalPassId, id] of load.acknowledged) acknowledged.set(externalPassId, id)
    server = undefined
  }
  return { options: { database, token }, acknowledged }
}

async function recover({ options, acknowledged }: Killed): Promise<void> {
  await hostServer(options)
  const { passes, rows } = inspect(options.database)
  // Jobs of a killed worker are rescued when its lease of 10 s ends.
  await eventually(async () => expect(await rows('jobs')).toEqual([]), { interval: 250 })
  const stored = await passes()
  expect(stored.filter((pass) => pass.status !== 'ISSUED' || pass.issuedEvents !== 1)).toEqual([])
  const ids = new Map(stored.map((pass) => [pass.externalPassId, pass.id]))
  expect(ids.size).toBe(stored.length)
  for (const [externalPassId, id] of acknowledged) expect(ids.get(externalPassId), externalPassId).toBe(id)
  expect(brokenBatches(stored.map((pass) => pass.externalPassId))).toEqual([])
}

/** Keeps several batches in flight until the server is killed. */
function startLoad({ client }: TestServer, templateId: string, prefix: string) {
  const acknowledged = new Map<string, string>()
  const refused: unknown[] = []
  let isUp = true
  async function send(lane: number): Promise<void> {
    for (let n = 0; isUp; n++) {
      try {
        const passes = batchOf(templateId, `${prefix}-${lane}-${n}`, BATCH_SIZE)
        const { results } = await client.passes.createBatch({ body: { passes } })
        for (const { externalPassId, pass } of results) acknowledged.set(externalPassId, pass!.id)
      } catch (error) {
        isUp = false
        if ((error as Error).name !== 'ConnectionError') refused.push(error)
      }
    }
  }
  const lanes = Array.from({ length: IN_FLIGHT }, (_, lane) => send(lane))
  return { acknowledged, refused, ended: Promise.all(lanes) }
}

/** Returns the batches that were only partly created. */
function brokenBatches(externalPassIds: string[]): string[] {
  const sizes = new Map<string, number>()
  for (const id of externalPassIds) {
    const batch = id.slice(0, id.lastIndexOf('-'))
    sizes.set(batch, (sizes.get(batch) ?? 0) + 1)
  }
  return [...sizes].filter(([, size]) => size !== BATCH_SIZE).map(([batch]) => batch)
}
