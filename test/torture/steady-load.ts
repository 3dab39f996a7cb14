import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Random } from '../../bench/support/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { ApiError, ConnectionError } from '../../src/client/client-errors.ts'

/** The server that receives the load. */
export interface Target {
  url: string
  token: string
  projectId: string
  /** The pass IDs by the number of the phone. */
  passIds: readonly string[]
}

/** A stream of updates and scans over HTTP. */
export interface SteadyLoad {
  /** The last acknowledged revision of each pass. */
  revisions: readonly number[]
  /** Sends the load to another server. A different ledger does not contain the previous scans. */
  lead(target: Target, options?: { isOtherLedger: boolean }): void
  /** Updates every pass once. */
  updateAll(): Promise<void>
  /** Updates one pass. */
  update(n: number): Promise<void>
  /** Pauses updates, so that phones can be compared; scans continue. Resolves when no update is in flight. */
  rest(): Promise<void>
  goOn(): void
  /** Returns the counts since the last call. */
  take(): LoadCounts
  close(): Promise<void>
}

interface LoadCounts {
  updates: number
  scans: number
  /** Scans whose result differs from the expected one. */
  wrongScans: number
  /** The longest time without a scan response. */
  longestGapSeconds: number
}

const UPDATES_AT_ONCE = 16
const RETRY_MS = 50
const TIMEOUT_SECONDS = 10
/** The number of accepted scans that are kept; some of them are repeated. */
const REMEMBERED = 1_000

export interface SteadyLoadOptions {
  target: Target
  /** The payload of each phone's pass. */
  codes: readonly string[]
  random: Random
  /** The number of updates, and of scans, per second. Default: 20. */
  rate?: number
  /** Called for an unexpected response, which ends the load. */
  onError(error: unknown): void
}

/**
 * Sends updates and scans at a steady rate. Retries after temporary errors until they succeed: an update with the
 * same value, a scan with the same `externalRef`, which is evaluated once. Half of the scans must be accepted, a quarter
 * repeats one of those, and a quarter reads an unknown code.
 */
export function startSteadyLoad({ target, codes, random, rate = 20, onError }: SteadyLoadOptions): SteadyLoad {
  const closed = new AbortController()
  const revisions = codes.map(() => 0)
  const busy = new Map<number, Promise<void>>()
  let current = open(target)
  let accepted: { n: number; scanContextKey: string }[] = []
  let counts = noCounts()
  let lastScanAt = performance.now()
  let [isResting, nth] = [false, 0]

  function open(to: Target) {
    return { ...to, client: createClient({ ...to, attempts: 1, timeoutSeconds: TIMEOUT_SECONDS }) }
  }

  /** Runs the work until it succeeds. Resolves to `undefined` if the load has ended or moved to another server. */
  async function served<T>(work: (client: Client) => Promise<T>, boundTo?: typeof current): Promise<T | undefined> {
    while (!closed.signal.aborted && (boundTo ?? current) === current) {
      try {
        return await work(current.client)
      } catch (error) {
        if (!isTemporary(error)) throw error
        await sleep(RETRY_MS)
      }
    }
    return undefined
  }

  /** @param bulk whether it is part of a bulk update, whose push has a low priority */
  function update(n: number, bulk = false): Promise<void> {
    const work = (busy.get(n) ?? Promise.resolve()).then(async () => {
      const revision = revisions[n]! + 1
      const body = { variables: { revision: String(revision) } }
      const send = ({ passes }: Client) => passes.update({ params: { id: current.passIds[n]! }, query: { bulk }, body })
      if (!(await served(send))) return
      revisions[n] = revision
      counts.updates += 1
    })
    busy.set(n, work)
    return work.finally(() => busy.get(n) === work && busy.delete(n))
  }

  async function scan(): Promise<void> {
    const [own, number] = [current, nth++]
    const again = number % 4 === 2 && accepted.length > 0 ? random.pick(accepted) : undefined
    const fresh = { n: random.between(0, codes.length - 1), scanContextKey: `steady ${number}` }
    const isUnknown = number % 4 === 3
    const { n, scanContextKey } = again ?? fresh
    const expected = again ? 'duplicate' : isUnknown ? 'unknown' : 'accepted'
    const qrPayload = isUnknown ? `nobody's ${number}` : codes[n]!
    const { projectId } = own
    const body = { qrPayload, projectId, scanContextKey, externalRef: `steady ${projectId} ${number}` }
    const response = await served(({ scans }) => scans.create({ body }), own)
    if (!response) return
    counts.longestGapSeconds = longestGap()
    lastScanAt = performance.now()
    counts.scans += 1
    if (response.result !== expected) counts.wrongScans += 1
    else if (expected === 'accepted' && own === current) accepted = [...accepted.slice(1 - REMEMBERED), fresh]
  }

  const longestGap = () => Math.max(counts.longestGapSeconds, (performance.now() - lastScanAt) / 1000)

  async function repeat(work: () => Promise<void>): Promise<void> {
    while (!closed.signal.aborted) {
      const startedAt = performance.now()
      await work()
      await sleep(Math.max(0, startedAt + 1000 / rate - performance.now()))
    }
  }

  const updates = repeat(async () => {
    if (!isResting) await update(random.between(0, codes.length - 1))
  })
  const running = Promise.all([repeat(scan), updates]).catch(onError)

  return {
    revisions,
    lead(to, options) {
      const before = current
      current = open(to)
      if (options?.isOtherLedger) accepted = []
      void before.client.close()
    },
    update,
    updateAll: () =>
      pLimit(UPDATES_AT_ONCE)
        .map([...codes.keys()], (n) => update(n, true))
        .then(() => undefined),
    async rest() {
      isResting = true
      await Promise.all(busy.values())
    },
    goOn() {
      isResting = false
    },
    take() {
      const taken = { ...counts, longestGapSeconds: longestGap() }
      counts = noCounts()
      return taken
    },
    async close() {
      closed.abort()
      await running
      await current.client.close()
    },
  }
}

function noCounts(): LoadCounts {
  return { updates: 0, scans: 0, wrongScans: 0, longestGapSeconds: 0 }
}

/** Returns whether an error is temporary: the server is unreachable, restarting, or frozen. */
function isTemporary(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && [429, 502, 503].includes(error.status))
}
