import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  afterAttempt,
  type DeliveryProgress,
  healthAfter,
  nextAttemptAt,
  type Outcome,
  RETRY_SECONDS,
  redelivered,
} from '../../../../src/core/rules/sending/retries.ts'

const start = new Date('2026-07-01T12:00:00.000Z')
const later = (seconds: number, from = start) => new Date(from.getTime() + seconds * 1000)
const taken: Outcome = { responseCode: 200, error: null }
const failed: Outcome = { responseCode: 500, error: 'Responded with 500.' }

const fresh: DeliveryProgress = {
  status: 'PENDING',
  dueAt: start,
  scheduledAttempts: 0,
  isRedelivery: false,
  resumeAt: null,
  attemptCount: 0,
  lastResponseCode: null,
  lastError: null,
}

test('the retry table is the published one: ten attempts in about three days', () => {
  const minutes = 60
  const hours = 60 * minutes
  expect(RETRY_SECONDS).toEqual([
    5,
    5 * minutes,
    30 * minutes,
    2 * hours,
    5 * hours,
    10 * hours,
    14 * hours,
    20 * hours,
    24 * hours,
  ])
})

test('jitter delays an attempt by up to a tenth and never advances it', () => {
  RETRY_SECONDS.forEach((seconds, index) => {
    expect(nextAttemptAt(index + 1, start, 0)).toEqual(later(seconds))
    expect(nextAttemptAt(index + 1, start, 1)).toEqual(later(seconds * 1.1))
  })
  expect(nextAttemptAt(RETRY_SECONDS.length + 1, start, 0)).toBeNull()
})

test('an attempt that succeeds ends the delivery', () => {
  expect(afterAttempt(fresh, fresh, { outcome: taken, at: later(1), jitter: 0 })).toMatchObject({
    status: 'SUCCESS',
    dueAt: null,
    attemptCount: 1,
    lastResponseCode: 200,
    lastError: null,
  })
})

test('a redelivery requested during an attempt is sent once after it', () => {
  const asked = redelivered(fresh, later(1))
  const after = afterAttempt(asked, fresh, { outcome: failed, at: later(2), jitter: 0 })
  expect(after).toMatchObject({ status: 'PENDING', dueAt: later(1), isRedelivery: true, resumeAt: later(7) })
  expect(after).toMatchObject({ attemptCount: 1, scheduledAttempts: 1 })
  expect(afterAttempt(after, after, { outcome: failed, at: later(3), jitter: 0 })).toMatchObject({
    status: 'PENDING',
    dueAt: later(7),
    isRedelivery: false,
    scheduledAttempts: 1,
    attemptCount: 2,
  })
})

test('a delivery whose endpoint ended during an attempt stays FAILED unless the attempt succeeds', () => {
  const ended = { ...fresh, status: 'FAILED' as const, dueAt: null }
  expect(afterAttempt(ended, fresh, { outcome: failed, at: later(1), jitter: 0 })).toMatchObject({ status: 'FAILED' })
  expect(afterAttempt(ended, fresh, { outcome: taken, at: later(1), jitter: 0 })).toMatchObject({ status: 'SUCCESS' })
})

test('a success ends the automatic attempts, although a redelivery was requested during the attempt', () => {
  const asked = redelivered(fresh, later(1))
  const after = afterAttempt(asked, fresh, { outcome: taken, at: later(2), jitter: 0 })
  expect(after).toMatchObject({ status: 'PENDING', dueAt: later(1), isRedelivery: true, resumeAt: null })
  expect(afterAttempt(after, after, { outcome: failed, at: later(3), jitter: 0 })).toMatchObject({
    status: 'FAILED',
    dueAt: null,
  })
})

test('redeliveries at any time do not change the number of automatic attempts', () => {
  const steps = fc.array(
    fc.record({
      redelivery: fc.constantFrom('before', 'during', 'none', 'none'),
      isTaken: fc.constantFrom(true, false, false, false, false, false, false, false),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { minLength: 20, maxLength: 40 },
  )
  const seen = { ends: 0, resumed: 0 }
  fc.assert(
    fc.property(steps, (list) => {
      let delivery = fresh
      let at = start
      let automatic = 0
      let hasSucceeded = false
      for (const { redelivery, isTaken, jitter } of list) {
        if (redelivery === 'before') delivery = redelivered(delivery, at)
        if (delivery.status !== 'PENDING') continue
        expect(delivery.dueAt).not.toBeNull()
        at = later(1, new Date(Math.max(at.getTime(), delivery.dueAt!.getTime())))
        const sent = delivery
        if (!sent.isRedelivery) {
          expect(hasSucceeded).toBe(false)
          automatic += 1
          if (automatic > 1 && delivery.attemptCount >= automatic) seen.resumed += 1
        }
        if (redelivery === 'during') delivery = redelivered(delivery, at)
        delivery = afterAttempt(delivery, sent, { outcome: isTaken ? taken : failed, at, jitter })
        hasSucceeded ||= isTaken
        expect(delivery.status === 'PENDING').toBe(delivery.dueAt !== null)
        expect(delivery.scheduledAttempts).toBe(automatic)
        if (redelivery === 'during') expect(delivery.status).toBe('PENDING')
        else if (isTaken) expect(delivery.status).toBe('SUCCESS')
        else if (delivery.status === 'FAILED' && !hasSucceeded) {
          expect(automatic).toBe(RETRY_SECONDS.length + 1)
          seen.ends += 1
        }
      }
      expect(automatic).toBeLessThanOrEqual(RETRY_SECONDS.length + 1)
    }),
  )
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(0)
})

test('an endpoint fails since its first failure after its last success', () => {
  const attempt = (outcome: Outcome, seconds: number) => ({ outcome, at: later(seconds) })
  expect(healthAfter(null, [attempt(failed, 1), attempt(failed, 2)])).toEqual({ failingSince: later(1) })
  expect(healthAfter(start, [attempt(failed, 9)])).toEqual({ failingSince: start })
  expect(healthAfter(start, [attempt(failed, 1), attempt(taken, 2)])).toEqual({ failingSince: null })
  expect(healthAfter(start, [attempt(taken, 5 * 86_400)])).toEqual({ failingSince: null })
  const days = (count: number) => healthAfter(start, [attempt(failed, count * 86_400)]).disabledReason
  expect([days(4.99), days(5)]).toEqual([undefined, 'No attempt succeeded for 5 days.'])
})

test('only 410 means gone', () => {
  for (const [responseCode, reason] of [
    [410, 'The endpoint returned 410 Gone.'],
    [404, undefined],
    [500, undefined],
  ] as const) {
    const outcome = { responseCode, error: `Responded with ${responseCode}.` }
    expect(healthAfter(null, [{ outcome, at: start }]).disabledReason).toBe(reason)
  }
})
