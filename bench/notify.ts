import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { deviceFor, phoneOf, watch } from '../src/cli/device/phones.ts'
import type { Broadcast } from '../src/core/contract/messages/broadcasts.ts'
import { newId } from '../src/core/ids.ts'
import type { Services } from '../src/server/context.ts'
import { fanOutBroadcasts } from '../src/server/messages/fan-out-broadcast.ts'
import { type Database, openDatabase } from '../src/storage/db/database.ts'
import { constant, idsMadeAt, insertSelected } from '../src/storage/db/dialect.ts'
import { migrate } from '../src/storage/db/migrate.ts'
import { createStore } from '../src/storage/store.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { insertProject } from './support/project.ts'
import { best, finish, median, rounds } from './support/rounds.ts'
import { startServer } from './support/server.ts'

/**
 * Measures broadcasts: passes fanned out per second, against one raw INSERT … SELECT of the same rows, including jobs.
 * Also measures the time until a single notification reaches its virtual phone, during a broadcast and when idle. Run:
 * npx tsx bench/notify.ts, after npm run build
 */

const PASSES = Number(process.env.PASSES_BENCH_ROWS ?? 100_000)
const MOST_ROUNDS = 3
const SINGLES = Number(process.env.PASSES_BENCH_SINGLES ?? 10)
const LEAST_RATIO = 0.4
const LONGEST_WAIT_MS = 1_000

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
await onEachDatabase(async (kind, create) => {
  await compareFanOut(kind, await create('fan_out'))
  await compareWaits(kind, await create('wait'))
})
rmSync(folder, { recursive: true, force: true })
process.exit()

async function compareFanOut(kind: string, url: string): Promise<void> {
  const database = openDatabase(url)
  await migrate(database)
  const store = createStore(database)
  const workspace = await store.transaction((tx) => tx.workspaces.insert('bench', new Date()))
  const projectId = await insertProject(database, workspace!.id, PASSES)
  const rates: { raw: number[]; ours: number[] } = { raw: [], ours: [] }
  for (const _ of rounds(MOST_ROUNDS)) {
    const raw = await rate(() => insertRaw(database, workspace!.id, projectId))
    const ours = await rate(() => fanOut(database, workspace!.id, projectId))
    rates.raw.push(raw)
    rates.ours.push(ours)
    await database.writer('jobs').delete()
    await database.writer('notifications').delete()
  }
  await database.close()
  const [ours, raw] = [best(rates.ours), best(rates.raw)]
  console.log(`${kind}: ${ours.toFixed(0)} passes fanned out per second, ${raw.toFixed(0)} by INSERT … SELECT`)
  const what = `fan-out of ${PASSES.toLocaleString('en')} passes to INSERT … SELECT of the same rows, ${kind}`
  figure(what, ours / raw, { atLeast: LEAST_RATIO })
}

async function rate(work: () => Promise<number>): Promise<number> {
  const start = performance.now()
  const rows = await work()
  return (rows * 1000) / (performance.now() - start)
}

/** Inserts the rows that a fan-out creates, with one statement per table. This is the minimum work of the database. */
async function insertRaw({ writer }: Database, workspaceId: string, projectId: string): Promise<number> {
  const now = Date.now()
  const broadcastId = newId(new Date(now))
  const value = (text: string | number) => writer.raw(typeof text === 'number' ? String(text) : `'${text}'`)
  return writer.transaction(async (tx) => {
    const made = await insertSelected(
      tx,
      'notifications',
      {
        id: idsMadeAt(tx, new Date(now)),
        workspace_id: 'passes.workspace_id',
        pass_id: 'passes.id',
        broadcast_id: constant(tx, 'uuid', broadcastId),
        google_due_at: value(now),
        apple_status: value('PENDING'),
        device_count: value(0),
        google_status: value('PENDING'),
        created_at: value(now),
        updated_at: value(now),
      },
      tx('passes').where({ workspace_id: workspaceId, project_id: projectId, status: 'ISSUED' }),
    )
    await insertSelected(
      tx,
      'jobs',
      {
        id: 'id',
        workspace_id: 'workspace_id',
        kind: value('send-broadcast-notification'),
        subject: 'id',
        queue: value('pushes'),
        priority: value('bulk'),
        run_at: value(now),
        attempts: value(0),
        created_at: value(now),
      },
      tx('notifications').where({ broadcast_id: broadcastId }),
    )
    return made
  })
}

