/**
 * Simulates 100 phones at the doors of one server. The engines of the door page run in this process, and the server in
 * a separate one. The network of the phones is cut for the middle half of the run, and a tenth of the tickets is shown
 * at two gates at the same time. Prints lost scans, double admissions, and the time of decisions, from the scan until
 * the engine resolves. That time includes the work of this process for other phones, so their delay is printed, too.
 * The CPU use of other programs is also printed, because on a machine with two cores, one other busy program delays
 * every decision. The journal is in memory. Phones write it to disk. Run: npx tsx bench/door.ts, after npm run build.
 * For a short run, set PASSES_BENCH_TICKETS, PASSES_BENCH_PHONES, and PASSES_BENCH_SECONDS. Exits with 1 if a figure
 * misses its limit.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Identity } from '../src/door/engine/store/engine-store.ts'
import { openDatabase } from '../src/storage/db/database.ts'
import { findFaults, insertTickets, showTickets } from './support/door-run.ts'
import { type BenchPhone, openPhone, until } from './support/doors.ts'
import { figure } from './support/figures.ts'
import { percentile } from './support/load.ts'
import { cpuMillisecondsOfAll, startServer } from './support/server.ts'

const TICKETS = Number(process.env.PASSES_BENCH_TICKETS ?? 100_000)
const PHONES = Number(process.env.PASSES_BENCH_PHONES ?? 100)
const SECONDS = Number(process.env.PASSES_BENCH_SECONDS ?? 60)
const SCANS_PER_SECOND = 180
const LIMITS = { onlineP99Ms: 150, offlineP99Ms: 20, loadSeconds: 10 }

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const databaseUrl = `sqlite:${join(folder, 'door.db')}`
let [workspaceId, projectId] = ['', '']
const server = await startServer(databaseUrl, [], async (database, id) => {
  workspaceId = id
  projectId = await insertTickets(database, workspaceId, TICKETS)
})

const phones = await openPhones()
const allBefore = cpuMillisecondsOfAll()
const serverBefore = server.cpuMilliseconds()
const ownBefore = process.cpuUsage()
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const startedAt = performance.now()
const timed = await showTickets(phones, {
  scans: SECONDS * SCANS_PER_SECOND,
  tickets: TICKETS,
  // Keep an even pace, even if previous scans have no decision yet.
  async pace(n) {
    const early = startedAt + (n / SCANS_PER_SECOND) * 1_000 - performance.now()
    if (early > 0) await sleep(early)
  },
})
delay.disable()
const cores = (ms: number) => (ms / (performance.now() - startedAt)).toFixed(2)
const { user, system } = process.cpuUsage(ownBefore)
const ownMs = (user + system) / 1_000
const serverMs = server.cpuMilliseconds() - serverBefore
const othersMs = cpuMillisecondsOfAll() - allBefore - serverMs - ownMs
console.log(
  `The server used ${cores(serverMs)} cores, the phones ${cores(ownMs)}, other programs ${cores(othersMs)} ` +
    `of ${availableParallelism()}; p99 delay by other phones of this process ${(delay.percentile(99) / 1e6).toFixed(1)} ms`,
)
for (const phone of phones) phone.cut(false)
for (const { engine } of phones) engine.retry()
for (const { engine } of phones)
  await until(engine, ({ connection, pending }) => connection === 'online' && pending === 0)
await report()
await Promise.all(phones.map(({ engine }) => engine.stop()))
await server.stop()
rmSync(folder, { recursive: true })

async function openPhones(): Promise<BenchPhone[]> {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const { code } = await server.client.doors.invite({ body: { projectId, gate: 'North', uses: PHONES, expiresAt } })
  const identities: Identity[] = []
  for (let n = 0; n < PHONES; n += 1) {
    const { door, token } = await server.client.doors.claim({ body: { code, name: `phone ${n}` } })
    identities.push({ token, door })
  }
  const startedAt = performance.now()
  const first = await openPhone(server.url, identities[0]!)
  await until(first.engine, ({ list }) => list?.size === TICKETS)
  const seconds = (performance.now() - startedAt) / 1_000
  figure(`list of ${TICKETS.toLocaleString('en')} passes on a phone, seconds`, seconds, { atMost: LIMITS.loadSeconds })
  const list = first.shared()
  const others = await Promise.all(identities.slice(1).map((identity) => openPhone(server.url, identity, { list })))
  for (const { engine } of others) await until(engine, ({ connection }) => connection === 'online')
  return [first, ...others]
}

async function report(): Promise<void> {
  const database = openDatabase(databaseUrl)
  const shown = timed.map(({ decision }) => decision)
  const faults = await findFaults(database, workspaceId, shown)
  await database.close()
  const of = (verified: string) => timed.filter(({ decision }) => decision.verified === verified).map(({ ms }) => ms)
  const [online, offline] = [of('online'), of('offline')]
  const counts = [`${shown.length} scans at ${PHONES} phones in ${SECONDS} s`, `${online.length} with the server`]
  console.log(`${counts.join(', ')}, ${offline.length} without, ${faults.twice} tickets admitted twice without it`)
  figure('scans without a decision', faults.unevaluated, { atMost: 0 })
  figure('scans lost', faults.lost, { atMost: 0 })
  figure('tickets that the server admitted twice', faults.twiceOnline, { atMost: 0 })
  figure('tickets whose double admissions are not all conflicts', faults.untold, { atMost: 0 })
  const pace = `at ${SCANS_PER_SECOND} scans a second`
  figure(`p99 of a decision with the server, ${pace}`, percentile(online, 0.99), { atMost: LIMITS.onlineP99Ms }, ' ms')
  figure(`p99 of a decision without it, ${pace}`, percentile(offline, 0.99), { atMost: LIMITS.offlineP99Ms }, ' ms')
}
