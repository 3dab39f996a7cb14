import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { beforeAll, expect, test } from 'vitest'
import { ApiError } from '../../../src/core/errors.ts'
import { type AppleCredentials, assertSound, parseAppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import { CredentialError } from '../../../src/wallets/wallet.ts'
import { sandboxChain } from '../../support/chains.ts'
import {
  at,
  createTestIdentity,
  passTypeIdentifier,
  type TestIdentity,
  teamIdentifier,
  temporaryFolder,
} from './fixtures.ts'

let chain: TestIdentity
let stranger: TestIdentity
beforeAll(async () => {
  chain = await createTestIdentity()
  stranger = await createTestIdentity(1)
})

function credentials(changes: Partial<AppleCredentials> = {}): AppleCredentials {
  return {
    certificate: { source: 'certs/pass.pem', pem: chain.certificatePem },
    key: { source: 'certs/key.pem', pem: chain.keyPem },
    wwdr: { source: 'certs/wwdr.pem', pem: chain.wwdrPem },
    ...changes,
  }
}

function rejection(changes: Partial<AppleCredentials>, moment = at): string {
  try {
    parseAppleIdentity(credentials(changes), moment)
  } catch (error) {
    expect(error).toBeInstanceOf(CredentialError)
    return (error as CredentialError).message
  }
  throw new Error('The credentials were accepted.')
}

const days = (count: number) => new Date(at.getTime() + count * 86_400_000)

test('reads the identifiers from the certificate, and accepts matching ones as options', () => {
  const read = parseAppleIdentity(credentials(), at)
  expect(read).toMatchObject({ passTypeIdentifier, teamIdentifier })
  expect(read.certificatePem.trim()).toBe(chain.certificatePem.trim())
  expect(read.certificate.notAfter.getTime()).toBeGreaterThan(at.getTime())
  expect(parseAppleIdentity(credentials({ passTypeIdentifier, teamIdentifier }), at)).toEqual(read)
})

test('accepts DER certificates and an encrypted key', () => {
  const { identity } = chain
  const pem = createPrivateKey(chain.keyPem).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'open sesame',
  })
  const read = parseAppleIdentity(
    {
      certificate: { source: 'pass.cer', pem: identity.certificate.der },
      key: { source: 'key.pem', pem, passphrase: 'open sesame' },
      wwdr: { source: 'AppleWWDRCAG4.cer', pem: identity.wwdr.der },
    },
    at,
  )
  expect(read.certificate.der.equals(identity.certificate.der)).toBe(true)

  const key = { source: 'certs/key.pem', pem }
  expect(rejection({ key })).toBe('The private key in certs/key.pem is encrypted: set its passphrase.')
  expect(rejection({ key: { ...key, passphrase: 'wrong' } })).toBe(
    'The private key in certs/key.pem cannot be decrypted with the passphrase given: check the passphrase.',
  )
})

test('accepts a DER key, encrypted or not', () => {
  const key = createPrivateKey(chain.keyPem)
  const cipher = { cipher: 'aes-256-cbc', passphrase: 'open sesame' }
  const encrypted = { source: 'k.der', pem: key.export({ type: 'pkcs8', format: 'der', ...cipher }) }
  for (const given of [
    { source: 'k.der', pem: key.export({ type: 'pkcs1', format: 'der' }) },
    { source: 'k.der', pem: key.export({ type: 'pkcs8', format: 'der' }) },
    { ...encrypted, passphrase: 'open sesame' },
  ]) {
    expect(parseAppleIdentity(credentials({ key: given }), at).key.equals(key)).toBe(true)
  }
  expect(rejection({ key: encrypted })).toBe('The private key in k.der is encrypted: set its passphrase.')
})

test('names the file that is not a certificate or key', () => {
  expect(rejection({ certificate: { source: 'certs/a.p12', pem: Buffer.from([0x30, 0x82, 1, 2]) } })).toMatch(
    /^The pass certificate in certs\/a\.p12 is not a certificate in PEM or DER: /,
  )
  expect(rejection({ wwdr: { source: 'certs/w.pem', pem: '' } })).toMatch(
    /^The WWDR certificate in certs\/w\.pem is not /,
  )
  expect(rejection({ key: { source: 'certs/k.pem', pem: 'hello' } })).toMatch(
    /^The private key in certs\/k\.pem is not /,
  )
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  expect(
    rejection({ key: { source: 'certs/ec.pem', pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) } }),
  ).toMatch(/^The private key in certs\/ec\.pem is of type ec: /)
})

test('rejects the key of another certificate', () => {
  expect(rejection({ key: { source: 'certs/other.pem', pem: stranger.keyPem } })).toMatch(
    /^The private key in certs\/other\.pem does not belong to the pass certificate in certs\/pass\.pem: /,
  )
})

test('reports the key of another certificate before a problem of the intermediate certificate', () => {
  const key = { source: 'certs/other.pem', pem: stranger.keyPem }
  expect(rejection({ key, wwdr: { source: 'certs/w.pem', pem: '' } })).toContain('does not belong')
})

