import { hostname } from 'node:os'
import { request } from 'undici'
import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { Envelope } from '../../core/contract/deliveries.ts'
import type { WebhookWithSecret } from '../../core/contract/webhooks.ts'
import type { subscribableEvents } from '../../core/events.ts'
import { SIGNATURE_HEADER, verify } from '../../core/rules/crypto/signature.ts'
import { CliError } from '../command/errors.ts'
import { type Received, startReceiver } from './receiver.ts'

export type ListenEvent =
  | { event: 'listening'; webhookId: string; url: string; secret: string }
  | ({ event: 'delivery'; payload: Envelope } & Forwarded)
  | { event: 'problem'; message: string }

/** What the application answered; nulls where nothing is forwarded or no answer came. */
interface Forwarded {
  responseCode: number | null
  durationMs: number | null
  error: string | null
}

export interface ListenOptions {
  events: (typeof subscribableEvents)[number][]
  /** Where events go on to, byte for byte; undefined only shows them. */
  forwardTo: string | undefined
  /** Ends it. */
  signal: AbortSignal
  onEvent: (event: ListenEvent) => void
}

/**
 * A webhook for as long as it runs: registers a receiver on this machine, verifies what comes, and passes it on.
 * The server gets the answer of the application, so that it retries as it would in earnest.
 */
export async function listenForEvents(client: Client, options: ListenOptions): Promise<void> {
  const { signal, onEvent } = options
  let webhook: WebhookWithSecret | undefined
  const receiver = await startReceiver(async (received) => {
    // An event may overtake the answer that holds the secret; the server sends it again.
    return webhook ? receive(received, webhook.secret, options) : 503
  })
  try {
    webhook = await register(client, receiver.url, options.events)
    onEvent({ event: 'listening', webhookId: webhook.id, url: receiver.url, secret: webhook.secret })
    await untilAborted(signal)
  } finally {
    if (webhook) await remove(client, webhook.id, onEvent)
    await receiver.close()
  }
}

async function register(client: Client, url: string, events: ListenOptions['events']): Promise<WebhookWithSecret> {
  const description = `passes webhook listen on ${hostname()}, process ${process.pid}`
  try {
    return await client.webhooks.create({ body: { url, events, description } })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'VALIDATION_ERROR')) throw error
    throw new CliError('The server does not send events to an address of this machine', {
      code: 'LOOPBACK_REFUSED',
      hint: 'for development, run it here with passes serve --allow-insecure-webhooks.',
      details: error.details,
      cause: error,
    })
  }
}

async function remove(client: Client, id: string, onEvent: ListenOptions['onEvent']): Promise<void> {
  try {
    await client.webhooks.delete({ params: { id } })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    onEvent({ event: 'problem', message: `Webhook ${id} stays: ${reason}. passes webhook delete ${id} removes it.` })
  }
}

async function receive(received: Received, secret: string, { forwardTo, onEvent }: ListenOptions): Promise<number> {
  const header = received.headers[SIGNATURE_HEADER.toLowerCase()] ?? ''
  const verdict = verify(received.rawBody, String(header), secret, { at: new Date() })
  if (!verdict.ok) {
    onEvent({ event: 'problem', message: `Somebody sent what is not signed by the server. ${verdict.message}` })
    return 400
  }
  const forwarded = forwardTo === undefined ? notForwarded : await forward(received, forwardTo)
  onEvent({ event: 'delivery', payload: JSON.parse(received.rawBody.toString()) as Envelope, ...forwarded })
  if (forwardTo === undefined) return 200
  return forwarded.responseCode ?? 502
}

const notForwarded: Forwarded = { responseCode: null, durationMs: null, error: null }

/** The server gives up after 15 s; the reason shall be seen here before. */
const FORWARD_TIMEOUT_MS = 14_000

/** Headers of one connection only, which do not go on to the next (RFC 9110 7.6.1), and those that are made anew. */
const ownHeaders = new Set(['connection', 'keep-alive', 'te', 'transfer-encoding', 'upgrade', 'host', 'content-length'])

async function forward({ rawBody, headers }: Received, to: string): Promise<Forwarded> {
  const startedAt = performance.now()
  const tookMs = () => Math.round(performance.now() - startedAt)
  try {
    const { statusCode, body } = await request(to, {
      method: 'POST',
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.has(name))),
      body: rawBody,
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    })
    await body.dump()
    return { responseCode: statusCode, durationMs: tookMs(), error: null }
  } catch (error) {
    const reason = error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : error
    return { responseCode: null, durationMs: tookMs(), error: String(reason) }
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
