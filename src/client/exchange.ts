import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Dispatcher, errors as Errors, Agent as UndiciAgent } from 'undici'
import type { ErrorCode } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { ApiError, ConnectionError, ForeignServerError, TimeoutError } from './errors.ts'
import { messagesOf } from './stream-messages.ts'

/** One request on its way to the server and back. */

/**
 * The part of undici that sends requests. Its index loads fetch, WebSocket, mocks and caches as well, which takes longer than a
 * small request does, and every command of the command line would wait for it.
 */
const require = createRequire(import.meta.url)

/** undici's dispatcher with its pools of connections. */
export const Agent: typeof UndiciAgent = require('undici/lib/dispatcher/agent.js')
const errors: typeof Errors = require('undici/lib/core/errors.js')

const api: {
  request(this: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
} = require('undici/lib/api/index.js')

/** Sends a request to the address of `origin`. */
function request(dispatcher: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
  return api.request.call(dispatcher, options)
}

/** What one try of a request needs. */
export interface ExchangeOptions {
  url: string
  token: string
  signal?: AbortSignal
  timeoutSeconds: number
  dispatcher: Dispatcher
}

/** A request with its body in bytes. */
export interface SentRequest {
  method: string
  path: string
  /** The path as errors name it. */
  name: string
  headers: Record<string, string>
  body: Buffer | undefined
}

/** An answer that was read to its end. */
export interface Answer {
  status: number
  headers: Dispatcher.ResponseData['headers']
  bytes: Buffer
}

/** One request and its answer, whatever its status. */
export async function exchange(sent: SentRequest, options: ExchangeOptions): Promise<Answer> {
  const answer = await dispatch(sent, options)
  return { status: answer.statusCode, headers: answer.headers, bytes: await bodyOf(answer, sent, options) }
}

/** A body as a whole. */
export async function bodyOf(
  { headers, body }: Dispatcher.ResponseData,
  sent: SentRequest,
  options: ExchangeOptions,
): Promise<Buffer> {
  try {
    const bytes = Buffer.from(await body.arrayBuffer())
    return headers['content-encoding'] === 'gzip' ? await promisify(gunzip)(bytes) : bytes
  } catch (error) {
    throw connectionError(error, sent, options)
  }
}

/** A request, and the beginning of its answer. */
export async function dispatch(sent: SentRequest, options: ExchangeOptions): Promise<Dispatcher.ResponseData> {
  const { method, path, headers, body } = sent
  const { url, token, signal, timeoutSeconds, dispatcher } = options
  let answer: Dispatcher.ResponseData
  try {
    const { origin, pathname, search } = new URL(url.replace(/\/+$/, '') + path)
    answer = await request(dispatcher, {
      origin,
      path: pathname + search,
      method: method as Dispatcher.HttpMethod,
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        ...(body && { 'content-length': String(body.length) }),
      },
      body: body ? pieces(body) : null,
      bodyTimeout: timeoutSeconds * 1000,
      signal,
    })
  } catch (error) {
    throw connectionError(error, sent, options)
  }
  // A passes server sends a correlation ID with each response. Another server's success means nothing.
  if (answer.statusCode < 400 && !answer.headers['x-correlation-id']) {
    await readForeign(answer.body, sent, options)
    throw new ForeignServerError(url)
  }
  return answer
}

const MAX_FOREIGN_BYTES = 64 * 1024

/** Reads a response that will be discarded: one that stops in the middle is a timeout, whoever sent it. */
async function readForeign(body: Dispatcher.ResponseData['body'], sent: SentRequest, options: ExchangeOptions) {
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += (chunk as Buffer).length
      if (bytes > MAX_FOREIGN_BYTES) break
    }
  } catch (error) {
    throw connectionError(error, sent, options)
  }
}

/** What to tell of a request that got no answer; one that was given up is told as it is. */
function connectionError(
  error: unknown,
  { method, name }: SentRequest,
  { url, signal, timeoutSeconds }: ExchangeOptions,
) {
  if (signal?.aborted) return error
  if (!timeouts.some((timeout) => error instanceof timeout)) return new ConnectionError(url, error)
  return new TimeoutError(url, error, { timeoutSeconds, request: { method, path: name } })
}

