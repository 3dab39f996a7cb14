import type { z } from 'zod'

/**
 * Every error code of the API with its HTTP status and meaning. The API never returns a code whose meaning starts with
 * "Reserved".
 */
export const errorTable = {
  UNAUTHORIZED: [401, 'No access token was sent.'],
  FORBIDDEN: [403, 'The token lacks the scope or role that the endpoint needs.'],
  SCANNER_OFFLINE_DISABLED: [403, 'The workspace forbids scanning offline.'],
  TOKEN_EXPIRED: [401, 'The access token has expired.'],
  TOKEN_INVALID: [401, 'The access token is malformed, unknown or revoked.'],
  CSRF_TOKEN_INVALID: [
    403,
    'The request changes data with the session of a person, and lacks the X-CSRF-Token of the session.',
  ],
  TENANT_EXPIRED: [403, 'The workspace has expired.'],
  TENANT_NOT_FOUND: [404, 'Reserved: a token always belongs to a workspace.'],
  ORGANIZATION_REQUIRED: [400, 'Reserved: a token always belongs to a workspace.'],
  TENANT_SUSPENDED: [403, 'The workspace is suspended.'],
  VALIDATION_ERROR: [
    400,
    'The request does not match the schema. details.issues lists the first 100 problems, and details.omittedIssues ' +
      'is the number of further problems.',
  ],
  INVALID_INPUT: [
    400,
    'The body is not valid (400), is too large (413), or has an unsupported content type, charset, or encoding (415).',
  ],
  MISSING_REQUIRED_FIELD: [400, 'The body has no field. Send at least one.'],
  INVALID_FORMAT: [400, 'The body is not well-formed JSON in UTF-8.'],
  SYSTEM_VARIABLE_READONLY: [400, 'Variable names with a dot are reserved for the system and cannot be written.'],
  NOT_FOUND: [404, 'Project, zone, scan, balance, entry of a balance, delivery, image or route not found.'],
  PASS_NOT_FOUND: [404, 'Pass not found.'],
  TEMPLATE_NOT_FOUND: [404, 'Template or template version not found, or the template has no published version.'],
  WEBHOOK_NOT_FOUND: [404, 'Webhook not found.'],
  NOTIFICATION_NOT_FOUND: [404, 'Reserved: see PASS_NOTIFICATION_NOT_FOUND.'],
  PASS_NOTIFICATION_NOT_FOUND: [404, 'Notification not found.'],
  PASS_NOTIFICATION_BROADCAST_NOT_FOUND: [404, 'Broadcast not found.'],
  CONFLICT: [409, 'The state of the resource or a limit of the workspace (details.limit) does not allow this request.'],
  VERSION_CONFLICT: [409, 'Reserved: see PRECONDITION_FAILED.'],
  PRECONDITION_FAILED: [412, 'The pass has changed since the revision in If-Match. Read the pass again.'],
  DUPLICATE_PASS: [
    409,
    'A pass of another template has the externalPassId. In an import, another pass has the externalPassId, the ' +
      'serialNumber, or the googleObjectId.',
  ],
  IDEMPOTENCY_CONFLICT: [409, 'Reserved: reuse of an idempotency key returns the existing record.'],
  SCANNER_SNAPSHOT_STALE: [409, 'The snapshot is older than 24 hours. Read a new one.'],
  TEMPLATE_VERSION_NOT_NEWER: [
    409,
    'The requested template version is older than the version of the pass. A pass can only be updated to a newer ' +
      'version.',
  ],
  WEBHOOK_MANAGED_EXTERNALLY: [409, 'Reserved.'],
  WEBHOOK_SUBSCRIPTION_OWNERSHIP_CONFLICT: [409, 'Reserved.'],
  TEMPLATE_PASS_TYPE_LOCKED: [409, 'The pass type cannot change after the first publish.'],
  PASS_ALREADY_ISSUED: [409, 'Reserved: create is idempotent on externalPassId.'],
  PASS_ALREADY_VOIDED: [409, 'The pass is void.'],
  PASS_NOT_ISSUED: [409, 'The pass is not issued.'],
  PASS_ISSUING_FAILED: [500, 'The pass could not be rendered. This code appears in the event pass.failed.'],
  PASS_NOTIFICATION_ALREADY_SENT: [
    409,
    'The delivery of the notification has started. Send a new notification instead.',
  ],
  PASS_NOTIFICATION_BROADCAST_ALREADY_DISPATCHED: [
    409,
    'The dispatch of the broadcast has started, so it cannot be canceled.',
  ],
  APPLE_SIGNING_FAILED: [500, 'The Apple package could not be signed.'],
  APPLE_APNS_FAILED: [502, 'The push to Apple failed. This code appears in the notification.'],
  GOOGLE_API_FAILED: [
    502,
    'The Google Wallet API rejected the request. This code appears in the notification, the template version, or ' +
      'the pass. If details.permanent is true, the request is not retried.',
  ],
  GOOGLE_JWT_FAILED: [500, 'The Google save link could not be signed.'],
  PROVIDER_UNAVAILABLE: [503, 'A wallet platform does not respond.'],
  LINK_REVOKED: [410, 'The link was revoked, the pass is void, failed, or expired, or the workspace is suspended.'],
  LINK_INVALID: [404, 'The link is malformed, altered, or expired.'],
  TOKEN_SIGNATURE_INVALID: [401, 'Reserved.'],
  TOKEN_CLOCK_SKEW: [401, 'Reserved.'],
  RATE_LIMITED: [429, 'Too many requests. Retry after the number of seconds in Retry-After.'],
  TOO_MANY_REQUESTS: [
    429,
    'The workspace has too many concurrent requests or request bodies. Retry after the number of seconds in ' +
      'Retry-After.',
  ],
  PASS_NOTIFICATION_RATE_LIMITED: [
    429,
    'The pass already has 3 google notifications within 24 hours, including SKIPPED notifications. Retry after the ' +
      'number of seconds in Retry-After.',
  ],
  INTERNAL_ERROR: [500, 'Unexpected error. Include the correlation ID when you report it.'],
  SERVICE_UNAVAILABLE: [
    503,
    'The database or the server is busy or shutting down, or a list takes too long. Retry after the number ' +
      'of seconds in Retry-After.',
  ],
  JOB_FAILED: [500, 'Reserved.'],
} as const satisfies Record<string, readonly [status: number, meaning: string]>

