import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { type Client, createClient } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/errors.ts'

/** The server that receives the load. */
export interface Target {
  url: string
  token: string
  projectId: string
  /** Pass ids by phone number. */
  passIds: readonly string[]
}

/** Counters of the load. */
export interface LoadCounts {
  updates: number
  scans: number
  /** Scans whose result differs from the expected one. */
  wrongScans: number
  /** The longest time without a scan response, in milliseconds. */
  longestGapMs: number
}

/** A stream of updates and scans over HTTP. */
export interface Load {
  /** The last acknowledged revision of each pass. */
  revisions: readonly number[]
  /** Sends the load to another server. A different ledger does not contain the previous scans. */
  lead(target: Target, options?: { isOtherLedger: boolean }): void
  /** Updates every pass once, and counts them. */
  updateAll(progress: { done: number }): Promise<void>
  /** Updates one pass. */
  update(n: number): Promise<void>
  /** Pauses updates, so that phones can be compared; scans continue. Resolves when no update is in flight. */
  rest(): Promise<void>
  goOn(): void
  /** Returns the counts since the last call. */
  take(): LoadCounts
  close(): Promise<void>
}

/** The number of updates, and of scans, per second. */
const RATE = 20

const UPDATES_AT_ONCE = 16
const AGAIN_MS = 50
const TIMEOUT_SECONDS = 10
/** The number of accepted scans that are kept; some of them are repeated. */
const REMEMBERED = 1_000

interface Accepted {
  n: number
  scanContextKey: string
}

/**
 * Sends updates and scans at a steady rate. Retries after temporary errors until they succeed: an update with the
 * same value, a scan with the same `externalRef`, which is evaluated once.
 * @param codes the payload of each phone's pass
 * @param onError called for an unexpected response, which ends the load
 */
export function startLoad(target: Target, codes: readonly string[], onError: (error: unknown) => void): Load {
  const closed = new AbortController()
  const revisions = codes.map(() => 0)
  const busy = new Map<number, Promise<void>>()
  let current = openTarget(target)
  let accepted: Accepted[] = []
  let counts = newCounts()
  let lastServedAt = performance.now()
  let [isResting, nth] = [false, 0]

  function openTarget(to: Target) {
    return { ...to, client: createClient({ ...to, attempts: 1, timeoutSeconds: TIMEOUT_SECONDS }) }
  }

  /** Runs the work until it succeeds. Resolves to `undefined` if the load has moved to another server. */
  async function served<T>(work: (client: Client) => Promise<T>, isBoundTo?: typeof current): Promise<T | undefined> {
    while (!closed.signal.aborted && (isBoundTo === undefined || isBoundTo === current)) {
      try {
        return await work(current.client)
      } catch (error) {
        if (!isPassing(error)) throw error
        await sleep(AGAIN_MS)
      }
    }
    return undefined
  }

  /** @param isBulk whether it is part of a bulk update, whose push has a low priority */
  function update(n: number, { isBulk = false } = {}): Promise<void> {
    const before = busy.get(n) ?? Promise.resolve()
    const work = before.then(async () => {
      const revision = revisions[n]! + 1
      const body = { variables: { revision: String(revision) } }
      const query = { bulk: isBulk }
      const pass = await served((client) => client.passes.update({ params: { id: current.passIds[n]! }, query, body }))
      if (!pass) return
      revisions[n] = revision
      counts.updates += 1
    })
    busy.set(n, work)
    return work.finally(() => {
      if (busy.get(n) === work) busy.delete(n)
    })
  }

  async function scan(): Promise<void> {
    const [own, number] = [current, nth++]
    const { projectId } = own
    const again = number % 4 === 2 ? accepted[random(accepted.length)] : undefined
    const fresh = { n: random(codes.length), scanContextKey: `drill ${number}` }
    const isUnknown = number % 4 === 3
    const { n, scanContextKey } = again ?? fresh
    const expected = again ? 'duplicate' : isUnknown ? 'unknown' : 'accepted'
    const qrPayload = isUnknown ? `nobody's ${number}` : codes[n]!
    const body = { qrPayload, projectId, scanContextKey, externalRef: `drill ${projectId} ${number}` }
    const answer = await served((client) => client.scans.create({ body }), own)
    if (!answer) return
    const now = performance.now()
    counts.longestGapMs = Math.max(counts.longestGapMs, now - lastServedAt)
    lastServedAt = now
    counts.scans += 1
    if (answer.result !== expected) counts.wrongScans += 1
    else if (expected === 'accepted' && own === current) accepted = [...accepted.slice(1 - REMEMBERED), fresh]
  }

  async function repeat(work: () => Promise<void>): Promise<void> {
    while (!closed.signal.aborted) {
      const startedAt = performance.now()
      await work()
      await sleep(Math.max(0, startedAt + 1000 / RATE - performance.now()))
    }
  }

  const updates = repeat(async () => {
    if (!isResting) await update(random(codes.length))
  })
  const running = Promise.all([repeat(scan), updates]).catch(onError)

  return {
    revisions,
    lead(to, options) {
      const before = current
      current = openTarget(to)
      if (options?.isOtherLedger) accepted = []
      void before.client.close().catch(() => undefined)
    },
    update: (n) => update(n),
    async updateAll(progress) {
      await pLimit(UPDATES_AT_ONCE).map(codes.keys(), async (n) => {
        if (!closed.signal.aborted) await update(n, { isBulk: true })
        progress.done += 1
      })
    },
    async rest() {
      isResting = true
      await Promise.all(busy.values())
    },
    goOn() {
      isResting = false
    },
    take() {
      const taken = { ...counts, longestGapMs: Math.max(counts.longestGapMs, performance.now() - lastServedAt) }
      counts = newCounts()
      return taken
    },
    async close() {
      closed.abort()
      await running
      await current.client.close()
    },
  }
}

function newCounts(): LoadCounts {
  return { updates: 0, scans: 0, wrongScans: 0, longestGapMs: 0 }
}

/** Returns whether an error is temporary: the server is unreachable, restarting, or frozen. */
function isPassing(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && [429, 502, 503].includes(error.status))
}

function random(below: number): number {
  return Math.floor(Math.random() * below)
}
