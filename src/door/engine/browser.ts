import { type DoorLanguage, doorEnglish } from '../../core/rules/redemption/scan-message.ts'
import { makeTimeOrdered, uuidText } from '../../core/uuid.ts'
import { type EngineEnvironment, phoneSettings } from './environment.ts'
import { openIndexedDb } from './store/indexed-db.ts'
import { TableStore } from './store/table-store.ts'

const DATABASE = 'passes-door'
const LOCK = 'passes-door-'
const RUNNER = 'passes-door-tab-'

/**
 * Creates the environment of an engine in a browser.
 * @param version the version of the page
 * @param language is called for each scan, and returns the language of the page
 */
export function browserEnvironment(
  version: string,
  language: () => DoorLanguage = () => doorEnglish,
): EngineEnvironment {
  const runner = crypto.randomUUID()
  // Hold the lock until the tab ends. The lock shows other tabs that this tab is running.
  void navigator.locks.request(RUNNER + runner, () => new Promise(() => undefined))
  return {
    settings: phoneSettings,
    openStore: async (onLost) => new TableStore(await openIndexedDb(DATABASE, onLost)),
    fetch: (input, init) => fetch(input, init),
    // Use the base URL of this page, so that requests also work behind a proxy with a path prefix.
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
    runner,
    async findRunning() {
      const { held = [] } = await navigator.locks.query()
      const names = new Set(held.map(({ name }) => name))
      return (id) => names.has(RUNNER + id)
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

/**
 * `UPDATE_CHECK_MS` is the interval of checks for a new release. While a new release waits for an idle page, `ASK_MS`
 * is the interval of checks whether the page is busy.
 */
const UPDATE_CHECK_MS = 15 * 60_000
const ASK_MS = 1_000

/**
 * Keeps the page on the phone, and activates a new release when the page is idle.
 * @param worker the address of the service worker, and its scope
 * @param isBusy whether a decision or an open form is on the screen
 */
export async function keepUpToDate(worker: { url: string; scope: string }, isBusy: () => boolean): Promise<void> {
  const container = navigator.serviceWorker
  if (!container) return
  // Do not reload when the first worker takes control: the page was loaded without a worker, so it is already new.
  let isControlled = container.controller !== null
  container.addEventListener('controllerchange', () => {
    if (isControlled) whenIdle(isBusy, () => location.reload())
    isControlled = true
  })
  const registration = await container.register(worker.url, { scope: worker.scope, updateViaCache: 'none' })
  const offer = () => {
    if (registration.waiting && container.controller) {
      whenIdle(isBusy, () => registration.waiting?.postMessage('take-over'))
    }
  }
  registration.addEventListener('updatefound', () => {
    registration.installing?.addEventListener('statechange', offer)
  })
  offer()
  // Ignore a rejection: without a network, there is no update.
  setInterval(() => registration.update().catch(() => undefined), UPDATE_CHECK_MS)
}

function whenIdle(isBusy: () => boolean, act: () => void): void {
  if (isBusy()) setTimeout(() => whenIdle(isBusy, act), ASK_MS)
  else act()
}
