/**
 * Plants the faults of faults/table.ts, one at a time, in a copy of the tree, and runs the tests that must fail: npm
 * run faults [-- --only NAME]. Exits with 1 if a fault survives, or if its result is UNCLEAR because the source does
 * not contain its text or its tests do not load.
 */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { execa } from 'execa'
import { startPostgres } from '../test/support/postgres.ts'
import { type Fault, plant } from './faults/fault.ts'
import { faults } from './faults/table.ts'

/** The used part of a JSON report of vitest. */
interface Report {
  testResults: { name: string; message: string; assertionResults: { status: string; fullName: string }[] }[]
}

/** The result of a test file. */
interface Finding {
  /** The first test that failed. */
  failed: string | undefined
  /** The reason why the file could not run. */
  broken: string | undefined
}

const root = join(import.meta.dirname, '..')
const chosen = choose()
const copy = realpathSync(mkdtempSync(join(tmpdir(), 'passes-faults-')))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
// Remove the signal listeners of the package that runs PostgreSQL, because they would end this process before the
// running tests.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'beforeExit'] as const) process.removeAllListeners(signal)
const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort())

const isSatisfied = await run().catch((error: unknown) => {
  if (interruption.signal.aborted) process.exit(130)
  throw error
})
process.exit(isSatisfied ? 0 : 1)

/** Runs all tests with one shared PostgreSQL server, so that each run of vitest does not start its own. */
async function run(): Promise<boolean> {
  await copyTree()
  const given = process.env.PASSES_TEST_POSTGRES_URL
  const postgres = given ? undefined : await startPostgres({ settings: ['fsync=off'] })
  process.env.PASSES_TEST_POSTGRES_URL = given || postgres?.url
  try {
    return (await areSound(chosen)) && (await areCaught(chosen))
  } finally {
    await postgres?.stop()
  }
}

function choose(): Fault[] {
  const { only } = parseArgs({ options: { only: { type: 'string', multiple: true } } }).values
  const unknown = only?.find((name) => !faults.some((fault) => fault.name === name))
  if (unknown === undefined) return faults.filter(({ name }) => !only || only.includes(name))
  console.error(`Unknown fault ${unknown}. Faults:\n${faults.map(({ name }) => `  ${name}`).join('\n')}`)
  process.exit(1)
}

/** Copies the working tree, including uncommitted changes, without ignored files. */
async function copyTree(): Promise<void> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate']
  const [{ stdout: known }, { stdout: deleted }] = await Promise.all([
    execa('git', list, { cwd: root }),
    execa('git', ['ls-files', '-z', '--deleted'], { cwd: root }),
  ])
  const gone = new Set(deleted.split('\0'))
  for (const file of known.split('\0').filter((name) => name !== '' && !gone.has(name))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    copyFileSync(join(root, file), join(copy, file))
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
}

/** Runs the tests without a fault, because a test that fails anyway cannot detect one. Returns whether all pass. */
async function areSound(faults: Fault[]): Promise<boolean> {
  const files = [...new Set(faults.flatMap(({ tests }) => tests))]
  let isSound = true
  for (const [file, { failed, broken }] of await runTests(files)) {
    if (failed === undefined && broken === undefined) continue
    isSound = false
    console.log(`FAILS WITHOUT A FAULT  ${file}: ${failed ?? broken}`)
  }
  return isSound
}

async function areCaught(faults: Fault[]): Promise<boolean> {
  const width = Math.max(...faults.map(({ name }) => name.length))
  let count = 0
  for (const fault of faults) {
    const { result, evidence } = await tryOut(fault)
    if (result === 'caught') count += 1
    console.log(`${result.padEnd(8)}  ${fault.name.padEnd(width)}  ${fault.breaks}`)
    for (const line of evidence) console.log(`${' '.repeat(width + 12)}${line}`)
  }
  console.log(`\n${count} of ${faults.length} faults caught`)
  return count === faults.length
}

async function tryOut(fault: Fault): Promise<{ result: 'caught' | 'SURVIVED' | 'UNCLEAR'; evidence: string[] }> {
  const path = join(copy, fault.file)
  let source: string
  try {
    source = readFileSync(path, 'utf8')
    writeFileSync(path, plant(source, fault))
  } catch (error) {
    return { result: 'UNCLEAR', evidence: [(error as Error).message] }
  }
  // Run the files one by one, because the first failure ends a run.
  const findings: [string, Finding][] = []
  for (const file of fault.tests) findings.push(...(await runTests([file], '--bail=1')))
  writeFileSync(path, source)
  const isBroken = findings.some(([, { broken }]) => broken !== undefined)
  const isCaught = findings.every(([, { failed }]) => failed !== undefined)
  return {
    result: isBroken ? 'UNCLEAR' : isCaught ? 'caught' : 'SURVIVED',
    evidence: findings.map(([file, { failed, broken }]) => `${file}: ${broken ?? failed ?? 'no test failed'}`),
  }
}

async function runTests(files: string[], ...options: string[]): Promise<Map<string, Finding>> {
  const output = join(copy, 'report.json')
  rmSync(output, { force: true })
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', `--outputFile=${output}`]
  // Limit each test, so that a test that hangs because of a fault counts as failed.
  const limits = ['--testTimeout=60000', '--hookTimeout=60000']
  const { all, exitCode } = await execa('node', [...vitest, ...limits, ...options, ...files], {
    cwd: copy,
    all: true,
    reject: false,
    cancelSignal: interruption.signal,
  })
  interruption.signal.throwIfAborted()
  const report = readReport(output)
  return new Map(
    files.map((file) => {
      const result = report?.testResults.find(({ name }) => name === join(copy, file))
      const failed = result?.assertionResults.find(({ status }) => status === 'failed')?.fullName
      const hasRun = result?.assertionResults.some(({ status }) => status === 'passed') && result.message === ''
      const isBroken = failed === undefined && !hasRun
      return [file, { failed, broken: isBroken ? result?.message || `exit ${exitCode}: ${all}` : undefined }]
    }),
  )
}

function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
