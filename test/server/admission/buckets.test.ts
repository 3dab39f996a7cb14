import { describe, expect, test } from 'vitest'
import { type Buckets, createBuckets, createOwnBuckets } from '../../../src/server/admission/rate-limit.ts'
import { monotonicSeconds } from '../../../src/server/line-limit.ts'

const rate = { perSecond: 100, burst: 200 }

/** Returns the maximum number of requests that a bucket allows a constant sender in the given number of seconds. */
const limit = (seconds: number) => rate.burst + rate.perSecond * seconds

const SECONDS = 5
const STEP = 0.001
const EXCHANGE = 0.15

/** Requests a second at each server; far more than the limit. */
const loads: [string, number[]][] = [
  ['one server', [1000]],
  ['two, balanced', [500, 500]],
  ['two, all to one', [1000, 0]],
  ['two, lopsided', [900, 100]],
  ['two, a trickle at one', [1000, 3]],
  ['four, balanced', [400, 400, 400, 400]],
  ['four, all to one', [1000, 0, 0, 0]],
]

test.each(loads)('%s: accepted requests are within 20 % of the limit', (_, load) => {
  const passed = run(load, SECONDS)
  expect(passed).toBeGreaterThan(limit(SECONDS) * 0.8)
  expect(passed).toBeLessThan(limit(SECONDS) * 1.2)
})

test.each(loads)('%s: accepted requests are within 20 % of the limit with a burst of a fifth of it', (_, load) => {
  const passed = run(load, SECONDS, { perSecond: 100, burst: 20 })
  expect(passed).toBeGreaterThan(520 * 0.8)
  expect(passed).toBeLessThan(520 * 1.2)
})

test.each(loads)('%s: a key within the limit is never rejected', (_, load) => {
  const total = load.reduce((sum, one) => sum + one, 0)
  const gentle = load.map((one) => (one / total) * rate.perSecond * 0.95)
  expect(run(gentle, SECONDS)).toBe(asked(gentle, SECONDS))
})

test('every party gets its share of a small limit', () => {
  const small = { perSecond: 1, burst: 0 }
  const passed = run([50, 50], 10, small)
  expect(passed).toBeGreaterThanOrEqual(9)
  expect(passed).toBeLessThanOrEqual(13)
})

describe('alone', () => {
  test('accepts the burst immediately, and then the rate', () => {
    const buckets = createBuckets(rate)
    expect(takeAll(buckets, 'key', 0)).toBe(200)
    expect(takeAll(buckets, 'key', 0.5)).toBe(50)
    expect(takeAll(buckets, 'other', 0.5)).toBe(200)
    expect(takeAll(buckets, 'key', 60)).toBe(200)
  })

  test('accepts a costly request if one is left, and lets the next ones wait for its debt', () => {
    const buckets = createBuckets({ perSecond: 10, burst: 20 })
    expect(buckets.take('key', 0, 50)).toBeUndefined()
    expect(buckets.take('key', 0)).toBeCloseTo(3.1)
    expect(buckets.take('key', 3)).toBeCloseTo(0.1)
    expect(buckets.take('key', 3.1)).toBeUndefined()
  })

  test('a rejection contains the time of the next accepted request', () => {
    const buckets = createBuckets({ perSecond: 2, burst: 0 })
    expect(takeAll(buckets, 'key', 0)).toBe(1)
    expect(buckets.take('key', 0)).toBeCloseTo(0.5)
    expect(buckets.take('key', 0.5)).toBe(undefined)
  })

  test('shares at most a thousand keys, and deletes those whose buckets are full again', () => {
    const buckets = createBuckets(rate)
    for (let n = 0; n < 5_000; n += 1) buckets.take(`key ${n}`, n / 1_000)
    expect(Object.keys(buckets.usage(5))).toHaveLength(1_000)
    buckets.take('used', 19.999)
    expect(Object.keys(buckets.usage(20))).toEqual(['used'])
    buckets.share(1, 20)
    expect(buckets.size()).toBe(1)
  })

  test('requests of keys beyond the maximum are not shared later either', () => {
    const buckets = createBuckets(rate)
    buckets.take('least', 0)
    for (let n = 0; n < 2_000; n += 1) buckets.take(`key ${n % 1_000}`, 0)
    expect(buckets.usage(0)).not.toHaveProperty('least')
    buckets.take('least', 4)
    expect(buckets.usage(6)).toEqual({ least: 1 })
  })

  test('a new key deletes full keys that no other process shares', () => {
    const now = monotonicSeconds()
    const buckets = createOwnBuckets(rate)
    for (let n = 0; n < 1_000; n += 1) buckets.take(`key ${n}`, now)
    buckets.take('early', now + 4)
    expect(buckets.size()).toBe(1_001)
    buckets.take('late', now + 6)
    expect(buckets.size()).toBe(2)
  })
})

