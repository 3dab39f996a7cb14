import { type KeyObject, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { GoogleEndpoints } from '../../../src/wallets/google/api/google-api.ts'

export interface SeenRequest {
  method: string
  path: string
  body: Record<string, unknown>
  at: number
}

export interface CannedAnswer {
  status: number
  body?: string | object
  headers?: Record<string, string>
}

/** The response to the next request, or a function that handles it. */
type Answer = CannedAnswer | ((response: ServerResponse) => void)

export interface GoogleServer {
  endpoints: GoogleEndpoints
  /** The requests to the REST API with a valid token. */
  requests: SeenRequest[]
  /** The bodies of the requests to the token endpoint. */
  tokenRequests: string[]
  /** The claims of the assertions that were exchanged for a token. */
  assertions: Record<string, unknown>[]
  /** Classes and objects by path, such as /genericObject/3388.1. */
  resources: Map<string, Record<string, unknown>>
  /** Replaces the next responses, one for each request. */
  answerNext(...answers: Answer[]): void
  answerNextToken(...answers: Answer[]): void
  revokeTokens(): void
  close(): Promise<void>
}

/** Starts an emulator of Google's token endpoint and Wallet REST API on loopback. */
export async function startGoogleServer(publicKey: KeyObject): Promise<GoogleServer> {
  const tokens = new Set<string>()
  const answers: Answer[] = []
  const tokenAnswers: Answer[] = []
  const google = {
    requests: [] as SeenRequest[],
    tokenRequests: [] as string[],
    assertions: [] as Record<string, unknown>[],
    resources: new Map<string, Record<string, unknown>>(),
  }
  const server = createServer(async (request, response) => {
    const text = await textOf(request)
    if (request.url === '/token') return token(text, response)
    if (!tokens.has(request.headers.authorization ?? '')) return refuse(response, 401, 'authError')
    const seen = {
      method: request.method!,
      path: decodeURIComponent(request.url!.replace('/walletobjects/v1', '')),
      body: text === '' ? {} : JSON.parse(text),
      at: performance.now(),
    }
    google.requests.push(seen)
    const answer = answers.shift()
    if (answer) return give(response, answer)
    return resource(seen, google.resources, response)
  })

  function token(text: string, response: ServerResponse) {
    google.tokenRequests.push(text)
    const form = new URLSearchParams(text)
    const [header = '', claims = '', signature = ''] = form.get('assertion')!.split('.')
    const signed = Buffer.from(`${header}.${claims}`)
    const isGenuine = verify('sha256', signed, publicKey, decode(signature))
    const answer = tokenAnswers.shift()
    if (answer) return give(response, answer)
    if (!isGenuine || form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
      return give(response, {
        status: 400,
        body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' },
      })
    }
    google.assertions.push(JSON.parse(decode(claims).toString()))
    const value = `token-${google.assertions.length}`
    tokens.add(`Bearer ${value}`)
    give(response, { status: 200, body: { access_token: value, expires_in: 3600, token_type: 'Bearer' } })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    ...google,
    endpoints: { api: `${base}/walletobjects/v1`, token: `${base}/token` },
    answerNext: (...next) => answers.push(...next),
    answerNextToken: (...next) => tokenAnswers.push(...next),
    revokeTokens: () => tokens.clear(),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function resource({ method, path, body }: SeenRequest, resources: GoogleServer['resources'], response: ServerResponse) {
  const [, collection, id, action] = path.split('/')
  const key = `/${collection}/${id ?? body.id}`
  const current = resources.get(key)
  if (method === 'POST' && id === undefined) {
    if (current) return refuse(response, 409, 'existingResource')
    const classKey = `/${collection!.replace('Object', 'Class')}/${body.classId}`
    if (collection!.endsWith('Object') && !resources.has(classKey)) return refuse(response, 404, 'classNotFound')
    resources.set(key, body)
  } else if (!current) {
    return refuse(response, 404, 'resourceNotFound')
  } else if (action === 'addMessage') {
    resources.set(key, { ...current, messages: [...((current.messages as unknown[]) ?? []), body.message] })
  } else if (method === 'PUT') {
    resources.set(key, body)
  } else if (method === 'PATCH') {
    resources.set(key, patched(current, body))
  }
  give(response, { status: 200, body: resources.get(key)! })
}

/** Patches objects key by key. Null removes a key. */
function patched(current: Record<string, unknown>, patch: Record<string, unknown>): Record<string, unknown> {
  const result = new Map(Object.entries(current))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, isRecord(value) ? patched(isRecord(current[key]) ? current[key] : {}, value) : value)
  }
  return Object.fromEntries(result)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns an error in the format of the Wallet API. */
export function rejection(status: number, reason: string, headers?: Record<string, string>): CannedAnswer {
  return { status, headers, body: { error: { code: status, message: `No: ${reason}.`, errors: [{ reason }] } } }
}

function refuse(response: ServerResponse, status: number, reason: string) {
  give(response, rejection(status, reason))
}

function give(response: ServerResponse, answer: Answer) {
  if (typeof answer === 'function') return answer(response)
  const { status, body = '', headers = {} } = answer
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks = await request.toArray()
  return Buffer.concat(chunks).toString()
}

function decode(part: string): Buffer {
  return Buffer.from(part, 'base64url')
}
