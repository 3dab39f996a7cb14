/**
 * Measures the chains over the ledger on both databases. First, their cost: scans over HTTP to `passes serve` with
 * chains and without, in alternating rounds. Without chains, a trigger discards the entries to chain. A round ends with
 * its last response, and the next one starts when all its entries are chained. Second, the time to chain and verify a
 * long ledger. Run: npx tsx bench/evidence.ts, after npm run build. PASSES_BENCH_ROWS sets the number of entries of the
 * long ledger (default 1,000,000). Exits with 1 if a figure misses its limit.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { extendChains } from '../src/server/evidence/extend-chains.ts'
import { createSigningKeys } from '../src/server/evidence/signing-keys.ts'
import { verifyChains } from '../src/server/operator/verify-chains.ts'
import { type Database, openDatabase } from '../src/storage/db/database.ts'
import { createStore } from '../src/storage/store.ts'
import { openApp } from './support/app.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { type LoadClient, startLoadClient } from './support/load.ts'
import { codeOf, insertCodes, insertPasses } from './support/many-passes.ts'
import { insertScans } from './support/many-scans.ts'
import { median, spread } from './support/rounds.ts'
import { type BenchServer, startServer } from './support/server.ts'

const ROWS = Number(process.env.PASSES_BENCH_ROWS ?? 1_000_000)
const ROUNDS = Number(process.env.PASSES_BENCH_ROUNDS ?? 6)
const PASSES = 10_000
const SCANS = 6_144
const IN_FLIGHT = 64
const LIMITS = { kept: 0.9, verifySeconds: 60 }

let scanned = 0

await onEachDatabase(async (kind, create) => {
  await compareScans(kind, await create('with'), await create('without'))
  await timeLedger(kind, await create('ledger'))
})
process.exit()

interface Side {
  server: BenchServer
  client: LoadClient
  database: Database
  rates: number[]
  cpu: number[]
}

async function compareScans(kind: string, withUrl: string, withoutUrl: string): Promise<void> {
  const chained = await openSide(withUrl, true)
  const bare = await openSide(withoutUrl, false)
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const side of round % 2 === 0 ? [chained, bare] : [bare, chained]) await measure(side, round > 0)
  }
  for (const [name, side] of Object.entries({ chained, bare })) {
    console.log(`${kind}, ${name}: ${spread(side.rates)} scans/s, CPU of the server ${spread(side.cpu, 3)} ms a scan`)
  }
  figure(`scans over HTTP with chains to those without, ${kind}`, median(chained.rates) / median(bare.rates), {
    atLeast: LIMITS.kept,
  })
  for (const { client, database, server } of [chained, bare]) {
    client.stop()
    await database.close()
    await server.stop()
  }
}

async function openSide(url: string, isChained: boolean): Promise<Side> {
  const server = await startServer(url, [], async ({ writer, dialect }, workspaceId) => {
    await insertPasses(writer, workspaceId, PASSES)
    await insertCodes(writer, workspaceId, PASSES)
    if (!isChained) await withoutChains(writer, dialect)
  })
  return { server, client: startLoadClient(server), database: openDatabase(url), rates: [], cpu: [] }
}

/** Creates a trigger that discards the entries to chain, which scans still insert. */
async function withoutChains(db: Database['writer'], dialect: Database['dialect']): Promise<void> {
  if (dialect === 'sqlite') {
    await db.raw('create trigger no_chains before insert on chain_pending begin select raise(ignore); end')
    return
  }
  await db.raw('create function no_chains() returns trigger language plpgsql as $$ begin return null; end $$')
  await db.raw('create trigger no_chains before insert on chain_pending for each row execute function no_chains()')
}

async function measure({ server, client, database, rates, cpu }: Side, isCounted: boolean): Promise<void> {
  const bodies = Array.from({ length: SCANS }, nextScan)
  const before = server.cpuMilliseconds()
  const { seconds } = await client.send({
    path: '/v1/scans',
    bodies,
    inFlight: IN_FLIGHT,
    expected: '"result":"accepted"',
  })
  while (await createStore(database).chains.hasPending()) await sleep(20)
  if (!isCounted) return
  rates.push(SCANS / seconds)
  cpu.push((server.cpuMilliseconds() - before) / SCANS)
}

/** Returns the body of the next scan. Skips void passes: passes 1 to 25, and one in a thousand. */
function nextScan(): string {
  do scanned += 1
  while ((26 + (scanned % (PASSES - 100))) % 1_000 === 0)
  const place = 26 + (scanned % (PASSES - 100))
  return JSON.stringify({ qrPayload: codeOf(place), scanContextKey: `bench <${scanned}>` })
}

async function timeLedger(kind: string, url: string): Promise<void> {
  const app = await openApp(url)
  const { database, workspaceId } = app
  await insertPasses(database.writer, workspaceId, PASSES)
  await insertScans(database.writer, workspaceId, ROWS, PASSES)
  const store = createStore(database)
  const signingKeys = createSigningKeys({ current: Buffer.alloc(32, 7), previous: [] })
  const services = { store, clock: () => new Date(), log: pino({ level: 'error' }), signingKeys, loggedAt: new Map() }
  const chaining = await secondsOf(() => extendChains(services, () => true))
  let verified: Awaited<ReturnType<typeof verifyChains>> | undefined
  const verifying = await secondsOf(async () => {
    verified = await verifyChains(store, 'scans')
  })
  const [chain] = verified!.chains
  if (chain?.entries !== ROWS || chain.faultCount > 0) throw new Error('The chain is not whole')
  const rows = ROWS.toLocaleString('en')
  console.log(`${kind}: ${rows} entries chained in ${chaining.toFixed(1)} s, verified in ${verifying.toFixed(1)} s`)
  figure(`seconds to verify ${rows} entries, ${kind}`, verifying, { atMost: LIMITS.verifySeconds })
  await app.close()
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1_000
}
