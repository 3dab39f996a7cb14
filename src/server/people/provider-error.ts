import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'

export type SignInFailure = 'unavailable' | 'denied' | 'rejected'

/** A failed exchange with the provider. Contains no values that the provider sent, except a code. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly failure: SignInFailure
  /** The code of the error, for the log. */
  readonly reason: string

  constructor(failure: SignInFailure, reason: string) {
    super(`The sign-in failed: ${reason}`)
    this.failure = failure
    this.reason = reason
  }
}

/** Runs work with the provider. @throws ProviderError for every error */
export async function onProvider<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toProviderError(error)
  }
}

/**
 * The codes of errors that a person cannot fix with another sign-in: the provider timed out, its response or its
 * configuration was not as specified, or it rejected this client.
 */
const UNAVAILABLE =
  /^(OAUTH_(RESPONSE_IS_NOT_|PARSE_ERROR|TIMEOUT|MISSING_SERVER_METADATA|WWW_AUTHENTICATE)|ERR_JWKS_TIMEOUT|ERR_JOSE_GENERIC)/

/** The errors of a provider with the same meaning (RFC 6749, sections 4.1.2.1 and 5.2). */
const UNAVAILABLE_ERRORS = ['invalid_client', 'unauthorized_client', 'server_error', 'temporarily_unavailable']

export function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
  // The OIDC library wraps the errors of our fetch.
  const { cause } = error as { cause?: unknown }
  if (cause instanceof ProviderError) return cause
  if (error instanceof AuthorizationResponseError && error.error === 'access_denied') {
    return new ProviderError('denied', error.error)
  }
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const isUnavailable = UNAVAILABLE_ERRORS.includes(error.error) || ('status' in error && error.status >= 500)
    return new ProviderError(isUnavailable ? 'unavailable' : 'rejected', safeCode(error.error))
  }
  const { code, name, message } = error as { code?: unknown; name?: string; message?: string }
  if (typeof code === 'string') return new ProviderError(UNAVAILABLE.test(code) ? 'unavailable' : 'rejected', code)
  // Recognize a failure of the connection, which undici reports as a TypeError, and a timeout, which it reports as an
  // abort.
  const isNetwork = message === 'fetch failed' || name === 'TimeoutError' || name === 'AbortError'
  return new ProviderError(isNetwork ? 'unavailable' : 'rejected', isNetwork ? 'no_response' : (name ?? 'unknown'))
}

export function safeCode(code: string): string {
  return code.replaceAll(/[^\w.-]/g, '').slice(0, 80)
}
