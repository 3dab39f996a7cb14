import { setMaxListeners } from 'node:events'
import { HTTPResponse } from 'h3'
import { ApiError } from '../../core/errors.ts'
import type { OpenStream, StreamedEvents } from '../../core/route.ts'
import type { Services } from '../context.ts'

/** Streams of a workspace at this process. */
export const MAX_STREAMS = 10

/** Often enough for the proxies on the way, which close what is silent for half a minute or more. */
const HEARTBEAT_MS = 15_000

/** How a stream of events is sent, and how it ends. */
export interface EventStreamOptions extends Pick<Services, 'stopping' | 'log'> {
  /** Throws an ApiError when the client may not go on. */
  requireAllowed: () => Promise<unknown>
  /** Called once, however it ends. */
  onEnd: () => void
  heartbeatMs?: number
}

/**
 * A stream of server-sent events. Nothing is read for a client before it has taken what was there: one that stops reading
 * costs nothing but its connection, which is closed on it (boot/connections.ts).
 */
export function eventStream(open: OpenStream, { stopping, log, ...options }: EventStreamOptions): HTTPResponse {
  const ending = new AbortController()
  const end = () => {
    if (ending.signal.aborted) return
    ending.abort()
    stopping.removeEventListener('abort', end)
    options.onEnd()
  }
  // One for each stream.
  setMaxListeners(0, stopping)
  stopping.addEventListener('abort', end, { once: true })
  const pieces = piecesOf(open(ending.signal), options)
  let isTaken = true
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await pieces.next().catch((error: unknown) => {
          // That the token has ended is the client's to find out when it comes again.
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

/** The headers of an answer that is a stream of server-sent events. */
export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // nginx would keep back what is small.
  'x-accel-buffering': 'no',
}

async function* piecesOf(
  source: AsyncIterable<StreamedEvents>,
  { requireAllowed, heartbeatMs = HEARTBEAT_MS }: Omit<EventStreamOptions, 'stopping' | 'log'>,
): AsyncGenerator<string, undefined> {
  let toldAt = performance.now()
  for await (const events of source) {
    await requireAllowed()
    const isQuiet = events.length === 0
    if (isQuiet && performance.now() - toldAt < heartbeatMs) continue
    toldAt = performance.now()
    yield isQuiet ? ':\n\n' : events.map(toText).join('')
  }
}

function toText({ id, data }: StreamedEvents[number]): string {
  return data === undefined ? `id: ${id}\n\n` : `id: ${id}\ndata: ${data}\n\n`
}
