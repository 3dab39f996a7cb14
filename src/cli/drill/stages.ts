import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { createClient } from '../../client/client.ts'
import { writePrivate } from '../../files/private-file.ts'
import { CliError } from '../command/errors.ts'
import type { OwnServer } from '../command/own-program.ts'
import { verifyPackage } from '../device/openssl.ts'
import { type Load, startLoad, type Target } from './load.ts'
import type { Crowd } from './phones.ts'
import { type Address, OLD_PREFIX, openAddress, type Programs, type ServerSettings } from './servers.ts'

/** The provider that issued the phones' passes. */
export interface Provider {
  url: string
  passes: readonly {
    serialNumber: string
    authenticationToken: string
    code: string
    label: string
    devices: ReadonlyMap<string, string>
  }[]
  close(): Promise<void>
}

export type ProviderOptions = typeof CLUB & { passes: number; webServiceURL: string }

/** The server that phones use, with the address that packages name. */
interface Home {
  settings: ServerSettings
  server: OwnServer
  token: string
  address: Address
  target: Target
}

/** The state shared by the stages. */
export interface Drill {
  readonly folder: string
  readonly phones: number
  /** An empty database; if `undefined`, its stage is skipped. */
  readonly postgres: string | undefined
  readonly programs: Programs
  readonly crowd: Crowd
  readonly rootPem: string
  startProvider(options: ProviderOptions): Promise<Provider>
  /** Waits until each phone uses its new service, or until there is no more progress. */
  arrive(): Promise<void>
  /** Shows for how many phones work is done. */
  show(unit: string, work: (progress: { done: number }) => Promise<void>): Promise<void>
  /** Called with the error that ended the load. */
  onError(error: unknown): void
  provider?: Provider
  old?: Address
  home?: Home
  load?: Load
  /** The web service that phones must use at the end of the stage. */
  webServiceURL: string
}

export interface Stage {
  name: string
  /** The name for `--stage`; `undefined` for stages that always run. */
  key?: string
  /** Returns the reason to skip the stage; `undefined` to run it. */
  leftOut?(drill: Drill): string | undefined
  play(drill: Drill): Promise<void>
}

/** The identity of the drill; a pass type belongs to one team. */
const CLUB = { passTypeIdentifier: 'pass.test.drill', teamIdentifier: 'DRILL00001' }

const AT_ONCE = 16
/** The duration of the load after a step that changes nothing for phones. */
const LOAD_MS = 3_000

/** All stages, in the order in which a real deployment could go through them. */
export const stages: readonly Stage[] = [
  { name: 'install from another provider', play: install },
  { name: 'take-over', play: takeOver },
  { name: 'certificate renewal', key: 'renewal', play: renewCertificate },
  { name: 'new public URL', key: 'public-url', play: changePublicUrl },
  { name: 'rotation of the server key', key: 'server-key', play: rotateServerKey },
  {
    name: 'SQLite to PostgreSQL',
    key: 'postgres',
    leftOut: ({ postgres }) => (postgres === undefined ? 'no --postgres was given' : undefined),
    play: copyToPostgres,
  },
  { name: 'hand-over to a second server', key: 'hand-over', play: handOver },
  { name: 'last update of every pass', play: updateAll },
]

async function install(drill: Drill): Promise<void> {
  const old = await openAddress()
  drill.old = old
  drill.webServiceURL = `${old.url}${OLD_PREFIX}`
  drill.provider = await drill.startProvider({ ...CLUB, passes: drill.phones, webServiceURL: drill.webServiceURL })
  old.lead(drill.provider.url)
  await drill.show('phones installed', async (progress) => {
    await pLimit(AT_ONCE).map(Array(drill.phones).keys(), async (n) => {
      await drill.crowd.install(n, `${old.url}/passes/${n}.pkpass`)
      progress.done += 1
    })
  })
}

async function takeOver(drill: Drill): Promise<void> {
  const { folder } = drill
  const [provider, old] = [drill.provider!, drill.old!]
  const rows = provider.passes.map(({ serialNumber, authenticationToken, code, label, devices }, n) => {
    const phones = [...devices].map(([device, pushToken]) => `${device}:${pushToken}`).join(' ')
    return [`phone-${n}`, label, serialNumber, CLUB.passTypeIdentifier, authenticationToken, code, phones, '0'].join(
      ',',
    )
  })
  const header = 'externalPassId,label,serialNumber,passTypeIdentifier,authenticationToken,scanPayload,devices,revision'
  await writePrivate(join(folder, 'members.csv'), `${[header, ...rows].join('\n')}\n`)

  const { server, address, target } = await openHome(drill, { database: 'sqlite:./first.db', file: 'members.csv' })
  const codes = provider.passes.map(({ code }) => code)
  drill.load = startLoad(target, codes, drill.onError)
  old.lead(server.url)
  await provider.close()
  await updateAll(drill)
  await moved(drill, address)
  await old.close()
}

/** Starts a server on an empty database, imports the passes of a file, and makes it the server of the phones. */
async function openHome(drill: Drill, { database, file }: { database: string; file: string }): Promise<Home> {
  const address = await openAddress()
  const settings = { database, serverKey: newKey(), publicUrl: address.url }
  const server = await drill.programs.serve(settings)
  address.lead(server.url)
  const { token } = server
  const target = await takeIn(drill, file, { settings, token, address })
  drill.home = { settings, server, token, address, target }
  return drill.home
}

