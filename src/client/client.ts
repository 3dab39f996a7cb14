import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Agent, type Dispatcher, errors, request } from 'undici'
import { type Contract, contract } from '../core/contract/contract.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { Route, RouteCall, RouteResult } from '../core/route.ts'
import {
  ApiError,
  ConnectionError,
  DEFAULT_TIMEOUT_SECONDS,
  ForeignServerError,
  MAX_TIMEOUT_SECONDS,
  TimeoutError,
} from './errors.ts'

export { ApiError, ConnectionError, ForeignServerError, TimeoutError } from './errors.ts'

export interface ClientOptions {
  /** Base address of the server, such as http://127.0.0.1:3000. */
  url: string
  token: string
  /** Tries in all for a request that is safe to repeat; 5 by default. */
  attempts?: number
  /**
   * Seconds without a sign of life before a try ends with a TimeoutError; 30 by default. They run for connecting, for
   * the beginning of an answer and between two pieces of a body, so what is large may take as long as it needs.
   */
  timeoutSeconds?: number
  /** Told before each wait for another try. */
  onRetry?: (reason: { error: Error; waitSeconds: number; attempt: number }) => void
}

export interface CallOptions {
  signal?: AbortSignal
  /** Told how the server answered, where the body alone does not say it: a create answers 201, or 200 for what was there. */
  onAnswer?: (answer: { status: number }) => void
  /** The caller knows that sending the same request again does no harm: it is tried again when an answer gets lost. */
  idempotent?: true
}

type Method<R extends Route> =
  Record<never, never> extends RouteCall<R>
    ? (call?: RouteCall<R>, options?: CallOptions) => Promise<RouteResult<R>>
    : (call: RouteCall<R>, options?: CallOptions) => Promise<RouteResult<R>>

/** The whole interface as typed methods: client.passes.get({ params: { id } }). */
export type Client = {
  [Resource in keyof Contract]: {
    [Operation in keyof Contract[Resource]]: Contract[Resource][Operation] extends Route
      ? Method<Contract[Resource][Operation]>
      : never
  }
} & {
  /**
   * Sends a request to any path, for what has no method here; answers whatever its success status.
   * @throws as every method does
   */
  request(request: RawRequest, options?: CallOptions): Promise<RawAnswer>
  close(): Promise<void>
}

export interface RawRequest {
  method: string
  /** With its query, from the slash on. */
  path: string
  headers?: Record<string, string>
  body?: Uint8Array
}

