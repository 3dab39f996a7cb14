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
  promised: "A worker whose lease ended changes nothing; a dead worker's jobs run again within 30 s",
  run: overtakeWorkers,
}

const TAKEN_OVER_SECONDS = 30

/** What a resumed worker would write, it writes at once; nothing tells that it wrote nothing. */
const LATE_WRITES_MS = 4_000

async function overtakeWorkers(arena: Arena): Promise<void> {
  const api = await arena.start({ database: await arena.emptyDatabase(), args: ['--role', 'api'] })
  const { database, token } = api
  const startWorker = () => arena.start({ database, token, args: ['--role', 'worker'] })
  let worker = await startWorker()
  const held = await holdPasses(arena, api, { passes: 20, onGoogle: 0 })
  for (let round = 0; round < arena.size(1, 3) && !(round > 0 && arena.isOver()); round += 1) {
    await beginWork(arena, api, held)
    worker.signal('SIGSTOP')
    const inHand = (await listJobs(database)).reduce((sum, { running }) => sum + running, 0)
    arena.check(inHand > 0, 'the worker was stopped with no job in its hands')
    arena.did('jobs held by a stopped worker', inHand)
    await setFaults(api)
    const second = await startWorker()
    arena.took('until another ran them', await settle(arena, database, TAKEN_OVER_SECONDS))
    const before = await look(api, held)
    worker.signal('SIGCONT')
    await sleep(LATE_WRITES_MS)
    const after = await look(api, held)
    const changed = before.findIndex((line, n) => line !== after[n])
    arena.check(changed === -1, `a stale worker changed ${before[changed]} into ${after[changed]}`)
    for (const line of before) arena.check(line.includes('"SENT"'), `it was not sent: ${line}`)
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
    arena.took('until the jobs of a dead worker were run', await settle(arena, database, TAKEN_OVER_SECONDS))
  }
}

/** Notifications that the worker has begun with and that APNs takes its time to answer. */
async function beginWork(arena: Arena, api: ServerProcess, held: HeldPass[]): Promise<void> {
  await setFaults(api, 'apns-slow')
  for (const { id } of held) {
    await api.client.notifications.create({ params: { id }, body: { body: 'Now', platforms: ['apple'] } })
  }
  const pending = async () => (await listJobs(api.database)).some(({ running }) => running > 0)
  await arena.waitUntil('the worker has jobs in its hands', 10, pending)
}

/**
 * A server that froze between two statements, with what every worker needs in its hands: the counter that each change on
 * phones takes its tag from, and jobs whose lease ends meanwhile.
 */
async function hangInTransaction(arena: Arena, api: ServerProcess, held: HeldPass[]): Promise<void> {
  await beginWork(arena, api, held)
  const hung = openDatabase(api.database)
  const hanging = hung.writer.transaction(async (tx) => {
    await tx('sequences').where({ name: 'update-tag' }).forUpdate()
    const locked = await tx('jobs').forUpdate().pluck('id')
    arena.check(locked.length > 0, 'it hung with no job locked')
    arena.did('jobs locked by a hung transaction', locked.length)
    await setFaults(api)
    arena.took('until the jobs of a hung transaction were run', await settle(arena, api.database, TAKEN_OVER_SECONDS))
  })
  const [end] = await Promise.allSettled([hanging])
  arena.check(end.status === 'rejected' && isUnavailable(end.reason), 'a hung transaction was committed')
  await hung.close()
}

/** Everything that a stale acknowledgement could touch. */
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

/**
 * Stopped at any moment, in the middle of a transaction, too: what it holds there must not hold up the others. (On SQLite
 * a process that is stopped while it writes keeps the one lock of the file; there is no way around that.)
 */
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
  const seconds = await arena.waitUntil('passes are issued beside a stopped worker', TAKEN_OVER_SECONDS, isIssued)
  arena.took('until passes were issued beside a stopped worker', seconds)
  first.signal('SIGCONT')
  await first.kill()
  return second
}
