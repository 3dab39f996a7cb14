import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'csv-parse/sync'
import pLimit from 'p-limit'
import { behaviours } from '../../../bench/support/fleet/behaviour.ts'
import { createFleet } from '../../../bench/support/fleet/fleet.ts'
import type { FleetPhone } from '../../../bench/support/fleet/fleet-phone.ts'
import { readDirectory } from '../../../src/cli/device/http.ts'
import { verifyPackage } from '../../../src/cli/device/openssl.ts'
import { createClient, paginate } from '../../../src/client/client.ts'
import { writePrivate } from '../../../src/files/private-file.ts'
import { spawnProgram } from '../../e2e/support/program.ts'
import type { ServerOptions, TestServer } from '../../e2e/support/server.ts'
import { type Address, openAddress } from '../../support/address.ts'
import type { Arena, Scene } from '../arena.ts'
import { type OtherProvider, startOtherProvider } from '../other-provider.ts'
import { watchProgress } from '../settle.ts'
import { type SteadyLoad, startSteadyLoad, type Target } from '../steady-load.ts'

export const drill: Scene = {
  name: 'drill',
  promise: 26,
  promised: 'Under load, phones lose nothing in a take-over, a renewal, and changes of address, key, and database',
  run: (arena) => playDrill(arena, runAsProcess),
}

type Env = Record<string, string>

/** Runs a command of the program to its end. */
export type RunCommand = (
  args: string[],
  options: { cwd: string; env: Env },
) => Promise<{ exitCode?: number | undefined; stderr: unknown }>

/** An arena whose servers only have to stop. */
export type DrillArena = Omit<Arena, 'start'> & {
  start(options: ServerOptions): Promise<TestServer & { stop(): Promise<unknown> }>
}

/** The server that phones use. Packages name its address. */
interface Home {
  database: string
  env: Env
  args: string[]
  server: TestServer & { stop(): Promise<unknown> }
  address: Address
  target: Target
}

/** The pass type of the phones' passes, of the provider that issued them, and of the identity that takes them over. */
const CLUB = { passTypeIdentifier: 'pass.test.drill', teamIdentifier: 'DRILL00001' }
/** The path prefix of the previous provider, which the server also accepts. */
const OLD_PREFIX = '/passkit'
const FLAGS = ['--platforms', 'apple', '--apple-prefix', OLD_PREFIX]
const AT_ONCE = 16
/** The maximum time without progress of the phones, in seconds, and of a stage. */
const [PATIENCE_SECONDS, MOST_SECONDS] = [30, 3_600]

const runAsProcess: RunCommand = (args, options) => spawnProgram(args, undefined, options)

/**
 * Plays what a real deployment could go through, one stage after the other. Phones install passes of another provider.
 * Every stage ends when each phone shows the last update of its pass, or makes no more progress.
 */
