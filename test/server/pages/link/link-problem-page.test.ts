import { expect, test } from 'vitest'
import { ApiError, type ErrorCode } from '../../../../src/core/errors.ts'
import { linkProblemPage } from '../../../../src/server/pages/link/link-problem-page.ts'

const pageOf = (code: ErrorCode, reason?: string) =>
  linkProblemPage(new ApiError(code, reason === undefined ? {} : { details: { reason } }), 'visit-1').html

test.each([
  ['RATE_LIMITED', 'Too many visits at once'],
  ['SERVICE_UNAVAILABLE', 'The pass cannot be shown right now'],
  ['INTERNAL_ERROR', 'The pass cannot be shown right now'],
  ['APPLE_SIGNING_FAILED', 'The pass cannot be shown right now'],
  ['NOT_FOUND', 'This link is not valid'],
  ['VALIDATION_ERROR', 'This link is not valid'],
] as const)('a link error %s shows a page with its heading', (code, heading) => {
  expect(pageOf(code)).toContain(`<h1>${heading}</h1>`)
})

test('only a server error shows a reference', () => {
  expect(pageOf('INTERNAL_ERROR')).toContain('Reference: visit-1')
  for (const code of ['LINK_REVOKED', 'LINK_INVALID', 'RATE_LIMITED'] as const) {
    expect(pageOf(code, 'void')).not.toContain('visit-1')
  }
})

test('an unavailable wallet and an unknown reason have headings', () => {
  expect(pageOf('LINK_INVALID', 'platform')).toContain('<h1>This wallet is not available</h1>')
  expect(pageOf('LINK_INVALID', 'something else')).toContain('<h1>This link is not valid</h1>')
  expect(pageOf('LINK_REVOKED', 'something else')).toContain('<h1>This link was withdrawn</h1>')
})
