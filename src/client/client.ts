import { setTimeout as sleep } from 'node:timers/promises'
import { parseJson } from '../core/json.ts'
import { ApiError, ConnectionError, DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS } from './client-errors.ts'
import { type Endpoint, forEachEndpoint, pathOf } from './endpoints.ts'
import { Agent, apiError, dispatch, type ExchangeOptions, piecesOf, readAnswer } from './exchange.ts'
import { messagesOf } from './stream-messages.ts'
import type { CallOptions, FollowOptions, Methods } from './types.ts'

export { ApiError, ConnectionError, ForeignServerError, TimeoutError } from './client-errors.ts'
export { eachPage, paginate } from './paginate.ts'
export type * from './types.ts'

/** Options of a client. */
export interface ClientOptions {
  /** The base URL of the server, such as http://127.0.0.1:3000. */
  url: string
  token: string
  /**
   * The maximum number of tries of a request that is safe to repeat; 5 by default. After try n, the client waits 0.2 s
   * × 2^(n - 1), at most 5 s, reduced at random by up to half. Retry-After takes precedence.
   */
  attempts?: number
  /**
   * The timeout of a try, in seconds; 30 by default. The timeout applies separately to the connection, the start of the
   * response, and each chunk of the body, so a large body can take longer.
   */
  timeoutSeconds?: number
  /** Called before each wait for another try. */
  onRetry?: (reason: { error: Error; waitSeconds: number; attempt: number }) => void
}

/** A client of the API. It has a typed method for each endpoint, and `request` for any path. */
export interface Client extends Methods {
  /**
   * Sends a request to any path, for endpoints without a typed method. Resolves for any success status.
   * @throws the same errors as every method
   */
  request(request: RawRequest, options?: CallOptions): Promise<RawResponse>
  close(): Promise<void>
}

/** A request to any path, without types. */
export interface RawRequest {
  method: string
  /** The path from the leading slash, including the query. */
  path: string
  headers?: Record<string, string>
  body?: Uint8Array
}

/** The response to a raw request, with any success status. */
export interface RawResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** The whole body. Empty if the response is a stream. */
  body: Uint8Array
  /** The chunks of an event stream. The connection closes when the loop over the chunks ends. */
  stream?: AsyncIterable<Uint8Array>
}

/**
 * Creates a client for one server and token. Methods resolve to the body of the response.
 * @throws ApiError if the server rejects the request
 * @throws ConnectionError if no passes server responds; its subclass TimeoutError if the server takes too long
 * @throws RangeError for an invalid timeout
 */
export function createClient(options: ClientOptions): Client {
  const { timeoutSeconds = DEFAULT_TIMEOUT_SECONDS } = options
  if (!(timeoutSeconds > 0 && timeoutSeconds <= MAX_TIMEOUT_SECONDS)) {
    throw new RangeError(`timeoutSeconds must be more than 0 and at most ${MAX_TIMEOUT_SECONDS}`)
  }
  const timeout = timeoutSeconds * 1000
  const dispatcher = new Agent({
    keepAliveTimeout: 10_000,
    connections: 16,
    connect: { timeout },
    headersTimeout: timeout,
    bodyTimeout: timeout,
  })
  const given = (callOptions: CallOptions & FollowOptions = {}) => {
    return { ...options, ...callOptions, timeoutSeconds, dispatcher }
  }
  return {
    ...forEachEndpoint(
      (endpoint) =>
        (call: AnyCall = {}, callOptions?: CallOptions & FollowOptions) =>
          (endpoint.eventStream ? follow : send)(endpoint, call, given(callOptions)),
    ),
    request: (raw: RawRequest, callOptions?: CallOptions) => sendRaw(raw, given(callOptions)),
    close: () => dispatcher.close(),
  } as Client
}

interface AnyCall {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  headers?: Record<string, unknown>
  body?: unknown
  contentType?: string
}

type SendOptions = ClientOptions & CallOptions & ExchangeOptions

async function send(route: Endpoint, call: AnyCall, options: SendOptions): Promise<unknown> {
  return withRetries(isIdempotentRoute(route), options, () => sendOnce(route, call, options))
}

/** The minimum timeout of an event stream, in seconds. The server sends at least two heartbeats within this time. */
const MIN_STREAM_TIMEOUT_SECONDS = 35

/** The wait between two connections of an event stream, in milliseconds. */
const RECONNECT_MS = 500

async function* follow(route: Endpoint, call: AnyCall, options: SendOptions & FollowOptions): AsyncGenerator<unknown> {
  const { signal, attempts = 5, onOpen } = options
  let { 'last-event-id': last, ...headers } = stringHeaders(call.headers)
  let failures = 0
  let hasBegun = false
  while (!signal?.aborted) {
    try {
      const sentHeaders = last ? { ...headers, 'last-event-id': last } : headers
      for await (const { id, data } of messagesOf(await openStream(route, call, sentHeaders, options))) {
        if (id !== '' && id !== last) last = id
        if (data !== '') yield JSON.parse(data)
        else if (id !== '') onOpen?.()
        failures = 0
        hasBegun = true
      }
      failures = 1
      // Wait: otherwise, a server that ends each connection immediately would be flooded with new connections.
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
    } catch (error) {
      if (signal?.aborted) return
      failures += 1
      const wait = hasBegun || failures < attempts ? waitBeforeRetry(true, error, failures) : undefined
      if (wait === undefined) throw error
      await sleep(wait * 1000, undefined, { signal }).catch(() => undefined)
    }
  }
}

