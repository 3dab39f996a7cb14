import { describe, expect, test } from 'vitest'
import { ApiError, ConnectionError } from '../../src/client/client.ts'
import type { Reply } from './fake-server.ts'
import { scriptedServer } from './fake-server.ts'

const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const ok: Reply = { status: 200, body: { id } }
/** Asks for an immediate retry, so that the test does not wait. */
const busy = (status: number): Reply => ({ status, body: {}, headers: { 'retry-after': '0' } })

type Client = Awaited<ReturnType<typeof scriptedServer>>['client']
const safe: [string, (client: Client) => Promise<unknown>][] = [
  ['a read', (client) => client.projects.get({ params: { id } })],
  ['a delete', (client) => client.projects.delete({ params: { id } })],
  ['a create that is idempotent', (client) => client.passes.createBatch({ body: { passes: [{} as never] } })],
  ['a call whose caller says so', (client) => client.projects.create({ body: { name: 'x' } }, { idempotent: true })],
]
const unsafe: [string, (client: Client) => Promise<unknown>][] = [
  ['a create', (client) => client.projects.create({ body: { name: 'x' } })],
  ['a change', (client) => client.projects.update({ params: { id }, body: { name: 'x' } })],
  ['a publish', (client) => client.templateVersions.publish({ params: { id } })],
]

describe.each([...safe, ...unsafe])('%s', (_, call) => {
  test.each([429, 503])('is sent again after %i, which means that nothing was done', async (status) => {
    const { client, seen } = await scriptedServer([busy(status), busy(status), ok])
    expect(await call(client)).toEqual({ id })
    expect(seen).toHaveLength(3)
  })

  test.each([400, 401, 404, 409, 500])('is not sent again after %i', async (status) => {
    const { client, seen } = await scriptedServer([{ status, body: {} }, ok])
    await expect(call(client)).rejects.toThrow(ApiError)
    expect(seen).toHaveLength(1)
  })
})

test.each(safe)('sends %s again if its response is lost', async (_, call) => {
  const { client, seen } = await scriptedServer(['lost', { status: 502, body: {} }, ok])
  expect(await call(client)).toEqual({ id })
  expect(seen).toHaveLength(3)
})

test.each(unsafe)('does not send %s again if its response is lost, since it may have run', async (_, call) => {
  const lost = await scriptedServer(['lost', ok])
  await expect(call(lost.client)).rejects.toThrow(ConnectionError)
  expect(lost.seen).toHaveLength(1)
  const gateway = await scriptedServer([{ status: 502, body: {} }, ok])
  await expect(call(gateway.client)).rejects.toThrow(ApiError)
  expect(gateway.seen).toHaveLength(1)
})

test('makes as many attempts as requested, and reports the last error', async () => {
  const { client, seen } = await scriptedServer([busy(503)], { attempts: 3 })
  await expect(client.projects.list()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 0 })
  expect(seen).toHaveLength(3)
})

test('waits as the server asks, and announces each wait; stopping does not wait for its end', async () => {
  const controller = new AbortController()
  const reason = new Error('stopped')
  const waits: unknown[] = []
  const reply: Reply = { status: 429, body: { errorCode: 'RATE_LIMITED' }, headers: { 'retry-after': '3600' } }
  const { client, seen } = await scriptedServer([reply], {
    onRetry: ({ error, waitSeconds, attempt }) => {
      waits.push({ code: (error as ApiError).code, waitSeconds, attempt })
      controller.abort(reason)
    },
  })
  await expect(client.projects.list({}, { signal: controller.signal })).rejects.toBe(reason)
  expect(waits).toEqual([{ code: 'RATE_LIMITED', waitSeconds: 3600, attempt: 1 }])
  expect(seen).toHaveLength(1)
})

test('without Retry-After, the waits grow up to a short maximum', async () => {
  const waits: number[] = []
  const { client } = await scriptedServer([{ status: 503, body: {} }], {
    attempts: 3,
    onRetry: ({ waitSeconds }) => waits.push(waitSeconds),
  })
  await expect(client.projects.list()).rejects.toThrow(ApiError)
  expect(waits).toHaveLength(2)
  expect(waits[0]).toBeGreaterThanOrEqual(0.1)
  expect(waits[1]).toBeGreaterThan(waits[0]! * 0.99)
  expect(waits[1]).toBeLessThanOrEqual(0.4)
})
