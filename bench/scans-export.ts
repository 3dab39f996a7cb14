/**
 * Memory and speed of `passes scans export` as a user runs it: a million scans to a file, as csv and as jsonl, from
 * `passes serve` on SQLite. Run: npx tsx bench/scans-export.ts, after npm run build; PASSES_BENCH_ROWS takes another
 * number. Exits 1 where the client takes more than 200 MB. Reads the peak from /proc, so it runs on Linux only.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../src/storage/database.ts'
import { runClient } from './support/client-run.ts'
import { insertPasses } from './support/many-passes.ts'
import { insertScans } from './support/many-scans.ts'
import { type BenchServer, startServer } from './support/server.ts'

const LIMIT_MB = 200
const ROWS = Number(process.env.PASSES_BENCH_ROWS ?? 1_000_000)
const PASSES = 10_000

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const url = `sqlite:${join(folder, 'passes.db')}`
const server = await startServer(url)
const table = []
try {
  await seed(server)
  for (const format of ['csv', 'jsonl']) {
    const file = join(folder, `ledger.${format}`)
    const startedAt = performance.now()
    const args = ['scans', 'export', '--format', format, '--output', file]
    const { result, peakMb } = await runClient<{ rows: number }>(args, server, folder)
    const seconds = (performance.now() - startedAt) / 1000
    if (result.rows !== ROWS) throw new Error(`Of ${ROWS} scans ${result.rows} were exported`)
    table.push({
      scans: ROWS,
      format,
      'file (MB)': Math.round(statSync(file).size / 1e6),
      seconds: Math.round(seconds),
      'scans/s': Math.round(ROWS / seconds),
      'peak memory (MB)': Math.round(peakMb),
      met: peakMb < LIMIT_MB,
    })
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
console.table(table)
console.log(`Target: a client that takes less than ${LIMIT_MB} MB (VmHWM), however long the ledger.`)
process.exitCode = table.every(({ met }) => met) ? 0 : 1

async function seed({ client }: BenchServer): Promise<void> {
  const { workspaceId } = await client.tokens.current()
  const database = openDatabase(url)
  await insertPasses(database.writer, workspaceId, PASSES)
  await insertScans(database.writer, workspaceId, ROWS, PASSES)
  await database.close()
}