async function openStream(route: Endpoint, call: AnyCall, headers: Record<string, string>, options: SendOptions) {
  const { method, path: name } = route
  const patient = { ...options, timeoutSeconds: Math.max(options.timeoutSeconds, MIN_STREAM_TIMEOUT_SECONDS) }
  const accept = 'text/event-stream, application/json'
  const sent = { method, path: pathOf(route, call), name, headers: { ...headers, accept }, body: undefined }
  const response = await dispatch(sent, patient)
  if (response.statusCode === 200) return piecesOf(response, sent, patient)
  throw apiError(sent, await readAnswer(response, sent, patient))
}

async function sendRaw(raw: RawRequest, options: SendOptions): Promise<RawResponse> {
  const { method, path, body } = raw
  const sent = { method, path, name: path, headers: { accept: '*/*', ...raw.headers }, body: body && Buffer.from(body) }
  return withRetries(method === 'GET' || method === 'DELETE', options, async () => {
    const response = await dispatch(sent, options)
    const { statusCode: status, headers } = response
    if (status === 200 && String(headers['content-type'] ?? '').startsWith('text/event-stream')) {
      return { status, headers, body: new Uint8Array(), stream: piecesOf(response, sent, options) }
    }
    const answer = await readAnswer(response, sent, options)
    if (status >= 400) throw apiError(sent, answer, { isCodeOptional: true })
    return { status, headers, body: new Uint8Array(answer.bytes) }
  })
}

async function withRetries<T>(isIdempotent: boolean, options: SendOptions, once: () => Promise<T>): Promise<T> {
  const attempts = options.attempts ?? 5
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once()
    } catch (error) {
      const mayRepeat = options.idempotent === true || isIdempotent
      const wait = attempt < attempts ? waitBeforeRetry(mayRepeat, error, attempt) : undefined
      if (wait === undefined || options.signal?.aborted) throw error
      options.onRetry?.({ error: error as Error, waitSeconds: wait, attempt })
      // The wait rejects only if the caller aborts. Throw the caller's reason, as during a request.
      await sleep(wait * 1000, undefined, { signal: options.signal }).catch(() => options.signal?.throwIfAborted())
    }
  }
}

async function sendOnce(route: Endpoint, call: AnyCall, options: SendOptions): Promise<unknown> {
  const { method, path: name, files } = route
  const isRaw = route.rawBody !== undefined
  const body = call.body === undefined ? undefined : isRaw ? (call.body as Uint8Array) : JSON.stringify(call.body)
  const sent = {
    method,
    path: pathOf(route, call),
    name,
    headers: {
      ...stringHeaders(call.headers),
      accept: ['application/json', ...(files ?? [])].join(', '),
      ...(route.compressed && { 'accept-encoding': 'gzip' }),
      ...(body !== undefined && { 'content-type': isRaw ? call.contentType! : 'application/json' }),
    },
    body: body === undefined ? undefined : Buffer.from(body),
  }
  const answer = await readAnswer(await dispatch(sent, options), sent, options)
  const { status, headers, bytes } = answer
  const type = String(headers['content-type'] ?? '').split(';')[0]!
  options.onResponse?.({ status })
  if (status === 200 && files?.includes(type)) return new Uint8Array(bytes)
  if (status === 204) return undefined
  const parsed = status < 300 ? parseJson(bytes.toString()) : undefined
  if (parsed !== undefined) return parsed
  throw apiError(sent, answer, { isCodeOptional: route.errorsWithoutCode })
}

function stringHeaders(headers: Record<string, unknown> = {}): Record<string, string> {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}

/**
 * Returns the seconds until the next try, or `undefined` if the request must not be repeated. A request that failed
 * with 429 or 503 had no effect, so it is always safe to repeat.
 */
function waitBeforeRetry(isIdempotent: boolean, error: unknown, attempt: number): number | undefined {
  const backoff = Math.min(0.2 * 2 ** (attempt - 1), 5) * (0.5 + Math.random() / 2)
  if (error instanceof ApiError) {
    if (error.status === 429 || error.status === 503) return error.retryAfterSeconds ?? backoff
    return [502, 504].includes(error.status) && isIdempotent ? backoff : undefined
  }
  return error instanceof ConnectionError && isIdempotent ? backoff : undefined
}

function isIdempotentRoute(route: Endpoint): boolean {
  return route.method === 'GET' || route.method === 'DELETE' || route.idempotent === true
}
