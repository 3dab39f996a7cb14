import { messagesOf } from '../../client/stream-messages.ts'
import type { Envelope } from '../../core/contract/webhooks/deliveries.ts'
import { ApiRejection } from './desk-api.ts'

/** The state of the event feed. `asking`: the page polls, because the server does not allow the stream. */
export type FeedState = 'connecting' | 'live' | 'asking' | 'lost'

export type Feed = ReturnType<typeof createFeed>

const MAX_EVENTS = 200

/** The time without data, in milliseconds, after which the stream is lost. The server sends data every 15 seconds. */
const SILENCE_MS = 40_000

const RETRY_MS = 3_000

/**
 * The delay, in milliseconds, before reconnecting after the server rejected the stream. It is longer than RETRY_MS,
 * because the server can have too many open streams.
 */
const REJECTED_RETRY_MS = 60_000

/**
 * Follows the events of the workspace over one connection and reconnects when it ends. Does not request missed events,
 * because listeners reload everything after a reconnection.
 * @param open opens the stream of chunks
 * @param isAllowed whether the token can follow events
 */
export function createFeed(
  open: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  { isAllowed }: { isAllowed: boolean },
) {
  const listeners = new Set<(event: Envelope | null) => void>()
  const ended = new AbortController()
  let state: FeedState = isAllowed ? 'connecting' : 'asking'
  let events: readonly Envelope[] = []

  const notify = (event: Envelope | null) => {
    for (const listener of listeners) listener(event)
  }
  const become = (next: FeedState) => {
    if (state === next) return
    state = next
    notify(null)
  }

  async function connect(): Promise<void> {
    const connection = new AbortController()
    const stop = () => connection.abort()
    ended.signal.addEventListener('abort', stop)
    let timer = setTimeout(stop, SILENCE_MS)
    try {
      for await (const { id, data } of messagesOf(open(connection.signal))) {
        clearTimeout(timer)
        timer = setTimeout(stop, SILENCE_MS)
        if (id !== '') become('live')
        if (data === '') continue
        const event = JSON.parse(data) as Envelope
        events = [event, ...events].slice(0, MAX_EVENTS)
        notify(event)
      }
    } finally {
      clearTimeout(timer)
      ended.signal.removeEventListener('abort', stop)
      stop()
    }
  }

  async function follow(): Promise<void> {
    while (!ended.signal.aborted) {
      let waitMs = RETRY_MS
      try {
        await connect()
        become('lost')
      } catch (error) {
        if (ended.signal.aborted) return
        const status = error instanceof ApiRejection ? error.status : null
        become(status === null ? 'lost' : 'asking')
        // Stop, because a missing permission or an ended token is permanent. The page's other requests report the
        // cause.
        if (status === 401 || status === 403 || status === 404) return
        if (status !== null) waitMs = REJECTED_RETRY_MS
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }

  if (isAllowed) void follow()
  return {
    get state() {
      return state
    },
    /** The latest events since the page was opened, newest first. */
    get events() {
      return events
    },
    /** Calls the listener with each event, and with `null` if events may be missing or the state changed. */
    subscribe(listener: (event: Envelope | null) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /** Makes all listeners reload. Call it after this page has changed something. */
    reload: () => notify(null),
    end: () => ended.abort(),
  }
}
