/**
 * Measures the effect of one tenant on another. First, the time until a created pass is ISSUED while 200,000 jobs of
 * another workspace are queued. Half of the passes of these jobs were created one by one, and half in batches. Rounds
 * alternate with rounds in which the other workspace is suspended, so that its jobs wait. Second, the time until an
 * event is delivered, without other load and with 500 hanging endpoints of another workspace. Uses one server process
 * per database, over HTTP. Run: npx tsx bench/fairness.ts, after npm run build. For a short run: PASSES_BENCH_JOBS=2000
 * PASSES_BENCH_ENDPOINTS=20 PASSES_BENCH_ROUNDS=2
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from '../src/client/client.ts'
import { newId } from '../src/core/ids.ts'
import { createToken } from '../src/server/create-token.ts'
import { type Database, openDatabase } from '../src/storage/db/database.ts'
import { createStore } from '../src/storage/store.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { finish, median, rounds, spread } from './support/rounds.ts'
import { startServer } from './support/server.ts'

const JOBS = Number(process.env.PASSES_BENCH_JOBS ?? 200_000)
const ENDPOINTS = Number(process.env.PASSES_BENCH_ENDPOINTS ?? 500)
const SAMPLES = 10
/**
 * The delay before a round, after the other workspace was suspended or resumed, in which previously claimed jobs
 * finish.
 */
const SETTLED_MS = 1_000
const MOST_TIMES = 3
const MOST_MS = 1_000

await onEachDatabase(async (kind, create) => {
  await compareIssuing(kind, await create('issuing'))
  await compareDeliveries(kind, await create('deliveries'))
})
process.exit()

async function compareIssuing(kind: string, url: string): Promise<void> {
  const server = await startServer(url)
  const database = openDatabase(url)
  const hog = await addTenant(database, server.url)
  const [ours, theirs] = [await publishTicket(server.client), await publishTicket(hog.client)]
  const store = createStore(database)
  const measure = async (isSuspended: boolean) => {
    const suspendedAt = isSuspended ? new Date() : null
    await store.transaction((tx) => tx.workspaces.update(hog.workspaceId, { suspendedAt }))
    await sleep(SETTLED_MS)
    return median(await sample(() => issueOne(server.client, ours)))
  }
  await measure(true)
  const idle = await measure(true)
  await queuePasses(database, hog, theirs)
  const found: { quiet: number; busy: number }[] = []
  for (const _ of rounds()) found.push({ quiet: await measure(true), busy: await measure(false) })
  const row = await database.reader('jobs').where({ workspace_id: hog.workspaceId }).count({ left: '*' }).first()
  await Promise.all([server.stop(), hog.client.close(), database.close()])
  const count = Number(row?.left)
  if (count === 0) throw new Error('The queue was empty before the measurement ended')
  const jobs = JOBS.toLocaleString('en')
  const [quiet, busy] = [found.map((round) => round.quiet), found.map((round) => round.busy)]
  const ratios = found.map((round) => round.busy / round.quiet)
  console.log(
    `${kind}: from created to ISSUED ${spread(busy)} ms behind ${jobs} jobs (${count} left), ${spread(quiet)} ms while they are suspended, ` +
      `${idle.toFixed(0)} ms without them; ${spread(ratios, 2)} times`,
  )
  const what = `create to ISSUED behind ${jobs} jobs of another workspace to quiet, ${kind}`
  figure(what, median(ratios), { atMost: MOST_TIMES })
}

async function compareDeliveries(kind: string, url: string): Promise<void> {
  const receiver = await startReceiver()
  const hanging = await startReceiver('hang')
  const server = await startServer(url, ['--allow-insecure-webhooks'])
  const database = openDatabase(url)
  const hog = await addTenant(database, server.url)
  const { id } = await server.client.webhooks.create({ body: { url: receiver.url, events: ['pass.issued'] } })
  const deliverOne = async () => {
    const came = receiver.next()
    const startedAt = performance.now()
    await server.client.webhooks.test({ params: { id } })
    await came
    return performance.now() - startedAt
  }
  await sample(deliverOne)
  const quiet = await sample(deliverOne)
  for (let n = 0; n < ENDPOINTS; n += 1) {
    const webhook = await hog.client.webhooks.create({ body: { url: hanging.url, events: ['pass.issued'] } })
    await hog.client.webhooks.test({ params: { id: webhook.id } })
  }
  const beside = await sample(deliverOne)
  console.log(
    `${kind}: delivered after ${describe(quiet)} quiet, ${describe(beside)} next to ${hanging.held()} hanging endpoints`,
  )
  const more = Math.max(...beside) - median(quiet)
  figure(
    `longest delivery next to ${ENDPOINTS} hanging endpoints of another workspace, minus quiet, ${kind}`,
    more,
    { atMost: MOST_MS },
    ' ms',
  )
  await Promise.all([receiver.close(), hanging.close()])
  await Promise.all([server.stop(), hog.client.close(), database.close()])
}

