import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { createClient, paginate } from '../../client/client.ts'
import { CliError } from '../command/errors.ts'
import { duration } from '../command/output.ts'
import { startProgress } from '../command/progress.ts'
import { readDirectory } from '../device/http.ts'
import { verifyPackage } from '../device/openssl.ts'
import { type DrillPhone, openCrowd } from './phones.ts'
import { openPrograms } from './servers.ts'
import { type Drill, type Provider, type ProviderOptions, type Stage, stages } from './stages.ts'
import type { StageResult } from './table.ts'

export interface DrillOptions {
  /** An empty folder for databases, keys, files, and the log of all programs. */
  folder: string
  phones: number
  postgres: string | undefined
  /** Keys of stages; empty for all. */
  only: readonly string[]
  /** Starts the provider that issued the phones' passes, with a sandbox certificate in a folder. */
  startProvider: (sandboxFolder: string, options: ProviderOptions) => Promise<Provider>
  /** Stops the drill and rejects with the reason of the signal. */
  signal: AbortSignal
  note(message: string): void
}

export interface DrillReport {
  stages: StageResult[]
  leftOut: { stage: string; why: string }[]
}

/** The number of packages that openssl verifies after each stage. */
const SAMPLE = 25
/** The maximum time without progress of the phones, in milliseconds. */
const PATIENCE_MS = 30_000
const LOOK_MS = 100

/**
 * Runs all stages with separate servers, commands, and phones.
 * @throws CliError if a command fails or a server does not start; the reason of the signal
 */
export async function playDrill(options: DrillOptions): Promise<DrillReport> {
  const { folder, phones, postgres, note, signal } = options
  signal.throwIfAborted()
  const programs = openPrograms(folder, (command) => note(`    ${command} …`))
  const broken = new AbortController()
  const stop = AbortSignal.any([signal, broken.signal])
  const stopped = new Promise<never>((_, reject) => {
    stop.addEventListener('abort', () => reject(stop.reason))
  })
  stopped.catch(() => undefined)
  const report: DrillReport = { stages: [], leftOut: [] }
  let crowd: Drill['crowd'] | undefined
  let drill: Drill | undefined

  async function play(): Promise<void> {
    // A server that only runs the APNs emulator for the others, and keeps running while they are replaced.
    const apns = await programs.serve({ database: 'sqlite:./apns.db', serverKey: 'drill-'.repeat(8) })
    stop.throwIfAborted()
    const { control, rootPem } = await readDirectory(`${apns.url}/sandbox`, 'apple')
    crowd = openCrowd({ control, rootPem })
    const sandbox = join(folder, 'sandbox')
    drill = {
      folder,
      phones,
      postgres,
      programs,
      crowd,
      rootPem: join(sandbox, 'apple', 'root.pem'),
      startProvider: (provider) => options.startProvider(sandbox, provider),
      arrive: () => waitForPhones(drill!, { unit: 'phones there', isThere: (phone) => !isLost(phone, drill!) }, stop),
      show: (unit, work) => show(phones, unit, work),
      onError: (error) => broken.abort(error),
      webServiceURL: '',
    }
    for (const stage of stages) {
      stop.throwIfAborted()
      const isChosen = options.only.length === 0 || stage.key === undefined || options.only.includes(stage.key)
      const why = isChosen ? stage.leftOut?.(drill) : '--stage names others'
      if (why !== undefined) {
        report.leftOut.push({ stage: stage.name, why })
        note(`- ${stage.name}: left out, since ${why}`)
        continue
      }
      note(`  ${stage.name} …`)
      const result = await playStage(stage, drill, stop)
      report.stages.push(result)
      note(`✓ ${stage.name} (${duration(result.seconds)})`)
    }
    await compare(drill, report.stages.at(-1)!, stop)
  }

  async function end(): Promise<void> {
    // Close the phones first: a server waits for open push connections.
    await crowd?.close()
    await programs.end()
    await drill?.load?.close().catch(() => undefined)
    await drill?.provider?.close()
    for (const address of [drill?.old, drill?.home?.address]) await address?.close()
  }

  const played = play()
  try {
    await Promise.race([played, stopped])
    return report
  } finally {
    await end()
    // A stage that was starting fails without its servers; wait for it, then end any program it started.
    await played.catch(() => undefined)
    await end()
  }
}

