import type { Client } from '../../client/client.ts'
import type { Envelope } from '../../core/contract/deliveries.ts'
import type { subscribableEvents } from '../../core/events.ts'
import { SIGNATURE_HEADER, verify } from '../../core/rules/crypto/signature.ts'
import { type Forwarded, forward, notForwarded } from './forward.ts'
import { announceListener } from './listeners.ts'
import { type Received, startReceiver } from './receiver.ts'

export type ListenEvent =
  | { event: 'listening'; secret: string }
  | ({ event: 'delivery'; payload: Envelope } & Forwarded)
  | { event: 'problem'; message: string }

export interface ListenOptions {
  /** All types where none is given. */
  events: (typeof subscribableEvents)[number][] | undefined
  /** The event to begin behind; what happens from now on where it is undefined. */
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
  const verdict = verify(received.rawBody, header, options.secret, { at: new Date() })
  if (!verdict.ok) {
    options.onEvent({ event: 'problem', message: `Somebody sent what is not signed. ${verdict.message}` })
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
