import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../../src/client/client.ts'
import { subscribableEvents } from '../../../src/core/events.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { Backlog } from '../../../src/storage/jobs/backlog.ts'
import type { Arena, Scene } from '../arena.ts'
import { startFleet } from '../fleet.ts'
import { openJournal } from '../journal.ts'
import { clearDoubts, prepareTarget, startLoad } from '../load.ts'
import { startMovedServer } from '../moved.ts'
import { startTallyReceiver } from '../receiver.ts'
import { settle } from '../settle.ts'
import { verify } from '../verify.ts'

export const postgresRestarted: Scene = {
  name: 'postgres-restarted',
  promise: 10,
  promised:
    'After a shutdown of PostgreSQL under load, requests get 503 with Retry-After, and jobs are drained in 10 s',
  only: 'postgres',
  run: restartPostgres,
}

export const sqliteFull: Scene = {
  name: 'sqlite-full',
  promise: 10,
  promised: 'With a full disk, SQLite rejects writes with 503, stays intact, and recovers without a restart',
  only: 'sqlite',
  run: fillSqlite,
}

export const sqliteShared: Scene = {
  name: 'sqlite-shared',
  promise: 10,
  promised: 'Four processes share one SQLite file, and no client gets a BUSY error',
  only: 'sqlite',
  run: shareSqlite,
}

const DRAINED_SECONDS = 10

async function restartPostgres(arena: Arena): Promise<void> {
  const { postgres } = arena.databases
  if (!postgres) return
  const server = await arena.start({ database: await arena.emptyDatabase() })
  const receiver = await startTallyReceiver(arena)
  await server.client.webhooks.create({ body: { url: receiver.url, events: [...subscribableEvents] } })
  const target = await prepareTarget(server, openJournal())
  for (let restart = 0; restart < arena.size(2, 4) && !(restart > 0 && arena.isOver()); restart += 1) {
    const load = startLoad(arena, target, { lanes: 8, pauseMs: 2 })
    await sleep(arena.random.between(500, 1_500))
    await postgres.crash()
    await sleep(arena.random.between(200, 3_000))
    await postgres.start()
    const upAt = performance.now()
    arena.did('restarts')
    // Continue the load for a second, to check that later requests succeed.
    await sleep(1_000)
    await load.stop()
    arena.check(load.lost() === 0, `${load.lost()} requests got no response: ${server.stderr().slice(-500)}`)
    await drain(arena, server.database)
    const seconds = (performance.now() - upAt) / 1000
    arena.took('time until the queue was drained', seconds)
    arena.check(seconds <= DRAINED_SECONDS, `the queue was drained ${seconds.toFixed(1)} s after the restart`)
  }
  arena.did('responses with 503', target.journal.unavailable)
  arena.check(target.journal.unavailable > 0, 'no request noticed that PostgreSQL was down')
  await clearDoubts(target, server.client)
  await settle(arena, server.database, 30)
  await verify(arena, target, server.client, receiver)
}

/** Waits until the queue is empty. Reads the database, because starting a command takes too long to measure seconds. */
async function drain(arena: Arena, url: string): Promise<void> {
  const database = openDatabase(url)
  const backlog = new Backlog({ db: database.reader })
  const isEmpty = async () => (await backlog.counts()).length === 0
  await arena.waitUntil('the queue is drained', DRAINED_SECONDS + 20, isEmpty)
  await database.close()
}

async function fillSqlite(arena: Arena): Promise<void> {
  const server = await startMovedServer(arena)
  const target = await prepareTarget(server, openJournal())
  for (let time = 0; time < arena.size(2, 4) && !(time > 0 && arena.isOver()); time += 1) {
    // Create fewer passes in the short form, because they must be issued afterwards.
    const load = startLoad(arena, target, { lanes: 6, pauseMs: arena.size(60, 2) })
    await sleep(arena.random.between(300, 800))
    const before = target.journal.unavailable
    await server.tell({ isFull: true })
    await arena.waitUntil('a full database returns 503', 30, () => target.journal.unavailable > before + 20)
    const { status } = await fetch(`${server.url}/healthz`)
    arena.check(status === 200, `/healthz returned ${status} while the database was full`)
    await checkIntegrity(arena, server.database)
    await server.tell({ isFull: false })
    arena.did('times full')
    const acknowledged = target.journal.acknowledged
    await arena.waitUntil('writes succeed again', 10, () => target.journal.acknowledged > acknowledged + 20)
    await load.stop()
    arena.check(load.lost() === 0, `${load.lost()} requests got no response`)
  }
  arena.check(server.exitCode() === undefined, `the process exited with ${server.exitCode()}: ${server.stderr()}`)
  arena.did('responses with 503', target.journal.unavailable)
  await clearDoubts(target, server.client)
  arena.took('time until all jobs were run', await settle(arena, server.database, 60))
  await checkIntegrity(arena, server.database)
  await verify(arena, target, server.client)
}

async function checkIntegrity(arena: Arena, url: string): Promise<void> {
  const database = openDatabase(url)
  const [{ integrity_check: found }] = await database.reader.raw('pragma integrity_check')
  await database.close()
  arena.check(found === 'ok', `integrity_check returned ${found}`)
  arena.did('integrity checks')
}

async function shareSqlite(arena: Arena): Promise<void> {
  const servers = await startFleet(arena, 4)
  const target = await prepareTarget(servers[0]!, openJournal())
  target.servers = servers
  const load = startLoad(arena, target, { lanes: 12, pauseMs: 1 })
  await sleep(arena.size(4_000, 20_000))
  await load.stop()
  arena.check(load.lost() === 0, `${load.lost()} requests got no response`)
  arena.check(target.journal.unavailable === 0, `${target.journal.unavailable} requests got 503`)
  try {
    await clearDoubts(target, servers[0]!.client)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    arena.check(false, `a request got ${error.status}: ${error.message}`)
  }
  arena.took('time until all jobs were run', await settle(arena, servers[0]!.database, 60))
  await verify(arena, target, servers[0]!.client)
}
