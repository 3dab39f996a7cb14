import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { isUnavailable } from '../../../src/storage/db/database-errors.ts'
import { batchOf, publishTemplate } from '../../e2e/support/passes.ts'
import { setFaults } from '../../e2e/support/phone.ts'
import type { ServerProcess } from '../../e2e/support/server.ts'
import type { Arena, Scene } from '../arena.ts'
import { type HeldPass, holdPasses } from '../phones.ts'
import { listJobs, settle } from '../settle.ts'

export const stale: Scene = {
  name: 'stale',
  promise: 3,
  promised: 'A worker with an expired lease changes nothing, and jobs of a killed worker run again within 30 s',
  run: overtakeWorkers,
}

const TAKEN_OVER_SECONDS = 30

/**
 * The time to wait for late writes, in milliseconds. A resumed worker writes immediately, and no event shows that it
 * wrote nothing.
 */
const LATE_WRITES_MS = 4_000

async function overtakeWorkers(arena: Arena): Promise<void> {
  const api = await arena.start({ database: await arena.emptyDatabase(), args: ['--role', 'api'] })
  const { database, token } = api
  const startWorker = () => arena.start({ database, token, args: ['--role', 'worker'] })
  let worker = await startWorker()
  const held = await holdPasses(arena, api, { passes: 20, onGoogle: 0 })
  for (let round = 0; round < arena.size(1, 3) && !(round > 0 && arena.isOver()); round += 1) {
    await beginWork(arena, api, held)
    await stopBetweenWrites(arena, worker)
    const inHand = (await listJobs(database)).reduce((sum, { running }) => sum + running, 0)
    arena.check(inHand > 0, 'the worker had no claimed job when it was stopped')
    arena.did('jobs claimed by a stopped worker', inHand)
    await setFaults(api)
    const second = await startWorker()
    arena.took('time until another worker ran them', await settle(arena, database, TAKEN_OVER_SECONDS))
    const before = await look(api, held)
    worker.signal('SIGCONT')
    await sleep(LATE_WRITES_MS)
    const after = await look(api, held)
    const changed = before.findIndex((line, n) => line !== after[n])
    arena.check(changed === -1, `a stale worker changed ${before[changed]} into ${after[changed]}`)
    for (const line of before) arena.check(line.includes('"SENT"'), `a notification was not sent: ${line}`)
    await worker.kill()
    worker = second
    if (arena.dialect === 'postgres') {
      worker = await stopUnderLoad(arena, api, worker, startWorker)
      await hangInTransaction(arena, api, held)
    }

    await beginWork(arena, api, held)
    await worker.kill()
    arena.did('workers killed')
    await setFaults(api)
    worker = await startWorker()
    arena.took('time until the jobs of a killed worker were run', await settle(arena, database, TAKEN_OVER_SECONDS))
  }
}

/** Creates notifications, and waits until the worker has started on them. APNs responds slowly. */
async function beginWork(arena: Arena, api: ServerProcess, held: HeldPass[]): Promise<void> {
  await setFaults(api, 'apns-slow')
  for (const { id } of held) {
    await api.client.notifications.create({ params: { id }, body: { body: 'Now', platforms: ['apple'] } })
  }
  // Read the table, because the jobs run for a second, and a command that lists them can take longer to start.
  const database = openDatabase(api.database)
  const isClaimed = async () => (await database.reader('jobs').whereNotNull('claim_token').first('id')) !== undefined
  await arena.waitUntil('the worker has claimed jobs', 10, isClaimed)
  await database.close()
}

/**
 * Simulates a server that hangs between two statements and locks what every worker needs: the counter of update tags,
 * and jobs whose lease ends in the meantime.
 */
async function hangInTransaction(arena: Arena, api: ServerProcess, held: HeldPass[]): Promise<void> {
  await beginWork(arena, api, held)
  const hung = openDatabase(api.database)
  const hanging = hung.writer.transaction(async (tx) => {
    await tx('sequences').where({ name: 'update-tag' }).forUpdate()
    const locked = await tx('jobs').forUpdate().pluck('id')
    arena.check(locked.length > 0, 'the hung transaction locked no job')
    arena.did('jobs locked by a hung transaction', locked.length)
    await setFaults(api)
    arena.took(
      'time until the jobs of a hung transaction were run',
      await settle(arena, api.database, TAKEN_OVER_SECONDS),
    )
  })
  const [end] = await Promise.allSettled([hanging])
  arena.check(end.status === 'rejected' && isUnavailable(end.reason), 'a hung transaction was committed')
  await hung.close()
}

/**
 * Stops a worker. On SQLite, a process that is stopped while it writes keeps the file lock, which cannot be avoided:
 * continue it then, and stop it again.
 */
async function stopBetweenWrites(arena: Arena, worker: ServerProcess): Promise<void> {
  worker.signal('SIGSTOP')
  if (arena.dialect === 'postgres') return
  const { writer, close } = openDatabase(worker.database)
  await writer.raw('PRAGMA busy_timeout = 1000')
  const read = () => writer.transaction(async (tx) => tx('settings').first())
  while (await read().then(() => false, isUnavailable)) {
    worker.signal('SIGCONT')
    await sleep(arena.random.between(1, 20))
    worker.signal('SIGSTOP')
  }
  await close()
}

/** Returns everything that a stale acknowledgement could change. */
async function look({ client }: ServerProcess, held: HeldPass[]): Promise<string[]> {
  const lines: string[] = []
  for (const { id } of held) {
    const [pass, wallets] = [
      await client.passes.get({ params: { id } }),
      await client.passes.wallets({ params: { id } }),
    ]
    const notifications = await client.notifications.list({ params: { id }, query: { limit: 100 } })
    lines.push(JSON.stringify({ ...pass, hostedLinks: null, wallets, notifications: notifications.items }))
  }
  return lines
}

/** Stops a worker at any time, possibly during a transaction. Its locks must not block the others. */
async function stopUnderLoad(
  arena: Arena,
  api: ServerProcess,
  first: ServerProcess,
  startWorker: () => Promise<ServerProcess>,
) {
  const second = await startWorker()
  const templateId = await publishTemplate(api.client)
  const create = (n: number) =>
    api.client.passes.createBatch({ body: { passes: batchOf(templateId, `load-${n}-${templateId}`, 100) } })
  const batches = 15
  const creating = Promise.all(Array.from({ length: batches }, (_, n) => create(n)))
  await sleep(arena.random.between(20, 600))
  first.signal('SIGSTOP')
  arena.did('workers stopped under load')
  await creating
  const isIssued = async () => {
    const { total } = await api.client.passes.list({
      query: { templateId: [templateId], status: ['ISSUED'], limit: 1 },
    })
    return total === batches * 100
  }
  const seconds = await arena.waitUntil('passes are issued while a worker is stopped', TAKEN_OVER_SECONDS, isIssued)
  arena.took('time until passes were issued while a worker was stopped', seconds)
  first.signal('SIGCONT')
  await first.kill()
  return second
}
