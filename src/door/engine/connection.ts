/** The connection to the server. Online, the server evaluates scans. Offline, this door does so with its list. */
export interface Connection {
  readonly state: 'unknown' | 'online' | 'offline'
  readonly offlineSince: Date | null
  /** Resolves once it is known whether the server is reachable. */
  known(): Promise<void>
  /** Continues offline, and probes the server in the background. Call it after a timeout. */
  lost(): void
  /** Probes the server now, and uploads pending entries. */
  retry(): void
  /** Uploads pending entries. Resolves when all are uploaded or the server is unreachable. */
  flush(): Promise<void>
  stop(): Promise<void>
}

/** The result of an upload: all requested entries were sent, a timeout occurred, or the server rejected every entry. */
export type UploadEnd = { kind: 'done' } | { kind: 'timeout' } | { kind: 'rejection'; message: string }

/** Uploads the pending entries of this door's project, one tab at a time. */
export interface Uploads {
  /** Uploads pending entries until only a few are left, which `uploadRest` uploads while scans wait. */
  uploadMost(signal: AbortSignal): Promise<UploadEnd>
  /**
   * Uploads the remaining entries between two scans. Resolves to `undefined` if that would delay a waiting scan for too
   * long.
   */
  uploadRest(signal: AbortSignal): Promise<UploadEnd | undefined>
  /** Checks, between two scans, whether this door's project has no pending entries. Rejected entries do not count. */
  areDone(): Promise<boolean>
}

/**
 * Options of a door's connection. A lost server is probed immediately. The waits between further probes are 2, 4, and
 * then always 5 seconds, each shortened at random by up to half.
 */
export interface ConnectionOptions extends Uploads {
  initially: Connection['state']
  /** The time of the last contact with the server, for a door that starts offline. */
  lastContact: Date
  /** The interval of probes while the server responds, in milliseconds. */
  pollMs: number
  now: () => Date
  /** Returns a random number from 0 to 1. */
  random: () => number
  /** Whether the page is visible. A hidden page does not probe a server that responds. */
  isVisible: () => boolean
  /** Returns the milliseconds since the server last answered a request of this door. */
  quietMs: () => number
  /** Whether uploads or other work are due in addition to a probe. */
  isDue: () => boolean
  /** Resolves to true if the server responds, and to false on a timeout. */
  probe: (signal: AbortSignal) => Promise<boolean>
  /** Called each time the server is found or lost, even if the state stays the same. */
  onChange: () => void
  /** Receives errors that are not caused by the server. They count as an unreachable server. */
  onError: (error: unknown) => void
}

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 5_000

/**
 * Returns the state of a door at its start: offline while decisions are pending, because a server without these
 * decisions would admit the same people again.
 */
export function initialState(isReached: boolean | undefined, pending: number): Connection['state'] {
  if (isReached === undefined) return 'unknown'
  return isReached && pending === 0 ? 'online' : 'offline'
}

export function createConnection(options: ConnectionOptions): Connection {
  const { pollMs, now, random, isVisible, quietMs, isDue, probe, uploadMost, uploadRest, areDone } = options
  const { onChange, onError } = options
  const stopped = new AbortController()
  let state = options.initially
  let lostAt = options.lastContact
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
      if (state === 'online') lostAt = now()
      state = 'offline'
      failures = 1
      retry()
    }
    becameKnown()
    onChange()
  }

  function found(): void {
    failures = 0
    state = 'online'
    becameKnown()
    onChange()
  }

  function retry(): void {
    isWoken = true
    wake?.()
  }

  /**
   * Probes the server, and uploads all pending entries before scans use the server. Without these entries, the server
   * would admit the same people again.
   */
  async function checkNow(): Promise<void> {
    const { signal } = stopped
    if (!(await probe(signal))) return lost()
    if (state === 'unknown' && !(await areDone())) {
      // Decide scans with the stored list until pending uploads are done. Otherwise, scans would wait for these
      // uploads.
      state = 'offline'
      becameKnown()
      onChange()
    }
    let end: UploadEnd | undefined = await uploadMost(signal)
    // Upload the remaining entries while scans wait. Otherwise, scans decided offline in the meantime would add entries
    // without end.
    if (end.kind === 'done') end = await uploadRest(signal)
    if (end?.kind === 'timeout') return lost()
    if (end) found()
    else retry()
  }

  function checkOnce(): Promise<void> {
    running ??= checkNow()
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
      await checkOnce()
      while (!(await pause(delayMs())) && state === 'online' && isSpared());
    }
  }

  /** Whether to skip a probe: the page is hidden, or the server recently answered a request and no work is due. */
  function isSpared(): boolean {
    return !isVisible() || (quietMs() < pollMs * 0.75 && !isDue())
  }

  /**
   * Returns the wait before the next probe. The wait is random: all doors of a venue lose the network together, and
   * would otherwise return at the same time.
   */
  function delayMs(): number {
    if (state === 'online' && !isVisible()) return pollMs
    if (state === 'online') return Math.max(pollMs / 4, pollMs * (0.75 + random() * 0.25) - quietMs())
    return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)) * (0.5 + random() * 0.5)
  }

  /** Waits, and resolves to true if `retry` or `stop` was called before the wait ended. */
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
      return state === 'offline' ? lostAt : null
    },
    known: () => known,
    lost,
    retry,
    async flush() {
      // A check uploads pending entries, but a running check can miss the newest entries. Wait for the running check,
      // and then check again.
      await running
      await checkOnce()
    },
    async stop() {
      stopped.abort()
      becameKnown()
      wake?.()
      await Promise.all([watching, running])
    },
  }
}
