import { setTimeout as sleep } from 'node:timers/promises'
import type { CallOptions, Client } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/errors.ts'
import type { LedgerReason, ScanItem } from '../../core/contract/scan-shapes.ts'
import { reportOf } from '../../core/rules/door/own-scans.ts'
import type { OfflineDecision } from './offline/log-files.ts'
import type { DoorStore } from './offline/store.ts'

/** Whether the server is asked, or the console goes on by itself. */
export interface Connection {
  readonly state: 'online' | 'offline'
  /** Null while it is online. */
  readonly offlineSince: Date | null
  /** Why the server does not take what waits; null where it does. */
  readonly rejection: ApiError | null
  /** The server did not answer: goes on without it and looks for it in the background. */
  lost(): void
  /** Resolves once it is online, or when the time is over. */
  whenOnline(timeoutMs: number): Promise<void>
  stop(): Promise<void>
}

const PROBE_MS = 1_000
/** Together below three seconds: so long an idle door may take the server for there. */
const BEAT_MS = 1_000
const BEAT_PATIENCE_MS = 1_800
/** A rejection, such as a lack of permission, may be mended while the door is open. */
const REFUSED_MS = 60_000

/**
 * What a connection of the console hands in and tells. A server that is away is asked every second (no backoff: the operator
 * waits for it), and one that refuses what waits once a minute.
 */
export interface ConnectionOptions extends Omit<UploadOptions, 'signal'> {
  /** Whether the server answered just now; without it the console begins offline. */
  isReached: boolean
  clock: () => Date
  /** Told whenever the server is lost or found. */
  onChange: () => void
  /** Something stands in the way that is not the server, such as a full disk. It goes on trying. */
  onError: (error: unknown) => void
}

