import { expect, test } from 'vitest'
import { createPublicGate } from '../../../src/server/admission/public-gate.ts'

const roomy = { atOnce: 4, atOnceByAddress: 2, waiting: 3, waitingByAddress: 2, timeoutMs: 60_000 }

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = {}
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending
}

test('an address has its share of concurrent requests, and another one precedes its waiting requests', async () => {
  const gate = createPublicGate(roomy)
  const leave = await gate.enter('a')
  await gate.enter('a')
  const third = gate.enter('a')
  expect(await isPending(third)).toBe(true)
  await gate.enter('b')
  await gate.enter('b')
  const other = gate.enter('c')
  expect(await isPending(other)).toBe(true)
  leave()
  leave()
  // Only the request that waited longest enters, because all places are taken again.
  await third
  expect(await isPending(other)).toBe(true)
})

test('a request behind an address that uses its share is admitted first', async () => {
  const gate = createPublicGate({ ...roomy, atOnce: 3 })
  await gate.enter('a')
  await gate.enter('a')
  const leave = await gate.enter('b')
  const blocked = gate.enter('a')
  const waiting = gate.enter('c')
  leave()
  await waiting
  expect(await isPending(blocked)).toBe(true)
})

test('returns 503 with Retry-After if the queue is full or too slow', async () => {
  const full = { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': expect.stringMatching(/^\d+$/) } }
  const gate = createPublicGate({ ...roomy, atOnceByAddress: 1 })
  await gate.enter('a')
  // These requests are rejected at the end of the test.
  for (const _ of [1, 2]) gate.enter('a').catch(() => undefined)
  await expect(gate.enter('a')).rejects.toMatchObject(full)
  await gate.enter('b')

  const hasty = createPublicGate({ ...roomy, atOnceByAddress: 1, timeoutMs: 1 })
  const leave = await hasty.enter('a')
  await expect(hasty.enter('a')).rejects.toMatchObject(full)
  leave()
  await hasty.enter('a')
})

test('waiting requests have a total limit, which admitted ones do not count towards', async () => {
  const gate = createPublicGate({ atOnce: 1, atOnceByAddress: 1, waiting: 1, waitingByAddress: 5, timeoutMs: 60_000 })
  const leave = await gate.enter('a')
  const waiting = gate.enter('a')
  await expect(gate.enter('b')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  leave()
  const leaveAgain = await waiting
  const other = gate.enter('b')
  leaveAgain()
  const leaveOther = await other
  leaveOther()
})
