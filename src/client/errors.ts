/** The server answered with an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The errorCode of the body, or what the status says where none is sent; INTERNAL_ERROR for what is no error body of ours. */
  readonly code: string
  readonly correlationId: string
  readonly details: Record<string, unknown>
  readonly request: { method: string; path: string }
  /** The Retry-After header, where there was one. */
  readonly retryAfterSeconds: number | undefined

  constructor(facts: {
    status: number
    code: string
    message: string
    correlationId: string
    details: Record<string, unknown>
    request: { method: string; path: string }
    retryAfterSeconds?: number
  }) {
    super(facts.message)
    this.status = facts.status
    this.code = facts.code
    this.correlationId = facts.correlationId
    this.details = facts.details
    this.request = facts.request
    this.retryAfterSeconds = facts.retryAfterSeconds
  }
}

/** No answer came: the server is not there, or the connection broke. */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError'
  readonly url: string

  constructor(url: string, cause: unknown, message = `No answer from ${url} (${reasonOf(cause)})`) {
    super(message, { cause })
    this.url = url
  }
}

/** How long a server may give no sign of life. */
export const DEFAULT_TIMEOUT_SECONDS = 30
/** The longest time limit of a request: an hour. */
export const MAX_TIMEOUT_SECONDS = 3_600

/** The time limit ran out: the server was not reached, kept silent, or stopped in the middle of its answer. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError'
  readonly timeoutSeconds: number
  readonly request: { method: string; path: string }

  constructor(url: string, cause: unknown, facts: { timeoutSeconds: number; request: TimeoutError['request'] }) {
    const { method, path } = facts.request
    super(url, cause, `${url} did not answer ${method} ${path} for ${facts.timeoutSeconds} s (${reasonOf(cause)})`)
    this.timeoutSeconds = facts.timeoutSeconds
    this.request = facts.request
  }
}

/** Something else answered, such as another service, or the page that a network shows before it lets anybody in. */
export class ForeignServerError extends ConnectionError {
  override readonly name = 'ForeignServerError'

  constructor(url: string) {
    super(url, undefined, `${url} is no passes server`)
  }
}

function reasonOf(cause: unknown): string | undefined {
  // OpenSSL's own words name no protocol.
  if ((cause as NodeJS.ErrnoException)?.code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'it speaks no https'
  return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : String(cause)
}
