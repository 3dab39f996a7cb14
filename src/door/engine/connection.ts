import type { UploadEnd } from './uploads.ts'

/** Whether the server is asked, or the door goes on by itself. */
export interface Connection {
  readonly state: 'unknown' | 'online' | 'offline'
  readonly offlineSince: Date | null
  /** Resolves once it is known whether the server is there. */
  known(): Promise<void>
  /** The server kept silent: goes on without it, and looks for it in the background. */
  lost(): void
  /** Looks for the server now, and hands in what waits. */
  retry(): void
  /** Hands in what waits; resolves when that has ended, or the server was found to be away. */
  flush(): Promise<void>
  stop(): Promise<void>
}

/**
 * What the connection of a door asks of its engine. A server that is lost is looked for at once, then after 2, 4 and every 5
 * seconds, each wait shortened by up to a half by chance.
 */
export interface ConnectionOptions {
  /** The state before the server is first looked for. */
  initially: Connection['state']
  /** The interval at which a server that responds is asked whether it is there, in milliseconds. */
  pollMs: number
  now: () => Date
  /** From 0 to 1, by chance. */
  random: () => number
  /** Whether the page is seen: one that is not asks no server that is there. */
  isVisible: () => boolean
  /** For how long, in milliseconds, nothing was asked that the server answered to this door. */
  quietMs: () => number
  /** Whether there is more to do than to ask whether the server is there. */
  isDue: () => boolean
  /** True where the server answers, false where it keeps silent. */
  probe: (signal: AbortSignal) => Promise<boolean>
  /** Hands in what waits, but for a few. */
  upload: (signal: AbortSignal) => Promise<UploadEnd>
  /** Hands in these few between two scans; undefined where that takes too long for who scans meanwhile. */
  uploadRest: (signal: AbortSignal) => Promise<UploadEnd | undefined>
  /** Whether nothing waits, asked between two scans; a refusal of the server counts as nothing. */
  hasUploaded: () => Promise<boolean>
  /** Told whenever the server is lost or found. */
  onChange: () => void
  /** Something broke that is not the server; it counts as one that is away. */
  onError: (error: unknown) => void
}

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 5_000

/** The state of a door that has just begun. A server that lacks decisions would let the same people in again. */
export function initialState(isReached: boolean | undefined, pending: number): Connection['state'] {
  if (isReached === undefined) return 'unknown'
  return isReached && pending === 0 ? 'online' : 'offline'
}

/** Watches the server of a door from now on: see Connection. */
export function createConnection(options: ConnectionOptions): Connection {
  const { pollMs, now, random, isVisible, quietMs, isDue, probe, upload, uploadRest, hasUploaded } = options
  const { onChange, onError } = options
  const stopped = new AbortController()
  let state = options.initially
  let offlineSince = state === 'offline' ? now() : null
  let failures = 0
  let wake: (() => void) | undefined
  let isWoken = false
  let becameKnown: () => void = () => undefined
  const known = new Promise<void>((resolve) => {
    becameKnown = resolve
  })
  if (state !== 'unknown') becameKnown()
  let running: Promise<void> | undefined

  function lost(): void {
    failures += 1
    if (state !== 'offline') {
      state = 'offline'
      offlineSince = now()
      failures = 1
      retry()
    }
    becameKnown()
    onChange()
  }

  function found(): void {
    failures = 0
    state = 'online'
    offlineSince = null
    becameKnown()
    onChange()
  }

  function retry(): void {
    isWoken = true
    wake?.()
  }

  /** Until the server has everything it would let the same people in again: only then is it asked. */
  async function look(): Promise<void> {
    const { signal } = stopped
    if (!(await probe(signal))) return lost()
    if (state === 'unknown' && !(await hasUploaded())) {
      // Nobody waits at the door for what waits here: until it is handed in the list decides.
      state = 'offline'
      offlineSince = now()
      becameKnown()
      onChange()
    }
    let end: UploadEnd | undefined = await upload(signal)
    // Where somebody scans all the time the list decides more while the last are on their way: these wait for each other.
    if (end.kind === 'done') end = await uploadRest(signal)
    if (end?.kind === 'timeout') return lost()
    if (end) found()
    else retry()
  }

  function lookOnce(): Promise<void> {
    running ??= look()
      .catch((error) => {
        if (stopped.signal.aborted) return
        onError(error)
        lost()
      })
      .finally(() => {
        running = undefined
      })
    return running
  }

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      await lookOnce()
      while (!(await pause(delayMs())) && state === 'online' && isSpared());
    }
  }

  /** Whether a look can wait: each scan that the server answers stands for one. */
  function isSpared(): boolean {
    return !isVisible() || (quietMs() < pollMs * 0.75 && !isDue())
  }

  /** Doors of one place lose the network together: they must not all come back at the same instant. */
  function delayMs(): number {
    if (state === 'online' && !isVisible()) return pollMs
    if (state === 'online') return Math.max(pollMs / 4, pollMs * (0.75 + random() * 0.25) - quietMs())
    return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)) * (0.5 + random() * 0.5)
  }

  /** True where it was woken before its time. */
  async function pause(ms: number): Promise<boolean> {
    if (!isWoken && !stopped.signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    wake = undefined
    const wasWoken = isWoken || stopped.signal.aborted
    isWoken = false
    return wasWoken
  }

  const watching = watch()
  return {
    get state() {
      return state
    },
    get offlineSince() {
      return offlineSince
    },
    known: () => known,
    lost,
    retry,
    async flush() {
      // One that runs may have looked already at what waits.
      await running
      await lookOnce()
    },
    async stop() {
      stopped.abort()
      becameKnown()
      wake?.()
      await Promise.all([watching, running])
    },
  }
}
