import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { behaviours } from '../../../bench/support/fleet/behaviour.ts'
import { createFleet, type Fleet } from '../../../bench/support/fleet/fleet.ts'
import type { PassJson } from '../../../src/cli/device/apple-pass-json.ts'
import { readDirectory } from '../../../src/cli/device/http.ts'
import { verifyPackage } from '../../../src/cli/device/openssl.ts'
import { paginate } from '../../../src/client/client.ts'
import { readJournal } from '../../../src/files/journal.ts'
import { type AndroidPass, saveOnAndroid } from '../../e2e/support/phone.ts'
import { spawnProgram } from '../../e2e/support/program.ts'
import type { ServerProcess } from '../../e2e/support/server.ts'
import { freePort } from '../../support/ports.ts'
import type { Arena, Scene } from '../arena.ts'
import { settle } from '../settle.ts'
import { type SteadyLoad, startSteadyLoad } from '../steady-load.ts'

export const identities: Scene = {
  name: 'identities',
  promise: 29,
  promised: 'Two brands on one server stay separate under load, kills, and renewals, and no phone is outdated',
  run: renewUnderKills,
}

/**
 * Passes of both brands have the same serial numbers and tokens, and every other one has the same object name at
 * Google: only the identity distinguishes them. The first brand has more Google accounts, so more accounts remove its
 * passes than hold those of the second.
 */
const names = [
  { name: 'acme', type: 'pass.test.acme', team: 'ACME000001', issuerId: '3388000000000000001', googles: ['a', 'b'] },
  { name: 'umbra', type: 'pass.test.umbra', team: 'UMBRA00001', issuerId: '3388000000000000002', googles: ['a'] },
]
type Names = (typeof names)[number]

interface Brand extends Names {
  templateId: string
  projectId: string
  passIds: string[]
  fleet: Fleet
  androids: AndroidPass[]
  load: SteadyLoad
}

type Operate = (args: string[]) => Promise<void>

/** Renews identities while a process is killed. The emulators of Apple and Google keep running in another process. */
async function renewUnderKills(arena: Arena): Promise<void> {
  const sandbox = join(arena.folder(), 'sandbox')
  const env = { PASSES_SANDBOX_DIR: sandbox, PASSES_SERVER_KEY: 'brands-'.repeat(8) }
  const port = String(await freePort())
  const args = ['--public-url', `http://127.0.0.1:${port}`]
  const { database, token, url } = await arena.start({
    database: await arena.emptyDatabase(),
    env,
    args: [...args, '--role', 'api'],
  })
  const start = () => arena.start({ database, token, port, env, args })
  let server = await start()
  const operate: Operate = async (words) => {
    const { exitCode, stderr } = await spawnProgram([...words, '--database', database], undefined, { env })
    if (exitCode !== 0) throw new Error(`${words.join(' ')} exited with ${exitCode}: ${stderr}`)
  }
  const brands: Brand[] = []
  for (const one of names) brands.push(await openBrand(arena, server, { operate, sandboxOf: url, names: one }))
  const rootPem = join(sandbox, 'apple', 'root.pem')
  const signers = () =>
    Promise.all(
      brands.map(async ({ fleet }) => {
        const [phone] = fleet.phones
        const file = await fleet.download(phone!, phone!.passes[0]!)
        return (await verifyPackage(file, rootPem, arena.folder())).signer
      }),
    )
  const before = await signers()

  async function kill(count: number): Promise<void> {
    for (let n = 0; n < count && !arena.isOver(); n += 1) {
      await sleep(arena.random.between(200, 1_500))
      await server.kill()
      arena.did('kills')
      server = await start()
      // Issue passes of both brands, because a restarted process must read the identities of new passes.
      for (const brand of brands) await issueMore(arena, server, brand)
    }
  }
  const kills = arena.size(2, 20)
  await kill(kills)
  await Promise.all([kill(1), renewAll(arena, operate)])
  const isRenewed = async () => (await signers()).every((signer, n) => signer !== before[n])
  arena.took(
    'time until both signed with their renewed certificates',
    await arena.waitUntil('both are renewed', 30, isRenewed),
  )
  await kill(kills)

  for (const { load } of brands) await load.rest()
  arena.took(
    'time until each phone showed the last revision',
    await arena.waitUntil('each phone shows the last revision', 60, () => brands.every(isCurrent)),
  )
  arena.took('time until all jobs were run', await settle(arena, database, 60))
  for (const brand of brands) await checkBrand(arena, server, brand)
  await checkCallbacks(arena, server, brands)
  checkGoogle(arena, join(sandbox, 'google-wallet'))
}

