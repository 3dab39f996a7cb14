import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { Config } from '../../src/server/boot/config.ts'
import { loadSandboxApple, loadSandboxGoogle } from '../../src/server/boot/sandbox.ts'
import { createSandboxApple, type SandboxApple } from '../../src/wallets/sandbox/apple/certificates.ts'
import { createSandboxGoogle } from '../../src/wallets/sandbox/google/google-token.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Credentials as a server makes them on its first start, to be copied. */
    sandboxFolder: string
    /** Those that tests in their own process sign with. */
    sandbox: { apple: SandboxApple; google: Awaited<ReturnType<typeof createSandboxGoogle>> }
  }
}

export const appleNames = { passTypeIdentifier: 'pass.test.api', teamIdentifier: 'TEAM000001' }
/** When they are made: tests set their clocks to later moments. */
export const madeAt = new Date('2026-01-01T00:00:00Z')

/** Makes sandbox credentials once for the whole run: new keys take longer than most tests. */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'passes-sandbox-'))
  const config = { databaseUrl: 'sqlite:unused.db', sandboxFolder: folder } as Config
  const [apple, google] = await Promise.all([
    createSandboxApple({ ...appleNames, at: madeAt }),
    createSandboxGoogle(),
    loadSandboxApple(config, new Date()),
    loadSandboxGoogle(config),
  ])
  project.provide('sandboxFolder', folder)
  project.provide('sandbox', { apple, google })
  return () => rmSync(folder, { recursive: true, force: true })
}