const timeouts = [errors.ConnectTimeoutError, errors.HeadersTimeoutError, errors.BodyTimeoutError]

const PIECE_BYTES = 64 * 1024

/** A large body in pieces: as long as the network takes one after another, the wait for the answer has not begun. */
function pieces(body: Buffer): Buffer | Readable {
  if (body.length <= PIECE_BYTES) return body
  const starts = Array.from({ length: Math.ceil(body.length / PIECE_BYTES) }, (_, index) => index * PIECE_BYTES)
  return Readable.from(starts.map((at) => body.subarray(at, at + PIECE_BYTES)))
}

/** A body as it comes. */
export async function* piecesOf({ body }: Dispatcher.ResponseData, sent: SentRequest, options: ExchangeOptions) {
  try {
    for await (const chunk of body) yield chunk as Buffer
  } catch (error) {
    throw connectionError(error, sent, options)
  }
}

/** What the error of an answer is told by. */
export interface Rejection {
  method: string
  path: string
  status: number
  headers: Answer['headers']
  /** Where bodies of errors may come without a code. */
  isCodeOptional: boolean
}

/**
 * The error of a response that says no: its code and details as the server gave them, `INTERNAL_ERROR` where it gave
 * none.
 */
export function apiError({ method, path, status, headers, isCodeOptional }: Rejection, bytes: Buffer): ApiError {
  const retryAfter = Number(headers['retry-after'] ?? Number.NaN)
  const body = parseJson(bytes.toString()) ?? {}
  const known = body as { errorCode?: string; message?: string; correlationId?: string; details?: object }
  return new ApiError({
    status,
    code: known.errorCode ?? (isCodeOptional ? codeByStatus[status] : undefined) ?? 'INTERNAL_ERROR',
    message: known.message ?? `The server answered ${status} without a body of this interface`,
    correlationId: known.correlationId ?? String(headers['x-correlation-id'] ?? ''),
    details: { ...known.details },
    request: { method, path },
    ...(Number.isFinite(retryAfter) && { retryAfterSeconds: retryAfter }),
  })
}

/** What the status says of an answer that carries no code. */
const codeByStatus: Record<number, ErrorCode> = {
  400: 'VALIDATION_ERROR',
  401: 'TOKEN_INVALID',
  403: 'FORBIDDEN',
  413: 'INVALID_INPUT',
  415: 'INVALID_INPUT',
  429: 'RATE_LIMITED',
  503: 'SERVICE_UNAVAILABLE',
}

/** How a stream is connected, and connected again. */
export interface StreamConnection {
  /** Connects after the event of that id; undefined at the first time. */
  open(lastId: string | undefined): Promise<AsyncIterable<Buffer>>
  /** Seconds until the next try, or undefined where another one is of no use. */
  waitSeconds(error: unknown, attempt: number): number | undefined
  /** Tries in all before the first connection stands; after it there is no end. */
  attempts: number
  signal: AbortSignal | undefined
  /** Told each time that a connection stands. */
  onOpen: (() => void) | undefined
}

/** Between a connection that ended and the next one. */
const RECONNECT_MS = 500

/** Reads a stream forever: where the connection ends, it goes on after the last event that came. */
export async function* readStream(connection: StreamConnection, lastId?: string): AsyncGenerator<string> {
  const { signal, attempts, waitSeconds, onOpen } = connection
  let last = lastId
  let failures = 0
  let hasBegun = false
  while (!signal?.aborted) {
    try {
      for await (const { id, data } of messagesOf(await connection.open(last))) {
        if (id !== '' && id !== last) last = id
        if (data !== '') yield data
        else if (id !== '') onOpen?.()
        failures = 0
        hasBegun = true
      }
      failures = 1
      // Whatever ends each connection at once must not be asked again without a pause.
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
    } catch (error) {
      if (signal?.aborted) return
      failures += 1
      const wait = hasBegun || failures < attempts ? waitSeconds(error, failures) : undefined
      if (wait === undefined) throw error
      await sleep(wait * 1000, undefined, { signal }).catch(() => undefined)
    }
  }
}
