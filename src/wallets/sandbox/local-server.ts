import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseJson } from '../../core/json.ts'

/** One request to an emulator, its body read. */
export interface LocalCall {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  text: string
  /** The body as JSON; undefined where it is none. */
  json: unknown
  /** For answers that go on: whoever writes here returns nothing. */
  response: ServerResponse
}

/** What a local server answers: a status, and a body of JSON where there is one. */
export interface LocalReply {
  status: number
  json?: object
  headers?: Record<string, string>
}

/** Answers a request; undefined for one that it does not know (404). */
export type LocalHandler = (call: LocalCall) => Promise<LocalReply | undefined> | LocalReply | undefined

/** A plain HTTP server on loopback. */
export interface LocalServer {
  /** Without a slash at the end. */
  url: string
  close(): Promise<void>
}

const MAX_BODY_BYTES = 1024 * 1024

/** Plain HTTP on a free port of 127.0.0.1, for what stays on this machine. */
export async function serveLocally(handle: LocalHandler): Promise<LocalServer> {
  const server = createServer((request, response) => {
    answer(request, response, handle).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else reply(response, { status: 500, json: { error: String(error) } })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, handle: LocalHandler): Promise<void> {
  const text = await readBody(request)
  if (text === undefined) return reply(response, { status: 413, json: { error: 'The body is too large.' } })
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
  const result = await handle({
    method: request.method ?? 'GET',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    text,
    json: parseJson(text),
    response,
  })
  if (result) reply(response, result)
}

function reply(response: ServerResponse, { status, json, headers = {} }: LocalReply): void {
  response.writeHead(status, { ...(json && { 'content-type': 'application/json' }), ...headers })
  response.end(json && JSON.stringify(json))
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= MAX_BODY_BYTES) chunks.push(chunk)
  }
  return size <= MAX_BODY_BYTES ? Buffer.concat(chunks).toString('utf8') : undefined
}

/** Lines of JSON to whoever listens under a key. Of what nobody receives the newest waits, as APNs keeps it for a phone. */
export interface Channels {
  /** Answers a request with all that is sent under the key from now on, and with what waits. */
  listen(key: string, response: ServerResponse): void
  /** The same for every key that begins with these FLEET_PREFIX characters; `named` puts the key into a line. */
  listenAll(prefix: string, response: ServerResponse, named: (key: string) => object): void
  send(key: string, message: object): void
}

/** Keys that begin with the same characters belong to one fleet of phones. */
const FLEET_PREFIX = 16

/** Connections on which phones receive pushes: see Channels. */
export function createChannels(): Channels {
  const listeners = new Map<string, Set<ServerResponse>>()
  const fleets = new Map<string, (key: string, message: object) => void>()
  const waiting = new Map<string, string>()

  function open(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
    response.flushHeaders()
  }

  return {
    listenAll(prefix, response, named) {
      open(response)
      const tell = (key: string, message: object) => {
        response.write(`${JSON.stringify({ ...message, ...named(key) })}\n`)
      }
      fleets.set(prefix, tell)
      response.once('close', () => {
        if (fleets.get(prefix) === tell) fleets.delete(prefix)
      })
      for (const [key, missed] of waiting) {
        if (!key.startsWith(prefix)) continue
        waiting.delete(key)
        tell(key, JSON.parse(missed))
      }
    },

    listen(key, response) {
      open(response)
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
      const tellFleet = fleets.get(key.slice(0, FLEET_PREFIX))
      if (tellFleet) return tellFleet(key, message)
      const line = `${JSON.stringify(message)}\n`
      const present = listeners.get(key)
      if (present) for (const response of present) response.write(line)
      else waiting.set(key, line)
    },
  }
}
