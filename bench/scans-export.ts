/**
 * Measures memory and speed of `passes scans export` as users run it: a million scans to a file, as csv and as jsonl,
 * from `passes serve` on SQLite. Run: npx tsx bench/scans-export.ts, after npm run build. PASSES_BENCH_ROWS sets
 * another number of scans. Exits with 1 if the client uses more than 200 MB. Reads peak memory from /proc, so it runs
 * on Linux only.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runClient } from './support/client-run.ts'
import { figure } from './support/figures.ts'
import { insertPasses } from './support/many-passes.ts'
import { insertScans } from './support/many-scans.ts'
import { startServer } from './support/server.ts'

const LIMIT_MB = 200
const ROWS = Number(process.env.PASSES_BENCH_ROWS ?? 1_000_000)
const PASSES = 10_000

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const url = `sqlite:${join(folder, 'passes.db')}`
const server = await startServer(url, [], async ({ writer }, workspaceId) => {
  await insertPasses(writer, workspaceId, PASSES)
  await insertScans(writer, workspaceId, ROWS, PASSES)
})
try {
  for (const format of ['csv', 'jsonl']) {
    const file = join(folder, `ledger.${format}`)
    const startedAt = performance.now()
    const args = ['scans', 'export', '--format', format, '--out', file]
    const { result, peakMb } = await runClient<{ rows: number }>(args, server, folder)
    const seconds = (performance.now() - startedAt) / 1000
    if (result.rows !== ROWS) throw new Error(`Only ${result.rows} of ${ROWS} scans were exported`)
    const size = `${Math.round(statSync(file).size / 1e6)} MB`
    console.log(`${format}, ${size}: ${seconds.toFixed(0)} s, ${(ROWS / seconds).toFixed(0)} scans/s`)
    figure(
      `memory of passes scans export, ${ROWS.toLocaleString('en')} as ${format}`,
      peakMb,
      { atMost: LIMIT_MB },
      ' MB',
    )
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
