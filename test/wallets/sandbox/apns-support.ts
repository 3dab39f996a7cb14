import { onTestFinished } from 'vitest'
import { startSandboxApns } from '../../../src/wallets/sandbox/apple/apns-server.ts'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { createFaults, type Fault } from '../../../src/wallets/sandbox/faults.ts'
import { at } from './support.ts'

export const topic = 'pass.com.example.sandbox'

export interface StartOptions {
  faults?: Fault[]
  stateFile?: string
}

/** Starts the APNs emulator with a stopped clock. */
export async function startApns(chain: SandboxApple, options: StartOptions = {}) {
  const faults = createFaults(options.faults)
  const apns = await startSandboxApns({
    serverCertificate: chain.serverCertificatePem,
    serverKey: chain.serverKeyPem,
    clientRoot: chain.rootPem + chain.wwdrPem,
    faults,
    clock: () => at,
    ...(options.stateFile && { stateFile: options.stateFile }),
  })
  let isOpen = true
  const close = async () => {
    if (isOpen) await apns.close()
    isOpen = false
  }
  onTestFinished(close)
  return { ...apns, faults, close }
}

export type Apns = Awaited<ReturnType<typeof startApns>>
