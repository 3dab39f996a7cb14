import { HTTPError } from 'h3'
import type { ErrorBody, ErrorBodyWithoutCode } from '../../../core/contract/common.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { isUnavailable } from '../../../storage/db/dialect.ts'
import type { Logger } from '../../boot/log.ts'

/** Turns whatever was thrown into the refusal that the caller is told. */
export function toApiError(thrown: unknown): ApiError {
  // h3 wraps what it does not know; its own errors carry facts of theirs as their cause.
  const error = thrown instanceof HTTPError && thrown.unhandled ? thrown.cause : thrown
  if (error instanceof ApiError) return error
  if (isUnavailable(error)) {
    return new ApiError('SERVICE_UNAVAILABLE', { cause: error, headers: { 'retry-after': '1' } })
  }
  if (error instanceof HTTPError && error.status < 500) {
    // A path that cannot be decoded, or two announced lengths of one body.
    return validationError([{ path: [], message: 'The request is malformed' }])
  }
  return new ApiError('INTERNAL_ERROR', { cause: error })
}

/** The answer to a problem in the shape of spec 7. */
export function problemResponse(
  problem: ApiError,
  correlationId: string,
  { withoutCode }: { withoutCode: boolean },
): Response {
  const { code, message, details } = problem
  const told: ErrorBodyWithoutCode = { message, correlationId, details }
  const body: ErrorBody | ErrorBodyWithoutCode = withoutCode ? told : { errorCode: code, ...told }
  const challenge = problem.status === 401 && { 'www-authenticate': 'Bearer' }
  return Response.json(body, {
    status: problem.status,
    headers: { 'cache-control': 'no-store', ...problem.headers, ...challenge, 'x-correlation-id': correlationId },
  })
}

/** What an operator should see: our faults whole, and what keeps us from serving. */
export function logProblem(
  log: Logger,
  problem: ApiError,
  facts: { correlationId: string; method: string; path: string },
): void {
  const { status, code, cause } = problem
  // What was turned away for being too much has no cause: nothing failed, and a crowd must not fill the log.
  if (status < 500 || (code === 'SERVICE_UNAVAILABLE' && cause === undefined)) return
  log.error({ ...facts, code, err: cause ?? problem }, 'request failed')
}
