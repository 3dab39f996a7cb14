/**
 * Updates of installed passes, drained from the outbox (claim, announce, read, push, acknowledge, on SQLite with every
 * commit synced), against raw HTTP/2 pushes of the same tokens to the same APNs, which is the sandbox's in a process of its
 * own. Rounds take turns. On PostgreSQL: npx tsx bench/update.ts URL_OF_EMPTY_DATABASE
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import { jobHandlers, laneOptions } from '../src/server/jobs/handlers.ts'
import { startWorker } from '../src/server/jobs/worker.ts'
import { insertMany } from '../src/storage/dialect.ts'
import { parseAppleIdentity } from '../src/wallets/apple/identity.ts'
import { createApplePush } from '../src/wallets/apple/push.ts'
import type { BenchApns } from './support/apns.ts'
import { openApp } from './support/app.ts'
import { insertPasses, passId } from './support/many-passes.ts'
import { best, timeAll } from './support/rounds.ts'
import { benchServices } from './support/services.ts'

const PASSES = 10_000
const ROUNDS = 4
/** As many streams as the library opens at once. */
const IN_FLIGHT = 1_000
const TARGET = 0.4

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const apnsProcess = execa('tsx', [join(import.meta.dirname, 'support/apns.ts'), String(PASSES)], {
  preferLocal: true,
  buffer: false,
  reject: false,
})
const apns = await readLine()
const { database, workspaceId } = await openApp(process.argv[2] ?? `sqlite:${join(folder, 'passes.db')}`)
const db = database.writer
const push = createApplePush({
  identity: identityOf(apns),
  server: { address: apns.address, port: apns.port, ca: apns.rootPem },
})
const services = { ...benchServices(database), push }
await install()

const rates: { raw: number[]; drained: number[] } = { raw: [], drained: [] }
for (let round = 0; round < ROUNDS; round += 1) {
  rates.raw.push(PASSES / (await pushRaw()))
  rates.drained.push(PASSES / (await drain()))
  console.log(`  raw ${rates.raw.at(-1)!.toFixed(0)} pushes/s, drained ${rates.drained.at(-1)!.toFixed(0)} updates/s`)
}
const ratio = best(rates.drained) / best(rates.raw)
console.log(`raw HTTP/2: ${best(rates.raw).toFixed(0)} pushes/s, best of ${ROUNDS}`)
console.log(`outbox:     ${best(rates.drained).toFixed(0)} updates/s, best of ${ROUNDS}`)
console.log(`ratio:      ${ratio.toFixed(2)} (at least ${TARGET})`)

await push.close()
await database.close()
apnsProcess.kill()
rmSync(folder, { recursive: true, force: true })
process.exit(ratio >= TARGET ? 0 : 1)

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

/** One phone for each pass. */
async function install(): Promise<void> {
  await insertPasses(db, workspaceId, PASSES)
  const rows = apns.tokens.map((token, n) => ({
    ...{ workspace_id: workspaceId, pass_id: passId(n + 1), device_id: `device-${n}`, push_token: token },
    ...{ registered_at: Date.now(), pushed_version: 0, fetched_version: 0 },
  }))
  await db.transaction((tx) => insertMany(tx, 'apple_registrations', rows))
}

/** Seconds for one push to each token over one connection. */
async function pushRaw(): Promise<number> {
  const session = connect(`https://${apns.address}:${apns.port}`, {
    ca: apns.rootPem,
    cert: apns.certificatePem,
    key: apns.keyPem,
    peerMaxConcurrentStreams: IN_FLIGHT,
  })
  const send = (token: string) =>
    new Promise<void>((resolve, reject) => {
      const headers = { ':method': 'POST', ':path': `/3/device/${token}`, 'apns-topic': apns.passTypeIdentifier }
      const stream = session.request(headers)
      stream.on('response', ({ ':status': status }) => {
        if (status !== 200) reject(new Error(`APNs answered ${status}`))
      })
      stream.on('error', reject)
      stream.on('end', resolve)
      stream.resume()
      stream.end('{ }')
    })
  const seconds = await timeAll(
    apns.tokens.map((token) => () => send(token)),
    IN_FLIGHT,
  )
  session.close()
  return seconds
}

/** Every pass changes; seconds until the outbox is empty. */
async function drain(): Promise<number> {
  await db('passes').update({ wallet_version: db.raw('wallet_version + 1') })
  const jobs = apns.tokens.map((_, n) => ({
    ...{ workspaceId, kind: 'update-wallet' as const, subject: passId(n + 1), correlationId: null },
  }))
  await services.store.transaction((tx) => tx.jobs.insert(jobs, new Date()))
  const startedAt = performance.now()
  const worker = startWorker(services, { handlers: jobHandlers, lanes: laneOptions })
  while (await database.reader('jobs').first('id')) await sleep(20)
  const seconds = (performance.now() - startedAt) / 1000
  await worker.stop()
  const passes = apns.tokens.map((_, n) => passId(n + 1))
  const behind = await services.store.registrations.listBehind(workspaceId, passes)
  if (behind.length > 0) throw new Error(`${behind.length} phones were not pushed`)
  return seconds
}
