import { newId } from '../../src/core/ids.ts'
import { identifierDigest } from '../../src/core/rules/crypto/scan-code.ts'
import { doorEnglish } from '../../src/core/rules/redemption/scan-message.ts'
import type { Decision, DoorEngine } from '../../src/door/engine/engine.ts'
import { createProcessLock, phoneSettings } from '../../src/door/engine/environment.ts'
import { openEngine } from '../../src/door/engine/open-engine.ts'
import type { Identity } from '../../src/door/engine/store/engine-store.ts'
import { memoryStore, type SharedList } from './memory-store.ts'

/** A phone at a gate: the engine of the page, over a network that can be cut. */
export interface BenchPhone {
  engine: DoorEngine
  /** Cuts the network of the phone, including requests in flight, or restores it. */
  cut: (isCut: boolean) => void
  shared: () => SharedList
}

/** Options for tests. The defaults are for measurements. */
interface PhoneOptions {
  /** A list that the phone already has. Default: the phone fetches a list. */
  list?: SharedList
  fetch?: typeof fetch
  wallMs?: () => number
}

/** Opens the page of a door that was already claimed. */
export async function openPhone(
  url: string,
  identity: Identity,
  { list, fetch: send = fetch, wallMs = Date.now }: PhoneOptions = {},
): Promise<BenchPhone> {
  const store = memoryStore(identity, list)
  let isCut = false
  let network = new AbortController()
  const engine = await openEngine({
    settings: phoneSettings,
    openStore: async () => store,
    fetch: async (input, init) => {
      if (isCut) throw new TypeError('fetch failed')
      const signal = AbortSignal.any([network.signal, init!.signal!])
      return send(input, { ...init, signal }).catch((error) => {
        throw network.signal.aborted ? new TypeError('fetch failed') : error
      })
    },
    baseUrl: url,
    version: 'bench',
    language: () => doorEnglish,
    wallMs,
    monotonicMs: () => performance.now(),
    random: Math.random,
    newReference: newId,
    digest: async (payload) => identifierDigest(payload).toString('hex'),
    runner: identity.door.id,
    findRunning: async () => () => true,
    withLock: createProcessLock(),
    marker: { get: () => null, set: () => undefined },
    isVisible: () => true,
    onWake: () => () => undefined,
    persist: async () => null,
  })
  return {
    engine,
    cut(next) {
      if (next && !isCut) network.abort()
      if (!next && isCut) network = new AbortController()
      isCut = next
    },
    shared: store.shared,
  }
}

/** Resolves once the state of a door fulfills a condition. */
export function until(engine: DoorEngine, isThere: (state: DoorEngine['state']) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const end = engine.subscribe(look)
    look(engine.state)
    function look(state: DoorEngine['state']): void {
      if (!isThere(state)) return
      queueMicrotask(() => end())
      resolve()
    }
  })
}

/** A decision, and the time from the scan to the decision, in milliseconds. */
export interface TimedDecision {
  decision: Decision
  ms: number
}

/** Scans a payload, and measures the time of the decision. */
export async function timedScan({ engine }: BenchPhone, payload: string): Promise<TimedDecision> {
  const startedAt = performance.now()
  const decision = await engine.scan({ payload, method: 'camera' })
  return { decision, ms: performance.now() - startedAt }
}
