import { type H3Event, HTTPResponse } from 'h3'
import { contract } from '../../core/contract/contract.ts'
import type { Route } from '../../core/route.ts'

/**
 * Creates cross-origin access: pages of the allowed origins can call the API with a token, but without cookies.
 * @param origins exact origins, such as https://app.example.com; none by default
 */
export function createCors(origins: readonly string[] = []) {
  const allowed = new Set(origins)
  return {
    /** Determines the CORS headers of the response, for `corsHeaders`. Call it before the request is handled. */
    onRequest(event: H3Event): void {
      if (allowed.size === 0 || !event.url.pathname.startsWith('/v1/')) return
      const origin = event.req.headers.get('origin')
      event.context.corsHeaders =
        origin !== null && allowed.has(origin)
          ? { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED }
          : {}
    },
    /** Returns the response to a preflight from an allowed origin, or `undefined` for any other request. */
    respondToPreflight(event: H3Event): HTTPResponse | undefined {
      const isAllowed = corsHeaders(event)?.['access-control-allow-origin'] !== undefined
      if (!isAllowed || event.req.method !== 'OPTIONS') return undefined
      if (!event.req.headers.has('access-control-request-method')) return undefined
      return new HTTPResponse(null, { status: 204, headers: PREFLIGHT })
    },
  }
}

/**
 * Returns the CORS headers of a response: empty for an origin that is not allowed, and `undefined` if the response does
 * not depend on the origin.
 */
export function corsHeaders(event: H3Event): Record<string, string> | undefined {
  return event.context.corsHeaders as Record<string, string> | undefined
}

/** The response headers that cross-origin scripts can read, in addition to those that browsers always allow. */
const EXPOSED = 'ETag, Retry-After, X-Correlation-Id'

const routes: Route[] = Object.values(contract).flatMap((operations): Route[] => Object.values(operations))

/** The request headers of the API that a browser sends to another origin only with permission. */
const requestHeaders = [
  'authorization',
  'content-type',
  'x-api-key',
  'x-correlation-id',
  'x-time-zone',
  ...routes.flatMap(({ headers }) => Object.keys(headers?.shape ?? {})),
]

const PREFLIGHT = {
  'access-control-allow-methods': [...new Set(routes.map(({ method }) => method))].join(', '),
  'access-control-allow-headers': [...new Set(requestHeaders)].join(', '),
  // The longest time that Chromium accepts: two hours.
  'access-control-max-age': '7200',
}
