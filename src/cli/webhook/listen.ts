import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '../../client/client.ts'
import type { Envelope } from '../../core/contract/deliveries.ts'
import type { subscribableEvents } from '../../core/events.ts'
import { SIGNATURE_HEADER, verify } from '../../core/rules/crypto/signature.ts'
import { announceListener, type Forwarded, forward, notForwarded } from './forward.ts'

/** What `webhook listen --json` tells, one line each. */
export type ListenEvent =
  | { event: 'listening'; secret: string }
  | ({ event: 'delivery'; payload: Envelope } & Forwarded)
  | { event: 'problem'; message: string }

/** Which events are followed, and what is done with each. */
export interface ListenOptions {
  /** All types where none is given. */
  events: (typeof subscribableEvents)[number][] | undefined
  /** The event to begin after; what happens from now on where it is undefined. */
  since: string | undefined
  /** Where events go on to; undefined only shows them. */
  forwardTo: string | undefined
  /** Signs what goes on, as that of a webhook would. */
  secret: string
  /** Where other commands of this user look for who listens. */
  folder: string
  /** Ends it. */
  signal: AbortSignal
  onEvent: (event: ListenEvent) => void
}

/**
 * Follows the events of the server over a connection that this machine opens, and passes each on to an application as a
 * webhook would send it, one after the other. The server keeps nothing of it: a listener that is killed leaves nothing.
 * `webhook trigger` reaches it through a receiver on this machine.
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

/** What `webhook trigger` sent: whoever knows the secret may. */
async function receive(received: Received, options: ListenOptions): Promise<number> {
  const header = String(received.headers[SIGNATURE_HEADER.toLowerCase()] ?? '')
  const decision = verify(received.rawBody, header, options.secret, { at: new Date() })
  if (!decision.ok) {
    options.onEvent({ event: 'problem', message: `Somebody sent what is not signed. ${decision.message}` })
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

/** One delivery as it came. */
export interface Received {
  rawBody: Buffer
  headers: IncomingMessage['headers']
}

/** Takes deliveries of a server that sends them to this machine. */
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
