import { setTimeout as sleep } from 'node:timers/promises'
import type { Contract } from '../core/contract/contract.ts'
import { parseJson } from '../core/json.ts'
import type { Route, RouteCall, RouteResult } from '../core/route.ts'
import { type Endpoint, endpoints, pathOf } from './endpoints.ts'
import { ApiError, ConnectionError, DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS } from './errors.ts'
import { Agent, apiError, bodyOf, dispatch, type ExchangeOptions, exchange, piecesOf, readStream } from './exchange.ts'

export { ApiError, ConnectionError, ForeignServerError, TimeoutError } from './errors.ts'
export { eachPage, paginate } from './pages.ts'

/** How a client reaches its server. */
export interface ClientOptions {
  /** Base address of the server, such as http://127.0.0.1:3000. */
  url: string
  token: string
  /**
   * Tries in all for a request that is safe to repeat; 5 by default. Before try n + 1 it waits 0.2 s × 2^(n - 1), 5 s at most,
   * of which a random half to whole, or as long as Retry-After says.
   */
  attempts?: number
  /**
   * Seconds without a sign of life before a try ends with a TimeoutError; 30 by default. They run for connecting, for
   * the beginning of an answer and between two pieces of a body, so what is large may take as long as it needs.
   */
  timeoutSeconds?: number
  /** Told before each wait for another try. */
  onRetry?: (reason: { error: Error; waitSeconds: number; attempt: number }) => void
}

/** How one call is made. */
export interface CallOptions {
  signal?: AbortSignal
  /** Told how the server answered, where the body alone does not say it: a create answers 201, or 200 for what was there. */
  onResponse?: (answer: { status: number }) => void
  /** The caller knows that sending the same request again does no harm: it is tried again when an answer gets lost. */
  idempotent?: true
}

/** How a stream of events is followed. */
export interface FollowOptions extends Pick<CallOptions, 'signal'> {
  /** Told each time that a connection stands: at the beginning, and whenever one was lost. */
  onOpen?: () => void
}

/**
 * Each event of a stream, forever: where the connection ends, it is made again after the last event that came, so that
 * each comes once. It ends when the signal does, or the loop is left.
 * @throws ApiError when the server refuses for good, such as for a token that has ended; ConnectionError where no server
 * answers at the beginning
 */
type Follow<R extends Route> = (call?: RouteCall<R>, options?: FollowOptions) => AsyncGenerator<RouteResult<R>>

type Method<R extends Route> =
  Record<never, never> extends RouteCall<R>
    ? (call?: RouteCall<R>, options?: CallOptions) => Promise<RouteResult<R>>
    : (call: RouteCall<R>, options?: CallOptions) => Promise<RouteResult<R>>

/** The whole interface as typed methods: client.passes.get({ params: { id } }). */
export type Client = {
  [Resource in keyof Contract]: {
    [Operation in keyof Contract[Resource]]: Contract[Resource][Operation] extends Route
      ? Contract[Resource][Operation] extends { eventStream: true }
        ? Follow<Contract[Resource][Operation]>
        : Method<Contract[Resource][Operation]>
      : never
  }
} & {
  /**
   * Sends a request to any path, for what has no method here; answers whatever its success status.
   * @throws as every method does
   */
  request(request: RawRequest, options?: CallOptions): Promise<RawResponse>
  close(): Promise<void>
}

/** A request as it is, beside the typed methods. */
export interface RawRequest {
  method: string
  /** With its query, from the slash on. */
  path: string
  headers?: Record<string, string>
  body?: Uint8Array
}

/** The answer to a raw request, whatever its status. */
export interface RawResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Empty where the answer is a stream. */
  body: Uint8Array
  /** Server-sent events as they come, where the answer is a stream of them: read it to its end, or leave the loop. */
  stream?: AsyncIterable<Uint8Array>
}

