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

export interface ConnectionOptions {
  now: () => Date
  /** From 0 to 1. */
  random: () => number
  isVisible: () => boolean
  /** True where the server answers, false where it keeps silent. */
  probe: (signal: AbortSignal) => Promise<boolean>
  /** Hands in what waits. */
  upload: (signal: AbortSignal) => Promise<UploadEnd>
  /** Whether nothing waits, asked between two scans; a refusal of the server counts as nothing. */
  hasUploaded: () => Promise<boolean>
  onChange: () => void
  onError: (error: unknown) => void
}

/** How often a visible door asks whether the server, and its own token, are there. */
const POLL_MS = 4_000
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 5_000

/** Watches the server of a door from now on: see Connection. */
export function createConnection(options: ConnectionOptions): Connection {
  const { now, random, isVisible, probe, upload, hasUploaded, onChange, onError } = options
  const stopped = new AbortController()
  let state: Connection['state'] = 'unknown'
  let offlineSince: Date | null = null
  let failures = 0
  let wake: (() => void) | undefined
  let isWoken = false
  let becameKnown: () => void = () => undefined
  const known = new Promise<void>((resolve) => {
    becameKnown = resolve
  })
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
      // Nobody waits at the door for what waits here: until it is handed in the list judges.
      state = 'offline'
      offlineSince = now()
      becameKnown()
      onChange()
    }
    const end = await upload(signal)
    if (end.kind === 'silence') return lost()
    if (end.kind === 'refusal' || (await hasUploaded())) found()
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
      do await pause(delayMs())
      while (!stopped.signal.aborted && state === 'online' && !isVisible())
    }
  }

  /** Doors of one place lose the network together: they must not all come back at the same instant. */
  function delayMs(): number {
    if (state === 'online') return POLL_MS * (0.75 + random() * 0.25)
    return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)) * (0.5 + random() * 0.5)
  }

  async function pause(ms: number): Promise<void> {
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
    isWoken = false
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
