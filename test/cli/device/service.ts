import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { parseAppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import { createAppleWallet } from '../../../src/wallets/apple/apple-wallet.ts'
import { startSandboxApns } from '../../../src/wallets/sandbox/apple/apns-server.ts'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { createFaults } from '../../../src/wallets/sandbox/faults.ts'
import { sandboxChain } from '../../support/chains.ts'
import {
  buildPackage,
  passTypeIdentifier,
  type TestPass,
  teamIdentifier,
  testPass,
} from '../../wallets/apple/fixtures.ts'

export const serial = '01982f3e-0000-7000-8000-000000000001'
export const type = passTypeIdentifier

export function createChain(nth = 0): Promise<SandboxApple> {
  return sandboxChain({ passTypeIdentifier, teamIdentifier, nth })
}

export function walletOf(chain: SandboxApple, webServiceUrl: string) {
  const source = (pem: string) => ({ source: 'sandbox', pem })
  const identity = parseAppleIdentity(
    { certificate: source(chain.certificatePem), key: source(chain.keyPem), wwdr: source(chain.wwdrPem) },
    new Date(),
  )
  const loadImageFiles = () => Promise.reject(new Error('There are no images here.'))
  return createAppleWallet({ identity, webServiceUrl, loadImageFiles })
}

/** Returns a ticket that shows a banner when its seat or the news on its back change. */
export function ticket(variables: Record<string, string>, more: TestPass = {}) {
  return testPass({
    ...more,
    passType: 'eventTicket',
    variables: { news: '', ...variables },
    definition: {
      variables: ['seat', 'news'].map((name) => ({ name, label: name, required: false })),
      design: {
        organizationName: 'Fair',
        fields: {
          primary: [{ key: 'name', label: 'Name', value: 'Ada Lovelace' }],
          secondary: [{ key: 'seat', label: 'Seat', value: '{{seat}}', changeMessage: 'Your seat is now %@.' }],
          back: [{ key: 'news', label: 'News', value: '{{news}}', changeMessage: '%@' }],
        },
      },
    },
  })
}

/** Replaces the response to a request. Receives the method and the path after /apple/v1. */
export type Override = (request: { method: string; path: string }) => { status: number; json?: unknown } | undefined

/** Starts a small PassKit service with a sandboxed APNs. It behaves like a server with one pass. */
export async function startService(chain: SandboxApple) {
  const registrations = new Map<string, string>()
  const calls: string[] = []
  const logs: string[] = []
  const state = {
    pass: ticket({ seat: 'A-1' }),
    /** The number of changes. It is also the tag and, in seconds, the Last-Modified. */
    version: 1,
    override: (() => undefined) as Override,
    archive: undefined as Buffer | undefined,
  }
  const startApns = () =>
    startSandboxApns({
      serverCertificate: chain.serverCertificatePem,
      serverKey: chain.serverKeyPem,
      clientRoot: chain.rootPem,
      faults: createFaults(),
    })
  const apns = await startApns()
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await apns.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const wallet = walletOf(chain, `${url}/apple`)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of request) body += chunk
    const { pathname, search } = new URL(request.url ?? '/', url)
    const method = request.method ?? ''
    const send = (status: number, json?: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, headers).end(json === undefined ? undefined : JSON.stringify(json))
    const sendPass = async (headers: Record<string, string> = {}) => {
      const file = state.archive ?? (await buildPackage(wallet, state.pass, new Date()))
      response.writeHead(200, { 'content-type': 'application/vnd.apple.pkpass', ...headers }).end(file)
    }
    if (pathname === '/sandbox') {
      return void send(200, { apple: { control: apns.control, rootPem: chain.rootPem }, google: null })
    }
    if (pathname === '/l/smart') {
      const isPhone = /iPhone/.test(request.headers['user-agent'] ?? '')
      return void send(isPhone ? 302 : 200, undefined, isPhone ? { location: '/l/apple' } : {})
    }
    if (pathname === '/l/apple') return sendPass()
    if (pathname === '/l/page') return void send(200, undefined, { 'content-type': 'text/html' })
    if (pathname === '/l/revoked') return void send(410)
    const path = pathname.replace('/apple/v1', '')
    calls.push(`${method} ${path.replace(/^\/devices\/[^/]+/, '/devices/D')}${search}`)
    const other = state.override({ method, path })
    if (other) return void send(other.status, other.json)
    if (path === '/log') {
      logs.push(...(JSON.parse(body) as { logs: string[] }).logs)
      return void send(200)
    }
    const isAuthorized = request.headers.authorization === `ApplePass ${state.pass.authenticationToken}`
    const [, device, rest] = /^\/devices\/([^/]+)\/registrations\/[^/]+(?:\/([^/]+))?$/.exec(path) ?? []
    if (device && rest) {
      if (!isAuthorized) return void send(401)
      const isNew = !registrations.has(device)
      if (method === 'DELETE') registrations.delete(device)
      else registrations.set(device, (JSON.parse(body) as { pushToken: string }).pushToken)
      return void send(method === 'POST' && isNew ? 201 : 200)
    }
    if (device) {
      const since = Number(new URLSearchParams(search).get('passesUpdatedSince') ?? '0')
      return state.version > since
        ? void send(200, { serialNumbers: [serial], lastUpdated: String(state.version) })
        : void send(204)
    }
    if (!isAuthorized) return void send(401)
    const modified = new Date(state.version * 1000).toUTCString()
    if (request.headers['if-modified-since'] === modified) return void send(304)
    return sendPass({ 'last-modified': modified })
  }

  return {
    url,
    state,
    apns,
    registrations,
    logs,
    /** Returns the calls of the web service since the last call of this function, without the device ID. */
    calls: () => calls.splice(0),
    change(variables: Record<string, string>, more: TestPass = {}) {
      state.pass = ticket(variables, more)
      state.version += 1
    },
    /** Delivers a push to the phone directly. Other tests cover the path through APNs. */
    async push() {
      const { connect } = await import('node:http2')
      const session = connect(`https://127.0.0.1:${apns.port}`, {
        ca: chain.rootPem,
        cert: chain.certificatePem + chain.wwdrPem,
        key: chain.keyPem,
      })
      for (const token of registrations.values()) {
        const stream = session.request({ ':method': 'POST', ':path': `/3/device/${token}`, 'apns-topic': type })
        stream.end('{}')
        const [headers] = await once(stream, 'response')
        if (headers[':status'] !== 200) throw new Error(`The push was answered with ${headers[':status']}`)
      }
      session.destroy()
    },
  }
}

export type Service = Awaited<ReturnType<typeof startService>>