export interface RawAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Uint8Array
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
  const resources = Object.entries(contract).map(([resource, operations]) => [
    resource,
    Object.fromEntries(
      Object.entries(operations).map(([operation, route]) => [
        operation,
        (call: AnyCall = {}, callOptions: CallOptions = {}) =>
          send(route, call, { ...options, ...callOptions, timeoutSeconds, dispatcher }),
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

/** The pages of a list to its end, from the cursor of the query on. No more than one is held at a time. */
export async function* eachPage<P extends { nextCursor: string | null }, Q extends object>(
  list: (call: { query: Q & { cursor?: string } }) => Promise<P>,
  query: Q & { cursor?: string },
): AsyncGenerator<P> {
  let next: (Q & { cursor?: string }) | undefined = query
  while (next) {
    const page: P = await list({ query: next })
    yield page
    next = page.nextCursor === null ? undefined : { ...query, cursor: page.nextCursor }
  }
}

/** The items of a list to its end, 100 a page unless the query says otherwise. */
export async function* walk<T, Q extends object>(
  list: (call: {
    query: Q & { cursor?: string; limit?: number }
  }) => Promise<{ items: T[]; nextCursor: string | null }>,
  query: Q,
): AsyncGenerator<T> {
  for await (const page of eachPage(list, { limit: 100, ...query })) yield* page.items
}

interface AnyCall {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  headers?: Record<string, unknown>
  body?: unknown
  contentType?: string
}

interface SendOptions extends ClientOptions, CallOptions {
  timeoutSeconds: number
  dispatcher: Dispatcher
}

async function send(route: Route, call: AnyCall, options: SendOptions): Promise<unknown> {
  return withRetries(isIdempotentRoute(route), options, () => sendOnce(route, call, options))
}

async function sendRaw(raw: RawRequest, options: SendOptions): Promise<RawAnswer> {
  const { method, path, body } = raw
  const sent = { method, path, name: path, headers: { accept: '*/*', ...raw.headers }, body: body && Buffer.from(body) }
  return withRetries(method === 'GET' || method === 'DELETE', options, async () => {
    const { status, headers, bytes } = await exchange(sent, options)
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

async function sendOnce(route: Route, call: AnyCall, options: SendOptions): Promise<unknown> {
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
  options.onAnswer?.({ status })
  if (status === 200 && files?.includes(type)) return new Uint8Array(bytes)
  if (status === 204) return undefined
  const said = status < 300 ? parseJson(bytes.toString()) : undefined
  if (said !== undefined) return said
  throw apiError({ method, path, headers, status, isCodeOptional: route.errorsWithoutCode === true }, bytes)
}

interface SentRequest {
  method: string
  path: string
  /** The path as errors name it. */
  name: string
  headers: Record<string, string>
  body: Buffer | undefined
}

interface Answer {
  status: number
  headers: Dispatcher.ResponseData['headers']
  bytes: Buffer
}

/** One request and its answer, whatever its status. */
async function exchange({ method, path, name, headers, body }: SentRequest, options: SendOptions): Promise<Answer> {
  const { url, token, signal, timeoutSeconds, dispatcher } = options
  let answer: Dispatcher.ResponseData
  let bytes: Buffer
  try {
    answer = await request(url.replace(/\/+$/, '') + path, {
      method: method as Dispatcher.HttpMethod,
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        ...(body && { 'content-length': String(body.length) }),
      },
      body: body ? pieces(body) : null,
      dispatcher,
      signal,
    })
    bytes = Buffer.from(await answer.body.arrayBuffer())
    if (answer.headers['content-encoding'] === 'gzip') bytes = await promisify(gunzip)(bytes)
  } catch (error) {
    if (signal?.aborted) throw error
    if (timeouts.some((timeout) => error instanceof timeout)) {
      throw new TimeoutError(url, error, { timeoutSeconds, request: { method, path: name } })
    }
    throw new ConnectionError(url, error)
  }
  // A passes server names each of its answers; whatever another one says is not to be taken for success.
  if (answer.statusCode < 400 && !answer.headers['x-correlation-id']) throw new ForeignServerError(url)
  return { status: answer.statusCode, headers: answer.headers, bytes }
}

const timeouts = [errors.ConnectTimeoutError, errors.HeadersTimeoutError, errors.BodyTimeoutError]

const PIECE_BYTES = 64 * 1024

/** A large body in pieces: as long as the network takes one after another, the wait for the answer has not begun. */
function pieces(body: Buffer): Buffer | Readable {
  if (body.length <= PIECE_BYTES) return body
  const starts = Array.from({ length: Math.ceil(body.length / PIECE_BYTES) }, (_, index) => index * PIECE_BYTES)
  return Readable.from(starts.map((at) => body.subarray(at, at + PIECE_BYTES)))
}

function pathOf(route: Route, call: AnyCall): string {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(call.params?.[name])))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(call.query ?? {})) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined) query.append(name, String(item))
    }
  }
  return query.size > 0 ? `${path}?${query}` : path
}

function stringHeaders(headers: Record<string, unknown> = {}): Record<string, string> {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface Refusal {
  method: string
  path: string
  status: number
  headers: Answer['headers']
  /** Where bodies of errors may come without a code. */
  isCodeOptional: boolean
}

function apiError({ method, path, status, headers, isCodeOptional }: Refusal, bytes: Buffer): ApiError {
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

/** Seconds until the next try, or undefined where there is none: 429 and 503 say that nothing was done. */
function waitBeforeRetry(isIdempotent: boolean, error: unknown, attempt: number): number | undefined {
  const backoff = Math.min(0.2 * 2 ** (attempt - 1), 5) * (0.5 + Math.random() / 2)
  if (error instanceof ApiError) {
    if (error.status === 429 || error.status === 503) return error.retryAfterSeconds ?? backoff
    return [502, 504].includes(error.status) && isIdempotent ? backoff : undefined
  }
  return error instanceof ConnectionError && isIdempotent ? backoff : undefined
}

function isIdempotentRoute(route: Route): boolean {
  return route.method === 'GET' || route.method === 'DELETE' || route.idempotent === true
}