/**
 * Creates a project with both identities, and passes on phones of both kinds. Starts to update and scan them.
 */
async function openBrand(
  arena: Arena,
  server: ServerProcess,
  { operate, sandboxOf, names: own }: { operate: Operate; sandboxOf: string; names: Names },
): Promise<Brand> {
  const { client, url, token } = server
  const { name, type, team, issuerId } = own
  const { id: projectId } = await client.projects.create({ body: { name } })
  const place = ['--sandbox', '--workspace', 'default', '--project', name]
  await operate(['identity', 'add', 'apple', '--name', name, '--pass-type', type, '--team', team, ...place])
  await operate(['identity', 'add', 'google', '--name', `${name}-google`, '--issuer', issuerId, ...place])
  const { id: templateId } = await client.templates.create({ body: { name, passType: 'storeCard', projectId } })
  const version = await client.templates.createVersion({
    params: { id: templateId },
    body: { definition: cardOf(name) },
  })
  await client.templateVersions.publish({ params: { id: version.id } })
  const passes = Array.from({ length: arena.size(15, 60) }, (_, n) => ({
    externalPassId: `${name}-${n}`,
    label: `${name} ${n}`,
    serialNumber: `member-${n}`,
    authenticationToken: `token-of-member-${n}`,
    ...(isNamed(n) && { googleObjectId: `${issuerId}.member-${n}` }),
    scanPayload: `${name} ${n}`,
  }))
  const { results } = await client.passes.import({ body: { templateId, passes } })
  const passIds = results.map(({ pass }) => pass!.id)

  const { control, rootPem } = await readDirectory(`${sandboxOf}/sandbox`, 'apple')
  const onPackage = (content: PassJson) => checkNames(arena, own, 'a package', JSON.stringify(content))
  const fleet = createFleet({
    id: randomBytes(8).toString('hex'),
    webServiceURL: `${url}/apple`,
    passTypeIdentifier: type,
    locateApns: async () => control,
    random: arena.random,
    rootPem,
    onPackage,
  })
  arena.cleanUp(() => fleet.close())
  await fleet.listen()
  const androids: AndroidPass[] = []
  for (const { pass } of results) {
    await fleet.install(fleet.add(behaviours[0]!, []), pass!.hostedLinks.apple!)
    androids.push(await saveOnAndroid(server, pass!.hostedLinks.google!, own.googles))
  }
  const codes = passes.map(({ scanPayload }) => scanPayload)
  const onError = (error: unknown) => arena.check(false, `the load of ${name} ended: ${error}`)
  const load = startSteadyLoad({ target: { url, token, projectId, passIds }, codes, random: arena.random, onError })
  arena.cleanUp(() => load.close())
  return { ...own, templateId, projectId, passIds, fleet, androids, load }
}

/** Whether the previous provider named the pass at Google, so that an Android phone holds it. */
function isNamed(n: number): boolean {
  return n % 2 === 0
}

function cardOf(name: string) {
  return {
    variables: [{ name: 'revision', label: 'Revision', default: '0' }],
    design: {
      organizationName: name,
      description: `Card of ${name}`,
      barcode: { format: 'qr' as const },
      fields: { secondary: [{ key: 'revision', label: 'Revision', value: '{{revision}}' }] },
    },
  }
}

let made = 0

async function issueMore(arena: Arena, { client }: ServerProcess, { name, templateId }: Brand): Promise<void> {
  made += 1
  const passes = Array.from({ length: 3 }, (_, n) => ({
    externalPassId: `${name}-${made}-${n}`,
    label: name,
    templateId,
  }))
  await client.passes.createBatch({ body: { passes } })
  arena.did('passes issued', passes.length)
}

async function renewAll(arena: Arena, operate: Operate): Promise<void> {
  for (const name of names.flatMap((brand) => [brand.name, `${brand.name}-google`])) {
    await operate(['identity', 'renew', name])
    arena.did('renewals')
  }
}

function isCurrent({ fleet, load }: Brand): boolean {
  return fleet.phones.every(
    ({ passes, problem }, n) => problem === undefined && passes[0]?.revision === load.revisions[n],
  )
}

