import { createPublicKey, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type GoogleIdentity, parseGoogleIdentity } from '../../../src/wallets/google/google-identity.ts'
import { createFaults, type Fault } from '../../../src/wallets/sandbox/faults.ts'
import { startSandboxGoogle } from '../../../src/wallets/sandbox/google/google-server.ts'
import { sandboxAccount } from '../../support/chains.ts'
import { call } from './support.ts'

const made = await sandboxAccount()
export const identity: GoogleIdentity = parseGoogleIdentity(
  { source: 'sandbox', json: made.serviceAccountJson },
  made.issuerId,
)
export const { issuerId } = identity

export interface StartOptions {
  faults?: Fault[]
  stateFile?: string
  callbackUrl?: string
}

/** Starts an emulator with a clock that tests can advance. */
export async function startGoogle({ faults = [], stateFile, callbackUrl = 'http://127.0.0.1:9' }: StartOptions = {}) {
  let aheadMs = 0
  const google = await startSandboxGoogle({
    clientEmail: identity.clientEmail,
    publicKey: createPublicKey(identity.privateKey),
    issuerId,
    callbackUrl,
    faults: createFaults(faults),
    clock: () => new Date(Date.now() + aheadMs),
    ...(stateFile && { stateFile }),
  })
  let isOpen = true
  const close = async () => {
    if (isOpen) await google.close()
    isOpen = false
  }
  onTestFinished(close)
  return {
    ...google,
    close,
    wait: (ms: number) => {
      aheadMs += ms
    },
    seconds: () => Math.floor((Date.now() + aheadMs) / 1000),
  }
}

export type Google = Awaited<ReturnType<typeof startGoogle>>

export function assertion(changes: Record<string, unknown> = {}, key = identity.privateKey): string {
  const iat = Math.floor(Date.now() / 1000)
  return jwt(
    {
      iss: identity.clientEmail,
      scope: 'https://www.googleapis.com/auth/wallet_object.issuer',
      aud: 'https://oauth2.googleapis.com/token',
      iat,
      exp: iat + 3600,
      ...changes,
    },
    key,
  )
}

export function saveJwt(payload: object, changes: Record<string, unknown> = {}, key = identity.privateKey): string {
  return jwt({ iss: identity.clientEmail, aud: 'google', typ: 'savetowallet', iat: 1, payload, ...changes }, key)
}

export function jwt(claims: object, key = identity.privateKey, header: object = { alg: 'RS256', typ: 'JWT' }): string {
  const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

export async function askToken(google: Google, given: string) {
  const response = await fetch(google.tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: given }),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

/** Sends requests to the REST API with a valid token. */
export async function authorized(google: Google) {
  const iat = google.seconds()
  const { json } = await askToken(google, assertion({ iat, exp: iat + 3600 }))
  return (method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: unknown) =>
    call(method, `${google.apiUrl}${path}`, body, { authorization: `Bearer ${json.access_token}` })
}

const text = (value: string) => ({ defaultValue: { language: 'en', value } })

export function genericClass(changes: object = {}) {
  return { id: `${issuerId}.template-1`, ...changes }
}

export function genericObject(changes: object = {}) {
  return {
    id: `${issuerId}.pass-1`,
    classId: `${issuerId}.template-1`,
    state: 'ACTIVE',
    cardTitle: text('Example'),
    header: text('Ada Lovelace'),
    barcode: { type: 'QR_CODE', value: 'CODE', alternateText: 'Code' },
    textModulesData: [{ id: 'seat', header: 'Seat', body: '12A' }],
    ...changes,
  }
}

export function message(n: number, messageType = 'TEXT_AND_NOTIFY') {
  return { message: { id: `m-${n}`, header: 'News', body: `Number ${n}`, messageType } }
}

/** Starts a receiver of callbacks that responds with these statuses in turn, and repeats the last one. */
export async function receiver(statuses: number[] = [200]) {
  const bodies: string[] = []
  const waiting: (() => void)[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    response.writeHead(statuses[Math.min(bodies.length, statuses.length) - 1] ?? 200).end()
    for (const wake of waiting.splice(0)) wake()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${randomUUID()}`,
    bodies,
    async received(count: number) {
      while (bodies.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
      return bodies
    },
  }
}
