import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type AppleIdentity, parseAppleIdentity } from '../wallets/apple/identity.ts'
import { type GoogleIdentity, parseGoogleIdentity } from '../wallets/google/identity.ts'
import { createSandboxApple } from '../wallets/sandbox/certificates.ts'
import { createSandboxGoogle } from '../wallets/sandbox/google-identity.ts'
import { type Config, sandboxFolder } from './config.ts'

/** Sandbox credentials: made on first start, kept beside the database, readable by their owner only. */

const APPLE = { passTypeIdentifier: 'pass.test.passes.sandbox', teamIdentifier: 'SANDBOX001' }

export async function loadSandboxApple(config: Config, at: Date): Promise<AppleIdentity> {
  const folder = await loadOrCreate(join(sandboxFolder(config), 'apple'), async () => {
    const made = await createSandboxApple({ ...APPLE, at })
    return {
      'root.pem': made.rootPem,
      'wwdr.pem': made.wwdrPem,
      'pass.pem': made.certificatePem,
      'pass.key': made.keyPem,
      'apns.pem': made.serverCertificatePem,
      'apns.key': made.serverKeyPem,
    }
  })
  const read = async (name: string) => ({ source: join(folder, name), pem: await readFile(join(folder, name)) })
  return parseAppleIdentity(
    { certificate: await read('pass.pem'), key: await read('pass.key'), wwdr: await read('wwdr.pem'), ...APPLE },
    at,
  )
}

export async function loadSandboxGoogle(config: Config): Promise<GoogleIdentity> {
  const folder = await loadOrCreate(join(sandboxFolder(config), 'google'), async () => {
    const made = await createSandboxGoogle()
    return { 'service-account.json': made.serviceAccountJson, 'issuer-id': made.issuerId }
  })
  const source = join(folder, 'service-account.json')
  const issuerId = await readFile(join(folder, 'issuer-id'), 'utf8')
  return parseGoogleIdentity({ source, json: await readFile(source, 'utf8') }, issuerId.trim())
}

/** A folder appears whole or not at all; of servers that start together the first one's stands. */
async function loadOrCreate(folder: string, make: () => Promise<Record<string, string>>): Promise<string> {
  if (await exists(folder)) return folder
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
  const draft = await mkdtemp(`${folder}-`)
  try {
    for (const [name, content] of Object.entries(await make())) {
      await writeFile(join(draft, name), content, { mode: 0o600, flush: true })
    }
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (!(await exists(folder))) throw error
  }
  return folder
}

async function exists(folder: string): Promise<boolean> {
  return (await stat(folder).catch(() => undefined)) !== undefined
}
