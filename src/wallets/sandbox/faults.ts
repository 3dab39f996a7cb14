import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { SetupError } from '../../core/errors.ts'

/** What can be made to go wrong, by the platform that then answers (or does not). */
export const faultNames = [
  'apns-410',
  'apns-429',
  'apns-500',
  'apns-503',
  'apns-slow',
  /** Taken and handed to the phone, and the answer never comes. */
  'apns-hold',
  /** Connections are cut. */
  'apns-down',
  /** Accepted, and never handed to a phone: APNs promises no more. */
  'apns-drop',
  /** No write is taken, for good. */
  'google-400',
  'google-429',
  'google-500',
  'google-503',
  'google-slow',
  /** Each notifying message is one too many. */
  'google-quota',
  /** The issuer is not on Google's list of those who may give passes places. */
  'google-locations',
] as const
/** Something that the emulators can be told to do wrong. */
export type Fault = (typeof faultNames)[number]

/** The faults that are on; the emulators of one server share them. */
export interface Faults {
  has(fault: Fault): boolean
  list(): Fault[]
  replace(faults: readonly Fault[]): void
}

/** A fault that is not in the list, named with those that are. */
class FaultError extends SetupError {
  override readonly name = 'FaultError'
}

const SLOW_MS = 1_500

/** The faults that an emulator is told to have, which may change while it runs. */
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

/** Faults by their names. @throws FaultError for a name that none has */
export function parseFaults(names: readonly string[]): Fault[] {
  return names.map((name) => {
    const fault = faultNames.find((known) => known === name)
    if (!fault) throw new FaultError(`There is no fault "${name}"; there are ${faultNames.join(', ')}.`)
    return fault
  })
}

/** Waits as a platform does that is slow, while the fault is on. */
export async function slowDown(faults: Faults, fault: Fault): Promise<void> {
  if (faults.has(fault)) await sleep(SLOW_MS, undefined, { ref: false })
}

const FaultsBody = z.strictObject({ faults: z.array(z.string()) })

/** `POST /faults`: turns on those that the body names and all others off. */
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
