import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Envelope } from '../../src/core/contract/webhooks/deliveries.ts'

/** A received delivery. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  signature: string
  /** The received body, unchanged. */
  body: string
  envelope: Envelope
}

/** A status to respond with, or a function that handles the request instead. */
export type Reply = number | ((response: ServerResponse, received: Received) => void | Promise<void>)

export interface Receiver {
  url: string
  received: Received[]
  /** Sets the replies to the following requests. Each is used once, and the last one repeatedly. */
  reply(...replies: Reply[]): void
  /** Returns the maximum number of concurrent requests. */
  mostInFlight(): number
}

/** Starts a webhook endpoint on loopback that stores its deliveries. It is closed after the test. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let replies: Reply[] = [204]
  let open = 0
  let most = 0
  const server = createServer(async (request, response) => {
    open += 1
    most = Math.max(most, open)
    response.on('close', () => {
      open -= 1
    })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const signature = String(request.headers['x-service-signature'])
    const one = { path: request.url!, headers: request.headers, signature, body, envelope: JSON.parse(body) }
    received.push(one)
    const reply = replies.length > 1 ? replies.shift()! : replies[0]!
    if (typeof reply === 'number') response.writeHead(reply).end()
    else await reply(response, one)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    reply(...next) {
      replies = next
    },
    mostInFlight: () => most,
  }
}
