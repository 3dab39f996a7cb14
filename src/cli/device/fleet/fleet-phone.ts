import type { PassSecret } from '../passkit.ts'
import type { Behaviour } from './behaviour.ts'

/** A virtual iPhone of a fleet: so little that a hundred thousand of them fit into one process. */
export interface FleetPhone {
  /** Its place in the fleet, from which its device id and push token are made. */
  readonly index: number
  readonly behaviour: Behaviour
  passes: HeldPass[]
  /** How often it was wiped and set up anew; each time it has another push token. */
  setups: number
  /** The tag of the last list of changed serial numbers; null before the first. */
  tag: string | null
  /** How often it was pushed. */
  pushes: number
  /** Since when it knows of a change that it has not fetched, in milliseconds since 1970; 0 where it knows of none. */
  toldAt: number
  /** When it last asked what changed. */
  askedAt: number
  /** It will ask: the moment is set, or it stands in line. */
  isDue: boolean
}

/** A pass on a phone of a fleet. */
export interface HeldPass extends PassSecret {
  /** The HTTP date of what it shows; null until it was first fetched from the web service. */
  lastModified: string | null
}

/** PassKit's deviceLibraryIdentifier. */
export function deviceIdOf(fleetId: string, { index }: Pick<FleetPhone, 'index'>): string {
  return fleetId + hex(index, 16)
}

/** Begins with the id of the fleet, by which the sandbox tells fleets apart. */
export function pushTokenOf(fleetId: string, { index, setups }: Pick<FleetPhone, 'index' | 'setups'>): string {
  return fleetId + hex(setups, 8) + hex(index, 40)
}

/** The place of the phone that a token is of, and its setup then. */
export function readPushToken(token: string): { setups: number; index: number } {
  return { setups: Number.parseInt(token.slice(16, 24), 16), index: Number.parseInt(token.slice(24), 16) }
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
