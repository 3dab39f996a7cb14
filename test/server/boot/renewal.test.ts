import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { execa } from 'execa'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { watchAppleFiles } from '../../../src/server/boot/renewal.ts'
import { readAppleCredentials } from '../../../src/server/identities/credentials.ts'
import { type AppleIdentity, parseAppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import { createAppleWallet } from '../../../src/wallets/apple/apple-wallet.ts'
import { createApplePush } from '../../../src/wallets/apple/push.ts'
import { type AppleChain, makeAppleChain, passType, team } from '../../support/apple-chain.ts'
import { sandboxChain } from '../../support/chains.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import {
  buildPackage,
  createTestIdentity,
  testPass,
  unpack,
  verifySignature,
  webServiceUrl,
} from '../../wallets/apple/fixtures.ts'

/** A minute after the certificates were created, so that all but the expired one are valid. */
const clock = () => new Date(Date.now() + 60_000)

let first: AppleChain
let renewed: AppleChain
let expired: AppleChain

beforeAll(async () => {
  const folder = temporaryFolder(onFileFinished)
  ;[first, renewed, expired] = await Promise.all([
    makeAppleChain(folder, { pushes: true }),
    makeAppleChain(folder, { wwdrUnit: 'G5', days: 366, pushes: true }),
    makeAppleChain(folder, { wwdrUnit: 'G6', days: -1 }),
  ])
  return () => {
    for (const cleanUp of cleanUps) cleanUp()
  }
})

const cleanUps: (() => void)[] = []
function onFileFinished(cleanUp: () => void) {
  cleanUps.push(cleanUp)
}

/**
 * Writes a server's files with the first certificate, and creates a watch that checks them only when the test calls it.
 */
function watchFiles(renew: (identity: AppleIdentity) => void = () => undefined) {
  const folder = temporaryFolder()
  const file = (name: string) => join(folder, name)
  const paths = { certificate: file('pass.pem'), key: file('pass.key'), wwdr: file('wwdr.pem') }
  const put = (chain: Partial<AppleChain>) => {
    for (const [name, from] of Object.entries(chain)) copyFileSync(from, paths[name as keyof AppleChain])
  }
  put(first)
  const config = { apple: paths }
  const identities = { apple: parseAppleIdentity(readAppleCredentials(config), clock()) }
  const told: string[] = []
  const taken: string[] = []
  const log = {
    info: (_: unknown, message: string) => taken.push(message),
    error: (_: unknown, message: string) => told.push(message),
  }
  const watch = watchAppleFiles({
    config,
    identities,
    renew: (identity) => {
      renew(identity)
      identities.apple = identity
    },
    clock,
    log: log as never,
  })
  onTestFinished(watch.stop)
  const lookTwice = () => {
    watch.check()
    watch.check()
  }
  const signer = () => new X509Certificate(identities.apple.certificate.der).fingerprint256
  return { paths, put, identities, told, taken, look: watch.check, lookTwice, signer }
}

function fingerprintOf({ certificate }: AppleChain): string {
  return new X509Certificate(readFileSync(certificate)).fingerprint256
}

test('loads files after two equal checks, and not while only one of them is new', () => {
  const { put, told, taken, look, lookTwice, signer } = watchFiles()
  lookTwice()
  put({ certificate: renewed.certificate })
  look()
  put(renewed)
  look()
  expect([signer(), told]).toEqual([fingerprintOf(first), []])
  look()
  expect([signer(), told]).toEqual([fingerprintOf(renewed), []])
  expect(taken).toEqual(['signs with the renewed Apple certificate'])
})

test('rejects a certificate that phones would reject, reports it once, and takes a correct one later', async () => {
  const { paths, put, told, lookTwice, signer } = watchFiles()
  const { certificatePem, keyPem, wwdrPem } = await createTestIdentity()
  const folder = temporaryFolder()
  const p12 = join(folder, 'pass.p12')
  await execa('openssl', [
    'pkcs12',
    '-export',
    '-in',
    first.certificate,
    '-inkey',
    first.key,
    '-out',
    p12,
    '-passout',
    'pass:x',
  ])
  const wrong: [string, () => void, string[]][] = [
    [
      'another identifier',
      () => {
        writeFileSync(paths.certificate, certificatePem)
        writeFileSync(paths.key, keyPem)
        writeFileSync(paths.wwdr, wwdrPem)
      },
      ['pass.com.example.tickets', passType],
    ],
    ['a key of another certificate', () => put({ ...renewed, key: first.key }), [paths.key, 'does not belong']],
    ['another intermediate', () => put({ ...renewed, wwdr: first.wwdr }), [paths.wwdr, 'did not issue']],
    ['one that has expired', () => put(expired), ['expired on']],
    ['a .p12 without its password', () => put({ ...renewed, certificate: p12 }), ['pass.pem needs its password']],
    ['none', () => rmSync(paths.certificate), ['not found']],
  ]
  for (const [what, place, words] of wrong) {
    told.length = 0
    place()
    lookTwice()
    lookTwice()
    expect(signer(), what).toBe(fingerprintOf(first))
    expect(told, what).toHaveLength(1)
    for (const word of words) expect(told[0], what).toContain(word)
  }
  put(renewed)
  lookTwice()
  expect(signer()).toBe(fingerprintOf(renewed))
})

