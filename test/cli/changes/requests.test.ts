import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changeConcurrently, changeEach, groupIds } from '../../../src/cli/changes/change-passes.ts'
import type { Client } from '../../../src/client/client.ts'
import { ApiError } from '../../../src/client/client-errors.ts'

test('requests IDs in groups of at most twenty that fit a request line, each once and in order', () => {
  expect(groupIds(Array.from({ length: 50 }, (_, index) => `T-${index}`)).map((group) => group.length)).toEqual([
    20, 20, 10,
  ])
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 })), (ids) => {
      const groups = groupIds(ids)
      expect(groups.flat()).toEqual(ids)
      for (const group of groups) {
        const query = new URLSearchParams(group.map((id): [string, string] => ['externalPassId', id]))
        if (group.length > 1) expect(`${query}`.length).toBeLessThan(8_000)
        expect(group.length).toBeLessThanOrEqual(20)
      }
    }),
  )
})

test('limits concurrent requests, sends every row, and frees the slot of a rejected one', async () => {
  let running = 0
  let most = 0
  const change = async (n: number) => {
    running += 1
    most = Math.max(most, running)
    await sleep(1)
    running -= 1
    if (n % 5 === 0) throw rejection(404, 'PASS_NOT_FOUND')
    return { outcome: 'changed' as const, values: [] }
  }
  const changeAll = changeConcurrently({ concurrency: 3, change })
  const results = await changeAll({} as Client, [...Array(20).keys()])
  expect(most).toBe(3)
  expect(results.map(({ outcome }) => outcome)).toEqual(
    [...Array(20).keys()].map((n) => (n % 5 === 0 ? 'failed' : 'changed')),
  )
})

/** Returns a client that finds a pass for every ID except `missing`. */
function fakeClient(): { client: Client; lists: number } {
  const state = { lists: 0 }
  const list = async ({ query }: { query: { externalPassId: string[] } }) => {
    state.lists += 1
    const found = query.externalPassId.filter((id) => id !== 'missing')
    return { items: found.map((externalPassId) => ({ id: `id-${externalPassId}`, externalPassId })) }
  }
  return Object.assign(state, { client: { passes: { list } } as unknown as Client })
}

const rejection = (status: number, code: string) =>
  new ApiError({
    status,
    code,
    message: 'No.',
    correlationId: 'c',
    details: {},
    request: { method: 'PATCH', path: '/' },
  })

const items = (...ids: string[]) => ids.map((externalPassId) => ({ externalPassId }))

test('a batch needs one request to find its passes and one per row, whose error is that of its row', async () => {
  const changed: string[] = []
  const fake = fakeClient()
  const send = changeEach({
    concurrency: 4,
    change: async (pass) => {
      changed.push(pass.id)
      if (pass.externalPassId === 'void') throw rejection(409, 'PASS_ALREADY_VOIDED')
      return 'updated'
    },
  })
  const results = await send(items('a', 'missing', 'void', 'b'), { client: fake.client, note: () => undefined })
  expect(results).toEqual([
    { outcome: 'updated' },
    { outcome: 'failed', error: 'PASS_NOT_FOUND: No pass has this external ID' },
    { outcome: 'failed', error: 'PASS_ALREADY_VOIDED: No.' },
    { outcome: 'updated' },
  ])
  expect(fake.lists).toBe(1)
  expect(changed.sort()).toEqual(['id-a', 'id-b', 'id-void'])
})

test.each([401, 403, 500, 503])(
  'a response %d would affect every row, so it ends the batch and parallel requests',
  async (status) => {
    const signals: AbortSignal[] = []
    const send = changeEach({
      concurrency: 2,
      change: async (_, __, { signal }) => {
        signals.push(signal)
        throw rejection(status, 'FORBIDDEN')
      },
    })
    const sending = send(items('a', 'b', 'c'), { client: fakeClient().client, note: () => undefined })
    await expect(sending).rejects.toMatchObject({ status })
    expect(signals.every((signal) => signal.aborted)).toBe(true)
  },
)