async function checkBrand(arena: Arena, { client }: ServerProcess, brand: Brand): Promise<void> {
  const { name, type, issuerId, projectId, fleet, load, androids, passIds } = brand
  const { counts } = fleet
  const { updates, scans, wrongScans } = load.take()
  for (const [n, { passes, problem }] of fleet.phones.entries()) {
    const revision = passes[0]?.revision
    arena.check(revision === load.revisions[n], `${name} ${n} shows ${revision}, not ${load.revisions[n]}: ${problem}`)
  }
  for (const [n, android] of androids.entries()) {
    const { object } = await android.look()
    const isShown = object.textModulesData?.some(({ body }) => body === String(load.revisions[n]))
    arena.check(isShown === true, `Google does not show revision ${load.revisions[n]} of ${object.id}`)
  }
  arena.check(counts.strayPushes === 0, `phones of ${name} got ${counts.strayPushes} pushes of another pass type`)
  arena.check(counts.refused + counts.strange === 0, `phones of ${name} got packages that they refuse`)
  arena.check(wrongScans === 0, `${wrongScans} scans of ${name} have an unexpected result`)
  for (const id of passIds) {
    const { apple, google, lastError } = await client.passes.wallets({ params: { id } })
    const errors = [lastError, google?.lastError, ...apple.map((device) => device.lastError)].filter(Boolean)
    arena.check(errors.length === 0, `a wallet of ${name} has the errors ${JSON.stringify(errors)}`)
  }
  for await (const { id, externalPassId, status } of paginate(client.passes.list, { projectId: [projectId] })) {
    arena.check(status === 'ISSUED', `${externalPassId} is ${status}`)
    const preview = JSON.stringify(await client.passes.preview({ params: { id }, query: {} }))
    checkNames(arena, brand, `the preview of ${externalPassId}`, preview)
    arena.check(preview.includes(type) && preview.includes(`${issuerId}.`), `${externalPassId} does not name ${name}`)
  }
  arena.did('updates', updates)
  arena.did('scans', scans)
  arena.did('pushes', counts.pushes)
  arena.did('packages', counts.packages)
}

/**
 * Removes the passes of one brand from phones, and checks that the callbacks, which Google signs for the issuer of that
 * brand, remove no passes of the other brand.
 */
async function checkCallbacks(arena: Arena, { client }: ServerProcess, [first, second]: Brand[]): Promise<void> {
  const listInstalled = async ({ passIds }: Brand) => {
    const all = await Promise.all(passIds.map((id) => client.passes.wallets({ params: { id } })))
    return all.flatMap(({ google }, n) => (google?.installedAt ? n : []))
  }
  const every = [...second!.passIds.keys()]
  for (const brand of [first!, second!]) {
    const installed = await listInstalled(brand)
    arena.check(installed.length === every.length, `Google has ${installed.length} installed passes of ${brand.name}`)
  }
  for (const android of first!.androids) await android.remove()
  const left = every.filter(isNamed).join()
  const isGone = async () => (await listInstalled(first!)).join() === left
  await arena.waitUntil(`removals from Google are counted for ${first!.name}`, 30, isGone)
  const kept = await listInstalled(second!)
  arena.check(kept.length === every.length, `Google still has ${kept.length} passes of ${second!.name}`)
  arena.did('callbacks', every.length * (2 * first!.googles.length + second!.googles.length))
}

/** Checks every version of a class or object that the emulator stored. */
function checkGoogle(arena: Arena, file: string): void {
  for (const { value } of readJournal(file) ?? []) {
    const { put } = value as { put?: { role: string; resource: { id: string } } }
    if (!put) continue
    const { role, resource } = put
    const own = names.find(({ issuerId }) => resource.id.startsWith(`${issuerId}.`))
    arena.check(own !== undefined, `${resource.id} belongs to neither issuer`)
    if (own) checkNames(arena, own, `${role} ${resource.id}`, JSON.stringify(resource))
    arena.did(role === 'Class' ? 'writes of classes' : 'writes of objects')
  }
}

function checkNames(arena: Arena, own: Names, what: string, text: string): void {
  for (const { name, type, team, issuerId } of names.filter((brand) => brand.name !== own.name)) {
    const found = [name, type, team, issuerId].find((word) => text.includes(word))
    arena.check(found === undefined, `${what} of ${own.name} names ${found}`)
  }
}
