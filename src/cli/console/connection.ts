import { setTimeout as sleep } from 'node:timers/promises'
import type { CallOptions, Client } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/errors.ts'
import type { LedgerReason, ScanItem } from '../../core/contract/scan-shapes.ts'
import { reportOf } from '../../core/rules/door/own-scans.ts'
import type { OfflineDecision } from './offline/log-files.ts'
import type { DoorStore } from './offline/store.ts'

/** The connection state of the console: whether it calls the server or works offline. */
export interface Connection {
  readonly state: 'online' | 'offline'
  /** `null` while online. */
  readonly offlineSince: Date | null
  /** The server's reason to reject queued decisions; `null` if it accepts them. */
  readonly rejection: ApiError | null
  /** Reports that the server did not respond. The console goes offline and reconnects in the background. */
  lost(): void
  /** Resolves when it is online, or after the timeout. */
  whenOnline(timeoutMs: number): Promise<void>
  stop(): Promise<void>
}

const PROBE_MS = 1_000
/** The heartbeat interval and timeout. Together below three seconds, the longest time until an idle door notices an outage. */
const BEAT_MS = 1_000
const BEAT_PATIENCE_MS = 1_800
/** The retry interval after a rejection, such as a missing permission, which can be fixed while the door is open. */
const REFUSED_MS = 60_000

/**
 * Options of a connection. An unreachable server is retried every second, without backoff because the operator waits
 * for it; one that rejects queued decisions, once a minute.
 */
export interface ConnectionOptions extends Omit<UploadOptions, 'signal'> {
  /** Whether the server has just responded. Otherwise the console starts offline. */
  isReached: boolean
  clock: () => Date
  /** Called when the connection is lost or restored. */
  onChange: () => void
  /** Called for errors that are not the server's, such as a full disk. Retries continue. */
  onError: (error: unknown) => void
}

/** Monitors the server and uploads queued decisions; see `Connection`. */
export function createConnection(options: ConnectionOptions): Connection {
  const { client, store, isReached, clock, onChange, onError } = options
  const stopped = new AbortController()
  const signal = stopped.signal
  let offlineSince: Date | null = null
  let rejection: ApiError | null = null
  let refusedAt = 0
  let looking: Promise<void> | undefined

  /** Returns whether the server responds and has all decisions: only then are its own decisions correct. */
  async function reach(): Promise<boolean> {
    const reply = await ask((callOptions) => client.tokens.current({}, callOptions), signal)
    if (reply.kind === 'timeout') return false
    const uploaded = await uploadPending({ ...options, signal })
    if (uploaded === 'timeout') return false
    rejection = uploaded instanceof ApiError ? uploaded : null
    refusedAt = performance.now()
    // A scan may have been evaluated offline while the last response was in transit.
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
  /** Detects an outage even while no one scans, so that the next scan is not delayed. */
  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await sleep(BEAT_MS, undefined, { signal }).catch(() => undefined)
      if (offlineSince !== null || signal.aborted) continue
      const reply = await ask((callOptions) => client.tokens.current({}, callOptions), signal, BEAT_PATIENCE_MS)
      if (reply.kind === 'timeout' && !signal.aborted) lost()
    }
  }

  const watching = watch()
  // Upload queued decisions first: without them, the server would accept the same passes again.
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

/** The result of a call that a person at the door waits for. */
export type Reply<T> =
  | { kind: 'answer'; value: T }
  /** No response in time, or an invalid one: it is unknown whether the call succeeded. */
  | { kind: 'timeout' }
  /** The server rejected the call. */
  | { kind: 'rejection'; error: ApiError }

/** The timeout of interactive calls, in milliseconds. */
export const PATIENCE_MS = 3_000

/** Calls the server with a timeout. The call must be idempotent: it is retried after a connection error. */
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

/** A decision that is now in the ledger. */
interface Upload {
  decision: OfflineDecision
  scan: ScanItem
  /** The reason of the server's different decision; `null` if it agrees. */
  conflict: LedgerReason | null
}

interface UploadOptions {
  client: Client
  store: DoorStore
  signal: AbortSignal
  onUpload: (uploads: Upload[]) => void
  /** Called if the server permanently rejects a decision. */
  onRejection: (decision: OfflineDecision, error: ApiError) => void
}

const BATCH = 100

/**
 * The timeout of uploads. It is long, because no one waits for an upload, a busy server can queue it, and after a
 * timeout it would only be sent again.
 */
const REPORT_PATIENCE_MS = 20_000

/**
 * Uploads queued decisions, oldest first. It is idempotent: the ledger holds one scan per `externalRef`.
 * @returns the `ApiError` if the server rejects all of them, for example without permission; they are kept
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
    // The server rejected the batch: send each decision separately, so that a rejected one does not block the others.
    for (const decision of batch) {
      const alone = await send([decision], options)
      if (signal.aborted || alone.kind === 'timeout') return 'timeout'
      if (alone.kind === 'rejection') setAside(decision, alone.error, options)
    }
  }
}

/** Returns decisions of one snapshot, because a request names only one. */
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
    // An online request that timed out may have been recorded, with a decision other than the one shown.
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
