import { z } from 'zod'
import { parseAs } from '../resource.ts'

/**
 * What a failed call means for whoever made it:
 * - `quota`: too many requests, or too many notifying messages on one object; later it may work
 * - `permission`: the service account may not do this; an operator has to act
 * - `missing`: there is no such object, or no such class for a new object
 * - `conflict`: it exists already
 * - `invalid`: Google takes no such payload; the template has to change
 * - `unavailable`: no answer, or one that says nothing about the request; whether it took effect is not known
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

/** A call that did not succeed. Holds nothing of the request, so that it can be logged. */
export class GoogleApiError extends Error {
  override readonly name = 'GoogleApiError'
  readonly kind: GoogleErrorKind
  /** The HTTP status; null where no answer came. */
  readonly status: number | null
  /** Google's own word for it, such as quotaExceeded; null where it gave none. */
  readonly reason: string | null
  /** Before that, another try is in vain. */
  readonly retryAfterSeconds: number | undefined

  constructor({ kind, message, status, reason, retryAfterSeconds, cause }: Details) {
    super(message, { cause })
    this.kind = kind
    this.status = status ?? null
    this.reason = reason ?? null
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** True where another try may well succeed; everything else is refused until somebody changes something. */
export function isPassing(error: unknown): boolean {
  return !(error instanceof GoogleApiError) || error.kind === 'quota' || error.kind === 'unavailable'
}

/** True where Google takes no such payload: it is refused for good. */
export function isRefused(error: unknown): error is GoogleApiError {
  return error instanceof GoogleApiError && error.kind === 'invalid'
}

const MAX_MESSAGE = 500

/** The Wallet API says `{error: {…}}`, the token endpoint `{error: 'invalid_grant', error_description: '…'}`. */
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

/** An answer that is no success, as the error that it stands for. */
export function rejection(status: number, headers: Record<string, unknown>, text: string): GoogleApiError {
  const body = parseAs(ErrorBody, text)
  const error = body?.error
  const isOAuth = typeof error === 'string'
  const reason = isOAuth ? error : (error?.errors?.[0]?.reason ?? error?.status)
  const explanation = isOAuth ? body?.error_description : error?.message
  const summary = [`Google answered ${status}`, reason && ` (${reason})`, explanation && `: ${explanation}`]
  return new GoogleApiError({
    kind: kindOf(status, reason),
    message: summary.filter(Boolean).join('').slice(0, MAX_MESSAGE),
    status,
    reason,
    retryAfterSeconds: retryAfter(headers),
  })
}

// The cap on notifying messages answers 403, and the general rate limits are documented with either status.
const quotaReasons = new Set(['quotaExceeded', 'rateLimitExceeded', 'userRateLimitExceeded'])

function kindOf(status: number, reason: string | undefined): GoogleErrorKind {
  if (status === 429 || (status === 403 && quotaReasons.has(reason ?? ''))) return 'quota'
  if (status === 401 || status === 403) return 'permission'
  if (status === 404) return 'missing'
  if (status === 409) return 'conflict'
  return status >= 400 && status < 500 && status !== 408 ? 'invalid' : 'unavailable'
}

/** Retry-After is a number of seconds, or a date that is only worth something beside the clock of the sender. */
function retryAfter(headers: Record<string, unknown>): number | undefined {
  const value = String(headers['retry-after'] ?? '')
  if (/^\d{1,9}$/.test(value)) return Number(value)
  const seconds = Math.ceil((Date.parse(value) - Date.parse(String(headers.date))) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0)
}
