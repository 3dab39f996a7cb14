import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import type { Config } from '../../../src/server/config.ts'
import { loadSandboxApple, loadSandboxGoogle } from '../../../src/server/identities/sandbox.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'

/** A time after the creation of the credentials that are copied. */
const at = new Date()

function configOf(folder: string): Config {
  return { databaseUrl: 'sqlite:unused.db', sandboxFolder: folder } as Config
}

test('servers that start on an empty folder share their credentials, and so does one that starts later', async () => {
  const config = configOf(temporaryFolder())
  const apples = await Promise.all([1, 2, 3].map(() => loadSandboxApple(config, at)))
  const googles = await Promise.all([1, 2, 3].map(() => loadSandboxGoogle(config)))
  apples.push(await loadSandboxApple(config, at))
  googles.push(await loadSandboxGoogle(config))
  expect(new Set(apples.map(({ identity }) => identity.certificatePem)).size).toBe(1)
  expect(new Set(googles.map(({ privateKeyId }) => privateKeyId)).size).toBe(1)
  expect(readdirSync(config.sandboxFolder!).sort()).toEqual(['apple', 'google'])
})

/** Copies a complete sandbox folder, which a test can break, because new keys take long to create. */
function copy(): Config {
  const folder = temporaryFolder()
  cpSync(inject('sandboxFolder'), folder, { recursive: true })
  return configOf(folder)
}

test('keeps a complete folder unchanged', async () => {
  const config = copy()
  const before = filesOf(config)
  await loadSandboxApple(config, at)
  await loadSandboxGoogle(config)
  expect(filesOf(config)).toEqual(before)
})

function filesOf({ sandboxFolder }: Config): string[] {
  return readdirSync(sandboxFolder!, { recursive: true, encoding: 'utf8' }).sort()
}

const files = ['root.pem', 'wwdr.pem', 'pass.pem', 'pass.key', 'apns.pem', 'apns.key']

/** The key that signs further pass certificates. Old sandboxes lack it. */
const later = 'wwdr.key'

test.each(isLong ? files : ['root.pem', 'apns.key'])(
  'replaces a folder without %s with a complete one',
  async (name) => {
    const config = copy()
    rmSync(join(config.sandboxFolder!, 'apple', name))
    await loadSandboxApple(config, at)
    expect(readdirSync(join(config.sandboxFolder!, 'apple-2')).sort()).toEqual([...files, later].sort())
  },
)

test('keeps a folder of an older program unchanged', async () => {
  const config = copy()
  rmSync(join(config.sandboxFolder!, 'apple', later))
  const before = filesOf(config)
  expect((await loadSandboxApple(config, at)).wwdrKeyPem).toBeUndefined()
  expect(filesOf(config)).toEqual(before)
})

test('servers that find a broken folder together have the same credentials afterwards', async () => {
  const config = copy()
  writeFileSync(join(config.sandboxFolder!, 'apple', 'apns.pem'), '-----BEGIN NONSENSE-----')
  const [first, second] = await Promise.all([loadSandboxApple(config, at), loadSandboxApple(config, at)])
  expect(second.serverCertificatePem).toBe(first.serverCertificatePem)
  expect((await loadSandboxApple(config, at)).rootPem).toBe(first.rootPem)
})

test('a folder whose files belong to different chains is replaced', async () => {
  const config = copy()
  writeFileSync(join(config.sandboxFolder!, 'apple', 'root.pem'), inject('sandbox').apple.rootPem)
  await loadSandboxApple(config, at)
  expect(existsSync(join(config.sandboxFolder!, 'apple-2'))).toBe(true)
})

test('a folder whose certificates have expired is replaced', async () => {
  const later = new Date(at.getTime() + 6 * 365 * 86_400_000)
  const { identity } = await loadSandboxApple(copy(), later)
  expect(identity.certificate.notAfter.getTime()).toBeGreaterThan(later.getTime())
})

test.each(['service-account.json', 'issuer-id'])('a folder of google without %s is replaced', async (name) => {
  const config = copy()
  const before = await loadSandboxGoogle(config)
  rmSync(join(config.sandboxFolder!, 'google', name))
  expect((await loadSandboxGoogle(config)).privateKeyId).not.toBe(before.privateKeyId)
})
