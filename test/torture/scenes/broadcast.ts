import { setTimeout as sleep } from 'node:timers/promises'
import { insertProject } from '../../../bench/support/project.ts'
import { paginate } from '../../../src/client/client.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import type { ServerProcess } from '../../e2e/support/server.ts'
import type { Arena, Scene } from '../arena.ts'
import { settle } from '../settle.ts'

export const broadcast: Scene = {
  name: 'broadcast',
  promise: 5,
  promised: 'A broadcast that is killed during its fan-out ends DISPATCHED with exactly one notification per pass',
  run: killFanOut,
}

/** The number of passes whose notifications are checked one by one. */
const SAMPLE = 500

async function killFanOut(arena: Arena): Promise<void> {
  let server = await arena.start({ database: await arena.emptyDatabase() })
  const { database, token } = server
  const projectId = await fill(server, arena.size(6_000, 30_000))
  const port = new URL(server.url).port
  const { total } = await server.client.passes.list({ query: { projectId: [projectId], status: ['ISSUED'], limit: 1 } })
  const body = { body: 'Doors open at 7', idempotencyKey: 'the broadcast' }
  const { id } = (await server.client.broadcasts.create({ params: { id: projectId }, body })) as { id: string }
  const named = { params: { id: projectId, broadcastId: id } }
  const wanted = arena.size(2, 5)
  for (let kill = 1; kill <= wanted && !(kill > 1 && arena.isOver()); kill += 1) {
    const aim = (total * (kill - arena.random.next())) / (wanted + 1)
    let { fannedOut, status } = await server.client.broadcasts.stats(named)
    while (fannedOut < aim && status !== 'DISPATCHED') {
      await sleep(2)
      ;({ fannedOut, status } = await server.client.broadcasts.stats(named))
    }
    await server.kill()
    arena.did(status === 'DISPATCHED' ? 'kills during delivery' : 'kills during fan-out')
    server = await arena.start({ database, token, port })
  }
  arena.took('time until all jobs were run', await settle(arena, database, 120))
  const { status, passCount } = await server.client.broadcasts.get(named)
  const stats = await server.client.broadcasts.stats(named)
  const isWhole = status === 'DISPATCHED' && passCount === total && stats.fannedOut === total && stats.pending === 0
  arena.check(
    isWhole,
    `the broadcast to ${total} passes ended with ${status}, passCount ${passCount}, ${JSON.stringify(stats)}`,
  )
  await checkEach(arena, server, projectId, id)
  arena.did('notifications', stats.fannedOut)
}

/** Inserts passes with SQL, because the API would take longer. */
async function fill({ database: url, client }: ServerProcess, count: number): Promise<string> {
  const database = openDatabase(url)
  try {
    return await insertProject(database, (await client.tokens.current()).workspaceId, count)
  } finally {
    await database.close()
  }
}

/** Checks for a sample of passes that each issued one has exactly one notification. */
async function checkEach(
  arena: Arena,
  { client }: ServerProcess,
  projectId: string,
  broadcastId: string,
): Promise<void> {
  let seen = 0
  for await (const { id, status } of paginate((call) => client.passes.list(call), { projectId: [projectId] })) {
    if (seen === SAMPLE) return
    seen += 1
    const { items } = await client.notifications.list({ params: { id } })
    const ours = items.filter((item) => item.broadcastId === broadcastId).length
    const expected = status === 'ISSUED' ? 1 : 0
    arena.check(ours === expected, `pass ${id}, ${status}, has ${ours} notifications of the broadcast`)
  }
}