/** An error code. The set of codes is part of the API, so clients can rely on the codes. */
export type ErrorCode = keyof typeof errorTable

/** A problem of a request: the path of the invalid value, and how to fix the value. */
export interface Issue {
  path: (string | number)[]
  message: string
}

export interface ApiErrorOptions {
  /** The message: the problem, and how to fix it. Default: the meaning of the code. */
  message?: string
  details?: Record<string, unknown>
  /** Set only for INVALID_INPUT, whose status can be 400, 413, or 415. */
  status?: number
  headers?: Record<string, string>
  /** Properties for the log that are not sent to the caller. */
  forLog?: Record<string, unknown>
  cause?: unknown
}

/** An error that is sent to the caller. Any other error that a handler throws becomes INTERNAL_ERROR. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly status: number
  readonly details: Record<string, unknown>
  readonly headers: Record<string, string>
  readonly forLog: Record<string, unknown>

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    super(options.message ?? errorTable[code][1], { cause: options.cause })
    this.code = code
    this.status = options.status ?? errorTable[code][0]
    this.details = options.details ?? {}
    this.headers = options.headers ?? {}
    this.forLog = options.forLog ?? {}
  }
}

/** A setup problem that the operator has to fix. Shown without a stack trace. */
export class SetupError extends Error {
  override readonly name: string = 'SetupError'
  /** The way to fix the problem, if the message does not explain it. */
  readonly fix: string | undefined
  /** Whether the cause is a malformed setting, which counts as a usage error. */
  readonly isMalformed: boolean = false

  constructor(message: string, { fix, ...options }: ErrorOptions & { fix?: string } = {}) {
    super(message, options)
    this.fix = fix
  }
}

/** The maximum number of issues in a response. Without a limit, a small request could cause a huge response. */
export const MAX_ISSUES = 100

/**
 * Collects all issues into a list, so that they can be counted. To save memory, the items beyond MAX_ISSUES are all the
 * same object.
 */
export function listIssues(found: Iterable<Issue>): Issue[] {
  const issues: Issue[] = []
  for (const issue of found) issues.push(issues.length < MAX_ISSUES ? issue : issues[MAX_ISSUES - 1]!)
  return issues
}

