import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '../../client/client.ts'
import type { Envelope } from '../../core/contract/deliveries.ts'
import type { subscribableEvents } from '../../core/events.ts'
import { SIGNATURE_HEADER, verify } from '../../core/rules/crypto/signature.ts'
import { announceListener, type Forwarded, forward, notForwarded } from './forward.ts'

/** The output of `webhook listen --json`, one line each. */
export type ListenEvent =
  | { event: 'listening'; secret: string }
  | ({ event: 'delivery'; payload: Envelope } & Forwarded)
  | { event: 'problem'; message: string }

export interface ListenOptions {
  /** All event types by default. */
  events: (typeof subscribableEvents)[number][] | undefined
  /** The event after which to start; by default only new events are followed. */
  since: string | undefined
  /** The address to forward events to; if undefined, events are only shown. */
  forwardTo: string | undefined
  secret: string
  /** The folder in which other commands of this user find listeners. */
  folder: string
  signal: AbortSignal
  onEvent: (event: ListenEvent) => void
}

/**
 * Follows the server's events over an outgoing connection and forwards each to an application in webhook format,
 * sequentially. The server stores no state for listeners. `webhook trigger` reaches a listener through a local
 * receiver.
 */
export async function listenForEvents(client: Client, options: ListenOptions): Promise<void> {
  const { events, since, signal, secret, onEvent } = options
  const receiver = await startReceiver((received) => receive(received, options))
  const withdraw = announceListener(options.folder, receiver.url)
  let isListening = false
  const onOpen = () => {
    if (!isListening) onEvent({ event: 'listening', secret })
    isListening = true
  }
  try {
    const call = { query: { type: events }, headers: { 'last-event-id': since } }
    for await (const event of client.events.follow(call, { signal, onOpen })) {
      await pass(event, JSON.stringify(event), options)
    }
  } finally {
    withdraw()
    await receiver.close()
  }
}

/** Accepts an event of `webhook trigger` if it is signed with the secret. */
async function receive(received: Received, options: ListenOptions): Promise<number> {
  const header = String(received.headers[SIGNATURE_HEADER.toLowerCase()] ?? '')
  const decision = verify(received.rawBody, header, options.secret, { at: new Date() })
  if (!decision.ok) {
    options.onEvent({ event: 'problem', message: `Received an unsigned request. ${decision.message}` })
    return 400
  }
  const text = received.rawBody.toString()
  const { responseCode } = await pass(JSON.parse(text) as Envelope, text, options)
  return options.forwardTo === undefined ? 200 : (responseCode ?? 502)
}

async function pass(
  payload: Envelope,
  text: string,
  { forwardTo, secret, onEvent }: ListenOptions,
): Promise<Forwarded> {
  const forwarded = forwardTo === undefined ? notForwarded : await forward(text, forwardTo, secret)
  onEvent({ event: 'delivery', payload, ...forwarded })
  return forwarded
}

export interface Received {
  rawBody: Buffer
  headers: IncomingMessage['headers']
}

export interface Receiver {
  url: string
  close(): Promise<void>
}

/** The maximum body size, larger than any event. */
const MAX_BYTES = 2 * 1024 * 1024

/** Starts a server on a free local port, which responds to every POST with the status from `onDelivery`. */
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

/** Returns `undefined` if the body is too long or incomplete. */
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
