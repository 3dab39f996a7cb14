import { type DoorLanguage, doorEnglish } from '../../core/rules/redemption/door-language.ts'
import { makeTimeOrdered, uuidText } from '../../core/uuid.ts'
import type { EngineEnvironment } from './environment.ts'
import { openIndexedDb } from './indexed-db.ts'

const DATABASE = 'passes-door'
const LOCK = 'passes-door-'

/**
 * What an engine is given in a browser.
 * @param version of the page
 * @param language asked for at each scan
 */
export function browserEnvironment(
  version: string,
  language: () => DoorLanguage = () => doorEnglish,
): EngineEnvironment {
  return {
    openStore: (onLost) => openIndexedDb(DATABASE, onLost),
    fetch: (input, init) => fetch(input, init),
    // The page stands beside the API, wherever a proxy put both.
    baseUrl: new URL('.', location.href).href.slice(0, -1),
    version,
    language,
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    random: () => Math.random(),
    newReference: (at) => uuidText(hex(makeTimeOrdered(crypto.getRandomValues(new Uint8Array(16)), at))),
    async digest(payload) {
      return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(payload))))
    },
    withLock: async (name, work) => await navigator.locks.request(LOCK + name, work),
    marker: {
      get: () => localStorage.getItem(DATABASE),
      set: (text) => localStorage.setItem(DATABASE, text),
    },
    isVisible: () => document.visibilityState === 'visible',
    onWake(listener) {
      const ended = new AbortController()
      for (const [target, name] of [
        [window, 'online'],
        [document, 'visibilitychange'],
        [window, 'pageshow'],
      ] as const) {
        target.addEventListener(name, listener, { signal: ended.signal })
      }
      return () => ended.abort()
    },
    persist: async () => (navigator.storage?.persist ? navigator.storage.persist() : null),
  }
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