interface Tenant {
  workspaceId: string
  client: Client
}

async function addTenant(database: Database, url: string): Promise<Tenant> {
  const { workspaceId, token } = await createStore(database).transaction(async (tx) => {
    const workspace = await tx.workspaces.insert('hog', new Date())
    await tx.limits.set(workspace!.id, { webhooks: ENDPOINTS })
    const { text } = await createToken(tx, workspace!.id, { name: 'hog', role: 'owner' }, new Date())
    return { workspaceId: workspace!.id, token: text }
  })
  return { workspaceId, client: createClient({ url, token, attempts: 1 }) }
}

async function publishTicket(client: Client): Promise<string> {
  const { id } = await client.templates.create({ body: { name: 'Ticket', passType: 'eventTicket' } })
  const primary = [{ key: 'name', label: 'Name', value: '{{name}}' }]
  const version = await client.templates.createVersion({
    params: { id },
    body: {
      definition: {
        variables: [{ name: 'name', label: 'Name' }],
        design: { organizationName: 'Acme', description: 'A ticket', fields: { primary } },
      },
    },
  })
  await client.templateVersions.publish({ params: { id: version.id } })
  return id
}

async function issueOne(client: Client, templateId: string): Promise<number> {
  const body = { externalPassId: randomUUID(), label: 'Ada', templateId, variables: { name: 'Ada' } }
  const startedAt = performance.now()
  const { id } = await client.passes.create({ body })
  await finish(
    'pass to issue',
    async () => ((await client.passes.get({ params: { id } })).status === 'ISSUED' ? 0 : 1),
    2,
  )
  return performance.now() - startedAt
}

/**
 * Inserts passes and then the jobs that issue them, in transactions that are short enough not to block other writers.
 */
async function queuePasses(database: Database, { workspaceId }: Tenant, templateId: string): Promise<void> {
  const store = createStore(database)
  const template = (await store.templates.find(workspaceId, templateId))!
  const version = (await store.templateVersions.findPublished(
    workspaceId,
    templateId,
    template.latestPublishedVersion!,
  ))!
  const ids: string[] = []
  for (let n = 0; n < JOBS; n += 1_000) {
    const passes = Array.from({ length: 1_000 }, (_, m) => newPass(`many-${n + m}`, version))
    await store.transaction((tx) => tx.passes.insert(workspaceId, passes, new Date()))
    ids.push(...passes.map(({ id }) => id))
  }
  const job = { workspaceId, kind: 'issue-pass' as const, correlationId: null }
  const jobs = ids.map((subject, n) => ({ ...job, subject, isBulk: n % 2 === 0 }))
  for (let n = 0; n < JOBS; n += 5_000) {
    await store.transaction((tx) => tx.jobs.insert(jobs.slice(n, n + 5_000), new Date()))
  }
}

function newPass(externalPassId: string, version: { id: string; templateId: string; version: number }) {
  const id = newId(new Date())
  return {
    id,
    externalPassId,
    label: 'Ada Lovelace',
    variables: { name: 'Ada Lovelace' },
    templateId: version.templateId,
    templateVersionId: version.id,
    templateVersion: version.version,
    projectId: null,
    redemption: null,
    hasBalances: false,
    expiresAt: null,
    scanCode: id,
    appleToken: id,
    identifierDigest: Buffer.from(id.replaceAll('-', '').padEnd(64, '0'), 'hex'),
  }
}

interface Receiver {
  url: string
  /** Resolves with the next request. */
  next(): Promise<void>
  held(): number
  close(): Promise<void>
}

async function startReceiver(manner: 'answer' | 'hang' = 'answer'): Promise<Receiver> {
  let onNext: () => void = () => undefined
  let held = 0
  const server = createServer((request, response) => {
    request.resume()
    held += 1
    if (manner === 'answer') response.writeHead(204).end()
    onNext()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    next: () => new Promise((resolve) => (onNext = resolve)),
    held: () => held,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function sample(one: () => Promise<number>): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < SAMPLES; n += 1) {
    times.push(await one())
    await sleep(50)
  }
  return times
}

function describe(values: number[]): string {
  return `${median(values).toFixed(0)} ms (at most ${Math.max(...values).toFixed(0)})`
}
