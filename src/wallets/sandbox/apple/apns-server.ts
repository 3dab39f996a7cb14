import { randomUUID } from 'node:crypto'
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
import { type Faults, slowDown } from '../faults.ts'
import { answerPush, type PushAnswer, type PushClient } from './apns-answer.ts'
import { openApnsControl } from './apns-control.ts'
import { type DeviceTokens, openDeviceTokens } from './apns-tokens.ts'
import { type Channels, createChannels } from './channels.ts'

export interface SandboxApnsOptions {
  /** The server's own certificate and key in PEM, for localhost and 127.0.0.1. */
  serverCertificate: string
  serverKey: string
  /** In PEM, one after the other: the sandbox root, and its intermediate where clients send their own certificate alone. */
  clientRoot: string
  faults: Faults
  /** Keeps the device tokens over a restart; without one they are gone. */
  stateFile?: string
  clock?: () => Date
}

export interface SandboxApns {
  address: string
  port: number
  /** Base of the plain HTTP listener where phones get tokens and hear pushes. */
  control: string
  newDeviceToken(topic?: string): string
  /** As when a phone is wiped: pushes to its token are answered with 410. */
  retireDeviceToken(token: string): void
  close(): Promise<void>
}

const ADDRESS = '127.0.0.1'

/** Apple Push Notification service for one machine: HTTP/2 over TLS with client certificates, and its real answers. */
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
    // Apple answers a bad certificate over HTTP rather than cutting the connection.
    rejectUnauthorized: false,
  })

  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    // Whoever was connected is gone; there is nobody to tell.
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
      server.close()
      for (const session of sessions) session.destroy()
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
  if ('token' in answer && !faults.has('apns-drop')) channels.send(answer.token, { topic, apnsId })
  if (!stream.destroyed && !faults.has('apns-hold')) reply(stream, answer, apnsId)
}

function reply(stream: ServerHttp2Stream, answer: PushAnswer, apnsId: string): void {
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

/** Every push under way fails; an orderly end would leave the client waiting. */
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
