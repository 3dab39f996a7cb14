import { setMaxListeners } from 'node:events'
import { HTTPResponse } from 'h3'
import { ApiError } from '../../core/errors.ts'
import type { OpenStream, StreamedEvents } from '../../core/route.ts'
import type { Services } from '../context.ts'

/** The maximum number of streams per workspace in this process. */
export const MAX_STREAMS = 10

/** The interval of heartbeats. Without them, proxies would close connections that are idle for half a minute. */
const HEARTBEAT_MS = 15_000

export interface EventStreamOptions extends Pick<Services, 'stopping' | 'log'> {
  /** Throws an ApiError if the client is no longer allowed to read the stream. Called before events are sent. */
  requireAllowed: () => Promise<unknown>
  /** Called once when the stream ends, for any reason. */
  onEnd: () => void
  heartbeatMs?: number
}

/**
 * Returns a stream of server-sent events. The stream reads further events only after the client has received the
 * previous events. A client that stops reading uses up only a connection, which is closed later (boot/connections.ts).
 */
export function eventStream(open: OpenStream, { stopping, log, ...options }: EventStreamOptions): HTTPResponse {
  const ending = new AbortController()
  const end = () => {
    if (ending.signal.aborted) return
    ending.abort()
    stopping.removeEventListener('abort', end)
    options.onEnd()
  }
  // Without this call, Node would warn about a leak, because each stream adds a listener.
  setMaxListeners(0, stopping)
  stopping.addEventListener('abort', end, { once: true })
  const pieces = piecesOf(open(ending.signal), options)
  let isTaken = true
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await pieces.next().catch((error: unknown) => {
          // An ApiError, such as for an expired token, ends the stream. The client gets the error when it reconnects.
          if (!(error instanceof ApiError)) log.warn({ err: error }, 'a stream of events ended early')
          return { value: undefined }
        })
        if (value !== undefined && !ending.signal.aborted) return controller.enqueue(Buffer.from(value))
        end()
        if (isTaken) controller.close()
      },
      cancel() {
        isTaken = false
        end()
      },
    },
    { highWaterMark: 0 },
  )
  return new HTTPResponse(body, { headers: EVENT_STREAM_HEADERS })
}

export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Without this header, nginx would buffer and delay small events.
  'x-accel-buffering': 'no',
}

async function* piecesOf(
  source: AsyncIterable<StreamedEvents>,
  { requireAllowed, heartbeatMs = HEARTBEAT_MS }: Omit<EventStreamOptions, 'stopping' | 'log'>,
): AsyncGenerator<string, undefined> {
  let sentAt = performance.now()
  for await (const events of source) {
    await requireAllowed()
    const isQuiet = events.length === 0
    if (isQuiet && performance.now() - sentAt < heartbeatMs) continue
    sentAt = performance.now()
    yield isQuiet ? ':\n\n' : events.map(toText).join('')
  }
}

function toText({ id, data }: StreamedEvents[number]): string {
  return data === undefined ? `id: ${id}\n\n` : `id: ${id}\ndata: ${data}\n\n`
}
