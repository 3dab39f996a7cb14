import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { SetupError } from '../../core/errors.ts'

export const faultNames = [
  'apns-410',
  'apns-429',
  'apns-500',
  'apns-503',
  'apns-slow',
  /** Pushes are accepted and delivered, but get no response. */
  'apns-hold',
  /** The emulator closes each connection. */
  'apns-down',
  /** Pushes are accepted, but never delivered. This can also happen with APNs. */
  'apns-drop',
  /** Google permanently rejects every write. */
  'google-400',
  'google-429',
  'google-500',
  'google-503',
  'google-slow',
  /** Every notifying message exceeds the quota. */
  'google-quota',
  /** No issuer is on Google's allowlist for locations. */
  'google-locations',
] as const
export type Fault = (typeof faultNames)[number]

export interface Faults {
  has(fault: Fault): boolean
  list(): Fault[]
  replace(faults: readonly Fault[]): void
}

class FaultError extends SetupError {
  override readonly name = 'FaultError'
}

const SLOW_MS = 1_500

export function createFaults(initial: readonly Fault[] = []): Faults {
  let current = new Set(initial)
  return {
    has: (fault) => current.has(fault),
    list: () => [...current],
    replace(faults) {
      current = new Set(faults)
    },
  }
}

export function parseFaults(names: readonly string[]): Fault[] {
  return names.map((name) => {
    const fault = faultNames.find((known) => known === name)
    if (!fault) throw new FaultError(`Unknown fault "${name}". Use one of ${faultNames.join(', ')}.`)
    return fault
  })
}

export async function slowDown(faults: Faults, fault: Fault): Promise<void> {
  if (faults.has(fault)) await sleep(SLOW_MS, undefined, { ref: false })
}

const FaultsBody = z.strictObject({ faults: z.array(z.string()) })

/** Handles `POST /faults`: activates the named faults and deactivates all others. */
export function switchFaults(faults: Faults, body: unknown): { status: number; json: object } {
  const parsed = FaultsBody.safeParse(body)
  if (!parsed.success) return { status: 400, json: { error: 'The body must be {"faults": ["apns-500", …]}.' } }
  try {
    faults.replace(parseFaults(parsed.data.faults))
  } catch (error) {
    if (error instanceof FaultError) return { status: 400, json: { error: error.message } }
    throw error
  }
  return { status: 200, json: { faults: faults.list() } }
}
