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

/** The codes of temporary errors: the provider timed out, or its response was not as specified. */
const UNAVAILABLE = /^(OAUTH_RESPONSE_IS_NOT_|OAUTH_TIMEOUT|ERR_JWKS_TIMEOUT|ERR_JOSE_GENERIC)/

function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
  if (error instanceof AuthorizationResponseError) {
    return new ProviderError(error.error === 'access_denied' ? 'denied' : 'rejected', safeCode(error.error))
  }
  if (error instanceof ResponseBodyError) {
    // A wrong client ID or secret makes each sign-in fail until the operator corrects it, so report `unavailable`.
    const isSetup = ['invalid_client', 'unauthorized_client'].includes(error.error)
    return new ProviderError(isSetup || error.status >= 500 ? 'unavailable' : 'rejected', safeCode(error.error))
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