export async function playDrill(arena: DrillArena, run: RunCommand): Promise<void> {
  const phones = Number(process.env.PASSES_DRILL_PHONES ?? arena.size(100, 1_000))
  /** The duration of the load after a step that changes nothing for phones. */
  const loadMs = arena.size(500, 3_000)
  /** The number of packages that openssl verifies after each stage. */
  const sample = Math.min(arena.size(10, 25), phones)
  const folder = arena.folder()
  const sandbox = join(folder, 'sandbox')
  const rootPem = join(sandbox, 'apple', 'root.pem')
  let [webServiceURL, home]: [string, Home | undefined] = ['', undefined]

  // A server that only runs the APNs emulator for the others, and keeps running while they are replaced.
  const apns = await serve({ database: `sqlite:${join(folder, 'apns.db')}`, env: settings(), args: [] })
  const { control } = await readDirectory(`${apns.url}/sandbox`, 'apple')
  const old = await openAddress(arena.cleanUp)
  webServiceURL = `${old.url}${OLD_PREFIX}`
  const provider = await startOtherProvider(join(sandbox, 'apple'), { ...CLUB, passes: phones, webServiceURL })
  arena.cleanUp(provider.close)
  old.lead(provider.url)
  const fleet = createFleet({
    id: randomBytes(8).toString('hex'),
    webServiceURL,
    passTypeIdentifier: CLUB.passTypeIdentifier,
    locateApns: async () => control,
    random: arena.random,
    rootPem: await readFile(rootPem, 'utf8'),
  })
  arena.cleanUp(() => fleet.close())
  let load: SteadyLoad | undefined

  await stage('install from another provider', install)
  await stage('take-over', takeOver)
  await stage('certificate renewal', renewCertificate)
  await stage('new public URL', changePublicUrl)
  await stage('rotation of the server key', rotateServerKey)
  if (arena.dialect === 'postgres') await stage('SQLite to PostgreSQL', copyToPostgres)
  await stage('hand-over to a second server', handOver)
  await stage('last update of every pass', () => load!.updateAll())
  await compare()
  arena.did('packages', fleet.counts.packages)

  async function stage(name: string, play: () => Promise<void>): Promise<void> {
    const startedAt = performance.now()
    const before = { ...fleet.counts }
    await play()
    await load?.rest()
    await waitForPhones((phone, n) => !isLost(phone) && isUpToDate(phone, n))
    const count = (is: (phone: FleetPhone, n: number) => boolean) => fleet.phones.filter(is).length
    const none = (found: number, what: string) => arena.check(found === 0, `${name}: ${found} ${what}`)
    none(count(isLost), `phones are lost, such as: ${fleet.phones.find(isLost)?.problem}`)
    none(
      count((phone, n) => !isUpToDate(phone, n)),
      'phones do not show the last update of their pass',
    )
    none(fleet.counts.strange - before.strange, 'packages are of another pass, which users would have to add')
    none(fleet.counts.refused - before.refused, 'packages are refused by phones')
    none(await refusedByOpenssl(), 'packages are refused by openssl')
    const { updates, scans, wrongScans, longestGapSeconds } = load?.take() ?? {
      updates: 0,
      scans: 0,
      wrongScans: 0,
      longestGapSeconds: 0,
    }
    none(wrongScans, 'scans have an unexpected result')
    arena.did('updates', updates)
    arena.did('scans', scans)
    arena.took(name, (performance.now() - startedAt) / 1000)
    if (load) arena.took(`time without a scan response in ${name}`, longestGapSeconds)
    load?.goOn()
  }

  function isLost(phone: FleetPhone): boolean {
    return phone.webServiceURL !== webServiceURL || phone.problem !== undefined || phone.passes.length === 0
  }

  function isUpToDate({ passes }: FleetPhone, n: number): boolean {
    return passes[0]?.revision === (load?.revisions[n] ?? 0)
  }

  /** Waits until the condition holds for all phones, or until there is no more progress. */
  async function waitForPhones(isThere: (phone: FleetPhone, n: number) => boolean): Promise<void> {
    const isStuck = watchProgress(PATIENCE_SECONDS)
    await arena.waitUntil('phones are up to date', MOST_SECONDS, () => {
      const left = phones - fleet.phones.filter(isThere).length
      return left === 0 || isStuck(left)
    })
  }

  async function refusedByOpenssl(): Promise<number> {
    let refused = 0
    for (let n = 0; n < sample; n += 1) {
      const phone = fleet.phones[Math.floor((n * phones) / sample)]!
      await verify(phone).catch(() => {
        refused += 1
      })
    }
    arena.did('packages verified by openssl', sample)
    return refused
  }

  async function verify(phone: FleetPhone) {
    return verifyPackage(await fleet.download(phone, phone.passes[0]!), rootPem, folder)
  }

  function settings(serverKey = newKey()): Env {
    return { PASSES_SERVER_KEY: serverKey, PASSES_SANDBOX_DIR: sandbox, PASSES_DRAIN_SECONDS: '1' }
  }

  function serve(of: Pick<Home, 'database' | 'env' | 'args'> & { token?: string }) {
    const { database, env, args, token } = of
    return arena.start({ database, env, args: [...FLAGS, ...args], ...(token !== undefined && { token }) })
  }

  async function operate(args: string[], { database, env }: Pick<Home, 'database' | 'env'>): Promise<void> {
    const ended = await run(args, { cwd: folder, env: { PASSES_DATABASE_URL: database, ...env } })
    if (ended.exitCode !== 0) throw new Error(`passes ${args.join(' ')} exited with ${ended.exitCode}: ${ended.stderr}`)
  }

  async function install(): Promise<void> {
    await fleet.listen()
    const awake = behaviours.find(({ name }) => name === 'awake')!
    for (let n = 0; n < phones; n += 1) fleet.add(awake, [])
    await pLimit(AT_ONCE).map(fleet.phones, (phone, n) => fleet.install(phone, `${old.url}/passes/${n}.pkpass`))
  }

  async function takeOver(): Promise<void> {
    await writePrivate(join(folder, 'members.csv'), tableOf(provider))
    const { server, target } = await openHome('first.db', 'members.csv')
    const codes = provider.passes.map(({ code }) => code)
    const onError = (error: unknown) => arena.check(false, `the load ended: ${error}`)
    load = startSteadyLoad({ target, codes, random: arena.random, rate: Math.max(5, arena.size(20, 20)), onError })
    arena.cleanUp(() => load!.close())
    old.lead(server.url)
    await provider.close()
    await load.updateAll()
    await moved()
    old.close()
  }

  /** Starts a server on an empty database, imports the passes of a file, and makes it the server of the phones. */
  async function openHome(name: string, file: string): Promise<Home> {
    const address = await openAddress(arena.cleanUp)
    const of = { database: `sqlite:${join(folder, name)}`, env: settings(), args: ['--public-url', address.url] }
    const server = await serve(of)
    address.lead(server.url)
    const target = await takeIn(file, { ...of, url: address.url, token: server.token })
    home = { ...of, server, address, target }
    return home
  }

  /** Creates the identity and template for the passes of a file, and imports them. */
  async function takeIn(
    file: string,
    { database, env, url, token }: { database: string; env: Env; url: string; token: string },
  ): Promise<Target> {
    const { passTypeIdentifier: type, teamIdentifier: team } = CLUB
    const own = ['--name', 'club', '--sandbox', '--pass-type', type, '--team', team, '--workspace', 'default']
    await operate(['identity', 'add', 'apple', ...own], { database, env })
    const client = createClient({ url, token })
    const { id: projectId } = await client.projects.create({ body: { name: 'Club' } })
    const named = { name: 'Club card', key: 'club-card', passType: 'storeCard', projectId } as const
    const { id } = await client.templates.create({ body: named })
    const version = await client.templates.createVersion({ params: { id }, body: { definition } })
    await client.templateVersions.publish({ params: { id: version.id } })
    await client.close()
    const out = `${file}.passes`
    const args = ['import', file, '--template', 'club-card', '--identity', 'club', '--out', out, '--yes']
    await operate(args, { database, env: { PASSES_URL: url, PASSES_TOKEN: token } })
    const taken: { externalPassId: string; passId: string }[] = parse(await readFile(join(folder, out)), {
      columns: true,
    })
    const ids = new Map(taken.map(({ externalPassId, passId }) => [externalPassId, passId]))
    return { url, token, projectId, passIds: Array.from({ length: phones }, (_, n) => ids.get(`phone-${n}`)!) }
  }

  async function renewCertificate(): Promise<void> {
    const signer = async () => (await verify(fleet.phones[0]!)).signer
    const before = await signer()
    await operate(['identity', 'renew', 'club'], home!)
    await arena.waitUntil('packages are signed with the new certificate', PATIENCE_SECONDS, async () => {
      await load!.update(0)
      return (await signer()) !== before
    })
    await sleep(loadMs)
  }

  async function changePublicUrl(): Promise<void> {
    const before = home!.address
    const address = await openAddress(arena.cleanUp)
    address.lead(home!.server.url)
    home!.address = address
    home!.target = { ...home!.target, url: address.url }
    await replace(home!, { args: ['--public-url', address.url] }, [before, address])
    load!.lead(home!.target)
    await moveOut(home!, address)
    await moved()
    before.close()
  }

  /** Rotates the key like a cluster: first every server knows both keys, then all use the new one, then the old one is removed. */
  async function rotateServerKey(): Promise<void> {
    const { PASSES_SERVER_KEY: before } = home!.env
    const serverKey = newKey()
    await replace(home!, { env: { ...home!.env, PASSES_PREVIOUS_SERVER_KEYS: serverKey } })
    await replace(home!, { env: { ...settings(serverKey), PASSES_PREVIOUS_SERVER_KEYS: before! } })
    await replace(home!, { env: settings(serverKey) })
    await sleep(loadMs)
  }

  async function copyToPostgres(): Promise<void> {
    const [from, { args, env }] = [home!.database, home!]
    const database = await arena.emptyDatabase()
    await replace(home!, { args: [...args, '--freeze'] })
    await operate(['copy'], { database: from, env: { ...env, PASSES_COPY_FROM: from, PASSES_COPY_TO: database } })
    await replace(home!, { args, database })
    await sleep(loadMs)
  }

  async function handOver(): Promise<void> {
    const from = home!
    const { args } = from
    await replace(from, { args: [...args, '--freeze'] })
    await operate(['export', '--handover', 'handover.csv', '--platforms', 'apple'], from)
    const { address, target } = await openHome('second.db', 'handover.csv')
    load!.lead(target, { isOtherLedger: true })
    await replace(from, { args })
    await moveOut(from, address)
    await moved()
    await from.server.stop()
    from.address.close()
  }

  /** Starts the move. `moved` waits until the phones follow. */
  function moveOut(from: Home, { url }: Address): Promise<void> {
    return operate(['move-out', '--to', `${url}/apple`, '--pace', '1000', '--detach', '--yes'], from)
  }

  /** Waits until all phones use the address of the home. */
  async function moved(): Promise<void> {
    webServiceURL = `${home!.address.url}/apple`
    await waitForPhones((phone) => !isLost(phone))
  }

  /** Starts the next server before the previous one ends, like a rolling restart. */
  async function replace(of: Home, changes: Partial<Home>, addresses = [of.address]): Promise<void> {
    const before = of.server
    Object.assign(of, changes)
    of.server = await serve({ ...of, token: of.target.token })
    for (const address of addresses) address.lead(of.server.url)
    await before.stop()
  }

  /** Compares each pass in the API with its phone, and checks that its service has nothing newer for the phone. */
  async function compare(): Promise<void> {
    await load!.rest()
    await waitForPhones(isUpToDate)
    const { target } = home!
    const client = createClient(target)
    const revisions = new Map<string, number>()
    for await (const { id, status, variables } of paginate(client.passes.list, { projectId: [target.projectId] })) {
      if (status === 'ISSUED') revisions.set(id, Number(variables.revision))
    }
    await client.close()
    await pLimit(AT_ONCE).map(fleet.phones, async (phone, n) => {
      const isSame = phone.passes[0]?.revision === revisions.get(target.passIds[n]!)
      arena.check(isSame && !(await fleet.isBehind(phone, phone.passes[0]!)), `phone ${n} differs from its pass`)
    })
  }
}

const definition = {
  variables: [{ name: 'revision', label: 'Revision', default: '0' }],
  design: {
    organizationName: 'Harbour Club',
    description: 'Club card',
    barcode: { format: 'qr' as const },
    fields: {
      primary: [{ key: 'name', label: 'Name', value: '{{pass.label}}' }],
      secondary: [{ key: 'revision', label: 'Revision', value: '{{revision}}', changeMessage: 'Now at %@' }],
    },
  },
}

/** Returns the provider's data, as its operator exports it. */
function tableOf({ passes }: OtherProvider): string {
  const header = 'externalPassId,label,serialNumber,passTypeIdentifier,authenticationToken,scanPayload,devices,revision'
  const rows = passes.map(({ serialNumber, authenticationToken, code, label, devices }, n) => {
    const held = [...devices].map(([device, pushToken]) => `${device}:${pushToken}`).join(' ')
    return [`phone-${n}`, label, serialNumber, CLUB.passTypeIdentifier, authenticationToken, code, held, '0'].join(',')
  })
  return `${[header, ...rows].join('\n')}\n`
}

function newKey(): string {
  return randomBytes(32).toString('hex')
}
