import { createHash, randomUUID } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { Config } from '../../src/server/config.ts'
import type { SandboxApple } from '../../src/wallets/sandbox/apple/certificates.ts'
import type { createSandboxGoogle } from '../../src/wallets/sandbox/google/google-token.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Credentials as a server creates them at its first start, which tests copy. */
    sandboxFolder: string
    /** The folder where chains.ts stores its files. It is deleted with these credentials. */
    keptCredentials: string
    /** The credentials that tests in this process sign with. */
    sandbox: { apple: SandboxApple; google: Awaited<ReturnType<typeof createSandboxGoogle>> }
  }
}

export const appleNames = { passTypeIdentifier: 'pass.test.api', teamIdentifier: 'TEAM000001' }
/** The time of creation. Tests set their clocks to later times. */
export const madeAt = new Date('2026-01-01T00:00:00Z')

const root = join(import.meta.dirname, '../..')
const cache = join(root, 'node_modules/.cache/passes-sandbox')
/** The files whose code influences the credentials. */
const makers = [
  'src/files',
  'src/wallets/sandbox',
  'src/server/identities/sandbox.ts',
  'test/support/sandbox.ts',
  'test/support/chains.ts',
  'test/support/apple-chain.ts',
]

/**
 * Sandbox credentials for the whole run: new keys take longer than most tests. Later runs of the same day reuse them, unless
 * the code that creates them changes.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'passes-sandbox-'))
  const kept = join(cache, `${new Date().toISOString().slice(0, 10)}-${fingerprint()}`)
  if (!existsSync(kept)) await makeAndKeep(kept)
  cpSync(join(kept, 'sandbox'), folder, { recursive: true })
  project.provide('sandboxFolder', folder)
  project.provide('keptCredentials', kept)
  project.provide('sandbox', JSON.parse(readFileSync(join(kept, 'signers.json'), 'utf8')))
  return () => rmSync(folder, { recursive: true, force: true })
}

/** Creates the credentials in a temporary folder and then renames it, so that another run finds all files or none. */
async function makeAndKeep(kept: string): Promise<void> {
  const { loadSandboxApple, loadSandboxGoogle } = await import('../../src/server/identities/sandbox.ts')
  const { createSandboxApple } = await import('../../src/wallets/sandbox/apple/certificates.ts')
  const { createSandboxGoogle } = await import('../../src/wallets/sandbox/google/google-token.ts')
  mkdirSync(cache, { recursive: true })
  const made = join(cache, randomUUID())
  mkdirSync(made, { mode: 0o700 })
  const config = { databaseUrl: 'sqlite:unused.db', sandboxFolder: join(made, 'sandbox') } as Config
  const [apple, google] = await Promise.all([
    createSandboxApple({ ...appleNames, at: madeAt }),
    createSandboxGoogle(),
    loadSandboxApple(config, new Date()),
    loadSandboxGoogle(config),
  ])
  writeFileSync(join(made, 'signers.json'), JSON.stringify({ apple, google }), { mode: 0o600 })
  try {
    renameSync(made, kept)
  } catch (error) {
    // If another run has created the credentials first, keep those and remove these.
    rmSync(made, { recursive: true, force: true })
    if (!existsSync(kept)) throw error
  }
  forgetOld()
}

/** Deletes credentials that are two days old. A run that lasts past midnight still finds its own. */
function forgetOld(): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name)
    const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (Date.now() - changed > 48 * 3_600_000) rmSync(path, { recursive: true, force: true })
  }
}

/** Returns the digest of the makers' source and of the installed versions. */
function fingerprint(): string {
  const hash = createHash('sha256').update(process.version)
  for (const path of [...makers.flatMap((maker) => filesOf(join(root, maker))), join(root, 'package-lock.json')]) {
    hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0')
  }
  return hash.digest('hex').slice(0, 16)
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}
