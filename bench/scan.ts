/**
 * Measures scans over HTTP, with `passes serve` and a client as separate processes, against the same statements
 * prepared in this process. The statements of one scan run in their own transaction, with the same number in flight.
 * The statements of a set of 128 scans run in one transaction, which is the most that sets can achieve. The ledger has
 * a thousand and a million scans. Rounds alternate, and figures are ratios of medians. Run: npx tsx bench/scan.ts,
 * after npm run build. PASSES_BENCH_ROWS sets the size of the longer ledger (default 1,000,000). Exits with 1 if a
 * figure misses its limit.
 */

import { type Database, openDatabase } from '../src/storage/db/database.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { type LoadClient, percentile, startLoadClient } from './support/load.ts'
import { codeOf, insertCodes, insertPasses, passId } from './support/many-passes.ts'
import { insertScans } from './support/many-scans.ts'
import { median, ROUNDS, rounds, spread, timeAll } from './support/rounds.ts'
import { type CapturedScans, captureScans, prepareReplay, replay, type Subject } from './support/scan-statements.ts'
import { type BenchServer, startServer } from './support/server.ts'

const FEW = 1_000
const MANY = Number(process.env.PASSES_BENCH_ROWS ?? 1_000_000)
const PASSES = 10_000
const SCANS = 2_048
const SET = 128
const IN_FLIGHT = [16, 64]
const LIMITS = { perSecond: 2_000, prepared: 0.8, many: 0.5 }

interface Side {
  rows: number
  server: BenchServer
  client: LoadClient
  database: Database
  one: CapturedScans
  set: CapturedScans
  /** By the number of scans in flight: scans per second, the p99 in milliseconds, and the CPU milliseconds per scan. */
  http: Map<number, { rates: number[]; p99: number[]; cpu: number[] }>
  prepared: number[]
  preparedCpu: number[]
  sets: number[]
  setsCpu: number[]
}

/**
 * The number of scans so far. Each scan has another pass or context than all others, so that every scan is accepted.
 */
let scanned = 0

await onEachDatabase(async (kind, create) => {
  const sides = [await openSide(await create('few'), FEW), await openSide(await create('many'), MANY)] as const
  // Discard the first round, which warms up the programs and their compiled code.
  for (const round of rounds(ROUNDS + 1)) for (const side of sides) await measure(side, round > 0)
  report(kind, ...sides)
  for (const { server, database, client } of sides) {
    client.stop()
    await database.close()
    await server.stop()
  }
})

async function openSide(url: string, rows: number): Promise<Side> {
  const server = await startServer(url, [], async ({ writer }, workspaceId) => {
    await insertPasses(writer, workspaceId, PASSES)
    await insertCodes(writer, workspaceId, PASSES)
    await insertScans(writer, workspaceId, rows, PASSES)
  })
  const database = openDatabase(url, { poolSize: Math.max(...IN_FLIGHT) })
  const { workspaceId } = await server.client.tokens.current()
  return {
    rows,
    server,
    client: startLoadClient(server),
    database,
    one: await captureScans(database, workspaceId, nextScans(1)),
    set: await captureScans(database, workspaceId, nextScans(SET)),
    http: new Map(IN_FLIGHT.map((inFlight) => [inFlight, { rates: [], p99: [], cpu: [] }])),
    prepared: [],
    preparedCpu: [],
    sets: [],
    setsCpu: [],
  }
}

async function measure(side: Side, isCounted: boolean): Promise<void> {
  for (const [inFlight, { rates, p99, cpu }] of side.http) {
    const before = side.server.cpuMilliseconds()
    const bodies = nextScans(SCANS).map(({ qrPayload, scanContextKey }) =>
      JSON.stringify({ qrPayload, scanContextKey }),
    )
    const order = { path: '/v1/scans', bodies, inFlight, expected: '"result":"accepted"' }
    const { seconds, times } = await side.client.send(order)
    if (!isCounted) continue
    rates.push(SCANS / seconds)
    p99.push(percentile(times, 0.99))
    cpu.push((side.server.cpuMilliseconds() - before) / SCANS)
  }
  const ones = await timeReplay(side.database, side.one, SCANS, IN_FLIGHT[0]!)
  const sets = await timeReplay(side.database, side.set, SCANS / SET, 1)
  if (!isCounted) return
  side.prepared.push(ones.rate)
  side.preparedCpu.push(ones.cpu)
  side.sets.push(sets.rate)
  side.setsCpu.push(sets.cpu)
}

/** Returns the scans per second, and the CPU milliseconds of this process per scan. */
async function timeReplay(database: Database, captured: CapturedScans, count: number, inFlight: number) {
  const scans = count * captured.subjects.length
  const all = Array.from({ length: count }, () => prepareReplay(captured, nextScans(captured.subjects.length)))
  const before = process.cpuUsage()
  const seconds = await timeAll(
    all.map((statements) => () => replay(database, captured.name, statements)),
    inFlight,
  )
  const { user, system } = process.cpuUsage(before)
  return { rate: scans / seconds, cpu: (user + system) / 1_000 / scans }
}

/** Returns the subjects of the next scans. Skips void passes: passes 1 to 25, and one in a thousand. */
function nextScans(count: number): Subject[] {
  return Array.from({ length: count }, () => {
    do scanned += 1
    while ((26 + (scanned % (PASSES - 100))) % 1_000 === 0)
    const place = 26 + (scanned % (PASSES - 100))
    return { passId: passId(place), qrPayload: codeOf(place), scanContextKey: `bench <${scanned}>` }
  })
}

function report(kind: string, few: Side, many: Side): void {
  for (const { rows, one, http, prepared, preparedCpu, sets, setsCpu } of [few, many]) {
    const ledger = `${rows.toLocaleString('en')} scans in the ledger`
    for (const [inFlight, { rates, p99, cpu }] of http) {
      const what = `${kind}, ${ledger}, ${inFlight} in flight`
      console.log(
        `${what}: ${spread(rates)} scans/s, p99 ${spread(p99)} ms, CPU of the server ${spread(cpu, 2)} ms a scan`,
      )
    }
    const ownCpu = (values: number[]) => `CPU without the database ${spread(values, 2)} ms a scan`
    console.log(
      `${kind}, ${ledger}, ${one.statements.length} statements prepared: ${spread(prepared)} scans/s, ${ownCpu(preparedCpu)}`,
    )
    console.log(`${kind}, ${ledger}, sets of ${SET} prepared: ${spread(sets)} scans/s, ${ownCpu(setsCpu)}`)
    for (const [inFlight, { rates }] of http) {
      const what = `${ledger}, ${inFlight} in flight, ${kind}`
      figure(`scans a second over HTTP, ${what}`, median(rates), { atLeast: LIMITS.perSecond })
      figure(`scans over HTTP to the same statements prepared, ${what}`, median(rates) / median(prepared), {
        atLeast: LIMITS.prepared,
      })
    }
  }
  const [short, long] = [few, many].map(({ http }) => median(http.get(IN_FLIGHT[0]!)!.rates))
  figure(`scans over HTTP into the long ledger to the short, ${kind}`, long! / short!, { atLeast: LIMITS.many })
}
