import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../client/errors.ts'
import { ask } from './ask.ts'
import { type UploadOptions, uploadPending } from './offline/uploader.ts'

/** Whether the server is asked, or the console goes on by itself. */
export interface Connection {
  readonly state: 'online' | 'offline'
  /** Null while it is online. */
  readonly offlineSince: Date | null
  /** Why the server does not take what waits; null where it does. */
  readonly refusal: ApiError | null
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
/** A refusal, such as a lack of permission, may be mended while the door is open. */
const REFUSED_MS = 60_000

export interface ConnectionOptions extends Omit<UploadOptions, 'signal'> {
  isReached: boolean
  clock: () => Date
  onChange: () => void
  /** Something stands in the way that is not the server, such as a full disk. It goes on trying. */
  onError: (error: unknown) => void
}

export function createConnection(options: ConnectionOptions): Connection {
  const { client, store, isReached, clock, onChange, onError } = options
  const stopped = new AbortController()
  const signal = stopped.signal
  let offlineSince: Date | null = null
  let refusal: ApiError | null = null
  let refusedAt = 0
  let looking: Promise<void> | undefined

  /** True once the server answers and has everything: only then does it judge rightly by itself. */
  async function reach(): Promise<boolean> {
    const reply = await ask((callOptions) => client.tokens.current({}, callOptions), signal)
    if (reply.kind === 'silence') return false
    const uploaded = await uploadPending({ ...options, signal })
    if (uploaded === 'silence') return false
    refusal = uploaded instanceof ApiError ? uploaded : null
    refusedAt = performance.now()
    // Something may have been judged while the last answer was on its way.
    return refusal !== null || store.pending().length === 0
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
    if (refusal && performance.now() - refusedAt > REFUSED_MS) lookInBackground()
  }, PROBE_MS)
  /** Nobody may be scanning when the server goes: who comes next is not to wait for that to be found out. */
  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await sleep(BEAT_MS, undefined, { signal }).catch(() => undefined)
      if (offlineSince !== null || signal.aborted) continue
      const reply = await ask((callOptions) => client.tokens.current({}, callOptions), signal, BEAT_PATIENCE_MS)
      if (reply.kind === 'silence' && !signal.aborted) lost()
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
    get refusal() {
      return refusal
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
