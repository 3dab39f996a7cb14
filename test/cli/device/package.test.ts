import { createHash } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { openPackage, unzip } from '../../../src/cli/device/apple-package.ts'
import { SignatureError, verifySignature } from '../../../src/cli/device/apple-signature.ts'
import { PassType } from '../../../src/core/contract/schemas/definition.ts'
import { parseAppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import { createSigner, packageFile, zip } from '../../../src/wallets/apple/package.ts'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { sandboxChain } from '../../support/chains.ts'
import { times } from '../../support/long.ts'
import { buildPackage, flipped, passTypeIdentifier, teamIdentifier, testPass } from '../../wallets/apple/fixtures.ts'
import { createChain, ticket, walletOf } from './service.ts'

const webServiceUrl = 'http://127.0.0.1:3000/apple'
const now = new Date()

let chain: SandboxApple
let archive: Buffer
beforeAll(async () => {
  chain = await createChain()
  archive = await buildPackage(walletOf(chain, webServiceUrl), ticket({ seat: 'A-1' }), now)
})

const open = (file: Buffer, root = chain.rootPem, at = now) => openPackage(file, root, at).content

test.each(PassType.options)('opens a signed %s with its type', async (passType) => {
  const pass = testPass({ passType, expiresAt: new Date('2027-01-01T00:00:00Z') })
  const opened = open(await buildPackage(walletOf(chain, webServiceUrl), pass, now))
  expect(opened).toMatchObject({ serialNumber: pass.id, passTypeIdentifier, webServiceURL: webServiceUrl })
  expect(opened[passType]).toBeDefined()
})

/** Changes the files of a package and packs them again, with the old manifest and signature or with new ones. */
async function repacked(change: (files: Map<string, Buffer>) => void, { signAgain = false, by = chain } = {}) {
  const files = unzip(archive)
  change(files)
  if (signAgain) {
    const source = (pem: string) => ({ source: 'test', pem })
    const identity = parseAppleIdentity(
      { certificate: source(by.certificatePem), key: source(by.keyPem), wwdr: source(by.wwdrPem) },
      now,
    )
    files.delete('manifest.json')
    files.delete('signature')
    const digests = [...files].map(([name, bytes]) => [name, createHash('sha1').update(bytes).digest('hex')])
    files.set('manifest.json', Buffer.from(JSON.stringify(Object.fromEntries(digests))))
    files.set(
      'signature',
      await createSigner(identity)(createHash('sha256').update(files.get('manifest.json')!).digest(), now),
    )
  }
  return zip([...files].map(([name, bytes]) => packageFile(name, bytes)))
}

function editJson(change: (pass: Record<string, unknown>) => void) {
  return (files: Map<string, Buffer>) => {
    const pass = JSON.parse(files.get('pass.json')!.toString())
    change(pass)
    files.set('pass.json', Buffer.from(JSON.stringify(pass)))
  }
}

test('opens a package that was signed again, so that the check that follows rejects it', async () => {
  expect(open(await repacked(() => undefined, { signAgain: true }))).toMatchObject({ passTypeIdentifier })
})

test.each<[string, (files: Map<string, Buffer>) => unknown, RegExp]>([
  ['a changed pass.json', editJson((pass) => Object.assign(pass, { description: 'x' })), /pass\.json is not the file/],
  [
    'a file that is not in the manifest',
    (files) => files.set('extra.png', Buffer.from('x')),
    /extra\.png is not in the manifest/,
  ],
  ['no signature', (files) => files.delete('signature'), /signature is missing/],
  ['no manifest', (files) => files.delete('manifest.json'), /manifest\.json is missing/],
  ['another manifest', (files) => files.set('manifest.json', Buffer.from('{}')), /another manifest/],
  ['an invalid signature', (files) => files.set('signature', Buffer.from('nonsense')), /well-formed CMS/],
])('rejects %s', async (_, change, reason) => {
  const file = await repacked(change)
  expect(() => open(file)).toThrow(reason)
})

test.each<[string, (files: Map<string, Buffer>) => unknown, RegExp]>([
  ['no icon', (files) => ['', '@2x', '@3x'].map((size) => files.delete(`icon${size}.png`)), /icon is missing/],
  ['a folder around the files', (files) => files.set('pass/icon.png', Buffer.from('x')), /is in a folder/],
  [
    'another pass type',
    editJson((pass) => Object.assign(pass, { passTypeIdentifier: 'pass.x' })),
    /certificate is for/,
  ],
  ['another team', editJson((pass) => Object.assign(pass, { teamIdentifier: 'X' })), /another team/],
  ['no description', editJson((pass) => Object.assign(pass, { description: undefined })), /description/],
  ['two styles', editJson((pass) => Object.assign(pass, { generic: {} })), /has one style/],
  ['a short token', editJson((pass) => Object.assign(pass, { authenticationToken: 'short' })), /authenticationToken/],
  ['a number in place of a label', editJson((pass) => Object.assign(pass, { logoText: 7 })), /logoText/],
  [
    'a duplicate field key',
    editJson((pass) => {
      const fields = [1, 2].map(() => ({ key: 'a', value: 'x' }))
      Object.assign(pass, { eventTicket: { primaryFields: fields } })
    }),
    /key "a"/,
  ],
  [
    'an unknown barcode format',
    editJson((pass) => {
      Object.assign(pass, { barcodes: [{ format: 'QR', message: 'x', messageEncoding: 'iso-8859-1' }] })
    }),
    /barcodes\.0\.format/,
  ],
])('rejects %s in a correctly signed package', async (_, change, reason) => {
  const file = await repacked(change, { signAgain: true })
  expect(() => open(file)).toThrow(reason)
})

test('rejects a chain to another root, and one that is expired or not yet valid', async () => {
  const stranger = await createChain(1)
  const foreign = await repacked(() => undefined, { signAgain: true, by: stranger })
  expect(() => open(foreign)).toThrow(/root that this phone trusts/)
  expect(open(foreign, stranger.rootPem)).toMatchObject({ passTypeIdentifier })
  expect(() => open(archive, chain.rootPem, new Date(now.getTime() - 3 * 86_400_000))).toThrow(/not valid at/)
  expect(() => open(archive, chain.rootPem, new Date('2045-01-01'))).toThrow(/not valid at/)
})

test('rejects a certificate of another pass type under the same root', async () => {
  const other = await sandboxChain({ passTypeIdentifier: 'pass.other', teamIdentifier })
  const file = await repacked(() => undefined, { signAgain: true, by: other })
  expect(() => open(file, other.rootPem)).toThrow(/certificate is for pass\.other/)
})

test('rejects a signature that is truncated or changed at any byte, without other errors', () => {
  const files = unzip(archive)
  const [signature, manifest] = [files.get('signature')!, files.get('manifest.json')!]
  expect(verifySignature(signature, manifest, chain.rootPem, now)).toMatchObject({ passTypeIdentifier })
  for (let length = 0; length < signature.length; length += times(19, 7)) {
    const verify = () => verifySignature(signature.subarray(0, length), manifest, chain.rootPem, now)
    expect(verify).toThrow(SignatureError)
  }
  let refused = 0
  const step = times(29, 11)
  for (let position = 0; position < signature.length; position += step) {
    try {
      verifySignature(flipped(signature, position), manifest, chain.rootPem, now)
    } catch (error) {
      expect(error, `byte ${position}`).toBeInstanceOf(SignatureError)
      refused += 1
    }
  }
  // Parts that the signature does not cover can change, such as the name of an unused digest algorithm.
  expect(refused).toBeGreaterThan((signature.length / step) * 0.95)
})

test('rejects a signature with a time or text that asn1js cannot parse', () => {
  const files = unzip(archive)
  const [signature, manifest] = [files.get('signature')!, files.get('manifest.json')!]
  const [generalizedTime, universalString, bmpString] = [0x18, 0x1c, 0x1e]
  for (const tag of [generalizedTime, universalString, bmpString]) {
    for (let position = 0; position < signature.length; position += 7) {
      const changed = Buffer.from(signature)
      changed[position] = tag
      try {
        verifySignature(changed, manifest, chain.rootPem, now)
      } catch (error) {
        expect(error, `tag ${tag} at byte ${position}`).toBeInstanceOf(SignatureError)
      }
    }
  }
})

test('rejects a truncated or damaged archive with the reason', () => {
  expect(() => open(archive.subarray(0, archive.length - 30))).toThrow(/not a ZIP archive/)
  expect(() => open(Buffer.from('nonsense'))).toThrow(/Phones would reject this pass/)
  const start = archive.indexOf('"description"')
  expect(() => open(flipped(archive, start))).toThrow(/pass\.json is not the file that was signed/)
})
