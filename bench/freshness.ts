/**
 * Measures an update of every installed pass, on phones that partly sleep, ignore pushes, or keep their pass. One API
 * process with the APNs emulator and one worker, both of the built program on one SQLite file, serve a fleet of virtual
 * phones in this process. Each phone is pushed, lists its changed passes, and fetches its package. Prints the share of
 * reachable phones that are current five minutes after the last push, whether every other phone is listed with its
 * reason, and the number of pushes to an outdated phone in the following days. The reference is the rate of raw pushes
 * to the same APNs, measured before the update. Run: npx tsx bench/freshness.ts, after npm run build.
 * PASSES_BENCH_PHONES is the number of phones (default 20,000), and PASSES_BENCH_PUSH_RATE the maximum number of pushes
 * per second (default unlimited). Exits with 1 if a figure misses its limit.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readDirectory } from '../src/cli/device/http.ts'
import { nudgeSilent } from '../src/server/wallet-sync/repeat-pushes.ts'
import { insertRows } from '../src/storage/db/bulk-rows.ts'
import { type Database, openDatabase } from '../src/storage/db/database.ts'
import { takeProcessLock } from '../src/storage/db/sqlite/process-lock.ts'
import { shareEmulator } from '../src/wallets/sandbox/sharing.ts'
import { figure } from './support/figures.ts'
import { dealBehaviours, parseMix } from './support/fleet/behaviour.ts'
import { createFleet, type Fleet } from './support/fleet/fleet.ts'
import { deviceIdOf, pushTokenOf } from './support/fleet/fleet-phone.ts'
import { reportFleet } from './support/fleet/report.ts'
import { percentile } from './support/load.ts'
import { insertPasses, passId } from './support/many-passes.ts'
import { createRandom } from './support/random.ts'
import { type PushTarget, pushRaw } from './support/raw-pushes.ts'
import { startServer } from './support/server.ts'
import { benchServices } from './support/services.ts'

const PHONES = Number(process.env.PASSES_BENCH_PHONES ?? 20_000)
const RATE = process.env.PASSES_BENCH_PUSH_RATE ?? '0'
const MIX = 'awake=90,slow=3,throttled=2,asleep=3,deaf=1,stuck=1'
const WITHIN_SECONDS = 300
const LIMITS = { fresh: 99.9, unlisted: 0, pushes: 4 }
const FLEET_ID = 'f1ee700000000000'
const PASS_TYPE = 'pass.test.passes.sandbox'
/**
 * The times of the pushes to outdated phones, in seconds after the change. The last time is long after the last
 * scheduled push.
 */
const NUDGES_AFTER_SECONDS = [601, 3_601, 86_401, 7 * 86_400]
const MOST_RAW = 20_000

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const file = join(folder, 'freshness.db')
const databaseUrl = `sqlite:${file}`
let workspaceId = ''
const api = await startServer(databaseUrl, ['--role', 'api'], async (database, id) => {
  workspaceId = id
  await insertPasses(database.writer, id, PHONES)
  await install(database)
})
const fleet = await openFleet()
const raw = PHONES < MOST_RAW ? PHONES : MOST_RAW
const rawRate = raw / (await pushToNobody(raw))
console.log(
  `${PHONES} phones, ${MIX}; ${RATE === '0' ? 'no' : RATE} pushes a second at most; raw pushes, ${Math.round(rawRate)} a second`,
)

const database = openDatabase(databaseUrl)
const services = benchServices(database)
await change(database)
const startedAt = Date.now()
const worker = await startServer(databaseUrl, ['--role', 'worker', '--push-rate', RATE])
const pushed = await untilPushed(fleet)
const reachable = fleet.phones.filter(({ behaviour }) => ['awake', 'slow', 'throttled'].includes(behaviour.name))
const fresh = await untilFresh(pushed.lastAt)
const behaviours = await reportFleet(fleet, { client: api.client, passIds: new Map() })
console.table(behaviours.map(({ stale, ...counts }) => ({ ...counts, ...stale })))
const updateRate = PHONES / ((pushed.lastAt - startedAt) / 1000)
console.log(
  `updates while phones fetch, ${Math.round(updateRate)} a second, ${(updateRate / rawRate).toFixed(2)} of raw pushes; ` +
    `packages, ${Math.round(fleet.counts.fetched / ((Date.now() - startedAt) / 1000))} a second; ` +
    `from push to fetched ${percentile([...fleet.delays], 0.5)} ms at half, ${percentile([...fleet.delays], 0.99)} ms at 99 %; ` +
    `${fleet.counts.busy} requests rejected as busy`,
)
figure('reachable phones that are current 5 minutes after the last push, in %', fresh, {
  atLeast: LIMITS.fresh,
})
const sum = (of: (one: (typeof behaviours)[number]) => number) => behaviours.reduce((all, one) => all + of(one), 0)
figure(
  'outdated phones that are not listed, and current ones that are',
  sum((one) => one.unlisted + one.wronglyListed),
  {
    atMost: LIMITS.unlisted,
  },
)
await nudgeLater(database)
const most = fleet.phones.reduce((so, { pushes }) => Math.max(so, pushes), 0)
figure('pushes to a phone that stays outdated', most, { atMost: LIMITS.pushes })

