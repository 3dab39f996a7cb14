import type { ErrorCode } from './types.ts'

/** An error response of the server. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /**
   * The error code from the body. If the endpoint sends no codes, this is the code for the status. If the body is not
   * an error of this API, this is INTERNAL_ERROR. A newer server can return codes that this type lacks.
   */
  readonly errorCode: ErrorCode | (string & Record<never, never>)
  /** The same as `errorCode`. */
  readonly code: ApiError['errorCode']
  readonly correlationId: string
  readonly details: Record<string, unknown>
  readonly request: { method: string; path: string }
  /** The number of seconds in the Retry-After header, if the response has one. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    facts: Pick<ApiError, 'status' | 'code' | 'message' | 'correlationId' | 'details' | 'request'> &
      Partial<Pick<ApiError, 'retryAfterSeconds'>>,
  ) {
    super(facts.message)
    this.status = facts.status
    this.errorCode = facts.code
    this.code = facts.code
    this.correlationId = facts.correlationId
    this.details = facts.details
    this.request = facts.request
    this.retryAfterSeconds = facts.retryAfterSeconds
  }
}

/** A request without a response: the server was not reached, or the connection was lost. */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError'
  readonly url: string

  constructor(url: string, cause: unknown, message = `No response from ${url} (${reasonOf(cause)})`) {
    super(message, { cause })
    this.url = url
  }
}

/** The default timeout of requests. */
export const DEFAULT_TIMEOUT_SECONDS = 30
/** The maximum timeout of a request: an hour. */
export const MAX_TIMEOUT_SECONDS = 3_600

/** A timeout: the server was not reached, did not respond, or stopped in the middle of its response. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError'
  readonly timeoutSeconds: number
  readonly request: { method: string; path: string }

  constructor(url: string, cause: unknown, facts: { timeoutSeconds: number; request: TimeoutError['request'] }) {
    const { method, path } = facts.request
    super(
      url,
      cause,
      `${url} did not respond to ${method} ${path} within ${facts.timeoutSeconds} s (${reasonOf(cause)})`,
    )
    this.timeoutSeconds = facts.timeoutSeconds
    this.request = facts.request
  }
}

/** A response that is not from a passes server, such as the login page of a network. */
export class ForeignServerError extends ConnectionError {
  override readonly name = 'ForeignServerError'

  constructor(url: string) {
    super(url, undefined, `${url} is not a passes server`)
  }
}

function reasonOf(cause: unknown): string | undefined {
  // Replace the message of OpenSSL, which does not mention HTTPS.
  if ((cause as NodeJS.ErrnoException)?.code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'it does not support HTTPS'
  return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : String(cause)
}
