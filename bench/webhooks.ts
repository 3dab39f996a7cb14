import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'undici'
import { newId } from '../src/core/ids.ts'
import { SIGNATURE_HEADER, sign } from '../src/core/rules/crypto/signature.ts'
import { jobHandlers } from '../src/server/background/job-handlers.ts'
import type { Services } from '../src/server/context.ts'
import { createOutbound } from '../src/server/webhooks/outbound.ts'
import type { Queue } from '../src/storage/jobs/job-kinds.ts'
import type { Target } from '../src/storage/webhooks/deliveries-repository.ts'
import { type BenchApp, openApp } from './support/app.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { describe, type Measured, measure, ratioOfCpu, ratioOfRates, rounds, timeAll } from './support/rounds.ts'

/**
 * Measures deliveries per second to one endpoint on loopback, from the queue to the record of each attempt, on both
 * databases, against bare undici POSTs of the same bodies, with headers of the same size and the same number in flight.
 * Both read the responses. Run: npx tsx bench/webhooks.ts
 */

const COUNT = Number(process.env.PASSES_BENCH_DELIVERIES ?? 20_000)
const IN_FLIGHT = 8
const TARGET = 0.7

/**
 * The number of bare POSTs of each body. With this number, both sides take about as long, so that changes of the
 * machine's speed affect both.
 */
const REPEATS = 3

const receiver = fork(new URL('support/receiver.js', import.meta.url))
const [port] = await once(receiver, 'message')
const url = `http://127.0.0.1:${port}/hook`
const agent = new Agent()
const headers = {
  'content-type': 'application/json',
  'user-agent': 'passes-webhooks',
  [SIGNATURE_HEADER]: sign('', ['whsec_bench'], new Date()),
}

console.log(`${COUNT.toLocaleString('en')} deliveries of pass.issued, ${IN_FLIGHT} in flight, median of their rounds`)
await onEachDatabase(async (kind, create) => {
  const app = await openApp(await create('webhooks'))
  const outbound = createOutbound({ allowInsecure: true })
  const webhook = await createWebhook(app)
  const delivered: Measured[] = []
  const bare: Measured[] = []
  for (const _ of rounds()) {
    const bodies = await queue(app, webhook)
    delivered.push(await measure(COUNT, () => deliver(app, outbound)))
    const posts = Array.from({ length: REPEATS }, () => bodies.map((body) => () => post(body))).flat()
    bare.push(await measure(posts.length, () => timeAll(posts, IN_FLIGHT)))
  }
  const succeeded = await app.database.reader('webhook_deliveries').where({ status: 'SUCCESS' }).pluck('id')
  if (succeeded.length !== delivered.length * COUNT) throw new Error(`Only ${succeeded.length} deliveries succeeded`)
  await Promise.all([outbound.close(), app.close()])
  report(kind, delivered, bare)
})
await agent.close()
receiver.disconnect()
process.exit()

async function createWebhook({ services, workspaceId }: BenchApp): Promise<Target> {
  const id = newId(new Date())
  const { sealed } = services.webhookSecrets.make(id)
  const fields = { url, events: ['pass.issued' as const], description: '', secret: sealed }
  return services.store.transaction((tx) => tx.webhooks.insert(workspaceId, id, fields, new Date()))
}

/** Inserts events with their deliveries, in hundreds, as issuing does. Returns the bodies to send. */
async function queue({ services, workspaceId }: BenchApp, webhook: Target): Promise<string[]> {
  const { store } = services
  for (let done = 0; done < COUNT; done += 100) {
    await store.transaction((tx) => tx.events.insert(workspaceId, Array.from({ length: 100 }, newEvent), new Date()))
  }
  await runJobs('database', services)
  const options = { at: new Date(), limit: COUNT, underWay: [] }
  const due = await store.deliveries.listDue(workspaceId, webhook, options)
  if (due.length !== COUNT) throw new Error(`${due.length} deliveries of ${COUNT} are due`)
  return due.map(({ payload }) => payload)
}

function newEvent() {
  const id = newId(new Date())
  const [templateId, templateVersionId, projectId] = [id, id, id]
  const variables = { name: 'Ada Lovelace', seat: 'A12', tier: 'Gold', gate: 'North' }
  const state = { redemption: { maxUses: 1 }, expiresAt: null, createdAt: new Date().toISOString() }
  const data = { id, externalPassId: `order-${id}`, templateId, templateVersionId, projectId, variables, ...state }
  return { type: 'pass.issued' as const, subject: id, data, correlationId: null }
}

/** Delivers all due deliveries. Returns the seconds that this took. */
async function deliver(app: BenchApp, outbound: ReturnType<typeof createOutbound>): Promise<number> {
  const startedAt = performance.now()
  await runJobs('webhooks', { ...app.services, outbound })
  return (performance.now() - startedAt) / 1000
}

/** Runs the jobs of a queue one by one until none is due. */
async function runJobs(queue: Queue, services: Services): Promise<void> {
  const options = { limit: 1, leaseSeconds: 60 }
  for (;;) {
    const [job] = await services.store.transaction((tx) => tx.jobs.claim(queue, new Date(), options))
    if (!job) return
    await jobHandlers[job.kind]([job], services)
  }
}

async function post(body: string): Promise<void> {
  const response = await request(url, { method: 'POST', body, headers, dispatcher: agent })
  await response.body.dump()
}

function report(kind: string, delivered: Measured[], bare: Measured[]): void {
  console.log(`${kind}: deliveries, ${describe(delivered)}; bare POSTs, ${describe(bare)}`)
  const what = 'webhook deliveries to bare POSTs of their bodies'
  figure(`${what}, ${kind}`, ratioOfRates(delivered, bare), { atLeast: TARGET })
  figure(`${what} by CPU, ${kind}`, ratioOfCpu(delivered, bare), { atLeast: TARGET })
}
