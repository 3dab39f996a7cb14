/**
 * Runs the benchmarks one after another, so that they do not disturb each other, and stores their output in
 * bench/results. Ends with one table of all figures, which is also stored in bench/results/README.md. For benchmarks
 * that did not run, the table contains the last figures. Arguments choose benchmarks by name: npm run bench -- pkpass
 * batch
 *
 * Every run ends: a comparison starts no round after two minutes, a round waits for at most one minute
 * (support/rounds.ts), and a benchmark that still runs after ten minutes is stopped with its servers, and counts as
 * missed.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { type Figure, parseFigures } from './support/figures.ts'

const benches = [
  'pkpass',
  'downloads',
  'batch',
  'issue-csv',
  'list',
  'read',
  'trips',
  'update',
  'notify',
  'webhooks',
  'maintenance',
  'fairness',
  'scan',
  'scan-under-load',
  'door',
  'copy',
  'evidence',
  'figures',
  'freshness',
  'loyalty',
  'scans-export',
  'version',
  'pages',
]
const chosen = process.argv.length > 2 ? process.argv.slice(2) : benches
const unknown = chosen.find((name) => !benches.includes(name))
if (unknown !== undefined) throw new Error(`Unknown benchmark ${unknown}. Benchmarks: ${benches.join(', ')}`)

const MOST_MINUTES = 10

/** The document that explains the figures that miss their limits, relative to the results. */
const REASONS = '../../docs/decisions/0028-speed.md'

const results = join(import.meta.dirname, 'results')
mkdirSync(results, { recursive: true })
for (const name of chosen) {
  console.log(`\n${name}`)
  const run = await execa('node', ['--import', 'tsx', join(import.meta.dirname, `${name}.ts`)], {
    reject: false,
    timeout: MOST_MINUTES * 60_000,
    all: true,
    stdout: ['inherit', 'pipe'],
    stderr: ['inherit', 'pipe'],
  })
  const late = `\n= minutes until it ended: more (at most ${MOST_MINUTES}) MISSED`
  writeFileSync(resultOf(name), `${machine()}\n\n${run.all}${run.timedOut ? late : ''}\n`)
  if (run.exitCode !== 0) process.exitCode = 1
}
const table = tableOf(benches.filter((name) => existsSync(resultOf(name))))
writeFileSync(join(results, 'README.md'), table)
console.log(`\n${table}`)

function tableOf(names: string[]): string {
  const lines = names.flatMap((name) => parseFigures(readFileSync(resultOf(name), 'utf8')).map((one) => row(name, one)))
  const head = ['| benchmark | figure | measured | limit | |', '|---|---|---|---|---|']
  return `# All figures\n\nWritten by \`npm run bench\`.\n\n${[...head, ...lines].join('\n')}\n`
}

function row(name: string, { what, measured, limit, met }: Figure): string {
  const told = met === 'MISSED' ? `${met}: [why](${REASONS})` : met
  return `| [${name}](../${name}.ts) | ${what} | ${measured} | ${limit} | ${told} |`
}

/** Returns a description of the machine, because absolute figures depend on it. Ratios hardly do. */
function machine(): string {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `Node ${process.version} on ${cpus().length} x ${cpu?.model.trim()}, ${memory} GiB, ${process.platform}`
}

function resultOf(name: string): string {
  return join(results, `${name}.txt`)
}
