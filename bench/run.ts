/**
 * Runs the benchmarks one after another, so that none disturbs another, keeps what each prints in bench/results, and
 * says in one table which met their targets. Arguments choose some by name: npx tsx bench/run.ts pkpass batch
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'

const benches = [
  ...[
    'pkpass',
    'batch',
    'issue-csv',
    'list',
    'read',
    'update',
    'notify',
    'webhooks',
    'scan',
    'scans-export',
    'version',
  ],
]
const chosen = process.argv.length > 2 ? process.argv.slice(2) : benches
const unknown = chosen.find((name) => !benches.includes(name))
if (unknown !== undefined) throw new Error(`There is no benchmark ${unknown}, only ${benches.join(', ')}`)

const results = join(import.meta.dirname, 'results')
mkdirSync(results, { recursive: true })
const table = []
for (const name of chosen) {
  console.log(`\n${name}`)
  const start = performance.now()
  const run = await execa('tsx', [fileOf(name)], {
    preferLocal: true,
    reject: false,
    all: true,
    stdout: ['inherit', 'pipe'],
    stderr: ['inherit', 'pipe'],
  })
  writeFileSync(join(results, `${name}.txt`), `${machine()}\n\n${run.all}\n`)
  table.push({ benchmark: name, seconds: Math.round((performance.now() - start) / 1000), met: run.exitCode === 0 })
}
console.log()
console.table(table)
process.exitCode = table.every(({ met }) => met) ? 0 : 1

/** Figures depend on it, ratios hardly do. */
function machine(): string {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `Node ${process.version} on ${cpus().length} x ${cpu?.model.trim()}, ${memory} GiB, ${process.platform}`
}

function fileOf(name: string): string {
  return join(import.meta.dirname, `${name}.ts`)
}
