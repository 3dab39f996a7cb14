import type { DoorLanguage } from '../../core/rules/redemption/door-language.ts'
import type { EngineStore } from './store.ts'

/** What an engine is given: a browser (`browser.ts`), or what tests and measurements put in its place. */
export interface EngineEnvironment {
  /** Opens what is stored; `onLost` is told where the browser takes it away while it is open. */
  openStore: (onLost: () => void) => Promise<EngineStore>
  fetch: typeof fetch
  /** Of the server, without a slash at its end; empty for that of the page. */
  baseUrl: string
  /** Of the page, as the server is told. */
  version: string
  language: () => DoorLanguage
  wallMs: () => number
  /** Goes on evenly whatever somebody sets. */
  monotonicMs: () => number
  /** From 0 to 1. */
  random: () => number
  /** A UUID whose order is that of its time. */
  newReference: (at: Date) => string
  /** SHA-256 of a payload, in hex. */
  digest: (payload: string) => Promise<string>
  /** Runs the work while no other tab of this phone runs work of that name. */
  withLock: <T>(name: string, work: () => Promise<T>) => Promise<T>
  /** A text beside the database, which tells whether the database was lost. */
  marker: { get: () => string | null; set: (text: string) => void }
  isVisible: () => boolean
  /** Calls the listener where the network may be back, or the page is looked at again; returns what ends that. */
  onWake: (listener: () => void) => () => void
  /** Asks the browser to keep what is stored; null where it cannot be asked. */
  persist: () => Promise<boolean | null>
}
