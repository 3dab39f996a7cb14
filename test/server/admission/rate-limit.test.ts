import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import { ApiError } from '../../../src/core/errors.ts'
import { newToken } from '../../../src/core/rules/crypto/token.ts'
import { createJoinLimits } from '../../../src/server/admission/join-limits.ts'
import { createLimits, rejectSlowly } from '../../../src/server/admission/rate-limit.ts'
import { networkKey } from '../../../src/server/http/client-address.ts'
import { type Api, useApi } from '../../support/api.ts'

const perSecond = 5
const burst = 10

const attempts = (count: number, send: () => Promise<{ status: number; headers: Headers; body: unknown }>) =>
  Promise.all(Array.from({ length: count }, send))

const refused = (answers: { status: number }[]) => answers.filter(({ status }) => status === 429).length

async function countRejections({ services }: Api, limit: string) {
  const { values } = await services.metrics.rateLimited.get()
  return values.find(({ labels }) => labels.limit === limit)?.value
}

/** Stops the clock, so that all requests of a test have the same time. */
function stopTime() {
  beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(performance.now()))
  afterEach(() => void vi.restoreAllMocks())
}

describe('with a limit', () => {
  const api = useApi('sqlite', { rateLimit: { perSecond, burst } })
  stopTime()

  test('above its burst and rate, a token gets 429 RATE_LIMITED with Retry-After', async () => {
    const workspace = await api.workspace()
    const other = await api.workspace()
    const answers = await attempts(30, () => workspace.call(contract.tokens.current, {}))
    expect(refused(answers)).toBe(30 - burst)
    const last = answers.find(({ status }) => status === 429)!
    expect((last.body as ErrorBody).errorCode).toBe('RATE_LIMITED')
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await other.call(contract.tokens.current, {})).status).toBe(200)
    expect(await countRejections(api, 'token')).toBe(30 - burst)
  })

  test('a client that guesses tokens is limited by address', async () => {
    const answers = await attempts(200, () => guess(api))
    expect(refused(answers)).toBeGreaterThan(0)
    expect(answers.filter(({ status }) => status === 401).length).toBeGreaterThan(50)
    expect(await countRejections(api, 'address')).toBe(refused(answers))
    const workspace = await api.workspace()
    expect((await workspace.call(contract.tokens.current, {})).status).toBe(200)
  })
})

// Use a separate server, because guesses come from the same address.
describe('with a separate limit', () => {
  const api = useApi('sqlite', { rateLimit: { perSecond, burst } })
  stopTime()

  test('opened links are limited by address', async () => {
    const answers = await attempts(200, () => api.send('GET', '/l/x', { headers: { accept: 'application/json' } }))
    expect(refused(answers)).toBeGreaterThan(0)
  })
})

describe('endpoints without a token', () => {
  const refuse = () => {
    throw new ApiError('RATE_LIMITED', { headers: { 'retry-after': '1' } })
  }
  const byAddress = { address: refuse, files: refuse, wallets: refuse, health: refuse }
  const api = useApi('sqlite', { limits: { byAddress } })

  const paths = [
    '/openapi.json',
    '/docs',
    '/assets/docs.js',
    '/images/018f2f5e-7c1a-7000-8000-0123456789ab',
    '/',
    '/nowhere',
    '/l/x',
    '/apple/v1/passes/a/b',
    '/apple/v1/log',
    '/google/callbacks',
    '/healthz',
    '/readyz',
    '/v1/nowhere',
    '/v1/passes',
    '/v1/passes/',
  ]
  test('every one is limited by address', async () => {
    // Send all requests at once, because each rejection is delayed.
    const asked = paths.flatMap((path) => ['GET', 'HEAD', 'POST', 'PUT'].map((method) => ({ method, path })))
    const answers = asked.map(async ({ method, path }) => {
      const { status, headers } = await api.send(method, path, { headers: { accept: 'application/json' } })
      return { method, path, status, retryAfter: headers.get('retry-after') }
    })
    expect(await Promise.all(answers)).toEqual(asked.map((one) => ({ ...one, status: 429, retryAfter: '1' })))
  })

  test('counts a rejected token against the address, and a database that does not respond never', async () => {
    expect((await guess(api)).status).toBe(429)
    vi.spyOn(api.services.store.tokens, 'findByDigest').mockRejectedValueOnce(
      Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    )
    expect((await guess(api)).status).toBe(503)
  })

  test('requests without a token do not affect tokens of the same address', async () => {
    const workspace = await api.workspace()
    expect((await workspace.call(contract.tokens.current, {})).status).toBe(200)
  })
})

test('each of the limits by address ends, and a large file counts for more than a small one', () => {
  const { byAddress } = createLimits({ perSecond, burst })
  const allowed = (limit: (address: string) => void, address = '192.0.2.7') => {
    for (let n = 0; n < 10_000; n += 1) {
      try {
        limit(address)
      } catch (error) {
        expect(error).toMatchObject({ code: 'RATE_LIMITED' })
        return n
      }
    }
    return Infinity
  }
  for (const [name, limit] of Object.entries(byAddress)) expect([name, allowed(limit)]).not.toContain(Infinity)
  expect(allowed((address) => byAddress.files(address, 17), '192.0.2.8')).toBeLessThan(20)
  expect(allowed(byAddress.files, '192.0.2.9')).toBeGreaterThanOrEqual(200)
})

describe('without a limit', () => {
  const api = useApi('sqlite')

  test('rejects nothing', async () => {
    const workspace = await api.workspace()
    await api.services.store.transaction((tx) => tx.limits.set(workspace.id, { requestsInFlight: 300 }))
    expect(refused(await attempts(300, () => workspace.call(contract.tokens.current, {})))).toBe(0)
    expect(refused(await attempts(200, () => guess(api)))).toBe(0)
  })
})

function guess(api: Api) {
  return api.send('GET', '/v1/tokens/current', { headers: { authorization: `Bearer ${newToken()}` } })
}

test('429 responses are delayed, a few per key at a time; more are sent at once, and others immediately', async () => {
  const limit = rejectSlowly((key) => {
    if (key !== 'calm') throw new ApiError('RATE_LIMITED')
  })
  const told: string[] = []
  const ask = (key: string) => limit(key).catch(() => told.push(key))
  const keys = [...Array(70).fill('a'), 'b']
  const asked = keys.map(ask)
  await expect(limit('calm')).resolves.toBeUndefined()
  await new Promise(setImmediate)
  expect(told).toEqual(Array(6).fill('a'))
  await Promise.all(asked)
  expect(told.toSorted()).toEqual(keys)
  // Their places are free again.
  const later = ask('a')
  await new Promise(setImmediate)
  expect(told).toHaveLength(keys.length)
  await later
})

test('ten hostile networks never use up the limit of a join page for other networks', () => {
  const time = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => void time.mockRestore())
  const { page } = createJoinLimits({ perAddress: 0, perPage: 600 })
  const isAccepted = (address: string) => {
    try {
      page('page', 1, networkKey(address))
      return true
    } catch {
      return false
    }
  }
  const hostile = Array.from({ length: 10 }, (_, network) =>
    Array.from({ length: 5 }, (_, host) => `198.51.${network}.${host}`),
  ).flat()
  for (let second = 0; second < 300; second += 1) {
    for (const address of hostile) while (isAccepted(address));
    expect(isAccepted(second % 2 === 0 ? '203.0.113.7' : '2001:db8:7:1::7')).toBe(true)
    time.mockReturnValue(performance.now() + 1000)
  }
})
