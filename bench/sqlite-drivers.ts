/**
 * Measures scans and new passes, without HTTP, through the sqlite3 package and through better-sqlite3 in separate
 * threads, in alternating processes. docs/decisions/ contains the result. better-sqlite3 is not a dependency. Run: npm
 * install --no-save better-sqlite3@11.10.0, then npx tsx bench/sqlite-drivers.ts
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { median, rounds, spread, timeAll } from './support/rounds.ts'

const PASSES = 10_000
const SCANS = 4_000
const IN_FLIGHT = 32
const DRIVERS = ['sqlite3', 'better-sqlite3'] as const

/**
 * The number of operations per second, and the CPU milliseconds per operation, of the whole process and of its main
 * thread.
 */
interface Figures {
  rate: number
  cpu: number
  main: number
}

const [driver] = process.argv.slice(2)
if (driver === undefined) await compare()
else {
  process.stdout.write(JSON.stringify(await measure(driver)))
  process.exit()
}

async function compare(): Promise<void> {
  const found = new Map(DRIVERS.map((name) => [name, [] as Awaited<ReturnType<typeof measure>>[]]))
  for (const _ of rounds()) {
    for (const [name, results] of found) {
      const { stdout } = await execa('tsx', [import.meta.filename, name], { preferLocal: true })
      results.push(JSON.parse(stdout))
    }
  }
  for (const what of ['scans', 'passes'] as const) {
    const rates = DRIVERS.map((name) => {
      const all = found.get(name)!.map((one) => one[what])
      const of = (key: keyof Figures, digits: number) =>
        spread(
          all.map((one) => one[key]),
          digits,
        )
      console.log(
        `${name}: ${of('rate', 0)} ${what} a second, CPU ${of('cpu', 2)} ms each, ${of('main', 2)} ms of it main thread`,
      )
      return median(all.map(({ rate }) => rate))
    })
    console.log(`${what} with better-sqlite3 to those with sqlite3: ${(rates[1]! / rates[0]!).toFixed(2)}`)
  }
}

/** Runs in a separate process, because the driver must be chosen before any module loads one. */
async function measure(name: string) {
  if (name === 'better-sqlite3') putInPlaceOfSqlite3()
  const { identifierDigest } = await import('../src/core/rules/crypto/scan-code.ts')
  const { newId } = await import('../src/core/ids.ts')
  const { recordScan } = await import('../src/server/api/scans/record-scan.ts')
  const { createDefinitions } = await import('../src/server/wallet-sync/definitions.ts')
  const { openDatabase } = await import('../src/storage/db/database.ts')
  const { migrate } = await import('../src/storage/db/migrate.ts')
  const { createStore } = await import('../src/storage/store.ts')
  const { codeOf, insertCodes, insertPasses, templateId } = await import('./support/many-passes.ts')
  const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
  const database = openDatabase(`sqlite:${join(folder, 'passes.db')}`)
  await migrate(database)
  const workspace = await createStore(database).transaction((tx) => tx.workspaces.insert('bench', new Date()))
  const workspaceId = workspace!.id
  await insertPasses(database.writer, workspaceId, PASSES)
  await insertCodes(database.writer, workspaceId, PASSES)
  const store = createStore(database).forRequests(workspaceId)
  const token = { id: newId(new Date()) }
  const services = { definitions: createDefinitions(store) }
  const context = { services, store, workspaceId, token, correlationId: 'bench' }

  const scans = Array.from({ length: SCANS }, (_, n) => async () => {
    const body = { qrPayload: codeOf(1 + (n % PASSES)), scanContextKey: `bench ${n}` }
    await recordScan(body, { ...context, now: new Date() } as Parameters<typeof recordScan>[1])
  })
  const passes = Array.from({ length: PASSES / 100 }, () => async () => {
    const batch = Array.from({ length: 100 }, () => newPass(newId(new Date())))
    await store.transaction((tx) => tx.passes.insert(workspaceId, batch, new Date()))
  })
  const newPass = (id: string) => ({
    id,
    externalPassId: id,
    label: 'Ada Lovelace',
    variables: { seat: 'A1', tier: '1' },
    templateId: templateId(0),
    templateVersionId: templateId(0),
    templateVersion: 1,
    projectId: null,
    redemption: null,
    hasBalances: false,
    expiresAt: null,
    scanCode: id,
    appleToken: id,
    identifierDigest: identifierDigest(id),
  })
  // Discard the first quarter, which warms up.
  await timeAll(scans.splice(0, SCANS / 4), IN_FLIGHT)
  await timeAll(passes.splice(0, PASSES / 400), 4)
  const found = {
    scans: await figuresOf(scans, scans.length, IN_FLIGHT),
    passes: await figuresOf(passes, passes.length * 100, 4),
  }
  await database.close()
  rmSync(folder, { recursive: true })
  return found
}

async function figuresOf(tasks: (() => Promise<unknown>)[], count: number, inFlight: number): Promise<Figures> {
  const before = { all: process.cpuUsage(), main: mainThreadMs() }
  const seconds = await timeAll(tasks, inFlight)
  const { user, system } = process.cpuUsage(before.all)
  return { rate: count / seconds, cpu: (user + system) / 1_000 / count, main: (mainThreadMs() - before.main) / count }
}

/** Returns the CPU time of the main thread, in milliseconds, with a resolution of 10 ms. */
function mainThreadMs(): number {
  const [, numbers] = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8').split(') ')
  const [user, system] = numbers!.split(' ').slice(11, 13).map(Number)
  return (user! + system!) * 10
}

function putInPlaceOfSqlite3(): void {
  const require = createRequire(import.meta.url)
  const file = require.resolve('sqlite3')
  const exports = require('./support/better-sqlite3-driver.cjs')
  require.cache[file] = { id: file, filename: file, loaded: true, exports } as NodeJS.Module
}