/** Watches the server and hands in what waits: see Connection. */
export function createConnection(options: ConnectionOptions): Connection {
  const { client, store, isReached, clock, onChange, onError } = options
  const stopped = new AbortController()
  const signal = stopped.signal
  let offlineSince: Date | null = null
  let rejection: ApiError | null = null
  let refusedAt = 0
  let looking: Promise<void> | undefined

  /** True once the server answers and has everything: only then does it evaluate rightly by itself. */
  async function reach(): Promise<boolean> {
    const reply = await ask((callOptions) => client.tokens.current({}, callOptions), signal)
    if (reply.kind === 'timeout') return false
    const uploaded = await uploadPending({ ...options, signal })
    if (uploaded === 'timeout') return false
    rejection = uploaded instanceof ApiError ? uploaded : null
    refusedAt = performance.now()
    // Something may have been evaluated while the last answer was on its way.
    return rejection !== null || store.pending().length === 0
  }

  async function look(): Promise<void> {
    while (!signal.aborted) {
      const isFound = await reach().catch((error) => {
        onError(error)
        return false
      })
      if (isFound) {
        offlineSince = null
        looking = undefined
        onChange()
        return
      }
      await sleep(PROBE_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  function lookInBackground(): void {
    looking ??= look()
  }

  function lost(): void {
    offlineSince ??= clock()
    lookInBackground()
    onChange()
  }

  const retryRefused = setInterval(() => {
    if (rejection && performance.now() - refusedAt > REFUSED_MS) lookInBackground()
  }, PROBE_MS)
  /** Nobody may be scanning when the server goes: who comes next is not to wait for that to be found out. */
  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await sleep(BEAT_MS, undefined, { signal }).catch(() => undefined)
      if (offlineSince !== null || signal.aborted) continue
      const reply = await ask((callOptions) => client.tokens.current({}, callOptions), signal, BEAT_PATIENCE_MS)
      if (reply.kind === 'timeout' && !signal.aborted) lost()
    }
  }

  const watching = watch()
  // What waits goes first: until the server has it, it would let the same people in again.
  if (!isReached || store.pending().length > 0) {
    offlineSince = clock()
    lookInBackground()
  }

  return {
    get state() {
      return offlineSince === null ? 'online' : 'offline'
    },
    get offlineSince() {
      return offlineSince
    },
    get rejection() {
      return rejection
    },
    lost,
    async whenOnline(timeoutMs) {
      await Promise.race([looking, sleep(timeoutMs, undefined, { ref: false })])
    },
    async stop() {
      clearInterval(retryRefused)
      stopped.abort()
      await Promise.all([looking, watching])
    },
  }
}

/** What came of a call that a person at the door waits for. */
export type Reply<T> =
  | { kind: 'answer'; value: T }
  /** Nobody answered in time, or only that something is broken: whether it was done is unknown. */
  | { kind: 'timeout' }
  /** The server is there and will not do it. */
  | { kind: 'rejection'; error: ApiError }

/** So long a person at the door waits for an answer. */
export const PATIENCE_MS = 3_000

/** Calls the server and gives up in time. The call must be safe to repeat: a broken connection is tried again. */
export async function ask<T>(
  call: (options: CallOptions) => Promise<T>,
  stop?: AbortSignal,
  patienceMs = PATIENCE_MS,
): Promise<Reply<T>> {
  const patience = AbortSignal.timeout(patienceMs)
  const signal = stop ? AbortSignal.any([patience, stop]) : patience
  try {
    return { kind: 'answer', value: await call({ signal, idempotent: true }) }
  } catch (error) {
    if (error instanceof ApiError && error.status < 500 && error.status !== 429) return { kind: 'rejection', error }
    if (signal.aborted || error instanceof ApiError || error instanceof ConnectionError) return { kind: 'timeout' }
    throw error
  }
}

/** A decision that now stands in the ledger. */
interface Upload {
  decision: OfflineDecision
  scan: ScanItem
  /** Why the server would have decided otherwise; null where it agrees. */
  conflict: LedgerReason | null
}

interface UploadOptions {
  client: Client
  store: DoorStore
  signal: AbortSignal
  onUpload: (uploads: Upload[]) => void
  /** The server will never take it: why. */
  onRejection: (decision: OfflineDecision, error: ApiError) => void
}

const BATCH = 100

/** Nobody waits for a report, and it may wait for its turn at a busy server. Given up, it would only be sent again. */
const REPORT_PATIENCE_MS = 20_000

/**
 * Sends what waits, oldest first, until nothing does. Sending twice does no harm: a decision stands in the ledger once
 * for its externalRef.
 * @returns 'refused' where the server takes none of them at all, as without permission; they are kept.
 */
async function uploadPending(options: UploadOptions): Promise<'done' | 'timeout' | ApiError> {
  const { store, signal } = options
  for (;;) {
    const batch = nextBatch(store.pending())
    if (batch.length === 0) return 'done'
    const reply = await send(batch, options)
    if (signal.aborted || reply.kind === 'timeout') return 'timeout'
    if (reply.kind === 'answer') continue
    if (![400, 413].includes(reply.error.status)) return reply.error
    // One of them, or all together, is not to be had: each alone, and a refused one holds up no other.
    for (const decision of batch) {
      const alone = await send([decision], options)
      if (signal.aborted || alone.kind === 'timeout') return 'timeout'
      if (alone.kind === 'rejection') setAside(decision, alone.error, options)
    }
  }
}

/** A request names one list, so a batch ends where the list changes. */
function nextBatch(pending: OfflineDecision[]): OfflineDecision[] {
  const other = pending.findIndex((decision) => decision.snapshotId !== pending[0]!.snapshotId)
  return pending.slice(0, Math.min(BATCH, other < 0 ? BATCH : other))
}

async function send(batch: OfflineDecision[], { client, store, signal, onUpload }: UploadOptions) {
  const body = { snapshotId: batch[0]!.snapshotId, scans: batch.map(reportOf) }
  const reply = await ask((options) => client.scanner.report({ body }, options), signal, REPORT_PATIENCE_MS)
  if (reply.kind !== 'answer') return reply
  const results = new Map(reply.value.results.map((result) => [result.externalRef, result]))
  const uploads = batch.map((decision): Upload => {
    const { scan, conflict } = results.get(decision.externalRef)!
    // An online request that was thought lost may have been recorded, with another decision than was shown.
    const isOther = scan.result !== decision.result
    return { decision, scan, conflict: conflict ?? (isOther ? scan.reason : null) }
  })
  store.append(
    ...uploads.map(({ decision, scan }) => ({
      kind: 'uploaded' as const,
      externalRef: decision.externalRef,
      recordedAt: scan.recordedAt,
    })),
  )
  onUpload(uploads)
  return reply
}

function setAside(decision: OfflineDecision, error: ApiError, { store, onRejection }: UploadOptions): void {
  store.append({ kind: 'uploaded', externalRef: decision.externalRef, recordedAt: null })
  onRejection(decision, error)
}
