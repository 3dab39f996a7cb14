import { createPublicKey, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { beforeAll, expect, test } from 'vitest'
import { parseAppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import { createSandboxApple, type SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { sandboxChain } from '../../support/chains.ts'
import { temporaryFolder } from '../apple/fixtures.ts'

const at = new Date('2026-07-01T12:00:00Z')
const names = { passTypeIdentifier: 'pass.com.example.sandbox', teamIdentifier: 'SANDBOX123' }

let chain: SandboxApple
beforeAll(async () => {
  // Credentials that are stored by the version of the code that creates them.
  chain = await sandboxChain({ ...names, at })
})

async function describe(pem: string): Promise<string> {
  const { stdout } = await execa('openssl', ['x509', '-noout', '-text'], { input: pem })
  return stdout
}

test('openssl verifies the chain, also as the client certificate of a TLS connection', async () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'root.pem'), chain.rootPem)
  writeFileSync(join(cwd, 'wwdr.pem'), chain.wwdrPem)
  writeFileSync(join(cwd, 'pass.pem'), chain.certificatePem)
  const files = ['-CAfile', 'root.pem', '-untrusted', 'wwdr.pem', 'pass.pem']
  const time = ['-attime', String(at.getTime() / 1000)]
  const { stdout } = await execa('openssl', ['verify', '-x509_strict', '-purpose', 'sslclient', ...time, ...files], {
    cwd,
  })
  expect(stdout).toBe('pass.pem: OK')
})

test("openssl accepts the push server's certificate for this host and no other", async () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'root.pem'), chain.rootPem)
  writeFileSync(join(cwd, 'server.pem'), chain.serverCertificatePem)
  const verify = (...names: string[]) => {
    const options = ['-x509_strict', '-purpose', 'sslserver', '-attime', String(at.getTime() / 1000), ...names]
    return execa('openssl', ['verify', ...options, '-CAfile', 'root.pem', 'server.pem'], { cwd, reject: false })
  }
  expect((await verify('-verify_ip', '127.0.0.1')).stdout).toBe('server.pem: OK')
  expect((await verify('-verify_hostname', 'localhost')).stdout).toBe('server.pem: OK')
  expect((await verify('-verify_hostname', 'api.push.apple.com')).exitCode).not.toBe(0)
  const { publicKey } = new X509Certificate(chain.serverCertificatePem)
  expect(publicKey.equals(createPublicKey(chain.serverKeyPem))).toBe(true)
})

test('creates a valid identity for up to four years', () => {
  const credentials = {
    certificate: { source: 'sandbox', pem: chain.certificatePem },
    key: { source: 'sandbox', pem: chain.keyPem },
    wwdr: { source: 'sandbox', pem: chain.wwdrPem },
  }
  expect(parseAppleIdentity(credentials, at)).toMatchObject(names)
  expect(parseAppleIdentity(credentials, new Date('2030-07-01T12:00:00Z'))).toMatchObject(names)
})

test("the pass certificate has Apple's identifiers and Wallet extensions, and is not a CA", async () => {
  const text = await describe(chain.certificatePem)
  expect(text).toContain('UID = pass.com.example.sandbox')
  expect(text).toContain('OU = SANDBOX123')
  expect(text).toContain('Public-Key: (2048 bit)')
  expect(text).toContain('1.2.840.113635.100.6.1.16: \n                ..pass.com.example.sandbox')
  expect(text).toContain('1.2.840.113635.100.6.3.1: ')
  expect(text).toContain('TLS Web Client Authentication')
  expect(text).toContain('CA:FALSE')
  expect(text).toMatch(/Subject Key Identifier[\s\S]*Authority Key Identifier/)
})

test('the certificates cannot be mistaken for ones of Apple', async () => {
  for (const pem of [chain.rootPem, chain.wwdrPem, chain.certificatePem, chain.serverCertificatePem]) {
    const { subject } = new X509Certificate(pem)
    expect(subject).toContain('O=Development Sandbox (not Apple)')
    expect(subject).not.toContain('O=Apple')
  }
})

test('each call creates new keys', async () => {
  const other = await createSandboxApple({ ...names, at })
  expect(other.keyPem).not.toBe(chain.keyPem)
  expect(new X509Certificate(other.certificatePem).verify(new X509Certificate(chain.wwdrPem).publicKey)).toBe(false)
})
