import { expect, test } from 'vitest'
import { ErrorBody } from '../../src/core/contract/schemas/common.ts'
import { ApiError, errorTable, validationError } from '../../src/core/errors.ts'

/** The list of codes in section 7 of the specification, word for word. */
const specified = `UNAUTHORIZED, FORBIDDEN, SCANNER_OFFLINE_DISABLED, TOKEN_EXPIRED, TOKEN_INVALID, CSRF_TOKEN_INVALID,
TENANT_EXPIRED, TENANT_NOT_FOUND, ORGANIZATION_REQUIRED, TENANT_SUSPENDED, VALIDATION_ERROR, INVALID_INPUT,
MISSING_REQUIRED_FIELD, INVALID_FORMAT, SYSTEM_VARIABLE_READONLY, NOT_FOUND, PASS_NOT_FOUND, TEMPLATE_NOT_FOUND,
WEBHOOK_NOT_FOUND, NOTIFICATION_NOT_FOUND, PASS_NOTIFICATION_NOT_FOUND, PASS_NOTIFICATION_BROADCAST_NOT_FOUND, CONFLICT,
VERSION_CONFLICT, PRECONDITION_FAILED, DUPLICATE_PASS, IDEMPOTENCY_CONFLICT, SCANNER_SNAPSHOT_STALE,
TEMPLATE_VERSION_NOT_NEWER, WEBHOOK_MANAGED_EXTERNALLY, WEBHOOK_SUBSCRIPTION_OWNERSHIP_CONFLICT,
TEMPLATE_PASS_TYPE_LOCKED, PASS_ALREADY_ISSUED, PASS_ALREADY_VOIDED, PASS_NOT_ISSUED, PASS_ISSUING_FAILED,
PASS_NOTIFICATION_ALREADY_SENT, PASS_NOTIFICATION_BROADCAST_ALREADY_DISPATCHED, APPLE_SIGNING_FAILED, APPLE_APNS_FAILED,
GOOGLE_API_FAILED, GOOGLE_JWT_FAILED, PROVIDER_UNAVAILABLE, LINK_REVOKED, LINK_INVALID, TOKEN_SIGNATURE_INVALID,
TOKEN_CLOCK_SKEW, RATE_LIMITED, TOO_MANY_REQUESTS, PASS_NOTIFICATION_RATE_LIMITED, INTERNAL_ERROR, SERVICE_UNAVAILABLE,
JOB_FAILED`.split(/,\s+/)

test('the table holds exactly the codes of the specification', () => {
  expect(Object.keys(errorTable).sort()).toEqual([...specified].sort())
})

test('every code has a status of an error and a meaning', () => {
  for (const [code, [status, meaning]] of Object.entries(errorTable)) {
    expect(status, code).toBeGreaterThanOrEqual(400)
    expect(status, code).toBeLessThan(600)
    expect(meaning, code).toMatch(/^[A-Z].*\.$/)
  }
})

test.each([
  ['UNAUTHORIZED', 401],
  ['FORBIDDEN', 403],
  ['VALIDATION_ERROR', 400],
  ['PASS_NOT_FOUND', 404],
  ['PRECONDITION_FAILED', 412],
  ['PASS_ALREADY_VOIDED', 409],
  ['LINK_REVOKED', 410],
  ['LINK_INVALID', 404],
  ['RATE_LIMITED', 429],
  ['SERVICE_UNAVAILABLE', 503],
] as const)('%s is %i', (code, status) => {
  expect(new ApiError(code).status).toBe(status)
})

test('a rejected request names its first issue and lists all of them', () => {
  const problem = validationError([
    { path: ['passes', 0, 'label'], message: 'Must not be empty' },
    { path: [], message: 'Too much' },
  ])
  expect(problem.message).toBe('passes.0.label: Must not be empty (and 1 more, see details.issues)')
  expect(problem.details.issues).toHaveLength(2)
  expect(validationError([]).message).toBe(errorTable.VALIDATION_ERROR[1])
})

test('an error body has exactly the four specified properties', () => {
  const body = { errorCode: 'NOT_FOUND', message: 'm', correlationId: 'c', details: {} }
  expect(ErrorBody.safeParse(body).success).toBe(true)
  expect(ErrorBody.safeParse({ ...body, stack: 's' }).success).toBe(false)
  expect(ErrorBody.safeParse({ ...body, errorCode: 'OOPS' }).success).toBe(false)
})
