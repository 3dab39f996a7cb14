import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planRedemption } from '../../../src/core/rules/redemption/redemption-plan.ts'
import { overlaps } from '../../../src/core/rules/redemption/redemption-windows.ts'
import { createUseRecord } from '../../../src/core/rules/redemption/use-record.ts'
import { createRangeCounts, segmentsOf } from '../../../src/storage/scans/accepted-scans.ts'

const minute = (n: number) => new Date(Date.UTC(2027, 4, 31) + n * 60_000)
const policyOf = (windows: { start: number; length: number }[]) => ({
  windows: windows.map(({ start, length }) => ({
    start: minute(start).toISOString(),
    end: minute(start + length).toISOString(),
    maxUses: 3,
  })),
  perPeriod: { unit: 'day' as const, count: 5, timezone: 'Pacific/Auckland' },
  autoVoidOnExhaustion: true,
})
const planOf = (policy: ReturnType<typeof policyOf>, more: { validityDate?: string } = {}) =>
  planRedemption({ status: 'ISSUED', expiresAt: null, policy, realTime: minute(0), scanContextKey: null, ...more })

const aWindow = fc.record({ start: fc.nat(40), length: fc.integer({ min: 1, max: 30 }) })

test('counts a use in each range that contains it, except in windows that overlap with the debited one', () => {
  const use = fc.record({ at: fc.nat(80), window: fc.option(fc.nat(12)) })
  const windows = fc.array(aWindow, { minLength: 1, maxLength: 10 })
  fc.assert(
    fc.property(windows, fc.array(use, { maxLength: 20 }), (content, uses) => {
      const plan = planOf(policyOf(content))
      const keys = [...plan.windows.keys(), 'a window of an earlier policy']
      const known = uses.map(({ at, window }) => ({
        at: minute(at).getTime(),
        debited: window === null ? null : keys[window % keys.length]!,
      }))
      const expected = plan.counted.map((range) => {
        const counting = known.filter(({ at, debited }) => {
          const other = debited === null || debited === range.key ? undefined : plan.windows.get(debited)
          const isElsewhere = range.isWindow && other !== undefined && overlaps(other, range)
          return range.from <= at && at < range.to && !isElsewhere
        })
        const times = counting.map(({ at }) => at).sort((a, b) => a - b)
        return [range.key, { count: times.length, firstAt: times.length > 0 ? new Date(times[0]!) : null }] as const
      })

      const found = createRangeCounts(plan)
      for (const segment of segmentsOf(plan.counted)) {
        const within = known.filter(({ at }) => segment.from <= at && at < segment.to)
        for (const debited of new Set(within.map((one) => one.debited))) {
          const times = within.filter((one) => one.debited === debited).map(({ at }) => at)
          const sums = { uses: times.length, first_at: Math.min(...times), debited_window: debited }
          found.add({ ...segment, ...sums, isKeyless: false })
        }
      }
      expect([...found.counts]).toEqual(expected)

      const record = createUseRecord()
      for (const { at, debited } of known)
        record.add({ at: new Date(at), scanContextKey: null, isDated: false, debitedWindow: debited })
      const counts = [...record.historyOf(plan).counts].map(([key, { count }]) => [key, count])
      expect(counts).toEqual(expected.map(([key, { count }]) => [key, count]))
    }),
  )
})

test('counts each use of a pass with 366 overlapping windows on one date once', () => {
  const policy = policyOf(Array.from({ length: 366 }, (_, n) => ({ start: n, length: 2000 - 2 * n })))
  const { counted, places } = planOf(policy, { validityDate: '2027-05-31' })
  expect(places).toHaveLength(366)
  // The possible times have the same list of windows that can be exhausted.
  expect(new Set(places.map(({ exhaustible }) => exhaustible)).size).toBe(1)
  expect(counted.filter(({ isWindow }) => isWindow)).toHaveLength(366)
  const segments = segmentsOf(counted)
  expect(segments.length).toBeLessThan(2 * counted.length)
  for (const [n, { from }] of segments.slice(1).entries()) expect(from).toBeGreaterThanOrEqual(segments[n]!.to)
})
