import { type H3Event, HTTPError } from 'h3'
import type { ErrorBody, ErrorBodyWithoutCode } from '../../core/contract/schemas/common.ts'
import { ApiError, errorTable, validationError } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import { findUnavailability, type Unavailability } from '../../storage/db/database-errors.ts'
import type { Services } from '../context.ts'
import { correlationIdOf } from '../http/middleware/observe.ts'
import type { Logger } from '../log.ts'
import { countRejection } from '../metrics/metrics.ts'
import { pageResponse } from '../pages/html.ts'
import { linkProblemPage } from '../pages/link/link-problem-page.ts'
import { pageLanguage } from '../pages/words.ts'

/** Returns the response to a failed request, and counts the error. Logs the error if the server caused it. */
export function respondWithError(
  problem: ApiError,
  event: H3Event,
  { log, metrics }: Pick<Services, 'log' | 'metrics'>,
): Response {
  countRejection(metrics, problem)
  const correlationId = correlationIdOf(event)
  logError(log, problem, {
    correlationId,
    method: event.req.method,
    path: event.url.pathname.replace(/^\/l\/.*/, '/l/…'),
  })
  if (!isOpenedLink(event)) {
    const route = event.context.route as Route | undefined
    return errorResponse(problem, correlationId, { withoutCode: route?.errorsWithoutCode ?? false })
  }
  const isJson = wantsJson(event)
  const response = isJson
    ? errorResponse(problem, correlationId, { withoutCode: false })
    : pageResponse(linkProblemPage(problem, correlationId, pageLanguage(event.req.headers)), {
        status: problem.status,
        headers: problem.headers,
      })
  response.headers.set('vary', isJson ? 'Accept' : 'Accept, Accept-Language')
  return response
}

/** Whether a request is for a hosted link or a join page. For both, errors are pages unless the client wants JSON. */
function isOpenedLink({ req, url }: H3Event): boolean {
  if (url.pathname.startsWith('/join/')) return true
  return ['GET', 'HEAD'].includes(req.method) && url.pathname.startsWith('/l/')
}

function wantsJson({ req }: H3Event): boolean {
  return (req.headers.get('accept') ?? '').toLowerCase().includes('application/json')
}

/** The messages for problems of the database. Other problems are due to load, and get the default message. */
const unavailable: Partial<Record<Unavailability, string>> = {
  full: 'The disk of the database is full, so nothing can be stored. The operator must free space.',
  readOnly: 'The database is read-only, so nothing can be stored. The operator must make it writable.',
  damaged: 'The database file is damaged, so nothing can be stored. The operator must restore it.',
  failing: 'The disk of the database reports errors. The operator must check it.',
  unopened: 'The server cannot open a database file. The operator must check the file and the limit of open files.',
  locked: 'The database is locked by another transaction. Retry later.',
  unreachable: 'The database does not respond. Retry later.',
}

export function toApiError(thrown: unknown): ApiError {
  // h3 wraps the errors of handlers: unwrap them. Do not unwrap h3's own errors, whose causes are only details.
  const error = thrown instanceof HTTPError && thrown.unhandled ? thrown.cause : thrown
  if (error instanceof ApiError) return error
  const why = findUnavailability(error)
  if (why) {
    const message = unavailable[why] ?? errorTable.SERVICE_UNAVAILABLE[1]
    return new ApiError('SERVICE_UNAVAILABLE', { message, cause: error, headers: { 'retry-after': '1' } })
  }
  if (error instanceof HTTPError && error.status < 500) {
    // h3 rejected the request, for example because of a path that cannot be decoded, or two Content-Length headers.
    return validationError([{ path: [], message: 'The request is malformed' }])
  }
  return new ApiError('INTERNAL_ERROR', { cause: error })
}

function errorResponse(problem: ApiError, correlationId: string, { withoutCode }: { withoutCode: boolean }): Response {
  const { code, message, details } = problem
  const shared: ErrorBodyWithoutCode = { message, correlationId, details }
  const body: ErrorBody | ErrorBodyWithoutCode = withoutCode ? shared : { errorCode: code, ...shared }
  const challenge = problem.status === 401 && { 'www-authenticate': 'Bearer' }
  return Response.json(body, {
    status: problem.status,
    headers: { 'cache-control': 'no-store', ...problem.headers, ...challenge, 'x-correlation-id': correlationId },
  })
}

/** Logs the error, with its cause, if the server caused it. */
function logError(
  log: Logger,
  problem: ApiError,
  facts: { correlationId: string; method: string; path: string },
): void {
  const { status, code, cause } = problem
  // Do not log rejections due to load (no `cause` is set). Otherwise, a crowd of clients could fill the log.
  if (status < 500 || (code === 'SERVICE_UNAVAILABLE' && cause === undefined)) return
  log.error({ ...facts, code, err: cause ?? problem }, 'request failed')
}
