import { z } from 'zod'
import { parseAs } from '../resource.ts'

/**
 * The meaning of a failed call:
 * - `quota`: too many requests, or too many notifying messages on one object; retry later
 * - `permission`: the service account lacks permission; an operator has to act
 * - `missing`: the object does not exist, or the object is new and its class does not exist
 * - `conflict`: a resource with the ID already exists
 * - `invalid`: Google rejects the content; the template has to be changed
 * - `unavailable`: there is no response, or the response does not show whether the request took effect
 */
export type GoogleErrorKind = 'quota' | 'permission' | 'missing' | 'conflict' | 'invalid' | 'unavailable'

interface Details {
  kind: GoogleErrorKind
  message: string
  status?: number
  reason?: string
  retryAfterSeconds?: number
  cause?: unknown
}

/** A failed call. The error contains no part of the request, so it can be logged. */
export class GoogleApiError extends Error {
  override readonly name = 'GoogleApiError'
  readonly kind: GoogleErrorKind
  /** The HTTP status, or `null` without a response. */
  readonly status: number | null
  /** Google's reason, such as quotaExceeded, or `null` if there is none. */
  readonly reason: string | null
  readonly retryAfterSeconds: number | undefined

  constructor({ kind, message, status, reason, retryAfterSeconds, cause }: Details) {
    super(message, { cause })
    this.kind = kind
    this.status = status ?? null
    this.reason = reason ?? null
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Whether a retry can succeed. Any other error recurs until a person fixes its cause. */
export function isPassing(error: unknown): boolean {
  return !(error instanceof GoogleApiError) || error.kind === 'quota' || error.kind === 'unavailable'
}

export function isRejected(error: unknown): error is GoogleApiError {
  return error instanceof GoogleApiError && error.kind === 'invalid'
}

const MAX_MESSAGE = 500

/** The Wallet API returns `{error: {…}}`, and the token endpoint `{error: 'invalid_grant', error_description: '…'}`. */
const ErrorBody = z.object({
  error: z.union([
    z.string(),
    z.object({
      message: z.string().optional(),
      status: z.string().optional(),
      errors: z.array(z.object({ reason: z.string().optional() })).optional(),
    }),
  ]),
  error_description: z.string().optional(),
})

export function rejection(status: number, headers: Record<string, unknown>, text: string): GoogleApiError {
  const body = parseAs(ErrorBody, text)
  const error = body?.error
  const isOAuth = typeof error === 'string'
  const reason = isOAuth ? error : (error?.errors?.[0]?.reason ?? error?.status)
  const explanation = isOAuth ? body?.error_description : error?.message
  const summary = [`Google responded with ${status}`, reason && ` (${reason})`, explanation && `: ${explanation}`]
  return new GoogleApiError({
    kind: kindOf(status, reason),
    message: summary.filter(Boolean).join('').slice(0, MAX_MESSAGE),
    status,
    reason,
    retryAfterSeconds: retryAfter(headers),
  })
}

// The reasons that mean `quota`. Google responds with 403 if an object has too many notifying messages, and, as
// documented, with 403 or 429 if a general rate limit is reached.
const quotaReasons = new Set(['quotaExceeded', 'rateLimitExceeded', 'userRateLimitExceeded'])

function kindOf(status: number, reason: string | undefined): GoogleErrorKind {
  if (status === 429 || (status === 403 && quotaReasons.has(reason ?? ''))) return 'quota'
  if (status === 401 || status === 403) return 'permission'
  if (status === 404) return 'missing'
  if (status === 409) return 'conflict'
  return status >= 400 && status < 500 && status !== 408 ? 'invalid' : 'unavailable'
}

/** The maximum of Retry-After, because a wrong value would otherwise delay the updates of a pass for years. */
const MAX_RETRY_AFTER_SECONDS = 3600

/**
 * Returns the seconds of Retry-After, at most an hour. If Retry-After is a date, counts the seconds since the date of
 * the response.
 */
function retryAfter(headers: Record<string, unknown>): number | undefined {
  const value = String(headers['retry-after'] ?? '')
  const isNumber = /^\d+$/.test(value)
  const seconds = isNumber ? Number(value) : (Date.parse(value) - Date.parse(String(headers.date))) / 1000
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), MAX_RETRY_AFTER_SECONDS)
}

/** Returns the rejection of an object or a class, to show to people who design templates. */
export function rejectionOf({ message }: Error, at: Date) {
  return { platform: 'google', code: 'GOOGLE_API_FAILED', message, at } as const
}