test('no key is blocked more than a second longer than its burst takes to refill', () => {
  const buckets = createBuckets(rate)
  buckets.merge('other', 'key', 1_000_000, 0)
  buckets.share(2, 0)
  expect(takeAll(buckets, 'key', 2.9)).toBe(0)
  expect(takeAll(buckets, 'key', 6)).toBeGreaterThan(100)
})

describe('parties of a key', () => {
  /**
   * Returns the accepted requests in ten seconds, of greedy parties and of a gentle one that starts after their burst.
   */
  function compete(greedy: number, gentlePerSecond: number) {
    const buckets = createBuckets(rate)
    const passed = { greedy: 0, gentle: 0, refused: 0 }
    let sent = 0
    for (let now = 0; now < 10; now += 0.005) {
      for (let n = 0; n < greedy; n += 1) {
        while (buckets.take('key', now, 1, `greedy ${n}`) === undefined) passed.greedy += 1
      }
      for (; sent < (now - 2) * gentlePerSecond; sent += 1) {
        if (buckets.take('key', now, 1, 'gentle') === undefined) passed.gentle += 1
        else passed.refused += 1
      }
    }
    return passed
  }

  test.each([
    [1, 40],
    [9, 9],
    [49, 1],
  ])('%i greedy parties leave a fair share to one that sends %f per second', (greedy, gentlePerSecond) => {
    const { refused, ...passed } = compete(greedy, gentlePerSecond)
    expect(refused).toBe(0)
    expect(passed.greedy + passed.gentle).toBeGreaterThan(0.9 * rate.perSecond * 10)
  })

  test('a single party gets half of the burst, and then the whole rate', () => {
    const buckets = createBuckets(rate)
    const takeMany = (now: number) => {
      let taken = 0
      while (buckets.take('key', now, 1, 'door') === undefined) taken += 1
      return taken
    }
    expect(takeMany(0)).toBe(100)
    let taken = 0
    for (let now = 0; now < 10; now += 0.005) taken += takeMany(now)
    expect(taken).toBeGreaterThan(970)
  })
})

function takeAll(buckets: Buckets, key: string, now: number): number {
  let taken = 0
  while (buckets.take(key, now) === undefined) taken += 1
  return taken
}

function asked(load: number[], seconds: number): number {
  return load.reduce((sum, perSecond) => sum + Math.floor(perSecond * (seconds - STEP)) + (perSecond > 0 ? 1 : 0), 0)
}

/** Returns how many requests servers accept that exchange their counts in turns, with the given load on each server. */
function run(load: number[], seconds: number, limits = rate): number {
  const servers = load.map((perSecond, index) => ({
    perSecond,
    buckets: createBuckets(limits),
    told: {} as Record<string, number>,
    heard: load.map(() => 0),
    sent: 0,
    nextExchange: (EXCHANGE * index) / load.length,
  }))
  for (const { buckets } of servers) buckets.share(servers.length, 0)
  let passed = 0
  for (let now = 0; now < seconds; now += STEP) {
    for (const [index, server] of servers.entries()) {
      if (now >= server.nextExchange) {
        server.nextExchange += EXCHANGE
        server.told = server.buckets.usage(now)
        for (const [from, other] of servers.entries()) {
          const count = other.told.key ?? 0
          if (from !== index && count > server.heard[from]!) {
            server.buckets.merge(String(from), 'key', count - server.heard[from]!, now)
            server.heard[from] = count
          }
        }
        server.buckets.share(servers.length, now)
      }
      for (; server.perSecond > 0 && server.sent <= server.perSecond * now; server.sent += 1) {
        if (server.buckets.take('key', now) === undefined) passed += 1
      }
    }
  }
  return passed
}
