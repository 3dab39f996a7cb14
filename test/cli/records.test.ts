import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { localTime, textWidth } from '../../src/cli/command/output.ts'
import { showExplanation } from '../../src/cli/records.ts'
import type { RedemptionExplanation } from '../../src/core/contract/scans/scans.ts'

const explanation: RedemptionExplanation = {
  passId: '0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
  at: '2027-05-31T19:30:00.000Z',
  scanContextKey: null,
  result: 'denied',
  reasonCode: 'quota_exhausted',
  message: 'Already used on 31 May 2027 at 18:00:00 UTC.',
  redemption: { maxUses: 1 },
  acceptedScanCount: 1,
  checks: [
    { check: 'revoked', outcome: 'passed', facts: { status: 'ISSUED' } },
    { check: 'out_of_window', outcome: 'not_applicable', facts: {} },
    {
      check: 'quota_exhausted',
      outcome: 'failed',
      facts: { maxUses: 1, uses: 1, windows: [{ start: '2027-05-31T10:00Z', end: null, maxUses: 5, uses: 2 }] },
    },
  ],
}

test('an explanation shows the decision first, then each check with sign, label, and facts', () => {
  expect(showExplanation(explanation, { color: false }).split('\n')).toEqual([
    'NO: quota_exhausted',
    'Already used on 31 May 2027 at 18:00:00 UTC.',
    '',
    'Pass      0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    `At        ${localTime('2027-05-31T19:30:00.000Z')}`,
    'Accepted  1',
    '',
    '✓ not void                         status ISSUED',
    '– within a window                  nothing to check',
    '✗ uses left                        max uses 1, uses 1, windows start 2027-05-31T10:00Z, max uses 5, uses 2',
  ])
  expect(showExplanation({ ...explanation, result: 'accepted', reasonCode: 'valid' }, { color: false })).toMatch(
    /^YES: it would be accepted\n/,
  )
})

test('color changes no text of an explanation, and facts are wrapped to the terminal', () => {
  const painted = showExplanation(explanation, { color: true })
  expect(painted).not.toBe(stripVTControlCharacters(painted))
  expect(stripVTControlCharacters(painted)).toBe(showExplanation(explanation, { color: false }))
  const narrow = showExplanation(explanation, { color: false, width: 60 }).split('\n')
  expect(narrow.slice(4).every((line) => textWidth(line) <= 60)).toBe(true)
  expect(narrow.length).toBeGreaterThan(10)
})
