/**
 * Measures `passes copy` in both directions, for a workspace with passes, their variables and identifiers, and the
 * ledger of their scans: rows per second, from the start of the program until the copy is complete, checked, and
 * indexed. Run: npx tsx bench/copy.ts (after npm run build). Exits with 1 if a target is missed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { openDatabase } from '../src/storage/db/database.ts'
import { migrate } from '../src/storage/db/migrate.ts'
import { createStore } from '../src/storage/store.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { insertPasses } from './support/many-passes.ts'
import { insertScans } from './support/many-scans.ts'

const PASSES = Number(process.env.PASSES_BENCH_PASSES ?? 200_000)
const SCANS = 2 * PASSES
const ROWS_A_SECOND = 50_000

const program = new URL('../bin/run.js', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'passes-bench-copy-'))
const file = `sqlite:${join(folder, 'passes.db')}`

await onEachDatabase(async (kind, create) => {
  if (kind === 'SQLite') return fill()
  const postgres = await create('copy')
  await copy('SQLite to PostgreSQL', file, postgres)
  await copy('PostgreSQL to SQLite', postgres, `sqlite:${join(folder, 'back.db')}`)
})
rmSync(folder, { recursive: true })

async function fill(): Promise<void> {
  const database = openDatabase(file)
  await migrate(database)
  const at = new Date()
  const { id } = (await createStore(database).transaction((tx) => tx.workspaces.insert('default', at)))!
  await insertPasses(database.writer, id, PASSES)
  await insertScans(database.writer, id, SCANS, PASSES)
  await database.close()
}

async function copy(what: string, from: string, to: string): Promise<void> {
  const startedAt = performance.now()
  const env = { PASSES_COPY_FROM: from, PASSES_COPY_TO: to }
  const { stdout } = await execa('node', [program, 'copy', '--json'], { env, stderr: 'inherit' })
  const seconds = (performance.now() - startedAt) / 1000
  const { rows } = JSON.parse(stdout) as { rows: number }
  console.log(`  ${what}: ${rows} rows in ${seconds.toFixed(1)} s`)
  figure(`rows a second of passes copy, ${what}`, Math.round(rows / seconds), { atLeast: ROWS_A_SECOND })
}
