import { expect, test } from 'vitest'
import { createPublicGate } from '../../../src/server/admission/public-gate.ts'

const roomy = { places: 4, perFlow: 2, max: 7, maxPerFlow: 4, timeoutMs: 60_000 }

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = {}
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending
}

test('an address has its part of the concurrent requests; another one that used less goes first', async () => {
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
  // Only one: all places are taken again.
  const leaveOther = await other
  expect(await isPending(third)).toBe(true)
  leaveOther()
  await third
})

test('whoever waits behind an address that has its part is let in first', async () => {
  const gate = createPublicGate({ ...roomy, places: 3, max: 6 })
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
  const gate = createPublicGate({ ...roomy, perFlow: 1, maxPerFlow: 3 })
  await gate.enter('a')
  // They are refused when all this is over.
  for (const _ of [1, 2]) gate.enter('a').catch(() => undefined)
  await expect(gate.enter('a')).rejects.toMatchObject(full)
  await gate.enter('b')

  const hasty = createPublicGate({ ...roomy, perFlow: 1, timeoutMs: 1 })
  const leave = await hasty.enter('a')
  await expect(hasty.enter('a')).rejects.toMatchObject(full)
  leave()
  await hasty.enter('a')
})

test('requests that wait have a bound in all, and whoever was admitted waits no longer', async () => {
  const gate = createPublicGate({ places: 1, perFlow: 1, max: 2, maxPerFlow: 6, timeoutMs: 60_000 })
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
