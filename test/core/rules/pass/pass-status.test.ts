import { expect, test } from 'vitest'
import { PassStatus } from '../../../../src/core/contract/schemas/common.ts'
import { effectiveStatus, isInstallable } from '../../../../src/core/rules/pass/pass-status.ts'

const expiresAt = new Date('2027-01-01T00:00:00Z')
const before = new Date(expiresAt.getTime() - 1)

test('an issued pass expires at its expiry, and no other status changes over time', () => {
  expect(effectiveStatus({ status: 'ISSUED', expiresAt }, before)).toBe('ISSUED')
  expect(effectiveStatus({ status: 'ISSUED', expiresAt }, expiresAt)).toBe('EXPIRED')
  expect(effectiveStatus({ status: 'ISSUED', expiresAt: null }, expiresAt)).toBe('ISSUED')
  for (const status of PassStatus.exclude(['ISSUED']).options) {
    expect(effectiveStatus({ status, expiresAt }, expiresAt)).toBe(status)
  }
})

test('queued, issuing, and issued passes are installable', () => {
  expect(PassStatus.options.filter(isInstallable)).toEqual(['QUEUED', 'ISSUING', 'ISSUED'])
})
