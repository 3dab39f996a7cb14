import { expect, test } from 'vitest'
import { count, noScans } from '../../../src/cli/console/console-door.ts'
import { newId } from '../../../src/core/ids.ts'
import { type Attempt, failedOutcome, type Outcome } from '../../../src/core/rules/door/outcome.ts'
import { createRecentScans } from '../../../src/core/rules/door/recent-readings.ts'
import { doorLanguage } from '../../../src/core/rules/redemption/scan-message.ts'

function attempt(seconds: number, more: Partial<Attempt> = {}): Attempt {
  const at = new Date(Date.UTC(2026, 2, 1) + seconds * 1000)
  return {
    payload: 'ABC',
    passId: null,
    externalRef: newId(at),
    at,
    scanContextKey: null,
    validityDate: null,
    ...more,
  }
}

const accepted = (of: Attempt): Outcome => ({ ...failedOutcome(of, 'Valid.'), result: 'accepted', reasonCode: 'valid' })

test('the same code within three seconds is the same scan, before and after its decision', () => {
  const recent = createRecentScans(3_000)
  const first = attempt(0)
  expect(recent.take(first)).toBe(first)
  expect(recent.take(attempt(1))).toMatchObject({ same: { result: 'same_scan', externalRef: first.externalRef } })
  recent.resolve(first, accepted(first))
  expect(recent.take(attempt(2))).toMatchObject({ same: { result: 'same_scan', message: 'Read 2 s ago: Valid.' } })
  const later = attempt(3)
  expect(recent.take(later)).toBe(later)
})

test('the message of a repeated reading is in the language of the door', () => {
  const recent = createRecentScans(3_000, () => doorLanguage('de'))
  const first = attempt(0)
  recent.take(first)
  expect(recent.take(attempt(1))).toMatchObject({ same: { message: 'Vor 1 s gescannt: Wird geprüft.' } })
  recent.resolve(first, { ...accepted(first), message: 'Gültig.' })
  expect(recent.take(attempt(2))).toMatchObject({ same: { message: 'Vor 2 s gescannt: Gültig.' } })
})

test('another context, date, or code, and a reversed scan, make a new scan', () => {
  const recent = createRecentScans(3_000)
  const first = attempt(0)
  recent.take(first)
  recent.resolve(first, accepted(first))
  for (const other of [{ scanContextKey: 'day-2' }, { validityDate: '2026-05-01' }, { payload: 'ABD' }]) {
    const next = attempt(1, other)
    expect(recent.take(next)).toBe(next)
  }
  recent.forget(accepted(first))
  const again = attempt(1)
  expect(recent.take(again)).toBe(again)
})

test('a scan without a decision is sent again at once, under the same reference', () => {
  const recent = createRecentScans(3_000)
  const first = attempt(0)
  recent.take(first)
  recent.resolve(first, failedOutcome(first, 'No answer.'))
  expect(recent.take(attempt(1))).toMatchObject({ externalRef: first.externalRef })
})

test('every reading is a separate scan if readings are not merged', () => {
  const recent = createRecentScans(0)
  const [first, second] = [attempt(0), attempt(0)]
  recent.take(first)
  expect(recent.take(second)).toBe(second)
})

test('a result of an earlier reading is not applied to a later one of the same code', () => {
  const recent = createRecentScans(3_000)
  const [first, later] = [attempt(0), attempt(3)]
  recent.take(first)
  recent.take(later)
  recent.resolve(first, accepted(first))
  const taken = recent.take(attempt(4))
  expect(taken).toMatchObject({ same: { externalRef: later.externalRef } })
  expect(taken).not.toMatchObject({ same: { message: expect.stringContaining('Valid.') } })
})

test('an ambiguous scan counts as the choice that decides it', () => {
  const first = attempt(0)
  const ambiguous: Outcome = { ...failedOutcome(first, ''), result: 'ambiguous', reasonCode: 'multiple_matches' }
  const asked = count(noScans, ambiguous, 0)
  expect(asked).toMatchObject({ accepted: 0, turnedAway: 0, recent: [], last: [{ result: 'ambiguous' }] })
  expect(count(asked, accepted(attempt(1)), 1)).toMatchObject({ accepted: 1, turnedAway: 0, recent: [1] })
})
