import type { ServerResponse } from 'node:http'

/** Lines of JSON to whoever listens under a key. Of what nobody hears the newest waits, as APNs keeps it for a phone. */
export interface Channels {
  /** Answers a request with all that is sent under the key from now on, and with what waits. */
  listen(key: string, response: ServerResponse): void
  send(key: string, message: object): void
}

export function createChannels(): Channels {
  const listeners = new Map<string, Set<ServerResponse>>()
  const waiting = new Map<string, string>()

  return {
    listen(key, response) {
      response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
      response.flushHeaders()
      const others = listeners.get(key) ?? new Set()
      listeners.set(key, others.add(response))
      response.once('close', () => {
        others.delete(response)
        if (others.size === 0) listeners.delete(key)
      })
      const missed = waiting.get(key)
      waiting.delete(key)
      if (missed) response.write(missed)
    },
    send(key, message) {
      const line = `${JSON.stringify(message)}\n`
      const present = listeners.get(key)
      if (present) for (const response of present) response.write(line)
      else waiting.set(key, line)
    },
  }
}
