import { stripVTControlCharacters, styleText } from 'node:util'
import { Errors } from '@oclif/core'
import { ApiError, ConnectionError } from '../client/errors.ts'
import { type Issue, Problem } from '../core/errors.ts'
import { CliError } from './errors.ts'
import { printable } from './output.ts'
import type { Connection } from './settings.ts'

/** What every error becomes on its way out: for people as lines, for scripts as JSON. */
export interface Failure {
  code: string
  message: string
  correlationId: string | null
  details: Record<string, unknown>
  exitCode: number
  /** Why it failed, a sentence each. */
  reasons: string[]
  /** What to do next. */
  hint?: string | undefined
}

/** What failed, why and what to do next. The connection is that of a client command. */
export function describeFailure(error: unknown, connection?: Connection): Failure {
  if (error instanceof ApiError) return describeApiError(error, connection)
  if (error instanceof ConnectionError) return describeConnectionError(error, connection)
  if (error instanceof CliError || error instanceof Problem) {
    return {
      ...plain(error.code, error.message),
      details: error.details,
      reasons: issueLines(error.details),
      ...(error instanceof CliError && { exitCode: error.exitCode, hint: error.hint }),
    }
  }
  if (error instanceof Errors.CLIError) {
    return { ...plain('USAGE', stripVTControlCharacters(error.message)), exitCode: error.oclif.exit ?? 2 }
  }
  if (error instanceof Error && setupErrors.has(error.name)) {
    return { ...plain('SETUP', error.message), hint: 'fix' in error ? `${error.fix}.` : undefined }
  }
  if (isSystemError(error)) return plain(error.code, error.message)
  return describeBug(error)
}

/** Errors of the server's own rooms, which are not loaded here: each says by itself what to do. */
const setupErrors = new Set([
  'CredentialError',
  'ServerKeyError',
  'DatabaseError',
  'DatabaseUrlError',
  'ListenError',
  'OperatorError',
  'FaultError',
])

/** The lines for people, without the last line break. */
export function formatFailure(failure: Failure, options: { color: boolean }): string {
  const [first, ...more] = failure.message.split('\n')
  const label = options.color ? styleText('red', 'Error:') : 'Error:'
  return [
    `${label} ${printable(first ?? '')}`,
    ...[...more, ...failure.reasons].map((line) => `  ${printable(line)}`),
    ...(failure.hint ? [`  Next: ${failure.hint}`] : []),
    ...(failure.correlationId ? [`  Correlation id: ${printable(failure.correlationId)}`] : []),
  ].join('\n')
}

export function failureJson({ code, message, correlationId, details }: Failure) {
  return { error: { code, message, correlationId, details } }
}

function plain(code: string, message: string): Failure {
  return { code, message, correlationId: null, details: {}, exitCode: 1, reasons: [] }
}

function describeApiError(error: ApiError, connection: Connection | undefined): Failure {
  const { method, path } = error.request
  const server = connection?.url.value ?? 'The server'
  const reasons = [`${server} answered ${method} ${path} with ${error.status} ${error.code}.`]
  if (error.status === 401 && connection?.token) reasons.push(`The token came from ${connection.token.source}.`)
  return {
    ...plain(error.code, error.message),
    correlationId: error.correlationId || null,
    details: error.details,
    reasons: [...reasons, ...issueLines(error.details)],
    hint: hintFor(error),
  }
}

function hintFor(error: ApiError): string | undefined {
  if (error.status === 401) {
    return 'give a valid token with --token, PASSES_TOKEN or passes login; passes token create makes one on the server.'
  }
  if (error.status === 403) return 'passes whoami shows what the token may do; passes token create makes another one.'
  if (error.code === 'TEMPLATE_NOT_FOUND') {
    return 'passes template list shows the templates; one without a published version needs passes template publish.'
  }
  if (error.code === 'PRECONDITION_FAILED') return 'passes pass get shows the revision as it is now.'
  if (error.retryAfterSeconds !== undefined) return `try again in ${error.retryAfterSeconds} s.`
  if (error.status >= 500) return 'try again; if it stays, give the correlation id to who runs the server.'
  return undefined
}

function describeConnectionError(error: ConnectionError, connection: Connection | undefined): Failure {
  return {
    ...plain('CONNECTION_FAILED', error.message),
    reasons: connection ? [`The address came from ${connection.url.source}.`] : [],
    hint: 'start a server with passes serve, or give the address of a running one with --url or PASSES_URL.',
  }
}

/** Files that are not there, ports that are taken: the system's own words say it. */
function isSystemError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string'
}

function describeBug(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error)
  const stack = error instanceof Error ? (error.stack ?? '').split('\n').slice(1) : []
  return {
    ...plain('UNEXPECTED', message || 'Something unforeseen'),
    reasons:
      stack.length > 0 ? ['This looks like a mistake in passes itself:', ...stack.map((line) => line.trim())] : [],
  }
}

function issueLines(details: Record<string, unknown>): string[] {
  if (!Array.isArray(details.issues)) return []
  return (details.issues as Issue[]).map(({ path, message }) => {
    return path.length > 0 ? `${path.join('.')}: ${message}` : message
  })
}
