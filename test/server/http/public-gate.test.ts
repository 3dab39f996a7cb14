import { expect, test } from 'vitest'
import { createPublicGate } from '../../../src/server/http/middleware/public-gate.ts'

const roomy = { atOnce: 4, atOnceByAddress: 2, waiting: 3, waitingByAddress: 2, patienceMs: 60_000 }

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = {}
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending
}

test('an address has its part of what is answered at once; another gets in past those that wait', async () => {
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
  // The one that has waited longest, and only one: all places are taken again.
  await third
  expect(await isPending(other)).toBe(true)
})

test('whoever waits behind an address that has its part is let in first', async () => {
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

test('a line that is full, or takes too long, is 503 with Retry-After', async () => {
  const full = { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': expect.stringMatching(/^\d+$/) } }
  const gate = createPublicGate({ ...roomy, atOnceByAddress: 1 })
  await gate.enter('a')
  // They are refused when all this is over.
  for (const _ of [1, 2]) gate.enter('a').catch(() => undefined)
  await expect(gate.enter('a')).rejects.toMatchObject(full)
  await gate.enter('b')

  const hasty = createPublicGate({ ...roomy, atOnceByAddress: 1, patienceMs: 1 })
  const leave = await hasty.enter('a')
  await expect(hasty.enter('a')).rejects.toMatchObject(full)
  leave()
  await hasty.enter('a')
})

test('requests that wait have a bound in all, and whoever was admitted waits no longer', async () => {
  const gate = createPublicGate({ atOnce: 1, atOnceByAddress: 1, waiting: 1, waitingByAddress: 5, patienceMs: 60_000 })
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
