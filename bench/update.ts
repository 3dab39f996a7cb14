/**
 * Measures updates of installed passes, from the outbox to the acknowledgement, on both databases, against raw HTTP/2
 * pushes of the same tokens to the same APNs emulator, which runs in a separate process. On SQLite, every commit is
 * synced. Rounds alternate. Run: npx tsx bench/update.ts
 */

import { join } from 'node:path'
import { execa } from 'execa'
import { jobHandlers, queueOptions } from '../src/server/background/job-handlers.ts'
import { startWorker } from '../src/server/jobs/worker.ts'
import { insertRows } from '../src/storage/db/bulk-rows.ts'
import { parseAppleIdentity } from '../src/wallets/apple/apple-identity.ts'
import { createApplePush } from '../src/wallets/apple/push.ts'
import type { BenchApns } from './support/apns.ts'
import { type BenchApp, openApp } from './support/app.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { insertPasses, passId } from './support/many-passes.ts'
import { pushRaw } from './support/raw-pushes.ts'
import { describe, finish, type Measured, measure, ratioOfCpu, ratioOfRates, rounds } from './support/rounds.ts'

const PASSES = 10_000
const TARGET = 0.7

const apnsProcess = execa('tsx', [join(import.meta.dirname, 'support/apns.ts'), String(PASSES)], {
  preferLocal: true,
  buffer: false,
  reject: false,
})
const apns = await readLine()
const passIds = apns.tokens.map((_, n) => passId(n + 1))
const push = createApplePush({
  identity: identityOf(apns),
  server: { address: apns.address, port: apns.port, ca: apns.rootPem },
})
await onEachDatabase(async (kind, create) => {
  const app = await openApp(await create('updates'))
  await install(app)
  const raw: Measured[] = []
  const drained: Measured[] = []
  for (const _ of rounds()) {
    raw.push(await measure(PASSES, () => pushRaw(apns, apns.tokens)))
    await change(app)
    drained.push(await measure(PASSES, () => drain(app)))
    await check(app)
  }
  await app.close()
  console.log(`${kind}: updates out of the outbox, ${describe(drained)}; raw pushes, ${describe(raw)}`)
  const what = 'updates of installed passes to raw HTTP/2 pushes'
  figure(`${what}, ${kind}`, ratioOfRates(drained, raw), { atLeast: TARGET })
  figure(`${what} by CPU, ${kind}`, ratioOfCpu(drained, raw), { atLeast: TARGET })
})
await push.close()
apnsProcess.kill()
process.exit()

async function readLine(): Promise<BenchApns> {
  let text = ''
  for await (const chunk of apnsProcess.stdout.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.endsWith('\n')) break
  }
  return JSON.parse(text)
}

function identityOf({ certificatePem, keyPem, wwdrPem, passTypeIdentifier, teamIdentifier }: BenchApns) {
  const from = (source: string, text: string) => ({ source, pem: Buffer.from(text) })
  const credentials = {
    certificate: from('certificate', certificatePem),
    key: from('key', keyPem),
    wwdr: from('wwdr', wwdrPem),
  }
  return parseAppleIdentity({ ...credentials, passTypeIdentifier, teamIdentifier }, new Date())
}

/** Registers one phone for each pass. */
async function install({ database, workspaceId }: BenchApp): Promise<void> {
  await insertPasses(database.writer, workspaceId, PASSES)
  const rows = apns.tokens.map((token, n) => ({
    workspace_id: workspaceId,
    pass_id: passId(n + 1),
    device_id: `device-${n}`,
    push_token: token,
    registered_at: Date.now(),
    pushed_version: 0,
    fetched_version: 0,
  }))
  await database.writer.transaction((tx) => insertRows(tx, 'apple_registrations', rows))
}

/** Changes every pass. */
async function change({ database, services, workspaceId }: BenchApp): Promise<void> {
  const db = database.writer
  await db('passes').update({ wallet_version: db.raw('wallet_version + 1') })
  const jobs = passIds.map((subject) => ({ workspaceId, kind: 'update-apple' as const, subject, correlationId: null }))
  await services.store.transaction((tx) => tx.jobs.insert(jobs, new Date()))
}

/** Runs a worker. Returns the seconds until the outbox is empty. */
async function drain({ database, services }: BenchApp): Promise<number> {
  const startedAt = performance.now()
  const worker = startWorker({ ...services, push }, { handlers: jobHandlers, queues: queueOptions })
  await finish('jobs', async () => ((await database.reader('jobs').first('id')) ? 1 : 0), 20)
  const seconds = (performance.now() - startedAt) / 1000
  await worker.stop()
  return seconds
}

/** @throws Error if a phone was not pushed for the current version of its pass */
async function check({ services, workspaceId }: BenchApp): Promise<void> {
  const behind = await services.store.registrations.listOutdated(workspaceId, passIds)
  if (behind.length > 0) throw new Error(`${behind.length} phones were not pushed`)
}