export function* below(key: string, issues: Iterable<Issue>): Generator<Issue> {
  for (const { path, message } of issues) yield { path: [key, ...path], message }
}

/** Returns a VALIDATION_ERROR with the first MAX_ISSUES issues, and the number of omitted issues. */
export function validationError(issues: readonly Issue[]): ApiError {
  const [first] = issues
  const where = first && first.path.length > 0 ? `${first.path.join('.')}: ` : ''
  const rest = issues.length > 1 ? ` (and ${issues.length - 1} more, see details.issues)` : ''
  return new ApiError('VALIDATION_ERROR', {
    message: first ? `${where}${first.message}${rest}` : errorTable.VALIDATION_ERROR[1],
    details: issueDetails(issues),
  })
}

export function issueDetails(issues: readonly Issue[]): { issues: Issue[]; omittedIssues?: number } {
  const omittedIssues = issues.length - MAX_ISSUES
  return { issues: issues.slice(0, MAX_ISSUES), ...(omittedIssues > 0 && { omittedIssues }) }
}

export type Parsed<T> = { value: T } | { issues: Issue[] }

/** Returns the parsed value, or all its issues. Each unknown key is a separate issue. */
export function parseAs<T extends z.ZodType>(schema: T, value: unknown, unknownKey = 'property'): Parsed<z.output<T>> {
  const result = schema.safeParse(value, { error: describeIssue })
  return result.success ? { value: result.data } : { issues: listIssues(toIssues(result.error, unknownKey)) }
}

/** Returns the message of an issue for which the schema has no message. */
export function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined) return 'Is required'
  if (issue.code === 'invalid_type') return `Must be ${TYPES[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') {
    const [only, ...others] = issue.values
    return others.length === 0 ? `Must be ${JSON.stringify(only)}` : `Must be one of ${issue.values.join(', ')}`
  }
  if (issue.code === 'too_small') return describeBound(issue.origin, `at least ${issue.minimum}`)
  if (issue.code === 'too_big') return describeBound(issue.origin, `at most ${issue.maximum}`)
  if (issue.code === 'invalid_format') return `Must be of the format ${issue.pattern ?? issue.format}`
  if (issue.code === 'invalid_union') return describeUnion(issue.errors)
  return 'Does not match the API schema'
}

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const UNITS: Record<string, string> = { string: 'characters', array: 'items' }

function describeBound(origin: string, bound: string): string {
  if (origin in UNITS && bound === 'at least 1') return 'Must not be empty'
  return origin in UNITS ? `Must have ${bound} ${UNITS[origin]}` : `Must be ${bound}`
}

function describeUnion(members: z.core.$ZodIssue[][]): string {
  const wanted = new Set(members.flatMap(([first]) => first?.message ?? []))
  return [...wanted].join(', or ').replaceAll(', or Must', ', or must')
}

function* toIssues(error: z.ZodError, unknownKey: string): Generator<Issue> {
  for (const issue of error.issues) {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) yield { path: [...path, key], message: `Unknown ${unknownKey}` }
    } else yield { path, message: issue.message }
  }
}

interface RescheduleOptions {
  /** The minimum delay before the next run of the job, in seconds; 0 by default. */
  retryAfterSeconds?: number | undefined
  /**
   * Whether the run counts as an attempt; true by default. Set to false if the run had no effect, for example because
   * the run sent no request.
   */
  countsAsAttempt?: boolean
  cause?: unknown
}

/**
 * Thrown by a run of a job if a later run can succeed without intervention. The job is retried after 2, 4, 8 … seconds
 * (at most 5 minutes), and discarded after 20 attempts (core/rules/sending/retries.ts). A run that throws any other
 * error always counts as an attempt.
 */
export class RescheduleError extends Error {
  override readonly name = 'RescheduleError'
  readonly retryAfterSeconds: number
  readonly countsAsAttempt: boolean

  constructor(message: string, { retryAfterSeconds = 0, countsAsAttempt = true, cause }: RescheduleOptions = {}) {
    super(message, { cause })
    this.retryAfterSeconds = retryAfterSeconds
    this.countsAsAttempt = countsAsAttempt
  }
}

/** Thrown by a run of a job if every later run would fail in the same way until an operator fixes the cause. */
export class DiscardError extends Error {
  override readonly name = 'DiscardError'
}