test('rejects another team with the same identifier, and names both', async () => {
  const { paths, told, lookTwice, signer } = watchFiles()
  const other = await sandboxChain({ passTypeIdentifier: passType, teamIdentifier: 'OTHERTEAM1' })
  writeFileSync(paths.certificate, other.certificatePem)
  writeFileSync(paths.key, other.keyPem)
  writeFileSync(paths.wwdr, other.wwdrPem)
  lookTwice()
  expect(signer()).toBe(fingerprintOf(first))
  expect(told).toEqual([expect.stringMatching(`"OTHERTEAM1".*"${team}"`)])
})

test('no push fails during a renewal, and the old connection closes once it is idle', async () => {
  const apns = await startApns()
  const identity = watchFiles().identities.apple
  const push = createApplePush({ identity, server: apns.server })
  onTestFinished(() => push.close())
  const { lookTwice, put } = watchFiles((next) => push.renew(next))

  const held = push.send(['a'.repeat(64), 'b'.repeat(64)])
  await eventually(() => expect(apns.held).toHaveLength(2))
  lookTwice()
  put(renewed)
  lookTwice()
  const later = push.send(['c'.repeat(64)])
  await eventually(() => expect(apns.held).toHaveLength(3))
  const [former, , current] = apns.held.map(({ certificate }) => certificate)
  expect([former, current]).toEqual([fingerprintOf(first), fingerprintOf(renewed)])
  expect(apns.open()).toEqual([former, current])

  for (const { answer } of apns.held) answer()
  const outcomes = [...(await held), ...(await later)].map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['sent', 'sent', 'sent'])
  await eventually(() => expect(apns.open()).toEqual([current]))
})

test('a connection that is idle when its certificate is renewed is closed at once', async () => {
  const apns = await startApns()
  const { identities, lookTwice, put } = watchFiles((next) => push.renew(next))
  const push = createApplePush({ identity: identities.apple, server: apns.server })
  onTestFinished(() => push.close())
  const sending = push.send(['a'.repeat(64)])
  await eventually(() => expect(apns.held).toHaveLength(1))
  apns.held[0]!.answer()
  await sending
  expect(apns.open()).toEqual([fingerprintOf(first)])
  lookTwice()
  put(renewed)
  lookTwice()
  await eventually(() => expect(apns.open()).toEqual([]))
})

test('openssl verifies each package made during a renewal, and later packages have the new signature', async () => {
  const { identities, put, lookTwice } = watchFiles((next) => wallet.renew(next))
  const wallet = createAppleWallet({
    identity: identities.apple,
    webServiceUrl,
    loadImageFiles: async () => [],
  })
  lookTwice()
  const pass = testPass({})
  const at = clock()
  const prepared = await wallet.preparePackage(pass, at)
  const before = await buildPackage(wallet, pass, at)
  const during = Array.from({ length: 8 }, () => buildPackage(wallet, pass, at))
  put(renewed)
  lookTwice()
  // The package was prepared before the renewal, and is signed after it.
  const between = prepared.complete(await wallet.signPackage(prepared, at))
  const after = await buildPackage(wallet, pass, at)

  const signers = new Set<AppleChain>()
  for (const file of await Promise.all(during)) signers.add(await signerOf(file))
  expect([...signers].every((signer) => signer === first || signer === renewed)).toBe(true)
  expect([await signerOf(before), await signerOf(between), await signerOf(after)]).toEqual([first, renewed, renewed])
  expect((await wallet.preparePackage(pass, at)).digest).not.toBe(prepared.digest)
})

/** Returns the certificate chain that openssl verifies the package against. Fails if it verifies against none. */
async function signerOf(file: Buffer): Promise<AppleChain> {
  const folder = await unpack(file)
  const intermediates = [first, renewed].map((chain) => readFileSync(chain.wwdr, 'utf8')).join('')
  await verifySignature(folder, intermediates, { options: ['-signer', 'signer.pem'], time: clock() })
  const signer = new X509Certificate(readFileSync(join(folder, 'signer.pem')))
  return [first, renewed].find((chain) => fingerprintOf(chain) === signer.fingerprint256)!
}

interface HeldPush {
  /** Fingerprint of the client's certificate. */
  certificate: string
  answer(): void
}

/**
 * Starts an HTTP/2 server over TLS that requires client certificates, as APNs does, and responds to a push when the
 * test releases it.
 */
async function startApns() {
  const { serverCertificatePem, serverKeyPem, rootPem } = await createTestIdentity()
  const held: HeldPush[] = []
  const sessions = new Set<string>()
  const server = createSecureServer({
    cert: serverCertificatePem,
    key: serverKeyPem,
    requestCert: true,
    rejectUnauthorized: false,
  })
  server.on('session', (session) => {
    const certificate = (session.socket as TLSSocket).getPeerCertificate().fingerprint256
    sessions.add(certificate)
    session.once('close', () => sessions.delete(certificate))
    session.on('stream', (stream: ServerHttp2Stream) => {
      stream.resume()
      held.push({ certificate, answer: () => stream.respond({ ':status': 200 }, { endStream: true }) })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { server: { address: '127.0.0.1', port, ca: rootPem }, held, open: () => [...sessions] }
}
