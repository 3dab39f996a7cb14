import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Dispatcher, errors as Errors, Agent as UndiciAgent } from 'undici'
import type { ErrorCode } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { ApiError, ConnectionError, ForeignServerError, TimeoutError } from './client-errors.ts'

/**
 * Loads only the parts of undici that send requests. The index of undici would also load fetch, WebSocket, mocks, and
 * caches, and delay every command of the CLI by more than the time of a small request.
 */
const require = createRequire(import.meta.url)

/** The dispatcher of undici, which keeps connections to servers open. */
export const Agent: typeof UndiciAgent = require('undici/lib/dispatcher/agent.js')
const errors: typeof Errors = require('undici/lib/core/errors.js')

const api: {
  request(this: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
} = require('undici/lib/api/index.js')

/**
 * The bytes of a response that may wait to be read before it pauses. They are many, because undici 7 throws an uncaught
 * error if the connection ends during a pause (nodejs/undici#5360), for example when a server restarts.
 */
const MAX_UNREAD_BYTES = 16 * 2 ** 20

/** The options for sending a request once. */
export interface ExchangeOptions {
  url: string
  token: string
  signal?: AbortSignal
  timeoutSeconds: number
  dispatcher: Dispatcher
}

/** A request to send, with its body as bytes. */
export interface SentRequest {
  method: string
  path: string
  /** The path to show in error messages. */
  name: string
  headers: Record<string, string>
  body: Buffer | undefined
}

/** A response that was read completely. */
export interface Answer {
  status: number
  headers: Dispatcher.ResponseData['headers']
  bytes: Buffer
}

/** Reads a whole response. Decompresses gzip. */
export async function readAnswer(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  sent: SentRequest,
  options: ExchangeOptions,
): Promise<Answer> {
  try {
    const bytes = Buffer.from(await body.arrayBuffer())
    const isGzip = headers['content-encoding'] === 'gzip'
    return { status, headers, bytes: isGzip ? await promisify(gunzip)(bytes) : bytes }
  } catch (error) {
    throw connectionError(error, sent, options)
  }
}

/** Sends a request. Resolves with a response of any status as soon as it starts. */
export async function dispatch(sent: SentRequest, options: ExchangeOptions): Promise<Dispatcher.ResponseData> {
  const { method, path, headers, body } = sent
  const { url, token, signal, timeoutSeconds, dispatcher } = options
  let answer: Dispatcher.ResponseData
  try {
    const { origin, pathname, search } = new URL(url.replace(/\/+$/, '') + path)
    answer = await api.request.call(dispatcher, {
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
      highWaterMark: MAX_UNREAD_BYTES,
      signal,
    })
  } catch (error) {
    throw connectionError(error, sent, options)
  }
  // A passes server sends a correlation ID with each response. A success without a correlation ID is from another
  // server.
  if (answer.statusCode < 400 && !answer.headers['x-correlation-id']) {
    await readForeign(answer.body, sent, options)
    throw new ForeignServerError(url)
  }
  return answer
}

const MAX_FOREIGN_BYTES = 64 * 1024

/** Reads a response of another server, up to 64 KiB. Reports a timeout if the response stops before its end. */
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

/** Converts an error of undici to a ConnectionError. Returns it unchanged if the caller aborted the request. */
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

/** Splits a large body into chunks. The timeout of the response then starts after the last chunk was sent. */
function pieces(body: Buffer): Buffer | Readable {
  if (body.length <= PIECE_BYTES) return body
  const starts = Array.from({ length: Math.ceil(body.length / PIECE_BYTES) }, (_, index) => index * PIECE_BYTES)
  return Readable.from(starts.map((at) => body.subarray(at, at + PIECE_BYTES)))
}

/** Yields the chunks of a response body as they arrive. */
export async function* piecesOf({ body }: Dispatcher.ResponseData, sent: SentRequest, options: ExchangeOptions) {
  try {
    for await (const chunk of body) yield chunk as Buffer
  } catch (error) {
    throw connectionError(error, sent, options)
  }
}

/**
 * Creates the error for an error response, with the code and details from its body. If the body has no code, the code
 * is `INTERNAL_ERROR` or, if the endpoint can omit the code (`isCodeOptional`), the code for the status.
 */
export function apiError(
  { method, path }: SentRequest,
  { status, headers, bytes }: Answer,
  { isCodeOptional }: { isCodeOptional?: boolean | undefined } = {},
): ApiError {
  const retryAfter = Number(headers['retry-after'] ?? Number.NaN)
  const body = parseJson(bytes.toString()) ?? {}
  const known = body as { errorCode?: string; message?: string; correlationId?: string; details?: object }
  return new ApiError({
    status,
    code: known.errorCode ?? (isCodeOptional ? codeByStatus[status] : undefined) ?? 'INTERNAL_ERROR',
    message: known.message ?? `The server responded with ${status}, but the body does not match the API`,
    correlationId: known.correlationId ?? String(headers['x-correlation-id'] ?? ''),
    details: { ...known.details },
    request: { method, path },
    ...(Number.isFinite(retryAfter) && { retryAfterSeconds: retryAfter }),
  })
}

/** The error code of each HTTP status, for responses without a code. */
const codeByStatus: Record<number, ErrorCode> = {
  400: 'VALIDATION_ERROR',
  401: 'TOKEN_INVALID',
  403: 'FORBIDDEN',
  413: 'INVALID_INPUT',
  415: 'INVALID_INPUT',
  429: 'RATE_LIMITED',
  503: 'SERVICE_UNAVAILABLE',
}