/**
 * A client for one server and token. Methods resolve to the body of the answer.
 * @throws ApiError when the server refuses, ConnectionError when it does not answer (TimeoutError: not in time), or
 * something else does; RangeError for a time limit that is none.
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
  const resources = Object.entries(endpoints).map(([resource, operations]) => [
    resource,
    Object.fromEntries(
      Object.entries(operations).map(([operation, endpoint]: [string, Endpoint]) => [
        operation,
        (call: AnyCall = {}, callOptions: CallOptions & FollowOptions = {}) =>
          (endpoint.eventStream ? follow : send)(endpoint, call, {
            ...options,
            ...callOptions,
            timeoutSeconds,
            dispatcher,
          }),
      ]),
    ),
  ])
  return {
    ...Object.fromEntries(resources),
    request: (raw: RawRequest, callOptions: CallOptions = {}) =>
      sendRaw(raw, { ...options, ...callOptions, timeoutSeconds, dispatcher }),
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

/** Heartbeats come twice in that time. */
const MIN_STREAM_TIMEOUT_SECONDS = 35

async function* follow(route: Endpoint, call: AnyCall, options: SendOptions & FollowOptions): AsyncGenerator<unknown> {
  const { method } = route
  const { 'last-event-id': lastId, ...given } = stringHeaders(call.headers)
  const timeoutSeconds = Math.max(options.timeoutSeconds, MIN_STREAM_TIMEOUT_SECONDS)
  const connection = {
    attempts: options.attempts ?? 5,
    signal: options.signal,
    onOpen: options.onOpen,
    waitSeconds: (error: unknown, attempt: number) => waitBeforeRetry(true, error, attempt),
    async open(last: string | undefined) {
      const headers = {
        ...given,
        accept: 'text/event-stream, application/json',
        ...(last && { 'last-event-id': last }),
      }
      const sent = { method, path: pathOf(route, call), name: route.path, headers, body: undefined }
      const answer = await dispatch(sent, { ...options, timeoutSeconds })
      if (answer.statusCode === 200) return piecesOf(answer, sent, { ...options, timeoutSeconds })
      const bytes = Buffer.from(await answer.body.arrayBuffer())
      const rejection = { method, path: sent.path, headers: answer.headers, status: answer.statusCode }
      throw apiError({ ...rejection, isCodeOptional: false }, bytes)
    },
  }
  for await (const data of readStream(connection, lastId)) yield JSON.parse(data)
}

async function sendRaw(raw: RawRequest, options: SendOptions): Promise<RawResponse> {
  const { method, path, body } = raw
  const sent = { method, path, name: path, headers: { accept: '*/*', ...raw.headers }, body: body && Buffer.from(body) }
  return withRetries(method === 'GET' || method === 'DELETE', options, async () => {
    const answer = await dispatch(sent, options)
    const { statusCode: status, headers } = answer
    if (status === 200 && String(headers['content-type'] ?? '').startsWith('text/event-stream')) {
      return { status, headers, body: new Uint8Array(), stream: piecesOf(answer, sent, options) }
    }
    const bytes = await bodyOf(answer, sent, options)
    if (status >= 400) throw apiError({ method, path, headers, status, isCodeOptional: true }, bytes)
    return { status, headers, body: new Uint8Array(bytes) }
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
      await sleep(wait * 1000, undefined, { signal: options.signal })
    }
  }
}

async function sendOnce(route: Endpoint, call: AnyCall, options: SendOptions): Promise<unknown> {
  const { method, files } = route
  const path = pathOf(route, call)
  const isRaw = route.rawBody !== undefined
  const body = call.body === undefined ? undefined : isRaw ? (call.body as Uint8Array) : JSON.stringify(call.body)
  const sent = {
    method,
    path,
    name: route.path,
    headers: {
      ...stringHeaders(call.headers),
      accept: ['application/json', ...(files ?? [])].join(', '),
      ...(route.compressed && { 'accept-encoding': 'gzip' }),
      ...(body !== undefined && { 'content-type': isRaw ? call.contentType! : 'application/json' }),
    },
    body: body === undefined ? undefined : Buffer.from(body),
  }
  const { status, headers, bytes } = await exchange(sent, options)
  const type = String(headers['content-type'] ?? '').split(';')[0]!
  options.onResponse?.({ status })
  if (status === 200 && files?.includes(type)) return new Uint8Array(bytes)
  if (status === 204) return undefined
  const said = status < 300 ? parseJson(bytes.toString()) : undefined
  if (said !== undefined) return said
  throw apiError({ method, path, headers, status, isCodeOptional: route.errorsWithoutCode === true }, bytes)
}

function stringHeaders(headers: Record<string, unknown> = {}): Record<string, string> {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}

/** Seconds until the next try, or undefined where there is none: 429 and 503 say that nothing was done. */
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
