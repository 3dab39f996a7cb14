import { setTimeout as sleep } from 'node:timers/promises'

/** An event of a stream (server-sent events): its id, and its data where it has any. */
interface StreamedMessage {
  id: string
  data: string
}

export interface StreamConnection {
  /** Connects behind the event of that id; undefined at the first time. */
  open(lastId: string | undefined): Promise<AsyncIterable<Buffer>>
  /** Seconds until the next try, or undefined where another one is of no use. */
  waitSeconds(error: unknown, attempt: number): number | undefined
  /** Tries in all before the first connection stands; behind it there is no end. */
  attempts: number
  signal: AbortSignal | undefined
  /** Told each time that a connection stands. */
  onOpen: (() => void) | undefined
}

/** Between a connection that ended and the next one. */
const RECONNECT_MS = 500

/** Reads a stream for ever: where the connection ends, it goes on behind the last event that came. */
export async function* readStream(connection: StreamConnection, lastId?: string): AsyncGenerator<string> {
  const { signal, attempts, waitSeconds, onOpen } = connection
  let last = lastId
  let failures = 0
  let hasBegun = false
  while (!signal?.aborted) {
    try {
      for await (const { id, data } of messagesOf(await connection.open(last))) {
        if (id !== '' && id !== last) last = id
        if (data !== '') yield data
        else if (id !== '') onOpen?.()
        failures = 0
        hasBegun = true
      }
      failures = 1
      // Whatever ends each connection at once must not be asked again without a pause.
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
    } catch (error) {
      if (signal?.aborted) return
      failures += 1
      const wait = hasBegun || failures < attempts ? waitSeconds(error, failures) : undefined
      if (wait === undefined) throw error
      await sleep(wait * 1000, undefined, { signal }).catch(() => undefined)
    }
  }
}

/** As the standard reads a stream, but for names of events and times to wait, which our server does not send. */
export async function* messagesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedMessage> {
  const decoder = new TextDecoder()
  let text = ''
  let message = { id: '', data: '' }
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true })
    const lines = text.split(/\r?\n/)
    text = lines.pop()!
    for (const line of lines) {
      if (line === '') {
        yield message
        message = { id: '', data: '' }
      }
      const [, field, value = ''] = /^(id|data): ?(.*)$/.exec(line) ?? []
      if (field === 'id') message.id = value
      else if (field === 'data') message.data += value
    }
  }
}
