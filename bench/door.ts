/**
 * A hundred phones at the doors of one server: the engine of the page in this process, the server one of its own. Its network is
 * cut for the middle half of the run, and a tenth of the tickets is shown at two gates at the same instant. Prints what was lost,
 * who was let in twice, and how long the verdicts took. Run: npx tsx bench/door.ts, after npm run build.
 * PASSES_BENCH_TICKETS, PASSES_BENCH_PHONES and PASSES_BENCH_SECONDS make a short form. Exits 1 where a figure misses its limit.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { identifierDigest } from '../src/core/rules/crypto/scan-code.ts'
import type { Identity } from '../src/door/engine/store.ts'
import { insertRows } from '../src/storage/db/bulk-rows.ts'
import { openDatabase } from '../src/storage/db/database.ts'
import { type BenchPhone, openPhone, type TimedVerdict, timedScan, until } from './support/doors.ts'
import { figure } from './support/figures.ts'
import { percentile } from './support/load.ts'
import { passId } from './support/many-passes.ts'
import { insertProject } from './support/project.ts'
import { startServer } from './support/server.ts'

const TICKETS = Number(process.env.PASSES_BENCH_TICKETS ?? 100_000)
const PHONES = Number(process.env.PASSES_BENCH_PHONES ?? 100)
const SECONDS = Number(process.env.PASSES_BENCH_SECONDS ?? 60)
const SCANS_PER_SECOND = 180
/** One ticket of so many is shown at two gates. */
const TWICE = 10
const LIMITS = { onlineP99Ms: 150, offlineP99Ms: 20, loadSeconds: 10 }

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const databaseUrl = `sqlite:${join(folder, 'door.db')}`
let projectId = ''
const server = await startServer(databaseUrl, [], async (database, workspaceId) => {
  const { writer } = database
  projectId = await insertProject(database, workspaceId, TICKETS)
  for (let start = 1; start <= TICKETS; start += 10_000) {
    const identifiers = Array.from({ length: Math.min(10_000, TICKETS - start + 1) }, (_, n) => ({
      workspace_id: workspaceId,
      digest: identifierDigest(codeOf(start + n)),
      pass_id: passId(start + n),
      active: true,
    }))
    await writer.transaction((tx) => insertRows(tx, 'pass_identifiers', identifiers))
  }
})

const phones = await openPhones()
const { shown, online, offline } = await scanAll()
for (const phone of phones) phone.cut(false)
for (const { engine } of phones) engine.retry()
for (const { engine } of phones)
  await until(engine, ({ connection, pending }) => connection === 'online' && pending === 0)
await report()
for (const { engine } of phones) await engine.stop()
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
  const shared = first.shared()
  const others = await Promise.all(identities.slice(1).map((identity) => openPhone(server.url, identity, shared)))
  for (const { engine } of others) await until(engine, ({ connection }) => connection === 'online')
  return [first, ...others]
}

/** Scans at an even pace, whether the scans before have their verdicts or not. */
async function scanAll() {
  const timed: Promise<TimedVerdict>[] = []
  const startedAt = performance.now()
  let ticket = 25
  for (let scans = 0; scans < SECONDS * SCANS_PER_SECOND; ) {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * SCANS_PER_SECOND)
    for (; scans < due; scans += 1) {
      const part = scans / (SECONDS * SCANS_PER_SECOND)
      for (const phone of phones) phone.cut(part >= 0.25 && part < 0.75)
      ticket += 1
      const code = codeOf(1 + (ticket % TICKETS))
      timed.push(timedScan(phones[scans % PHONES]!, code))
      if (ticket % TWICE !== 0) continue
      scans += 1
      timed.push(timedScan(phones[(scans + PHONES / 2) % PHONES]!, code))
    }
    await sleep(1)
  }
  const all = await Promise.all(timed)
  const of = (verified: string) => all.filter(({ verdict }) => verdict.verified === verified).map(({ ms }) => ms)
  return { shown: all.map(({ verdict }) => verdict), online: of('online'), offline: of('offline') }
}

interface LedgerRow {
  external_ref: string
  pass_id: string
  result: string
  verified: string
  conflict: string | null
}

async function report(): Promise<void> {
  const database = openDatabase(databaseUrl)
  const rows: LedgerRow[] = await database
    .reader('scans')
    .select('external_ref', 'pass_id', 'result', 'verified', 'conflict')
  await database.close()
  const byRef = new Map(rows.map((row) => [row.external_ref, row]))
  const judged = shown.filter(({ failure }) => failure === null)
  const lost = judged.filter(({ externalRef, result }) => {
    // The server refused, unheard, what was then let in: both stand there.
    const row = byRef.get(`${externalRef}+acted`) ?? byRef.get(externalRef)
    return !row || (row.result === 'accepted') !== (result === 'accepted')
  })
  const accepted = new Map<string, LedgerRow[]>()
  for (const row of rows) {
    if (row.result === 'accepted') accepted.set(row.pass_id, [...(accepted.get(row.pass_id) ?? []), row])
  }
  const twice = [...accepted.values()].filter((admissions) => admissions.length > 1)
  const atOnce = twice.filter((admissions) => admissions.filter(({ verified }) => verified === 'online').length > 1)
  const untold = twice.filter((admissions) => admissions.filter(({ conflict }) => conflict === null).length > 1)
  const counts = [`${shown.length} scans at ${PHONES} phones in ${SECONDS} s`, `${online.length} with the server`]
  console.log(`${counts.join(', ')}, ${offline.length} without, ${twice.length} tickets let in twice without it`)
  figure('scans without a verdict', shown.length - judged.length, { atMost: 0 })
  figure('scans lost', lost.length, { atMost: 0 })
  figure('tickets let in twice by the server', atOnce.length, { atMost: 0 })
  figure('double admissions that are no conflict in the ledger', untold.length, { atMost: 0 })
  const pace = `at ${SCANS_PER_SECOND} scans a second`
  figure(`p99 of a verdict with the server, ${pace}`, percentile(online, 0.99), { atMost: LIMITS.onlineP99Ms }, ' ms')
  figure(`p99 of a verdict without it, ${pace}`, percentile(offline, 0.99), { atMost: LIMITS.offlineP99Ms }, ' ms')
}

function codeOf(n: number): string {
  return `bench-code-${n}`
}
