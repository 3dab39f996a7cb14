import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { Certificate, ContentInfo, SignedData } from 'pkijs'
import { beforeAll, expect, test } from 'vitest'
import { createSigner } from '../../../src/wallets/apple/package.ts'
import { times } from '../../support/long.ts'
import { at, createTestIdentity, flipped, type TestIdentity, temporaryFolder, verifySignature } from './fixtures.ts'

const content = Buffer.from(JSON.stringify({ 'pass.json': 'a'.repeat(40), 'icon.png': 'b'.repeat(40) }))

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest()

let chain: TestIdentity
let signature: Buffer
beforeAll(async () => {
  chain = await createTestIdentity()
  signature = await createSigner(chain.identity)(sha256(content), at)
})

const toArrayBuffer = (bytes: Uint8Array) => new Uint8Array(bytes).buffer

test('openssl verifies the signature with only the root, and finds the signer', async () => {
  const folder = writeSigned(signature, content)
  const { stderr } = await verifySignature(folder, chain.rootPem, { options: ['-signer', 'signer.pem'] })
  expect(stderr).toContain('CMS Verification successful')
  expect(readFileSync(join(folder, 'signer.pem'), 'utf8').trim()).toBe(chain.certificatePem.trim())
})

test('a signature has what phones require: SHA-256, both certificates, and three signed attributes', async () => {
  const folder = writeSigned(signature, content)
  const { stdout } = await execa('openssl', ['cms', '-cmsout', '-print', '-inform', 'DER', '-in', 'signature'], {
    cwd: folder,
  })
  expect(stdout).toContain('eContent: <ABSENT>')
  expect(stdout).toContain('algorithm: sha256 (2.16.840.1.101.3.4.2.1)')
  expect(stdout.match(/d\.certificate:/g)).toHaveLength(2)
  expect(stdout.match(/object: \w+/g)?.slice(-3)).toEqual([
    'object: contentType',
    'object: signingTime',
    'object: messageDigest',
  ])
  expect(stdout).toContain('UTCTIME:Jul  1 12:34:56 2026 GMT')
  expect(stdout).toContain('signatureAlgorithm: \n          algorithm: rsaEncryption')
})

test('a signature is DER: openssl re-encodes it to the same bytes', async () => {
  const folder = writeSigned(signature, content)
  await execa('openssl', ['cms', '-cmsout', '-inform', 'DER', '-in', 'signature', '-outform', 'DER', '-out', 'again'], {
    cwd: folder,
  })
  expect(readFileSync(join(folder, 'again')).equals(signature)).toBe(true)
})

test('a second implementation verifies the signature, and rejects other content', async () => {
  const signed = new SignedData({ schema: ContentInfo.fromBER(toArrayBuffer(signature)).content })
  const root = Certificate.fromBER(toArrayBuffer(new X509Certificate(chain.rootPem).raw))
  const check = (data: Buffer) =>
    signed.verify({ signer: 0, data: toArrayBuffer(data), trustedCerts: [root], checkChain: true, checkDate: at })
  expect(await check(content)).toBe(true)
  await expect(check(flipped(content, 0))).rejects.toThrow('digest')
})

test('each signature has its own signing time, even after one in the same second', async () => {
  const sign = createSigner(chain.identity)
  const seconds = ['56', '56', '57'].map((second) => new Date(`2026-07-01T12:34:${second}Z`))
  const times = []
  for (const second of seconds) {
    const signed = new SignedData({
      schema: ContentInfo.fromBER(toArrayBuffer(await sign(sha256(content), second))).content,
    })
    const attribute = signed.signerInfos[0]!.signedAttrs!.attributes.find(
      ({ type }) => type === '1.2.840.113549.1.9.5',
    )!
    times.push(attribute.values[0].toDate())
  }
  expect(times).toEqual(seconds)
})

test('a signing time after 2049 is a GeneralizedTime that openssl can read', async () => {
  const late = await createSigner(chain.identity)(sha256(content), new Date('2050-01-01T00:00:00Z'))
  const { stdout } = await execa('openssl', ['asn1parse', '-inform', 'DER'], { input: late })
  expect(stdout).toContain('GENERALIZEDTIME   :20500101000000Z')
})

test('openssl rejects the signature if a byte of the content differs', async () => {
  for (let position = 0; position < content.length; position += times(20, 5)) {
    await expectRefused(signature, flipped(content, position), `byte ${position}`)
  }
})

// Changes each meaningful byte. Readers ignore some other bytes, such as versions and empty parameters.
test.each([
  ['the pass certificate', () => partOf(chain.identity.certificate.der), 41],
  ['the WWDR certificate', () => partOf(chain.identity.wwdr.der), 41],
  ['the signed attributes', attributesPart, 3],
  ['the signature value', () => ({ start: signature.length - 256, end: signature.length }), 7],
] as const)('openssl rejects the signature if a byte of %s differs', async (_, part, step) => {
  const { start, end } = part()
  expect(start).toBeGreaterThan(0)
  for (let position = start; position < end; position += times(4, 1) * step) {
    await expectRefused(flipped(signature, position), content, `byte ${position - start}`)
  }
})

test('openssl rejects the signature under another root', async () => {
  const stranger = await createTestIdentity(1)
  await expect(verifySignature(writeSigned(signature, content), stranger.rootPem)).rejects.toThrow(
    'Verification failure',
  )
})

function writeSigned(signatureBytes: Buffer, contentBytes: Buffer): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'signature'), signatureBytes)
  writeFileSync(join(folder, 'manifest.json'), contentBytes)
  return folder
}

async function expectRefused(signatureBytes: Buffer, contentBytes: Buffer, what: string): Promise<void> {
  const folder = writeSigned(signatureBytes, contentBytes)
  await expect(verifySignature(folder, chain.rootPem), what).rejects.toThrow()
}

function partOf(bytes: Buffer): { start: number; end: number } {
  const start = signature.indexOf(bytes)
  return { start, end: start + bytes.length }
}

function attributesPart(): { start: number; end: number } {
  const contentType = Buffer.from('301806092a864886f70d010903', 'hex')
  return { start: partOf(contentType).start, end: partOf(sha256(content)).end }
}