await fleet.close()
await services.identities.close()
await database.close()
await worker.stop()
await api.stop()
rmSync(folder, { recursive: true })
process.exit()

/** Registers one phone for each pass, directly in the tables. */
async function install({ writer }: Database): Promise<void> {
  const rows = Array.from({ length: PHONES }, (_, index) => ({
    workspace_id: workspaceId,
    pass_id: passId(index + 1),
    device_id: deviceIdOf(FLEET_ID, { index }),
    push_token: pushTokenOf(FLEET_ID, { index, setups: 0 }),
    registered_at: Date.now(),
    pushed_version: 0,
    fetched_version: 0,
  }))
  const held = rows.map(({ workspace_id, pass_id }) => ({ workspace_id, pass_id, apple: 1, google: 0 }))
  await writer.transaction(async (tx) => {
    await insertRows(tx, 'apple_registrations', rows)
    await insertRows(tx, 'held_passes', held)
  })
}

async function openFleet(): Promise<Fleet> {
  const opened = createFleet({
    id: FLEET_ID,
    webServiceURL: `${api.url}/apple`,
    passTypeIdentifier: PASS_TYPE,
    locateApns: async () => (await readDirectory(`${api.url}/sandbox`, 'apple')).control,
    random: createRandom('freshness'),
    onProblem: (message) => console.log(message),
  })
  const lastModified = new Date(0).toUTCString()
  for (const [n, behaviour] of dealBehaviours(parseMix(MIX), PHONES, createRandom('mix')).entries()) {
    opened.add(behaviour, [{ serialNumber: passId(n + 1), authenticationToken: 'token', lastModified }])
  }
  await opened.listen()
  return opened
}

/** Pushes to tokens that no phone has. Returns the seconds that the pushes took. */
async function pushToNobody(count: number): Promise<number> {
  const sandbox = `${file}.sandbox`
  const onError = (error: unknown) => console.error(error)
  const emulator = await shareEmulator<Pick<PushTarget, 'address' | 'port'>>({
    folder: sandbox,
    name: 'apple',
    takeLock: takeProcessLock,
    onError,
  })
  const [rootPem, certificatePem, keyPem] = ['root.pem', 'pass.pem', 'pass.key'].map((name) =>
    readFileSync(join(sandbox, 'apple', name), 'utf8'),
  )
  const target = { ...emulator.find()!, passTypeIdentifier: PASS_TYPE }
  const tokens = Array.from({ length: count }, (_, n) => pushTokenOf(FLEET_ID, { index: PHONES + n, setups: 0 }))
  const seconds = await pushRaw(
    { ...target, rootPem: rootPem!, certificatePem: certificatePem!, keyPem: keyPem! },
    tokens,
  )
  await emulator.close()
  return seconds
}

/** Changes every pass, as an upgrade of the template does. */
async function change({ writer }: Database): Promise<void> {
  const { store } = services
  await writer('passes').update({ wallet_version: writer.raw('wallet_version + 1'), modified_at: Date.now() })
  for (let from = 1; from <= PHONES; from += 10_000) {
    const some = Array.from({ length: Math.min(10_000, PHONES - from + 1) }, (_, n) => passId(from + n))
    const job = { workspaceId, kind: 'update-apple' as const, correlationId: null, isBulk: true }
    const jobs = some.map((subject) => ({ ...job, subject }))
    await store.transaction((tx) => tx.jobs.insert(jobs, new Date()))
  }
}

/** Resolves to the time when the last phone was pushed. */
async function untilPushed({ counts }: Fleet): Promise<{ lastAt: number }> {
  while (counts.pushes < PHONES) await sleep(20)
  return { lastAt: Date.now() }
}

/**
 * Waits until all reachable phones are current, or until the time limit. Returns the share of reachable phones that are
 * current, in %.
 */
async function untilFresh(lastPushAt: number): Promise<number> {
  for (;;) {
    const current = reachable.filter(({ toldAt }) => toldAt === 0).length
    const seconds = (Date.now() - lastPushAt) / 1000
    if (current === reachable.length || seconds > WITHIN_SECONDS) {
      console.log(
        `${current} of ${reachable.length} reachable phones are current ${seconds.toFixed(1)} s after the last push`,
      )
      return (100 * current) / reachable.length
    }
    await sleep(100)
  }
}

/** Runs the schedules of the following minutes and days immediately, together with the pushes that they queue. */
async function nudgeLater({ writer, reader }: Database): Promise<void> {
  for (const seconds of NUDGES_AFTER_SECONDS) {
    const later = {
      ...services,
      clock: () => new Date(startedAt + seconds * 1000 + WITHIN_SECONDS * 1000),
    }
    for (;;) {
      const before = fleet.counts.pushes
      await nudgeSilent(later)
      const pending = Number((await reader('jobs').count({ n: '*' }).first())!.n)
      if (pending === 0) break
      await writer('jobs').update({ run_at: Date.now() })
      while ((await reader('jobs').first('id')) !== undefined) await sleep(50)
      while (fleet.counts.pushes < before + pending) await sleep(20)
    }
  }
}
