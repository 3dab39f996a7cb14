import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { newId } from '../src/core/ids.ts'
import { jobHandlers } from '../src/server/jobs/handlers.ts'
import { createOutbound } from '../src/server/outbound.ts'
import { openApp } from './support/app.ts'
import { best, timeAll } from './support/rounds.ts'

/**
 * Deliveries a second to one endpoint on loopback, from the queue into the record of each attempt, against bare undici
 * POSTs of the same bodies with as many in flight. On PostgreSQL: npx tsx bench/webhooks.ts URL_OF_EMPTY_DATABASE
 */

const COUNT = Number(process.env.PASSES_BENCH_DELIVERIES ?? 5_000)
const ROUNDS = 5
const IN_FLIGHT = 8
const TARGET = 0.4

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const receiver = fork(join(import.meta.dirname, 'support/receiver.js'))
const [port] = await once(receiver, 'message')
const url = `http://127.0.0.1:${port}/hook`

const app = await openApp(process.argv[2] ?? `sqlite:${join(folder, 'webhooks.db')}`)
const { store, webhookSecrets } = app.services
const outbound = createOutbound({ allowInsecure: true })
const services = { ...app.services, outbound }
const { workspaceId } = app
const webhook = await createWebhook()
const agent = new Agent()

console.log(`${COUNT.toLocaleString('en')} deliveries of pass.issued, ${IN_FLIGHT} in flight, best of ${ROUNDS} rounds`)
const delivered: number[] = []
const bare: number[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  const bodies = await queue()
  delivered.push(COUNT / (await deliver()))
  bare.push(
    COUNT /
      (await timeAll(
        bodies.map((body) => () => post(body)),
        IN_FLIGHT,
      )),
  )
}
const failures = await app.database.reader('webhook_deliveries').whereNot({ status: 'SUCCESS' })
if (failures.length > 0) throw new Error(`${failures.length} deliveries did not succeed`)

const ratio = best(delivered) / best(bare)
console.log(`delivered        ${Math.round(best(delivered)).toLocaleString('en')} a second`)
console.log(`bare POSTs       ${Math.round(best(bare)).toLocaleString('en')} a second`)
console.log(`ratio            ${ratio.toFixed(2)} (target: at least ${TARGET}) ${ratio >= TARGET ? 'met' : 'MISSED'}`)

await Promise.all([agent.close(), outbound.close(), app.database.close()])
receiver.disconnect()
rmSync(folder, { recursive: true, force: true })
process.exit(ratio >= TARGET ? 0 : 1)

async function createWebhook() {
  const id = newId(new Date())
  const { sealed } = webhookSecrets.make(id)
  const fields = { url, events: ['pass.issued' as const], description: '', secret: sealed }
  return store.transaction((tx) => tx.webhooks.insert(workspaceId, id, fields, new Date()))
}

/** Events of passes as issuing writes them, in hundreds; returns what is to be sent. */
async function queue(): Promise<string[]> {
  for (let done = 0; done < COUNT; done += 100) {
    await store.transaction((tx) => tx.events.insert(workspaceId, Array.from({ length: 100 }, newEvent), new Date()))
  }
  const options = { at: new Date(), limit: COUNT, underWay: [] }
  return (await store.deliveries.listDue(workspaceId, webhook, options)).map(({ payload }) => payload)
}

function newEvent() {
  const id = newId(new Date())
  const [templateId, templateVersionId, projectId] = [id, id, id]
  const variables = { name: 'Ada Lovelace', seat: 'A12', tier: 'Gold', gate: 'North' }
  const state = { redemption: { maxUses: 1 }, expiresAt: null, createdAt: new Date().toISOString() }
  const data = { id, externalPassId: `order-${id}`, templateId, templateVersionId, projectId, variables, ...state }
  return { type: 'pass.issued' as const, subject: id, data, correlationId: null }
}

/** Seconds until nothing is due. */
async function deliver(): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const options = { limit: 1, leaseSeconds: 60 }
    const jobs = await store.transaction((tx) => tx.jobs.claim('webhooks', new Date(), options))
    if (jobs.length === 0) return (performance.now() - startedAt) / 1000
    await jobHandlers['deliver-webhooks'](jobs, services)
  }
}

async function post(body: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await request(url, { method: 'POST', body, headers, dispatcher: agent })
  await response.body.dump()
}
