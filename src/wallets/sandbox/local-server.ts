import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { parseJson } from '../../core/json.ts'
import { beginJournal, type JournalFile, readJournal } from '../../files/journal.ts'
import { makePrivateFolder } from '../../files/private-file.ts'

export interface LocalCall {
  method: string
  path: string
  headers: IncomingMessage['headers']
  text: string
  /** The body as JSON; `undefined` if it is not JSON. */
  json: unknown
  /** The response, for handlers that stream it. Such a handler returns `undefined`. */
  response: ServerResponse
}

export interface LocalReply {
  status: number
  json?: object
  headers?: Record<string, string>
}

/** Handles a request, and returns the response; `undefined` if the handler writes the response itself. */
export type LocalHandler = (call: LocalCall) => Promise<LocalReply | undefined> | LocalReply | undefined

export interface LocalServer {
  url: string
  close(): Promise<void>
}

const MAX_BODY_BYTES = 1024 * 1024

/** Serves plain HTTP on a free port of 127.0.0.1. */
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
  const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
  const result = await handle({
    method: request.method ?? 'GET',
    path: pathname,
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

/**
 * The connections on which phones receive lines of JSON. While no phone listens to a key, its newest message is kept,
 * as APNs does for an offline phone.
 */
export interface Channels {
  /**
   * Streams the messages for a key, or for all keys of a fleet. A fleet is named by the first FLEET_PREFIX characters
   * of its keys.
   */
  listen(keyOrFleet: string, response: ServerResponse): void
  send(key: string, message: object): void
}

const FLEET_PREFIX = 16

export function createChannels(): Channels {
  const listeners = new Map<string, Set<ServerResponse>>()
  const waiting = new Map<string, string>()
  return {
    listen(keyOrFleet, response) {
      response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
      response.flushHeaders()
      const others = listeners.get(keyOrFleet) ?? new Set()
      listeners.set(keyOrFleet, others.add(response))
      response.once('close', () => {
        others.delete(response)
        if (others.size === 0) listeners.delete(keyOrFleet)
      })
      for (const [key, missed] of waiting) {
        if (key !== keyOrFleet && key.slice(0, FLEET_PREFIX) !== keyOrFleet) continue
        waiting.delete(key)
        response.write(missed)
      }
    },
    send(key, message) {
      const line = `${JSON.stringify(message)}\n`
      const present = listeners.get(key.slice(0, FLEET_PREFIX)) ?? listeners.get(key)
      if (present) for (const response of present) response.write(line)
      else waiting.set(key, line)
    },
  }
}

/**
 * Opens a file with one entry per line. First rewrites the file with the result of `condense`, so that the file does
 * not grow without limit. Without a path, nothing is stored.
 */
export function openState<Entry>(
  path: string | undefined,
  condense: (entries: Entry[]) => Entry[],
): Pick<JournalFile<Entry>, 'append' | 'close'> {
  if (path === undefined) {
    condense([])
    return { append: () => undefined, close: () => undefined }
  }
  makePrivateFolder(dirname(path))
  const lines = readJournal(path) ?? []
  return beginJournal(path, condense(lines.flatMap(({ value }) => (value === undefined ? [] : [value as Entry]))))
}
