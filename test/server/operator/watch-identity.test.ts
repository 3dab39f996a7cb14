import { randomBytes, X509Certificate } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { addApple, addGoogle, type ShownIdentity } from '../../../src/server/operator/manage-identities.ts'
import { type RenewedFrom, renewIfNew, watchIdentity } from '../../../src/server/operator/renew-identity.ts'
import { type AppleChain, makeAppleChain, passType, team } from '../../support/apple-chain.ts'
import { sandboxAccount, sandboxChain } from '../../support/chains.ts'
import { migratedDatabase, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'

const CHECK_MS = 20
let first: AppleChain
let renewed: AppleChain
let expired: AppleChain

beforeAll(async () => {
  const cleanUps: (() => void)[] = []
  const folder = temporaryFolder((cleanUp) => cleanUps.push(cleanUp))
  ;[first, renewed, expired] = await Promise.all([
    makeAppleChain(folder, { pushes: true }),
    makeAppleChain(folder, { wwdrUnit: 'G5', days: 700, pushes: true }),
    makeAppleChain(folder, { wwdrUnit: 'G6', days: -1 }),
  ])
  return () => {
    for (const cleanUp of cleanUps) cleanUp()
  }
})

async function operator() {
  const databaseUrl = await migratedDatabase('sqlite')
  return { databaseUrl, serverKey: randomBytes(32).toString('hex'), previousServerKeys: [] }
}

type Operator = Awaited<ReturnType<typeof operator>>

/** Watches until the test ends. Returns the messages. */
function watch(config: Operator, name: string, from: RenewedFrom) {
  const stopped = new AbortController()
  const taken: ShownIdentity[] = []
  const told: string[] = []
  const ended = watchIdentity(config, name, {
    ...from,
    signal: stopped.signal,
    checkMs: CHECK_MS,
    onRenewed: (identity) => taken.push(identity),
    onRejected: (reason) => told.push(reason),
  })
  onTestFinished(async () => {
    stopped.abort()
    await ended
  })
  return { taken, told }
}

/** A folder of secrets as Kubernetes mounts one: files are links through `..data`, which is swapped at once for the next set. */
function mountSecrets() {
  const folder = temporaryFolder()
  let set = 0
  const names = { certificate: 'tls.crt', key: 'tls.key', wwdr: 'wwdr.pem' }
  function put(content: Record<string, string | Buffer>) {
    set += 1
    mkdirSync(join(folder, `..set-${set}`))
    for (const [name, text] of Object.entries(content)) writeFileSync(join(folder, `..set-${set}`, name), text)
    symlinkSync(`..set-${set}`, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    rmSync(join(folder, `..set-${set - 1}`), { recursive: true, force: true })
  }
  const putChain = (chain: AppleChain) =>
    put(
      Object.fromEntries(
        Object.entries(names).map(([part, name]) => [name, readFileSync(chain[part as keyof AppleChain])]),
      ),
    )
  const path = (name: string) => join(folder, name)
  for (const name of [...Object.values(names), 'account.json']) symlinkSync(join('..data', name), path(name))
  const files = { certificate: path(names.certificate), key: path(names.key), wwdr: path(names.wwdr) }
  return { put, putChain, files, keyFile: path('account.json') }
}

const endOf = ({ certificate }: AppleChain) => new Date(new X509Certificate(readFileSync(certificate)).validTo)

test('renews a certificate when Kubernetes swaps its files, and not if they are unchanged', async () => {
  const config = await operator()
  const { files, putChain } = mountSecrets()
  putChain(first)
  await addApple(config, { name: 'acme', from: files, at: new Date() })
  // A restarted container checks the files again.
  expect(await renewIfNew(config, 'acme', { files, at: new Date() })).toBeUndefined()
  const { taken, told } = watch(config, 'acme', { files })
  for (const [n, chain] of [renewed, first].entries()) {
    putChain(chain)
    await eventually(() => expect(taken).toHaveLength(n + 1))
    expect(taken[n]).toMatchObject({ name: 'acme', expiresAt: endOf(chain) })
  }
  expect(told).toEqual([])
})

test('files written one after another are used once they match each other', async () => {
  const config = await operator()
  const folder = temporaryFolder()
  const files = { certificate: join(folder, 'c'), key: join(folder, 'k'), wwdr: join(folder, 'w') }
  const put = (part: keyof AppleChain, from: AppleChain) => copyFileSync(from[part], files[part])
  for (const part of ['certificate', 'key', 'wwdr'] as const) put(part, first)
  await addApple(config, { name: 'acme', from: files, at: new Date() })
  const { taken, told } = watch(config, 'acme', { files })
  put('certificate', renewed)
  // Write slowly, so that intermediate contents are evaluated and rejected.
  await eventually(() => expect(told).toEqual([expect.stringContaining('does not belong')]))
  rmSync(files.key)
  await eventually(() => expect(told.at(-1)).toMatch(/file .* not found/))
  put('key', renewed)
  put('wwdr', renewed)
  await eventually(() => expect(taken).toHaveLength(1))
  expect(taken[0]!.expiresAt).toEqual(endOf(renewed))
})

test('rejects other pass types and teams, expired files, and half files with reasons; the watch continues', async () => {
  const config = await operator()
  const { files, put, putChain } = mountSecrets()
  putChain(first)
  await addApple(config, { name: 'acme', from: files, at: new Date() })
  const { taken, told } = watch(config, 'acme', { files })
  const putOther = async (names: { passTypeIdentifier: string; teamIdentifier: string }) => {
    const other = await sandboxChain(names)
    put({ 'tls.crt': other.certificatePem, 'tls.key': other.keyPem, 'wwdr.pem': other.wwdrPem })
  }
  const half = (bytes: number) => () =>
    put({
      'tls.crt': readFileSync(renewed.certificate).subarray(0, bytes),
      'tls.key': readFileSync(renewed.key),
      'wwdr.pem': readFileSync(renewed.wwdr),
    })
  const wrong: [() => unknown, RegExp][] = [
    [
      () => putOther({ passTypeIdentifier: 'pass.of.others', teamIdentifier: team }),
      new RegExp(`pass.of.others.*${passType}`),
    ],
    [() => putOther({ passTypeIdentifier: passType, teamIdentifier: 'OTHERTEAM1' }), new RegExp(`OTHERTEAM1.*${team}`)],
    [() => putChain(expired), /expired on/],
    [half(700), /not a certificate/],
    // New content is reported, even if the reason is the same.
    [half(600), /not a certificate/],
  ]
  for (const [n, [place, words]] of wrong.entries()) {
    await place()
    await eventually(() => expect(told).toHaveLength(n + 1))
    expect(told[n]).toMatch(words)
  }
  expect(taken).toEqual([])
  putChain(renewed)
  await eventually(() => expect(taken).toHaveLength(1))
  // Each check saw the rejected files, but each problem was reported only once.
  expect(told).toHaveLength(wrong.length)
  const keys = [first, renewed, expired].flatMap(({ key }) =>
    readFileSync(key, 'utf8')
      .split('\n')
      .filter((line) => line.length > 40),
  )
  const said = JSON.stringify([taken, told])
  for (const line of keys) expect(said).not.toContain(line)
})

test('renews the key of a Google account if its file is replaced, and rejects others without quoting them', async () => {
  const config = await operator()
  const { put, keyFile } = mountSecrets()
  const [one, two] = await Promise.all([sandboxAccount(), sandboxAccount(1)])
  put({ 'account.json': one.serviceAccountJson })
  await addGoogle(config, { name: 'acme-google', issuerId: '338', keyFile, at: new Date() })
  const { taken, told } = watch(config, 'acme-google', { keyFile })
  put({ 'account.json': two.serviceAccountJson.slice(0, 400) })
  await eventually(() => expect(told).toEqual([expect.stringContaining('is not JSON')]))
  put({ 'account.json': two.serviceAccountJson })
  await eventually(() => expect(taken).toHaveLength(1))
  expect(taken[0]).toMatchObject({ name: 'acme-google', issuerId: '338' })
  const secret = /PRIVATE KEY-----\\n(.{40})/.exec(two.serviceAccountJson)![1]!
  expect(JSON.stringify([told, taken])).not.toContain(secret)
})

test('rejects an unknown identity, and files of another platform, when the watch starts', async () => {
  const config = await operator()
  const { files, putChain, put, keyFile } = mountSecrets()
  putChain(first)
  await addApple(config, { name: 'acme', from: files, at: new Date() })
  put({ 'account.json': (await sandboxAccount()).serviceAccountJson })
  await addGoogle(config, { name: 'acme-google', issuerId: '338', keyFile, at: new Date() })
  for (const [name, from, words] of [
    ['acne', { files }, 'Identity acne not found'],
    ['acme', { keyFile }, 'an identity of Apple'],
    ['acme-google', { files }, 'an identity of Google'],
  ] as const) {
    await expect(
      watchIdentity(config, name, {
        ...from,
        signal: AbortSignal.timeout(5_000),
        onRenewed: () => undefined,
        onRejected: () => undefined,
      }),
    ).rejects.toThrow(words)
  }
})

test('rejects a certificate that APNs does not accept, when it is added and when it is renewed', async () => {
  const config = await operator()
  const noPush = await makeAppleChain(temporaryFolder(), { wwdrUnit: 'G7' })
  const refused = 'The Apple push service does not accept the certificate'
  await expect(addApple(config, { name: 'two words', from: noPush, at: new Date() })).rejects.toThrow(refused)
  await addApple(config, { name: 'two words', from: first, at: new Date() })
  await expect(renewIfNew(config, 'two words', { files: noPush, at: new Date() })).rejects.toThrow(refused)
})