async function playStage(stage: Stage, drill: Drill, stop: AbortSignal): Promise<StageResult> {
  const { crowd } = drill
  const startedAt = performance.now()
  const before = crowd.counts()
  await stage.play(drill)
  await settle(drill, stop)
  const checked = await check(drill)
  const seconds = (performance.now() - startedAt) / 1000
  const after = crowd.counts()
  const counts = drill.load?.take() ?? { updates: 0, scans: 0, wrongScans: 0, longestGapMs: 0 }
  const result = {
    stage: stage.name,
    seconds,
    phonesLost: crowd.phones.filter((phone) => isLost(phone, drill)).length,
    reinstalled: after.strange - before.strange,
    packages: after.packages - before.packages,
    packagesChecked: checked.packages,
    packagesRefused: after.refused - before.refused + checked.refused,
    updates: counts.updates,
    updatesMissed: crowd.phones.filter(({ revision }, n) => revision !== revisionOf(drill, n)).length,
    scans: counts.scans,
    scansRefusedWrongly: counts.wrongScans,
    longestGapSeconds: counts.longestGapMs / 1000,
  }
  drill.load?.goOn()
  return result
}

function isLost(phone: DrillPhone, { webServiceURL }: Drill): boolean {
  return phone.webServiceURL !== webServiceURL || phone.problem !== undefined
}

function revisionOf({ load }: Drill, n: number): number {
  return load?.revisions[n] ?? 0
}

/** Pauses updates, and waits until each phone shows the last update of its pass. */
async function settle(drill: Drill, stop: AbortSignal): Promise<void> {
  await drill.load?.rest()
  const isThere = (phone: DrillPhone, n: number) => !isLost(phone, drill) && phone.revision === revisionOf(drill, n)
  await waitForPhones(drill, { unit: 'phones up to date', isThere }, stop)
}

/** Waits until all phones are done, or until there is no more progress. */
async function waitForPhones(
  { crowd }: Drill,
  { unit, isThere }: { unit: string; isThere: (phone: DrillPhone, n: number) => boolean },
  stop: AbortSignal,
): Promise<void> {
  const total = crowd.phones.length
  await show(total, unit, async (progress) => {
    let [most, since] = [-1, performance.now()]
    for (;;) {
      stop.throwIfAborted()
      progress.done = crowd.phones.filter(isThere).length
      if (progress.done > most) [most, since] = [progress.done, performance.now()]
      if (progress.done === total || performance.now() - since > PATIENCE_MS) return
      await sleep(LOOK_MS)
    }
  })
}

/** Shows progress while work runs. */
async function show(total: number, unit: string, work: (progress: { done: number }) => Promise<void>): Promise<void> {
  const progress = { done: 0 }
  using shown = await startProgress({ total, start: { done: 0, rows: 0, failed: 0 }, unit })
  const timer = setInterval(() => shown.update({ done: progress.done, rows: progress.done, failed: 0 }), LOOK_MS)
  try {
    await work(progress)
  } finally {
    clearInterval(timer)
  }
}

/** Verifies the current packages of some phones with openssl. */
async function check({ crowd, rootPem, folder }: Drill): Promise<{ packages: number; refused: number }> {
  const { phones } = crowd
  const size = Math.min(SAMPLE, phones.length)
  const sample = Array.from({ length: size }, (_, n) => phones[Math.floor((n * phones.length) / size)]!)
  const counts = { packages: size, refused: 0 }
  for (const phone of sample) {
    try {
      await verifyPackage(await crowd.download(phone), rootPem, folder)
    } catch (error) {
      if (!(error instanceof CliError) || error.code !== 'PASS_REFUSED') throw error
      counts.refused += 1
    }
  }
  return counts
}

/**
 * Compares each pass in the API with its phone, and checks that each phone is registered at its service. Differences
 * count in the last stage.
 */
async function compare(drill: Drill, last: StageResult, stop: AbortSignal): Promise<void> {
  const { crowd } = drill
  const { target } = drill.home!
  await settle(drill, stop)
  const numbers = new Map(target.passIds.map((id, n) => [id, n]))
  const client = createClient(target)
  const behind = new Set(crowd.phones.keys())
  try {
    await drill.show('passes compared', async (progress) => {
      for await (const { id, status, variables } of paginate(client.passes.list, { projectId: [target.projectId] })) {
        const n = numbers.get(id)
        const isShown = n !== undefined && Number(variables.revision) === crowd.phones[n]!.revision
        if (isShown && status === 'ISSUED') behind.delete(n)
        progress.done += 1
      }
    })
  } finally {
    await client.close()
  }
  let lost = 0
  await drill.show('phones asked', async (progress) => {
    await pLimit(16).map(crowd.phones, async (phone, n) => {
      try {
        if (!(await crowd.isCurrent(phone))) behind.add(n)
      } catch (error) {
        if (!(error instanceof CliError)) throw error
        lost += 1
      }
      progress.done += 1
    })
  })
  last.updatesMissed = Math.max(last.updatesMissed, behind.size)
  last.phonesLost = Math.max(last.phonesLost, lost)
}
