import type { PassKitAccount, PassSecret } from '../../../src/cli/device/passkit.ts'
import type { Behaviour } from './behaviour.ts'

/** A virtual iPhone of a fleet. Small enough for 100,000 in one process. */
export interface FleetPhone extends PassKitAccount {
  readonly index: number
  readonly behaviour: Behaviour
  passes: HeldPass[]
  /** The number of resets. Each reset changes the push token. */
  setups: number
  /** The number of received pushes. */
  pushes: number
  /** The time of the first push whose change is not fetched yet, in milliseconds since 1970; 0 if there is none. */
  toldAt: number
  /** The time of the last query for changes. */
  askedAt: number
  /** Whether a query is scheduled or queued. */
  isDue: boolean
  /** The error of the last query; `undefined` if it succeeded. */
  problem: string | undefined
}

export interface HeldPass extends PassSecret {
  /** The HTTP date of the shown content; `null` until it was first fetched from the web service. */
  lastModified: string | null
  /** The value of the field `revision`, if packages are verified; 0 before the pass has one. */
  revision?: number
}

/** Returns PassKit's deviceLibraryIdentifier. */
export function deviceIdOf(fleetId: string, { index }: { index: number }): string {
  return fleetId + hex(index, 16)
}

/** Returns the push token. It starts with the fleet ID, by which the sandbox distinguishes fleets. */
export function pushTokenOf(fleetId: string, { index, setups }: { index: number; setups: number }): string {
  return fleetId + hex(setups, 8) + hex(index, 40)
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
