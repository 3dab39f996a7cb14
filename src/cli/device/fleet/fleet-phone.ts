import type { PassSecret } from '../passkit.ts'
import type { Behaviour } from './behaviour.ts'

/** A virtual iPhone of a fleet. Small enough for 100,000 in one process. */
export interface FleetPhone {
  /** The index in the fleet, from which device id and push token are derived. */
  readonly index: number
  readonly behaviour: Behaviour
  passes: HeldPass[]
  /** The number of resets; each one changes the push token. */
  setups: number
  /** The tag of the last list of changed serial numbers; `null` before the first. */
  tag: string | null
  /** The number of received pushes. */
  pushes: number
  /** The time of the first push whose change is not fetched yet, in milliseconds since 1970; 0 if there is none. */
  toldAt: number
  /** The time of the last query for changes. */
  askedAt: number
  /** Whether a query is scheduled or queued. */
  isDue: boolean
}

export interface HeldPass extends PassSecret {
  /** The HTTP date of the shown content; `null` until it was first fetched from the web service. */
  lastModified: string | null
}

/** Returns PassKit's deviceLibraryIdentifier. */
export function deviceIdOf(fleetId: string, { index }: Pick<FleetPhone, 'index'>): string {
  return fleetId + hex(index, 16)
}

/** Returns the push token. It starts with the fleet id, by which the sandbox distinguishes fleets. */
export function pushTokenOf(fleetId: string, { index, setups }: Pick<FleetPhone, 'index' | 'setups'>): string {
  return fleetId + hex(setups, 8) + hex(index, 40)
}

/** Returns the index and the reset count that a push token contains. */
export function readPushToken(token: string): { setups: number; index: number } {
  return { setups: Number.parseInt(token.slice(16, 24), 16), index: Number.parseInt(token.slice(24), 16) }
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
