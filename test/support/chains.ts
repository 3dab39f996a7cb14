import { createHash, randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { createSandboxApple, type SandboxApple } from '../../src/wallets/sandbox/apple/certificates.ts'
import { createSandboxGoogle } from '../../src/wallets/sandbox/google/google-token.ts'

export interface ChainNames {
  passTypeIdentifier: string
  teamIdentifier: string
  /** The time of creation. Default: a time today. */
  at?: Date
  /** Distinguishes several chains with the same names. */
  nth?: number
}

/** Returns a stored chain of the sandbox, for tests that do not check its creation: its four keys take a second of CPU. */
export function sandboxChain({ nth = 0, at, ...names }: ChainNames): Promise<SandboxApple> {
  return onceADay(['apple', names, at ?? 'today', nth], () => createSandboxApple({ ...names, at: at ?? new Date() }))
}

/** Like `sandboxChain`, for service accounts of the Google emulator. Each `nth` has a separate key. */
export function sandboxAccount(nth = 0): ReturnType<typeof createSandboxGoogle> {
  return onceADay(['google', nth], () => createSandboxGoogle())
}

/**
 * Creates a value once and stores it with the other credentials of the day (sandbox.ts), where all workers and later
 * runs find it.
 */
export async function onceADay<Made>(key: unknown[], make: () => Promise<Made>): Promise<Made> {
  const name = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 16)
  const file = join(inject('keptCredentials'), `${name}.json`)
  if (!existsSync(file)) {
    const draft = `${file}.${randomUUID()}`
    writeFileSync(draft, JSON.stringify(await make()), { mode: 0o600 })
    try {
      linkSync(draft, file)
    } catch (error) {
      // If another worker created the file first, use that file in both workers.
      if (!existsSync(file)) throw error
    } finally {
      rmSync(draft)
    }
  }
  return JSON.parse(readFileSync(file, 'utf8'))
}
