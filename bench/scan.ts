/**
 * Scans over HTTP, from `passes serve` as a process of its own, against the same statements in a bare transaction from
 * this one; both with a thousand and with a million scans in the ledger, taking turns in one run. Run: npx tsx
 * bench/scan.ts, after npm run build. PASSES_BENCH_ROWS takes another number for the million. Exits 1 where HTTP comes to
 * less than half of the bare rate, or the long ledger to less than half of the short.
 */
import { identifierDigest } from '../src/core/rules/crypto/scan-code.ts'
import { type Database, openDatabase } from '../src/storage/db/database.ts'
import { insertMany } from '../src/storage/db/dialect.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { insertPasses, passId } from './support/many-passes.ts'
import { insertScans } from './support/many-scans.ts'
import { best, timeAll } from './support/rounds.ts'
import { captureScan, replayScan, type Statement } from './support/scan-statements.ts'
import { type BenchServer, startServer } from './support/server.ts'

const FEW = 1_000
const MANY = Number(process.env.PASSES_BENCH_ROWS ?? 1_000_000)
const PASSES = 10_000
const ROUNDS = Number(process.env.PASSES_BENCH_ROUNDS ?? 3)
const SCANS = 1_000
const IN_FLIGHT = Number(process.env.PASSES_BENCH_IN_FLIGHT ?? 16)
const LIMITS = { http: 0.5, many: 0.5 }

interface Side {
  rows: number
  server: BenchServer
  database: Database
  statements: Statement[]
  http: number[]
  raw: number[]
  p99: number[]
  /** What the server's process used of the processors for a scan, in milliseconds. */
  cpu: number[]
}

/** No scan of the run is of a pass and context that another was of: every one is accepted. */
let scanned = 0

await onEachDatabase(async (kind, create) => {
  const sides = [await openSide(await create('few'), FEW), await openSide(await create('many'), MANY)] as const
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of sides) {
      await scanOverHttp(side)
      await scanBare(side)
    }
  }
  report(kind, ...sides)
  for (const { server, database } of sides) {
    await database.close()
    await server.stop()
  }
})

async function openSide(url: string, rows: number): Promise<Side> {
  const server = await startServer(url, [], async ({ writer }, workspaceId) => {
    await insertPasses(writer, workspaceId, PASSES)
    const identifiers = Array.from({ length: PASSES }, (_, n) => ({
      workspace_id: workspaceId,
      digest: identifierDigest(codeOf(n + 1)),
      pass_id: passId(n + 1),
      active: true,
    }))
    await writer.transaction((tx) => insertMany(tx, 'pass_identifiers', identifiers))
    await insertScans(writer, workspaceId, rows, PASSES)
  })
  const database = openDatabase(url, { poolSize: IN_FLIGHT })
  const { workspaceId } = await server.client.tokens.current()
  const statements = await captureScan(database, workspaceId, { passId: passId(30), qrPayload: codeOf(30) })
  return { rows, server, database, statements, http: [], raw: [], p99: [], cpu: [] }
}

async function scanOverHttp(side: Side): Promise<void> {
  const { client, cpuMilliseconds } = side.server
  const cpuBefore = cpuMilliseconds()
  const times: number[] = []
  const tasks = nextScans().map(({ n, scanContextKey }) => async () => {
    const startedAt = performance.now()
    const { result } = await client.scans.create({ body: { qrPayload: codeOf(n), scanContextKey } })
    times.push(performance.now() - startedAt)
    if (result !== 'accepted') throw new Error(`A scan was ${result}`)
  })
  side.http.push(SCANS / (await timeAll(tasks, IN_FLIGHT)))
  side.cpu.push((cpuMilliseconds() - cpuBefore) / SCANS)
  side.p99.push(times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!)
}

async function scanBare(side: Side): Promise<void> {
  const tasks = nextScans().map(({ n, scanContextKey }) => () => {
    const subject = { passId: passId(n), qrPayload: codeOf(n) }
    return replayScan(side.database, side.statements, subject, scanContextKey)
  })
  side.raw.push(SCANS / (await timeAll(tasks, IN_FLIGHT)))
}

/** Passes 25 and below are void, as is one in a thousand. */
function nextScans(): { n: number; scanContextKey: string }[] {
  return Array.from({ length: SCANS }, () => {
    scanned += 1
    const place = 26 + (scanned % (PASSES - 100))
    return { n: place % 1_000 === 0 ? 26 : place, scanContextKey: `bench ${scanned}` }
  })
}

function codeOf(n: number): string {
  return `bench-code-${n}`
}

function report(kind: string, few: Side, many: Side): void {
  for (const { rows, statements, http, raw, p99, cpu } of [few, many]) {
    const ledger = `${rows.toLocaleString('en')} scans in the ledger`
    const rates = `HTTP ${best(http).toFixed(0)} scans/s, p99 ${Math.min(...p99).toFixed(0)} ms, CPU ${Math.min(...cpu).toFixed(2)} ms`
    console.log(`${kind}, ${ledger}: ${rates}, bare ${best(raw).toFixed(0)} of ${statements.length} statements each`)
    figure(`scans over HTTP to bare transactions, ${ledger}, ${kind}`, best(http) / best(raw), { atLeast: LIMITS.http })
  }
  const longToShort = best(many.http) / best(few.http)
  figure(`scans over HTTP into the long ledger to the short, ${kind}`, longToShort, { atLeast: LIMITS.many })
}