/** Runs the job of a broadcast, as the worker does. Returns the passes per second. */
async function fanOut(database: Database, workspaceId: string, projectId: string): Promise<number> {
  const store = createStore(database)
  const clock = () => new Date()
  const id = newId(clock())
  const message = { body: 'Doors open at 7', options: {}, platforms: ['apple', 'google'] as ('apple' | 'google')[] }
  const jobs = await store.transaction(async (tx) => {
    const broadcast = { ...message, id, projectId, sendAt: null, idempotencyKey: null }
    await tx.broadcasts.insert(workspaceId, broadcast, clock())
    await tx.jobs.insert([{ workspaceId, kind: 'fan-out-broadcast', subject: id, correlationId: null }], clock())
    return tx.jobs.claim('database', clock(), { priority: 'bulk', limit: 1, leaseSeconds: 600 })
  })
  const stopping = new AbortController().signal
  await fanOutBroadcasts(jobs, { store, clock, stopping, log: pino({ level: 'silent' }) } as Services)
  return (await store.broadcasts.find(workspaceId, projectId, id))!.fannedOut
}

async function compareWaits(kind: string, url: string): Promise<void> {
  let projectId = ''
  const server = await startServer(url, [], async (empty, workspaceId) => {
    projectId = await insertProject(empty, workspaceId, PASSES)
  })
  const { client } = server
  const database = openDatabase(url)
  const template = await client.templates.create({ body: { name: 'Bench', passType: 'generic', projectId: null } })
  const design = { organizationName: 'Bench', description: 'Bench' }
  const version = await client.templates.createVersion({
    params: { id: template.id },
    body: { definition: { design } },
  })
  await client.templateVersions.publish({ params: { id: version.id } })
  const pass = await client.passes.create({ body: { externalPassId: 'single', label: 'x', templateId: template.id } })
  const params = { id: pass.id }
  await finish('pass to issue', async () => ((await client.passes.get({ params })).status === 'ISSUED' ? 0 : 1), 20)

  const file = deviceFor(folder, 'apple', kind.toLowerCase())
  const phone = phoneOf(file)
  await phone.install((await client.passes.get({ params })).hostedLinks.apple!)
  const banners: string[] = []
  const stop = new AbortController()
  const watching = watch(phone, {
    signal: stop.signal,
    onEvent: (event) => {
      if (event.event === 'change') banners.push(...event.banners)
    },
  })
  let sent = 0
  const waitOnce = async () => {
    sent += 1
    const body = { body: `Message ${sent}.`, platforms: ['apple' as const] }
    const start = performance.now()
    await client.notifications.create({ params, body })
    await finish('message to arrive', async () => (banners.some((banner) => banner.includes(body.body)) ? 0 : 1), 1)
    return performance.now() - start
  }
  await waitOnce()
  const idle = await several(waitOnce)
  const message = { body: 'Doors open at 7' }
  const broadcast = (await client.broadcasts.create({ params: { id: projectId }, body: message })) as Broadcast
  const busy = await several(waitOnce)
  const named = { params: { id: projectId, broadcastId: broadcast.id } }
  const { pending, fannedOut } = await client.broadcasts.stats(named)
  stop.abort()
  await watching
  await server.stop()
  await database.close()
  if (pending === 0) throw new Error('The broadcast ended before the single notifications')
  const left = `${fannedOut.toLocaleString('en')} fanned out and ${pending.toLocaleString('en')} of them pending at the end`
  console.log(`${kind}: waits of ${describe(idle)} idle, ${describe(busy)} in a broadcast (${left})`)
  const longest = Math.max(...busy)
  figure(`longest wait of a single notification in a broadcast, ${kind}`, longest, { atMost: LONGEST_WAIT_MS }, ' ms')
}

async function several(work: () => Promise<number>): Promise<number[]> {
  const waits: number[] = []
  for (let n = 0; n < SINGLES; n += 1) waits.push(await work())
  return waits
}

function describe(waits: number[]): string {
  return `${median(waits).toFixed(0)} ms (at most ${Math.max(...waits).toFixed(0)})`
}
