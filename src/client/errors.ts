/** The server answered with an error (spec 7). */
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
  override readonly name = 'ConnectionError'
  readonly url: string

  constructor(url: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : String(cause)
    super(`No answer from ${url} (${reason})`, { cause })
    this.url = url
  }
}
