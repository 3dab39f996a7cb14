import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One delivery as it came. */
export interface Received {
  rawBody: Buffer
  headers: IncomingMessage['headers']
}

export interface Receiver {
  url: string
  close(): Promise<void>
}

/** More than any event takes. */
const MAX_BYTES = 2 * 1024 * 1024

/** A server on a free port of this machine, which answers every POST with the status that `onDelivery` gives. */
export async function startReceiver(onDelivery: (received: Received) => Promise<number>): Promise<Receiver> {
  const server = createServer((request, response) => void answer(request, response, onDelivery))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  onDelivery: (received: Received) => Promise<number>,
): Promise<void> {
  const rawBody = request.method === 'POST' ? await readBody(request) : undefined
  response.statusCode = rawBody ? await onDelivery({ rawBody, headers: request.headers }) : 400
  response.end()
}

/** Undefined where it is too long, or broke off. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_BYTES) return undefined
      chunks.push(chunk)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(chunks)
}
