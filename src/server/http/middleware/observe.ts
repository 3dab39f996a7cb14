import { randomUUID } from 'node:crypto'
import type { H3Event } from 'h3'
import type { Services } from '../../context.ts'

/**
 * Returns the correlation ID of the request: the ID that the client sent, if it is valid, else a new ID. All jobs,
 * events, and log lines that the request causes have this ID.
 */
export function correlationIdOf(event: H3Event): string {
  const context = event.context as { correlationId?: string }
  context.correlationId ??= usable(event.req.headers.get('x-correlation-id')) ?? randomUUID()
  return context.correlationId
}

/**
 * Matches an access or session token, which is not accepted as a correlation ID. Otherwise, a token in the wrong header
 * would be logged, stored, and sent to webhooks.
 */
const TOKEN = /psk_[0-9A-Za-z]{38}|pss_[A-Za-z0-9_-]{43}/

function usable(given: string | null): string | undefined {
  const isUsable = given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) && !TOKEN.test(given)
  return isUsable ? given : undefined
}

interface Observed {
  startedAt?: number
  caller?: { workspaceId: string } & ({ tokenId: string } | { personId: string })
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
export const readingMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The catch-all route, for paths that match no other route. */
const UNKNOWN = '/**'

/**
 * Counts and logs responses. Requests that can change data are logged at info, and reads at debug. Rejections are
 * logged at debug, too, because they are also in the security log. A log line contains the route, but not the path,
 * query, or body, which contain IDs and link tokens.
 */
export function createObserve(
  { metrics, log }: Pick<Services, 'metrics' | 'log'>,
  addressOf: (event: H3Event) => string,
) {
  return {
    onRequest(event: H3Event): void {
      observed(event).startedAt = performance.now()
    },
    onResponse({ status }: Response, event: H3Event): void {
      const { startedAt = performance.now(), caller } = observed(event)
      const milliseconds = performance.now() - startedAt
      const route = routeOf(event)
      const method = methods.has(event.req.method) ? event.req.method : 'other'
      metrics.requests.inc({ method, route, status })
      metrics.requestSeconds.observe({ method, route }, milliseconds / 1000)
      const isRejected = status === 429 || status === 503 || (status >= 400 && !caller)
      const level = readingMethods.has(method) || isRejected ? 'debug' : 'info'
      if (!log.isLevelEnabled(level)) return
      const ms = Math.round(milliseconds * 10) / 10
      const address = addressOf(event)
      log[level]({ correlationId: correlationIdOf(event), method, route, status, ms, address, ...caller }, 'request')
    },
  }
}

/** Returns the route of a request as the API description writes it, with `{id}` instead of `:id`. */
export function routeOf(event: H3Event): string {
  const pattern = event.context.matchedRoute?.route ?? UNKNOWN
  return pattern === UNKNOWN ? 'unknown' : pattern.replaceAll(/:(\w+)/g, '{$1}')
}

export function noteCaller(event: H3Event, { id, workspaceId, person }: NotedCaller): void {
  observed(event).caller = { ...(person ? { personId: id } : { tokenId: id }), workspaceId }
}

interface NotedCaller {
  id: string
  workspaceId: string
  person?: unknown
}

export function callerOf(event: H3Event): Observed['caller'] {
  return observed(event).caller
}

function observed(event: H3Event): Observed {
  return event.context as Observed
}
