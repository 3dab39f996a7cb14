import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { parseAppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import { isPkcs12, readPkcs12 } from '../../../src/wallets/apple/pkcs12.ts'
import { at, createTestIdentity, temporaryFolder } from './fixtures.ts'

async function files() {
  const chain = await createTestIdentity()
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'pass.pem'), chain.certificatePem)
  writeFileSync(join(folder, 'pass.key'), chain.keyPem)
  writeFileSync(join(folder, 'wwdr.pem'), chain.wwdrPem)
  return { chain, folder }
}

test.each([
  ['-legacy'],
  ['-keypbe', 'AES-256-CBC', '-certpbe', 'AES-256-CBC'],
  ['-keypbe', 'NONE', '-certpbe', 'NONE'],
])('a .p12 file (%s) has the certificate and the key of its identity', async (...cipher) => {
  const { chain, folder } = await files()
  const path = join(folder, 'pass.p12')
  await execa(
    'openssl',
    [
      'pkcs12',
      '-export',
      ...cipher,
      '-in',
      'pass.pem',
      '-certfile',
      'wwdr.pem',
      '-inkey',
      'pass.key',
      '-out',
      path,
      '-passout',
      'pass:x',
    ],
    { cwd: folder },
  )
  const given = { source: path, pem: await readFile(path) }
  expect(isPkcs12(given)).toBe(true)
  const { certificate, key } = readPkcs12(given, 'x')
  const wwdr = { source: 'wwdr.pem', pem: chain.wwdrPem }
  const credentials = { certificate: { source: path, pem: certificate }, key: { source: path, pem: key }, wwdr }
  expect(parseAppleIdentity(credentials, at).passTypeIdentifier).toBe(
    parseAppleIdentity({ ...credentials, key: { source: '', pem: chain.keyPem } }, at).passTypeIdentifier,
  )
  expect(() => readPkcs12(given, 'y')).toThrow(`The .p12 file ${path} cannot be opened with the password given.`)
  expect(() => readPkcs12(given, undefined)).toThrow(`The .p12 file ${path} needs its password.`)
})

test('a .p12 file without the key is rejected', async () => {
  const { folder } = await files()
  const path = join(folder, 'no-key.p12')
  await execa('openssl', ['pkcs12', '-export', '-nokeys', '-in', 'pass.pem', '-out', path, '-passout', 'pass:x'], {
    cwd: folder,
  })
  const pem = await readFile(path)
  expect(() => readPkcs12({ source: path, pem }, 'x')).toThrow('has no private RSA key')
})
