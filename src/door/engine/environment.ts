import type { Station } from '../../core/rules/door/outcome.ts'
import type { DoorLanguage } from '../../core/rules/redemption/scan-message.ts'
import type { Identity } from './store/engine-store.ts'
import type { EngineStore } from './store/table-store.ts'

/** The settings that differ between a phone and a console. Times are in milliseconds. */
export interface EngineSettings {
  /** The timeout of a scan. */
  scanMs: number
  /** The timeout of a probe: a request that checks whether the server responds. */
  probeMs: number
  /** The interval of probes while the server responds. */
  pollMs: number
  /** The time after a scan within which another reading of its code counts as the same scan. */
  sameScanMs: number
  /** Whether the server responded before the engine was opened; `undefined` if no request was sent yet. */
  isReached: boolean | undefined
  /** Whether the server stores the zone and direction of this door. For a console, only the console stores them. */
  storesMovement: boolean
  /** Returns the project, device, and gate that each scan reports. */
  station: (door: Identity['door']) => Station
  rejectionText: (rejection: { status: number; message: string }) => string
}

/**
 * The settings of a phone. A server caches a token for one second, and the probes are frequent enough that a revoked
 * door stops within five seconds.
 */
export const phoneSettings: EngineSettings = {
  scanMs: 2_000,
  probeMs: 2_000,
  pollMs: 3_000,
  sameScanMs: 3_000,
  isReached: undefined,
  storesMovement: true,
  station: ({ projectId, id, gate }) => ({ projectId, deviceId: id, context: { gate } }),
  rejectionText: ({ message }) => message,
}

/** The environment of an engine: a browser (`browser.ts`), a console (`cli/console/environment.ts`), or a test. */
export interface EngineEnvironment {
  settings: EngineSettings
  /** The identity of a door that needs no invitation, such as a console. */
  identity?: Identity
  /** Opens the store. `onLost` is called if the browser closes it. */
  openStore: (onLost: () => void) => Promise<EngineStore>
  fetch: typeof fetch
  /** The base URL of the server without a trailing slash. Empty for the server of the page. */
  baseUrl: string
  /** The version of the page, sent to the server. */
  version: string
  language: () => DoorLanguage
  wallMs: () => number
  monotonicMs: () => number
  /** Returns a random number from 0 to 1. */
  random: () => number
  /** Creates a UUID that sorts by its time. */
  newReference: (at: Date) => string
  /** Returns the SHA-256 of a payload, in hex. */
  digest: (payload: string) => Promise<string>
  /** The ID of this tab or process. */
  runner: string
  /** Returns a function that tests whether the tab or process with a given ID still runs. */
  findRunning: () => Promise<(runner: string) => boolean>
  /** Waits until no other tab or process with this store runs work of the same name, then runs the work. */
  withLock: <T>(name: string, work: () => Promise<T>) => Promise<T>
  /** A text stored outside the database. If the text exists and the database is empty, the database was lost. */
  marker: { get: () => string | null; set: (text: string) => void }
  isVisible: () => boolean
  /**
   * Calls the listener when the network might be back or the page becomes visible. Returns a function that
   * unsubscribes.
   */
  onWake: (listener: () => void) => () => void
  /** Asks the browser to keep the stored data; `null` if that is not supported. */
  persist: () => Promise<boolean | null>
}

/** Creates a lock for engines of one process: work with the same name runs in the order of the calls, one at a time. */
export function createProcessLock(): EngineEnvironment['withLock'] {
  const turns = new Map<string, Promise<unknown>>()
  return (name, work) => {
    const result = (turns.get(name) ?? Promise.resolve()).then(work)
    turns.set(
      name,
      result.catch(() => undefined),
    )
    return result
  }
}
