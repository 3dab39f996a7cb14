import type { Client } from '../../client/client.ts'
import { type Endpoint, endpoints, forEachEndpoint, pathOf } from '../../client/endpoints.ts'
import { eachPage } from '../../client/paginate.ts'
import type { Page } from '../../core/contract/schemas/common.ts'
import { parseJson } from '../../core/json.ts'
import type { Grant } from '../../core/rules/people/person-roles.ts'

/** The session of a person who signed in. The browser adds the session cookie to requests. */
export interface Session {
  email: string
  workspace: { id: string }
  roles: Grant[]
  /** The token for requests that change something. Other sites do not know it, so they cannot forge such requests. */
  csrfToken: string
}

/** An access token, or the session of a person. */
export type Access = string | Session

/** An entry of the audit log about a change of a pass. */
export interface HistoryEntry {
  id: string
  at: string
  actor: string
  action: string
}

/** The API for the page: each method sends one request without retries. */
export interface Api extends Omit<Client, 'request' | 'close'> {
  /** Lists the latest changes of a pass. Requires the session of a person. */
  listHistory(passId: string): Promise<Pick<Page<HistoryEntry>, 'items' | 'total'>>
  /** Requires the session of a person. */
  drawQr(text: string): Promise<{ svg: string }>
}

const history: Endpoint = { method: 'GET', path: '/desk/passes/{id}/history' }
const qr: Endpoint = { method: 'POST', path: '/desk/qr' }

export class ApiRejection extends Error {
  override readonly name = 'ApiRejection'
  readonly status: number
  /** The error code of the API; empty if the response has none. */
  readonly code: string
  /** The time in Retry-After, in milliseconds; `null` if the header is missing. */
  readonly waitMs: number | null
  readonly details: object

  constructor({
    status,
    code,
    message,
    waitMs,
    details = {},
  }: Pick<ApiRejection, 'status' | 'code' | 'message' | 'waitMs'> & { details?: object | undefined }) {
    super(message)
    this.status = status
    this.code = code
    this.waitMs = waitMs
    this.details = details
  }
}

const TIMEOUT_MS = 30_000

/**
 * Creates the typed API, which calls the page's server with the browser's fetch.
 * @param clock observes each response
 * @returns methods that throw ApiRejection for an error response, or an error of fetch if this server does not respond
 */
export function createApi(access: Access, clock: ServerClock): Api {
  const listHistory = (id: string) => request(history, { params: { id } }, access, clock)
  const drawQr = (text: string) => request(qr, { body: { text } }, access, clock)
  const methods = forEachEndpoint(
    (endpoint) =>
      (call: Call = {}) =>
        request(endpoint, call, access, clock),
  )
  return { ...methods, listHistory, drawQr } as Api
}

interface Call {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  headers?: Record<string, string>
  body?: unknown
}

async function request(endpoint: Endpoint, call: Call, access: Access, clock: ServerClock): Promise<unknown> {
  const answer = await ask(pathOf(endpoint, call), access, {
    method: endpoint.method,
    headers: { ...call.headers, ...(call.body !== undefined && { 'content-type': 'application/json' }) },
    ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  clock.observe(answer.headers.get('date'))
  const bytes = new Uint8Array(await answer.arrayBuffer())
  const isJson = (answer.headers.get('content-type') ?? '').startsWith('application/json')
  return isJson ? JSON.parse(new TextDecoder().decode(bytes)) : bytes
}

/** Streams the chunks of GET /v1/events. */
export async function* openEvents(access: Access, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const answer = await ask(endpoints.events.follow.path, access, { signal })
  const reader = answer.body!.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}

async function ask(path: string, access: Access, request: RequestInit): Promise<Response> {
  const isToken = typeof access === 'string'
  const answer = await fetch(`.${path}`, {
    ...request,
    headers: {
      ...request.headers,
      ...(isToken ? { authorization: `Bearer ${access}` } : { 'x-csrf-token': access.csrfToken }),
    },
    // Send no cookies with a token, cache nothing, and follow no redirects, which could leak the token.
    credentials: isToken ? 'omit' : 'same-origin',
    cache: 'no-store',
    redirect: 'error',
  })
  return requireOk(answer)
}

/** Returns a response of this server if it has no error. @throws ApiRejection, or a TypeError for another response */
export async function requireOk(answer: Response): Promise<Response> {
  // Without a correlation ID, the response comes from a proxy, for example while the server restarts. Treat this as no
  // response.
  if (!answer.headers.has('x-correlation-id'))
    throw new TypeError(`The response with status ${answer.status} is not from this server`)
  if (answer.ok) return answer
  const body = parseJson(await answer.text()) as { errorCode?: string; message?: string; details?: object } | undefined
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  throw new ApiRejection({
    status: answer.status,
    code: body?.errorCode ?? '',
    message: body?.message ?? String(answer.status),
    waitMs: Number.isFinite(seconds) ? seconds * 1000 : null,
    details: body?.details,
  })
}

/** The server's clock, learned from its responses, because the clock of a wall screen can be wrong by a day. */
export type ServerClock = ReturnType<typeof createServerClock>

/** The difference, in milliseconds, below which clocks count as equal. No figure needs more precision. */
const EQUAL_MS = 60_000

/** Creates a clock that shows the browser's time until a response has another time. */
export function createServerClock() {
  let aheadMs = 0
  return {
    now: () => new Date(Date.now() + aheadMs),
    /** Updates the clock from the Date header of a response. */
    observe(date: string | null): void {
      const ahead = Date.parse(date ?? '') - Date.now()
      if (!Number.isNaN(ahead)) aheadMs = Math.abs(ahead) < EQUAL_MS ? 0 : ahead
    },
  }
}

/** The maximum page size of the API. */
const PAGE = 100

/** The maximum number of items that `listAll` loads, because more items would take too long. */
const MOST = 1000

/** Lists the items of all pages, at most the first 1,000, and returns them with the total. */
export async function listAll<T, Q extends object>(
  list: (call: {
    query: Q & { cursor?: string; limit?: number }
  }) => Promise<Pick<Page<T>, 'items' | 'total' | 'nextCursor'>>,
  query: Q,
): Promise<Pick<Page<T>, 'items' | 'total'>> {
  const all: Pick<Page<T>, 'items' | 'total'> = { items: [], total: 0 }
  for await (const { items, total } of eachPage(list, { limit: PAGE, ...query })) {
    all.items.push(...items)
    all.total = total
    if (all.items.length >= MOST) break
  }
  return all
}
