import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { Flags } from '@oclif/core'
import { request } from 'undici'
import { z } from 'zod'
import type { Client } from '../../client/client.ts'
import type { Envelope } from '../../core/contract/webhooks/deliveries.ts'
import { subscribableEvents } from '../../core/events.ts'
import { readBounded } from '../../core/read-bounded.ts'
import { newSecret, SIGNATURE_HEADER, sign, verify } from '../../core/rules/crypto/signature.ts'
import { underLock } from '../../files/file-lock.ts'
import { ifMissing, makePrivateFolder, replacePrivateSync } from '../../files/private-file.ts'
import { repeatable } from '../arguments/list-flags.ts'
import { CliError, UsageError } from '../command/cli-error.ts'
import { isProcessRunning } from '../command/own-program.ts'
import { reasonOf } from '../device/http.ts'
import type { Connection } from '../settings/settings.ts'

/** One line of the output of `webhook listen --json`. */
export type ListenEvent =
  | { event: 'listening'; secret: string }
  | ({ event: 'delivery'; payload: Envelope } & Forwarded)
  | { event: 'problem'; message: string }

export interface ListenOptions {
  /** The event types to follow; all by default. */
  events: (typeof subscribableEvents)[number][] | undefined
  /** The ID of the event after which to start. If undefined, the listener receives only new events. */
  since: string | undefined
  /** The address to which events are forwarded. If undefined, events are only shown. */
  forwardTo: string | undefined
  secret: string
  /** The folder with the addresses of running listeners, where `webhook trigger` finds them. */
  folder: string
  signal: AbortSignal
  onEvent: (event: ListenEvent) => void
}

/**
 * Follows the server's event stream. Forwards the events to an application, one at a time, in webhook format. Also
 * starts a local HTTP server that receives the events of `webhook trigger`.
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

/** Handles a request from `webhook trigger`. Rejects an event that is not signed with the secret. */
async function receive(received: Received, options: ListenOptions): Promise<number> {
  const header = String(received.headers[SIGNATURE_HEADER.toLowerCase()] ?? '')
  const decision = verify(received.rawBody, header, options.secret, { at: new Date() })
  if (!decision.ok) {
    options.onEvent({ event: 'problem', message: `Received a request without a valid signature. ${decision.message}` })
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

/** The maximum size of a request body, in bytes. No event is larger. */
const MAX_BYTES = 2 * 1024 * 1024

/** Starts a server on a free local port. It responds to each POST with the status that `onDelivery` returns. */
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
  // Treat an incomplete body like one that is too long.
  const rawBody = request.method === 'POST' ? await readBounded(request, MAX_BYTES).catch(() => undefined) : undefined
  response.statusCode = rawBody ? await onDelivery({ rawBody, headers: request.headers }) : 400
  response.end()
}

/** The result of forwarding an event. `responseCode` is `null` if the event was not forwarded or got no response. */
export interface Forwarded {
  responseCode: number | null
  durationMs: number | null
  error: string | null
}

const notForwarded: Forwarded = { responseCode: null, durationMs: null, error: null }

/** The timeout of a forwarded event, the same as for the server's deliveries. */
const FORWARD_TIMEOUT_MS = 15_000

/** Sends an event as the server would: with the same bytes and headers, and a current signature. */
export async function forward(rawBody: string, to: string, secret: string): Promise<Forwarded> {
  const startedAt = performance.now()
  const tookMs = () => Math.round(performance.now() - startedAt)
  try {
    const { statusCode, body } = await request(to, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'passes-webhooks',
        [SIGNATURE_HEADER]: sign(rawBody, [secret], new Date()),
      },
      body: rawBody,
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    })
    await body.dump()
    return { responseCode: statusCode, durationMs: tookMs(), error: null }
  } catch (error) {
    return { responseCode: null, durationMs: tookMs(), error: reasonOf(error) }
  }
}

/** Writes the address of a listener to a file named after the process ID. Returns a function that removes the file. */
function announceListener(folder: string, url: string): () => void {
  const file = join(folder, String(process.pid))
  makePrivateFolder(folder)
  replacePrivateSync(file, url)
  return () => rmSync(file, { force: true })
}

/** Returns the addresses of running listeners. Removes the files of processes that ended. */
export function findListeners(folder: string): string[] {
  return filesIn(folder).flatMap((name) => {
    const file = join(folder, name)
    if (isProcessRunning(Number(name))) return [readFileSync(file, 'utf8')]
    rmSync(file, { force: true })
    return []
  })
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name))
  } catch (error) {
    return ifMissing([])(error)
  }
}

export function eventFlag(summary: string) {
  return Flags.option({ options: subscribableEvents, ...repeatable, delimiter: ',' })({ summary, aliases: ['events'] })
}

/**
 * Returns the address of `--forward-to`.
 * @throws UsageError if it is not an HTTP URL
 */
export function applicationAddress(address: string | undefined): string | undefined {
  if (address === undefined || (URL.canParse(address) && /^https?:/i.test(address))) return address
  throw new UsageError(`--forward-to ${address} is not an HTTP address`, {
    hint: 'write it like http://localhost:8080/hooks/passes.',
  })
}

const SecretsFile = z.record(z.string(), z.string().startsWith('whsec_'))

/**
 * Returns the secret with which `webhook listen` signs events. Each profile has one secret, which is created on first
 * use and never sent to a server. The secrets of all profiles are in one file, which only its owner can read.
 * @throws CliError if this file is invalid
 */
export async function listenSecret({ name, path }: Connection['profile']): Promise<string> {
  const file = join(dirname(path), 'listen-secrets.json')
  return findSecret(file, name) ?? underLock(file, () => findSecret(file, name) ?? makeSecret(file, name))
}

function findSecret(file: string, name: string): string | undefined {
  const secrets = readSecrets(file)
  return Object.hasOwn(secrets, name) ? secrets[name] : undefined
}

function makeSecret(file: string, name: string): string {
  const secret = newSecret()
  replacePrivateSync(file, `${JSON.stringify({ ...readSecrets(file), [name]: secret }, undefined, 2)}\n`)
  return secret
}

function readSecrets(file: string): Record<string, string> {
  try {
    return SecretsFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) return ifMissing({})(error)
    throw new CliError(`${file} is not a file of secrets`, {
      hint: 'delete it, so that a new secret is created.',
      cause: error,
    })
  }
}
