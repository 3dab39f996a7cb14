import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { onTestFinished } from 'vitest'
import { type ClientOptions, createClient } from '../../src/client/client.ts'

export interface SeenRequest {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

/** The response to one request. `lost` closes the connection without a response. */
export type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | 'lost'

/** Starts a server that sends the given replies in order and repeats the last one. Also returns a client for it. */
export async function scriptedServer(replies: Reply[], options: Partial<ClientOptions> = {}) {
  const seen: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    const reply = replies[Math.min(seen.length, replies.length - 1)]!
    seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
    if (reply === 'lost') return request.socket.destroy()
    const isText = typeof reply.body === 'string'
    response.writeHead(reply.status, {
      'content-type': isText ? 'text/html' : 'application/json',
      ...(!isText && { 'x-correlation-id': 'c-0' }),
      ...reply.headers,
    })
    response.end(isText || reply.body === undefined ? reply.body : JSON.stringify(reply.body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const url = `http://127.0.0.1:${port}`
  const client = createClient({ url, token: 'psk_test', ...options })
  onTestFinished(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return { url, client, seen }
}
