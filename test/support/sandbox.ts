import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { Config } from '../../src/server/config.ts'
import { loadSandboxApple, loadSandboxGoogle } from '../../src/server/sandbox.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Sandbox credentials to copy: making keys takes longer than all else that a server does on its first start. */
    sandboxFolder: string
  }
}

/** Makes sandbox credentials once for the whole run. */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'passes-sandbox-'))
  const config = { databaseUrl: 'sqlite:unused.db', sandboxFolder: folder } as Config
  await Promise.all([loadSandboxApple(config, new Date()), loadSandboxGoogle(config)])
  project.provide('sandboxFolder', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