/** Creates the identity and template for the passes of a file, and imports them. */
async function takeIn(
  { programs, folder, phones }: Drill,
  file: string,
  { settings, token, address }: Pick<Home, 'settings' | 'token' | 'address'>,
): Promise<Target> {
  const { passTypeIdentifier, teamIdentifier } = CLUB
  const sandbox = ['--sandbox', '--pass-type', passTypeIdentifier, '--team', teamIdentifier]
  await programs.operate(['identity', 'add', 'apple', '--name', 'club', ...sandbox, '--workspace', 'default'], settings)
  const { url } = address
  const client = createClient({ url, token })
  try {
    const { id: projectId } = await client.projects.create({ body: { name: 'Club' } })
    const named = { name: 'Club card', key: 'club-card', passType: 'storeCard', projectId } as const
    const { id } = await client.templates.create({ body: named })
    const version = await client.templates.createVersion({ params: { id }, body: { definition } })
    await client.templateVersions.publish({ params: { id: version.id } })
    const out = `${file}.passes`
    const args = ['import', file, '--template', 'club-card', '--identity', 'club', '--out', out, '--yes']
    await programs.call(args, { url, token })
    const { parse } = await import('csv-parse/sync')
    const taken: { externalPassId: string; passId: string }[] = parse(await readFile(join(folder, out)), {
      columns: true,
    })
    const ids = new Map(taken.map(({ externalPassId, passId }) => [externalPassId, passId]))
    return { url, token, projectId, passIds: Array.from({ length: phones }, (_, n) => ids.get(`phone-${n}`)!) }
  } finally {
    await client.close()
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

async function renewCertificate(drill: Drill): Promise<void> {
  const { programs, folder, rootPem, crowd } = drill
  const { home, load } = running(drill)
  const signer = async () => (await verifyPackage(await crowd.download(crowd.phones[0]!), rootPem, folder)).signer
  const before = await signer()
  await programs.operate(['identity', 'renew', 'club'], home.settings)
  for (let waitedSeconds = 0; (await signer()) === before; waitedSeconds += 1) {
    if (waitedSeconds > 20) throw new CliError('Packages are still signed with the certificate of before.')
    await load.update(0)
    await sleep(1_000)
  }
  await sleep(LOAD_MS)
}

async function changePublicUrl(drill: Drill): Promise<void> {
  const { home, load } = running(drill)
  const before = home.address
  const address = await openAddress()
  address.lead(home.server.url)
  await replace(home, drill, { publicUrl: address.url }, [before, address])
  home.address = address
  home.target = { ...home.target, url: address.url }
  load.lead(home.target)
  await moveOut(drill, home.settings, address)
  await moved(drill, address)
  await before.close()
}

/**
 * Rotates the key like a cluster: first every server knows both keys, then all use the new one, then the old one is
 * removed.
 */
async function rotateServerKey(drill: Drill): Promise<void> {
  const { home } = running(drill)
  const { serverKey: before } = home.settings
  const serverKey = newKey()
  await replace(home, drill, { previousServerKeys: serverKey })
  await replace(home, drill, { serverKey, previousServerKeys: before })
  await replace(home, drill, { previousServerKeys: '' })
  await sleep(LOAD_MS)
}

async function copyToPostgres(drill: Drill): Promise<void> {
  const { home } = running(drill)
  const postgres = drill.postgres!
  await replace(home, drill, { isFrozen: true })
  const secrets = { PASSES_COPY_FROM: home.settings.database, PASSES_COPY_TO: postgres }
  await drill.programs.operate(['copy'], home.settings, secrets)
  await replace(home, drill, { isFrozen: false, database: postgres })
  await sleep(LOAD_MS)
}

async function handOver(drill: Drill): Promise<void> {
  const { home: from, load } = running(drill)
  const { programs } = drill
  await replace(from, drill, { isFrozen: true })
  await programs.operate(['export', '--handover', 'handover.csv', '--platforms', 'apple'], from.settings)
  const { address, target } = await openHome(drill, { database: 'sqlite:./second.db', file: 'handover.csv' })
  load.lead(target, { isOtherLedger: true })
  await replace(from, drill, { isFrozen: false })
  await moveOut(drill, from.settings, address)
  await moved(drill, address)
  await from.server.stop()
  await from.address.close()
}

async function updateAll(drill: Drill): Promise<void> {
  const { load } = running(drill)
  await drill.show('passes updated', (progress) => load.updateAll(progress))
}

/** Starts the move; whether phones follow is observed on the phones. */
async function moveOut({ programs }: Drill, settings: ServerSettings, { url }: Address): Promise<void> {
  await programs.operate(['move-out', '--to', `${url}/apple`, '--pace', '1000', '--detach', '--yes'], settings)
}

/** Waits until all phones use that address. */
async function moved(drill: Drill, { url }: Address): Promise<void> {
  drill.webServiceURL = `${url}/apple`
  await drill.arrive()
}

/** Starts the next process before the previous one ends, like a rolling restart. */
async function replace(
  home: Home,
  { programs }: Drill,
  changes: Partial<ServerSettings>,
  addresses: readonly Address[] = [home.address],
): Promise<void> {
  const before = home.server
  home.settings = { ...home.settings, ...changes }
  home.server = await programs.serve(home.settings)
  for (const address of addresses) address.lead(home.server.url)
  await before.stop()
}

function running({ home, load }: Drill): { home: Home; load: Load } {
  return { home: home!, load: load! }
}

function newKey(): string {
  return randomBytes(32).toString('hex')
}
