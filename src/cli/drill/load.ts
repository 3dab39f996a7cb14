import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { type Client, createClient } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/errors.ts'

/** The server that the load goes to. */
export interface Target {
  url: string
  token: string
  projectId: string
  /** By the number of the phone. */
  passIds: readonly string[]
}

/** What the load came to. */
export interface LoadCounts {
  updates: number
  scans: number
  /** Scans whose verdict was another than the rules say. */
  wrongScans: number
  /** The longest time without a scan that was answered, in milliseconds. */
  longestGapMs: number
}

/** A stream of updates and scans over HTTP. */
export interface Load {
  /** The revision of each pass that was acknowledged last. */
  revisions: readonly number[]
  /** From now on it goes there. Another ledger knows none of the scans of before. */
  lead(target: Target, options?: { isOtherLedger: boolean }): void
  /** Updates every pass once, and counts them. */
  updateAll(progress: { done: number }): Promise<void>
  /** Updates one pass. */
  update(n: number): Promise<void>
  /** Lets updates rest, so that phones can be looked at; scans go on. Resolves when none is in flight. */
  rest(): Promise<void>
  goOn(): void
  /** Since the last time. */
  take(): LoadCounts
  close(): Promise<void>
}

/** Updates a second, and scans a second. */
const RATE = 20

const UPDATES_AT_ONCE = 16
const AGAIN_MS = 50
const TIMEOUT_SECONDS = 10
/** Scans that were accepted, of which some are made again. */
const REMEMBERED = 1_000

interface Accepted {
  n: number
  scanContextKey: string
}

/**
 * Updates and scans at a steady rate. What is not answered, or refused for now, is sent again until it is: an update with
 * the same value, a scan with the same externalRef, which is evaluated once.
 * @param codes what scanners read off the pass of each phone
 * @param onError told of an answer that no server should give, which ends it
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

  /** Resolves to undefined where the work belongs to a server that the load has left. */
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

  /** @param isBulk as one of many: its push lets others go first, and goes with many */
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

/** A server that is not there, that starts or ends, or that is frozen: what is sent again is answered in the end. */
function isPassing(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && [429, 502, 503].includes(error.status))
}

function random(below: number): number {
  return Math.floor(Math.random() * below)
}
