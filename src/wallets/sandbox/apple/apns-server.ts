import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  constants,
  createSecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { z } from 'zod'
import { type Faults, slowDown, switchFaults } from '../faults.ts'
import { type Channels, createChannels, type LocalServer, openState, serveLocally } from '../local-server.ts'

export interface SandboxApnsOptions {
  /** The certificate of the server for localhost and 127.0.0.1, in PEM. `serverKey` is its key. */
  serverCertificate: string
  serverKey: string
  /**
   * The certificates that the server trusts, in PEM: the root of the sandbox and, for clients that send only their own
   * certificate, the intermediate certificate.
   */
  clientRoot: string
  faults: Faults
  /** The file that stores device tokens. Without a file, a restart loses all tokens. */
  stateFile?: string
  clock?: () => Date
}

export interface SandboxApns {
  address: string
  port: number
  /** The base URL of the plain HTTP listener on which phones get tokens and receive pushes. */
  control: string
  newDeviceToken(topic?: string): string
  /** Simulates a phone that was erased: pushes to its token return 410. */
  retireDeviceToken(token: string): void
  close(): Promise<void>
}

const ADDRESS = '127.0.0.1'

/** Emulates the Apple Push Notification service: HTTP/2 over TLS with client certificates, and Apple's responses. */
export async function startSandboxApns(options: SandboxApnsOptions): Promise<SandboxApns> {
  const { serverCertificate, serverKey, clientRoot, faults, stateFile, clock = () => new Date() } = options
  const tokens = openDeviceTokens(stateFile)
  const channels = createChannels()
  const control = await openApnsControl({ tokens, channels, faults, clock })
  const sessions = new Set<ServerHttp2Session>()
  const clients = new WeakMap<Http2Session, PushClient>()
  const server = createSecureServer({
    cert: serverCertificate,
    key: serverKey,
    ca: clientRoot,
    requestCert: true,
    // Accept any certificate: Apple rejects a bad certificate with an HTTP response instead of closing the connection.
    rejectUnauthorized: false,
  })

  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    // Close the connection: it is broken, so the error cannot be sent to the client.
    session.on('error', () => session.destroy())
    if (faults.has('apns-down')) cutOff(session)
    else clients.set(session, clientOf(session))
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => stream.destroy())
    const { session } = stream
    const client = session && clients.get(session)
    if (session && faults.has('apns-down')) cutOff(session)
    else if (client)
      answerStream(stream, headers, { client, tokens, channels, faults, clock }).catch(() => stream.destroy())
  })
  server.listen(0, ADDRESS)
  await once(server, 'listening')

  return {
    address: ADDRESS,
    port: (server.address() as AddressInfo).port,
    control: control.url,
    newDeviceToken: tokens.issue,
    retireDeviceToken: (token) => tokens.retire(token, clock()),
    async close() {
      const closed = once(server, 'close')
      // Destroy open sessions first, because close() in Node.js 24 waits until the clients have read all responses.
      for (const session of sessions) session.destroy()
      server.close()
      await Promise.all([closed, control.close()])
      tokens.close()
    },
  }
}

interface Context {
  client: PushClient
  tokens: DeviceTokens
  channels: Channels
  faults: Faults
  clock: () => Date
}

async function answerStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, context: Context): Promise<void> {
  const { client, tokens, channels, faults, clock } = context
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) size += chunk.length
  await slowDown(faults, 'apns-slow')
  const topic = headerOf(headers, 'apns-topic')
  const id = headerOf(headers, 'apns-id')
  const answer = answerPush(
    { method: headers[':method'] ?? '', path: headers[':path'] ?? '', topic, id, size, client },
    { find: tokens.find, faults, at: clock() },
  )
  const apnsId = (id ?? randomUUID()).toUpperCase()
  if ('token' in answer && !faults.has('apns-drop')) channels.send(answer.token, { topic, apnsId, token: answer.token })
  if (!stream.destroyed && !faults.has('apns-hold')) reply(stream, answer, apnsId)
}

function reply(stream: ServerHttp2Stream, answer: PushResponse, apnsId: string): void {
  const headers = { ':status': answer.status, 'apns-id': apnsId }
  if ('token' in answer) {
    stream.respond(headers, { endStream: true })
    return
  }
  const { reason, timestamp } = answer
  stream.respond({
    ...headers,
    'content-type': 'application/json',
    ...(answer.status === 429 && { 'retry-after': '1' }),
  })
  stream.end(JSON.stringify({ reason, ...(timestamp !== undefined && { timestamp }) }))
}

/**
 * Closes a connection so that every push in flight fails. After a graceful close, the client would still wait for
 * responses.
 */
function cutOff(session: Http2Session): void {
  session.destroy(new Error('The fault apns-down is on.'), constants.NGHTTP2_INTERNAL_ERROR)
}

