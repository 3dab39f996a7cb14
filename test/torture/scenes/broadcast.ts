import { setTimeout as sleep } from 'node:timers/promises'
import { insertCodes } from '../../../bench/support/many-passes.ts'
import { insertProject } from '../../../bench/support/project.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import type { ServerProcess } from '../../e2e/support/server.ts'
import type { Arena, Scene } from '../arena.ts'
import { compareScans, scan } from '../door.ts'
import { settle } from '../settle.ts'

export const broadcast: Scene = {
  name: 'broadcast',
  promise: 5,
  promised: 'A broadcast that is killed during its fan-out ends DISPATCHED with exactly one notification per pass',
  run: (arena) => killFanOut(arena, { passes: arena.size(6_000, 30_000), kills: arena.size(2, 5) }),
}

export const filteredBroadcast: Scene = {
  name: 'filtered-broadcast',
  promise: 5,
  promised: 'A broadcast with a filter that is killed reaches exactly the matching passes, once each, next to a door',
  run: (arena) => {
    const given = process.env.PASSES_BROADCAST_PASSES
    const passes = Number(given ?? arena.size(6_000, 200_000))
    const kills = given ? 10 : arena.size(2, 10)
    // With 5 seconds, the p99 is the second slowest of 200 scans.
    return killFanOut(arena, { passes, kills, scans: { filter: TIERS, seconds: given ? 20 : arena.size(5, 20) } })
  },
}

/** The filter of two tenths of the passes that `insertPasses` creates. */
const TIERS = { variable: ['tier:3', 'tier:7'], revision: 'gte:1' }

interface FanOut {
  passes: number
  kills: number
  /** Uses the filter, and compares scans of this duration with and without a broadcast before the kills. */
  scans?: { filter: typeof TIERS; seconds: number }
}

async function killFanOut(arena: Arena, { passes, kills, scans }: FanOut): Promise<void> {
  const filter = scans?.filter
  const env = { PASSES_RATE_LIMIT: '0' }
  let server = await arena.start({ database: await arena.emptyDatabase(), env })
  const { database, token } = server
  const projectId = await fill(server, passes)
  const port = new URL(server.url).port
  if (scans) await scanNextTo(arena, server, projectId, scans)
  const targets = await findTargets(database, projectId, filter)
  const total = targets.length
  const body = { body: 'Doors open at 7', idempotencyKey: 'the broadcast', ...(filter && { filter }) }
  const { id } = (await server.client.broadcasts.create({ params: { id: projectId }, body })) as { id: string }
  const named = { params: { id: projectId, broadcastId: id } }
  for (let kill = 1; kill <= kills && !(kill > 1 && arena.isOver()); kill += 1) {
    const aim = (total * (kill - arena.random.next())) / (kills + 1)
    let { fannedOut, status } = await server.client.broadcasts.stats(named)
    while (fannedOut < aim && status !== 'DISPATCHED') {
      await sleep(2)
      ;({ fannedOut, status } = await server.client.broadcasts.stats(named))
    }
    await server.kill()
    arena.did(status === 'DISPATCHED' ? 'kills during delivery' : 'kills during fan-out')
    server = await arena.start({ database, token, port, env })
  }
  arena.took('time until all jobs were run', await settle(arena, database, 120))
  const { status, passCount } = await server.client.broadcasts.get(named)
  const stats = await server.client.broadcasts.stats(named)
  const isWhole = status === 'DISPATCHED' && passCount === total && stats.fannedOut === total && stats.pending === 0
  arena.check(
    isWhole,
    `the broadcast to ${total} passes ended with ${status}, passCount ${passCount}, ${JSON.stringify(stats)}`,
  )
  await checkEach(arena, database, id, targets)
  arena.did('notifications', stats.fannedOut)
}

/** Compares scans without other work with scans while a broadcast is sent. */
async function scanNextTo(
  arena: Arena,
  server: ServerProcess,
  projectId: string,
  { filter, seconds }: NonNullable<FanOut['scans']>,
): Promise<void> {
  await scan(server, 2)
  const quiet = await scan(server, seconds)
  const params = { id: projectId }
  const { id } = (await server.client.broadcasts.create({ params, body: { body: 'Welcome', filter } })) as {
    id: string
  }
  const isSent = async () => {
    const { status, pending } = await server.client.broadcasts.stats({ params: { ...params, broadcastId: id } })
    return status === 'DISPATCHED' && pending === 0
  }
  const busy = await scan(server, seconds, async () => !(await isSent()))
  compareScans(arena, { quiet, busy }, 'the broadcast')
  await arena.waitUntil('the first broadcast is sent', 600, isSent)
}

/** Inserts passes with SQL, because the API would take longer. */
async function fill({ database: url, client }: ServerProcess, count: number): Promise<string> {
  const database = openDatabase(url)
  try {
    const { workspaceId } = await client.tokens.current()
    const projectId = await insertProject(database, workspaceId, count)
    await insertCodes(database.writer, workspaceId, Math.min(count, 2_000))
    return projectId
  } finally {
    await database.close()
  }
}

/** Returns the passes that a broadcast must reach. Reads the numbers of the passes instead of using the filter. */
async function findTargets(url: string, projectId: string, filter: typeof TIERS | undefined): Promise<string[]> {
  const database = openDatabase(url)
  try {
    const rows: { id: string; external_pass_id: string }[] = await database
      .reader('passes')
      .where({ project_id: projectId, status: 'ISSUED' })
      .select('id', 'external_pass_id')
    return rows.filter((row) => !filter || /[37]$/.test(row.external_pass_id)).map(({ id }) => id)
  } finally {
    await database.close()
  }
}

/** Checks that each target has exactly one notification of the broadcast, and that no other pass has one. */
async function checkEach(arena: Arena, url: string, broadcastId: string, targets: string[]): Promise<void> {
  const database = openDatabase(url)
  try {
    const query = database.reader('notifications').where({ broadcast_id: broadcastId })
    const reached: string[] = await query.pluck('pass_id')
    const times = new Map<string, number>()
    for (const id of reached) times.set(id, (times.get(id) ?? 0) + 1)
    const wrong = targets.filter((id) => times.get(id) !== 1)
    arena.check(wrong.length === 0, `${wrong.length} targets do not have one notification, such as ${wrong[0]}`)
    const meant = new Set(targets)
    const others = [...times.keys()].filter((id) => !meant.has(id))
    arena.check(others.length === 0, `${others.length} other passes have a notification, such as ${others[0]}`)
  } finally {
    await database.close()
  }
}