test("rejects an intermediate that did not issue the certificate, even with the issuer's name", () => {
  expect(rejection({ wwdr: { source: 'certs/g3.pem', pem: stranger.wwdrPem } })).toMatch(
    /^The WWDR certificate in certs\/g3\.pem did not issue the pass certificate in certs\/pass\.pem: download /,
  )
  expect(rejection({ wwdr: { source: 'certs/root.pem', pem: chain.rootPem } })).toContain(
    'certs/root.pem did not issue',
  )
})

test('rejects identifiers that differ from the certificate', () => {
  expect(rejection({ passTypeIdentifier: 'pass.com.example.other' })).toBe(
    'The certificate in certs/pass.pem is for the pass type identifier "pass.com.example.tickets" (subject UID), but "pass.com.example.other" is configured: correct the setting or give the certificate of that identifier.',
  )
  expect(rejection({ teamIdentifier: 'Z9' })).toMatch(
    /^The certificate in certs\/pass\.pem is for the team identifier /,
  )
})

test.each([
  ['UID', '/CN=No UID/OU=A1B2C3D4E5'],
  ['OU', '/CN=No OU/UID=pass.com.example.tickets'],
])('rejects a certificate without a subject %s', async (part, subject) => {
  const cwd = temporaryFolder()
  const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem']
  await execa('openssl', ['req', '-x509', ...key, '-subj', subject, '-out', 'cert.pem'], { cwd })
  const message = rejection({
    certificate: { source: 'certs/web.pem', pem: readFileSync(join(cwd, 'cert.pem')) },
    key: { source: 'certs/key.pem', pem: readFileSync(join(cwd, 'key.pem')) },
  })
  expect(message).toMatch(new RegExp(`^The certificate in certs/web\\.pem does not have exactly one subject ${part}, `))
})

test('rejects a certificate that is expired or not yet valid', async () => {
  expect(rejection({}, days(6 * 365))).toMatch(/^The pass certificate in certs\/pass\.pem expired on 2031-06-30T/)
  expect(rejection({}, days(-2))).toMatch(/^The pass certificate in certs\/pass\.pem is valid only from 2026-06-30T/)
})

test('rejects an expired intermediate, even if the pass certificate is valid', async () => {
  const cwd = temporaryFolder()
  const openssl = (...options: string[]) => execa('openssl', options, { cwd })
  const key = (file: string) => ['-newkey', 'rsa:2048', '-nodes', '-keyout', file]
  await openssl('req', '-x509', ...key('wwdr.key'), '-subj', '/CN=WWDR', '-days', '1', '-out', 'wwdr.pem')
  await openssl('req', '-new', ...key('pass.key'), '-subj', '/UID=pass.a.b/OU=TEAM', '-out', 'pass.csr')
  await openssl(
    'x509',
    '-req',
    '-in',
    'pass.csr',
    '-CA',
    'wwdr.pem',
    '-CAkey',
    'wwdr.key',
    '-days',
    '900',
    '-out',
    'pass.pem',
  )
  const given = {
    certificate: { source: 'certs/pass.pem', pem: readFileSync(join(cwd, 'pass.pem')) },
    key: { source: 'certs/key.pem', pem: readFileSync(join(cwd, 'pass.key')) },
    wwdr: { source: 'certs/wwdr.pem', pem: readFileSync(join(cwd, 'wwdr.pem')) },
  }
  const { wwdr } = parseAppleIdentity(given, new Date())
  expect(rejection(given, new Date(wwdr.notAfter.getTime() + 1000))).toMatch(
    /^The WWDR certificate in certs\/wwdr\.pem expired on /,
  )
})

test('a running server notices that its certificate has expired', async () => {
  const { identity } = chain
  expect(() => assertSound(identity, at)).not.toThrow()
  const problem = (moment: Date, changed = identity) => {
    try {
      assertSound(changed, moment)
    } catch (error) {
      return error as ApiError
    }
  }
  expect(problem(days(6 * 365))).toBeInstanceOf(ApiError)
  expect(problem(days(6 * 365))).toMatchObject({ code: 'APPLE_SIGNING_FAILED' })
  expect(problem(days(6 * 365))?.message).toMatch(/^The Apple pass certificate expired on 2031-06-30T/)
  expect(problem(days(-2))?.message).toMatch(/^The Apple pass certificate is valid only from /)
  const oldIntermediate = { ...identity, wwdr: { ...identity.wwdr, notAfter: days(-1) } }
  expect(problem(at, oldIntermediate)?.message).toMatch(/^The Apple WWDR certificate expired on /)
})

test('rejects an expired sandbox chain', async () => {
  const old = await sandboxChain({ passTypeIdentifier, teamIdentifier, at: days(-10 * 365) })
  expect(
    rejection({
      certificate: { source: 'old.pem', pem: old.certificatePem },
      key: { source: 'old-key.pem', pem: old.keyPem },
      wwdr: { source: 'old-wwdr.pem', pem: old.wwdrPem },
    }),
  ).toMatch(/^The pass certificate in old\.pem expired on /)
})
