/**
 * Attacks the built program and checks its promises from outside: `npm run torture -- --help`. Exits with 1 if a
 * promise is broken.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { execa } from 'execa'
import { createRandom } from '../../bench/support/random.ts'
import type { TestDialect } from '../support/databases.ts'
import { type Findings, openArena, type Scene } from './arena.ts'
import { type Databases, openDatabases } from './databases.ts'
import { HELP, readOptions } from './options.ts'
import { asMarkdown, printed, type Row, rowOf } from './report.ts'
import { scenes } from './scenes.ts'

const options = readOptions(
  process.argv.slice(2),
  scenes.map(({ name }) => name),
)
if (options.isHelp) {
  process.stdout.write(HELP)
  process.exit(0)
}
await execa('node', ['scripts/build.js', '--if-needed'], { stdout: ['inherit', 2], stderr: 'inherit' })

const interruption = new AbortController()
// Remove the listeners of the PostgreSQL package, which would end this process immediately, before the table is
// printed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'beforeExit'] as const) process.removeAllListeners(signal)
const interrupted = once(interruption.signal, 'abort')
let interruptedAt = 0
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)

const startedAt = new Date()
const begun = performance.now()
const secondsSoFar = () => (performance.now() - begun) / 1000
const databases = await openDatabases(options.dialects).catch((error: unknown) => {
  // Ignore the error after Ctrl-C, which also ends PostgreSQL while it starts.
  if (interruption.signal.aborted) process.exit(130)
  throw error
})
note(`seed ${options.seed}`)
const rows = (await Promise.all(options.dialects.map((dialect) => runAll(dialect, databases)))).flat()
await databases.stop()
print(rows.toSorted((a, b) => a.promise - b.promise))

/**
 * Stops the run. The terminal, npm, and tsx can each forward the same Ctrl-C, so only a later one ends the program
 * immediately.
 */
function stop(): void {
  if (interruption.signal.aborted && performance.now() - interruptedAt > 1_000) process.exit(130)
  if (interruption.signal.aborted) return
  interruptedAt = performance.now()
  interruption.abort()
  note('stopping; press Ctrl-C again to stop immediately')
}

/**
 * Runs every scene once. The long form repeats them until the time is over, with larger sizes from the second time on.
 */
async function runAll(dialect: TestDialect, databases: Databases): Promise<Row[]> {
  const chosen = scenes
    .filter(({ name }) => options.only.length === 0 || options.only.includes(name))
    .filter(({ only }) => only === undefined || only === dialect)
  const results = chosen.map((scene) => ({ scene, runs: 0, findings: noFindings() }))
  const isOver = () => interruption.signal.aborted || (round > 1 && secondsSoFar() > options.minutes * 60)
  let round = 0
  do {
    round += 1
    for (const result of results) {
      if (isOver()) break
      await runOnce(result.scene, dialect, result.findings, { databases, round, isOver })
      if (!interruption.signal.aborted) result.runs += 1
    }
  } while (!interruption.signal.aborted && secondsSoFar() < options.minutes * 60)
  return results.map(({ scene, runs, findings }) => rowOf(scene, dialect, findings, runs))
}

async function runOnce(
  scene: Scene,
  dialect: TestDialect,
  findings: Findings,
  { databases, round, isOver }: { databases: Databases; round: number; isOver: () => boolean },
): Promise<void> {
  const began = performance.now()
  const own = noFindings()
  const random = createRandom(`${options.seed} ${dialect} ${scene.name} ${round}`)
  const { arena, close } = openArena({
    dialect,
    random,
    databases,
    findings: own,
    isLong: round > 1,
    isOver,
  })
  const running = scene.run(arena).catch((error: Error) => {
    own.broken.push(`the scene failed: ${error.stack?.split('\n').slice(0, 4).join(' ') ?? error}`)
  })
  await Promise.race([running, interrupted])
  // Ignore errors of a scene that is being stopped.
  const found = structuredClone(own)
  await close()
  await running
  await close()
  merge(findings, interruption.signal.aborted ? { ...found, broken: [] } : found)
  const outcome = interruption.signal.aborted ? 'stopped' : found.broken.length > 0 ? 'BROKEN' : 'held'
  note(`${dialect} ${scene.name} ${outcome} after ${((performance.now() - began) / 1000).toFixed(1)} s`)
  for (const evidence of found.broken.slice(0, 5)) if (outcome === 'BROKEN') note(`  ${evidence}`)
}

function noFindings(): Findings {
  return { done: new Map(), longest: new Map(), most: new Map(), broken: [] }
}

function merge(into: Findings, { done, longest, most, broken }: Findings): void {
  for (const [what, count] of done) into.done.set(what, (into.done.get(what) ?? 0) + count)
  for (const [what, seconds] of longest) into.longest.set(what, Math.max(into.longest.get(what) ?? 0, seconds))
  for (const [what, value] of most) into.most.set(what, Math.max(into.most.get(what) ?? 0, value))
  into.broken.push(...broken)
}

function note(text: string): void {
  process.stderr.write(`${secondsSoFar().toFixed(0).padStart(5)} s  ${text}\n`)
}

function print(rows: Row[]): never {
  const seconds = secondsSoFar()
  const { seed, out, isJson } = options
  const isBroken = rows.some(({ result }) => result === 'BROKEN')
  const isWhole = rows.every(({ result }) => result !== 'NOT RUN') && !interruption.signal.aborted
  if (isJson) process.stdout.write(`${JSON.stringify({ seed, seconds: Math.round(seconds), isWhole, rows })}\n`)
  else process.stdout.write(`${printed(rows)}\n\nSeed ${seed}, ${Math.round(seconds)} s${isWhole ? '' : ', stopped'}\n`)
  const command = ['npm run torture', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ')
  if (out) writeFileSync(out, asMarkdown(rows, { command, seed, seconds, startedAt, machine: machine() }))
  process.exit(isBroken ? 1 : interruption.signal.aborted ? 130 : 0)
}

function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30)
  return `Node ${process.version} on ${cpus().length} x ${cpus()[0]?.model.trim()}, ${memory} GiB, ${process.platform}`
}