function clientOf(session: ServerHttp2Session): PushClient {
  const socket = session.socket as TLSSocket
  const { subject } = socket.getPeerCertificate()
  if (!subject) return { certificate: 'none' }
  if (!socket.authorized) return { certificate: 'bad' }
  return { certificate: 'good', topic: (subject as unknown as Record<string, string | undefined>).UID }
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

interface Push {
  method: string
  path: string
  topic: string | undefined
  id: string | undefined
  size: number
  client: PushClient
}

/** The client of a connection. `topic` is the pass type in a certificate that the sandbox trusts. */
type PushClient = { certificate: 'none' } | { certificate: 'bad' } | { certificate: 'good'; topic: string | undefined }

type PushResponse = { status: 200; token: string } | { status: number; reason: string; timestamp?: number }

const MAX_PAYLOAD_BYTES = 4096
const TOPIC = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Returns the response to a push. The checks have the same order as at APNs: connection, path, headers, payload, token.
 */
function answerPush(
  push: Push,
  facts: { find: (token: string) => DeviceToken | undefined; faults: Faults; at: Date },
): PushResponse {
  const { client, topic } = push
  if (client.certificate === 'none') return { status: 403, reason: 'MissingProviderToken' }
  if (client.certificate === 'bad') return { status: 403, reason: 'BadCertificate' }
  const [, token] = /^\/3\/device\/([^/]+)$/.exec(push.path) ?? []
  if (token === undefined) return { status: 404, reason: 'BadPath' }
  if (push.method !== 'POST') return { status: 405, reason: 'MethodNotAllowed' }
  const fault = faultyResponse(facts)
  if (fault) return fault
  if (push.id !== undefined && !UUID.test(push.id)) return { status: 400, reason: 'BadMessageId' }
  if (topic === undefined) return { status: 400, reason: 'MissingTopic' }
  if (!TOPIC.test(topic)) return { status: 400, reason: 'BadTopic' }
  if (topic !== client.topic) return { status: 400, reason: 'TopicDisallowed' }
  if (push.size === 0) return { status: 400, reason: 'PayloadEmpty' }
  if (push.size > MAX_PAYLOAD_BYTES) return { status: 413, reason: 'PayloadTooLarge' }
  const device = facts.find(token)
  if (!device) return { status: 400, reason: 'BadDeviceToken' }
  if (device.topic !== undefined && device.topic !== topic) return { status: 400, reason: 'DeviceTokenNotForTopic' }
  if (device.retiredAt !== undefined) return { status: 410, reason: 'Unregistered', timestamp: device.retiredAt }
  return { status: 200, token: device.token }
}

function faultyResponse({ faults, at }: { faults: Faults; at: Date }): PushResponse | undefined {
  if (faults.has('apns-410')) return { status: 410, reason: 'Unregistered', timestamp: at.getTime() }
  if (faults.has('apns-429')) return { status: 429, reason: 'TooManyRequests' }
  if (faults.has('apns-500')) return { status: 500, reason: 'InternalServerError' }
  if (faults.has('apns-503')) return { status: 503, reason: 'ServiceUnavailable' }
  return undefined
}

const TokenRequest = z.object({ topic: z.string().optional() })

/**
 * The interface for phones, for which Apple has no public protocol:
 *
 * - `POST /tokens {topic?}`: issues a token, 201 `{token}`
 * - `GET /tokens/{token}/pushes`: sends one line of JSON per push, until the phone disconnects
 * - `GET /fleets/{prefix}/pushes`: sends the pushes of all tokens that start with the prefix of 16 hex digits
 * - `DELETE /tokens/{token}`: retires the token, 204; pushes to the token then return 410
 * - `POST /faults {faults: […]}`: activates faults, for tests and demos
 */
function openApnsControl(options: {
  tokens: DeviceTokens
  channels: Channels
  faults: Faults
  clock: () => Date
}): Promise<LocalServer> {
  const { tokens, channels, faults, clock } = options
  return serveLocally(({ method, path, json, response }) => {
    if (path === '/faults' && method === 'POST') return switchFaults(faults, json)
    if (path === '/tokens' && method === 'POST') {
      return { status: 201, json: { token: tokens.issue(TokenRequest.safeParse(json).data?.topic) } }
    }
    const [, fleet] = /^\/fleets\/([0-9a-f]{16})\/pushes$/.exec(path) ?? []
    if (fleet !== undefined && method === 'GET') {
      channels.listen(fleet, response)
      return undefined
    }
    const [, token = '', rest] = /^\/tokens\/([0-9a-f]{64,200})(\/pushes)?$/.exec(path) ?? []
    const known = tokens.find(token)
    if (!known) return { status: 404, json: { error: 'Token not found.' } }
    if (rest === undefined && method === 'DELETE') {
      tokens.retire(token, clock())
      return { status: 204 }
    }
    if (rest === undefined || method !== 'GET') return { status: 405, json: { error: 'The method is not allowed.' } }
    channels.listen(token, response)
    return undefined
  })
}

/** The push tokens of phones: tokens that the sandbox issued, and any other well-formed token. */
interface DeviceTokens {
  /** Issues a token of 64 hex characters. A token with a topic accepts only pushes for this topic. */
  issue(topic?: string): string
  /** Returns `undefined` for a malformed token. */
  find(token: string): DeviceToken | undefined
  /** Makes pushes to the token return 410. */
  retire(token: string, at: Date): void
  close(): void
}

interface DeviceToken {
  token: string
  topic?: string
  /** The time at which the token was retired, in milliseconds since 1970. */
  retiredAt?: number
}

/** A token has 32 to 100 bytes, in hexadecimal. Today's phones use 32, but Apple guarantees no length. */
const WELL_FORMED = /^([0-9a-f]{2}){32,100}$/

function openDeviceTokens(stateFile: string | undefined): DeviceTokens {
  const tokens = new Map<string, DeviceToken>()
  const journal = openState<DeviceToken>(stateFile, (entries) => {
    for (const entry of entries) tokens.set(entry.token, entry)
    return [...tokens.values()]
  })
  const put = (entry: DeviceToken) => {
    journal.append(entry)
    tokens.set(entry.token, entry)
  }
  const find = (text: string) => {
    const token = text.toLowerCase()
    return tokens.get(token) ?? (WELL_FORMED.test(token) ? { token } : undefined)
  }
  return {
    issue(topic) {
      const token = randomBytes(32).toString('hex')
      put({ token, ...(topic !== undefined && { topic }) })
      return token
    },
    find,
    retire(token, at) {
      const device = find(token)
      if (device) put({ ...device, retiredAt: at.getTime() })
    },
    close: () => journal.close(),
  }
}
