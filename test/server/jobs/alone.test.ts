import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Leave } from '../../../src/server/http/thread.ts'
import { type Alone, createAlone } from '../../../src/server/jobs/fairness.ts'

let alone: Alone
/** Who is inside, in the order in which they came in. */
let inside: string[]
const leave = new Map<string, Leave>()

beforeEach(() => {
  vi.useFakeTimers()
  alone = createAlone()
  inside = []
})
afterEach(() => void vi.useRealTimers())

async function come(name: string): Promise<void> {
  const coming = name.startsWith('alone') ? alone.enterAlone() : alone.enter()
  void coming.then((goes) => {
    inside.push(name)
    leave.set(name, () => {
      goes()
      inside.splice(inside.indexOf(name), 1)
    })
  })
  await vi.advanceTimersByTimeAsync(0)
}

async function go(name: string): Promise<void> {
  leave.get(name)!()
  await vi.advanceTimersByTimeAsync(0)
}

test('any number are inside at once', async () => {
  for (const name of ['a', 'b', 'c']) await come(name)
  expect(inside).toEqual(['a', 'b', 'c'])
})

test('who must be alone waits for those inside, and those who come later wait for it', async () => {
  await come('a')
  await come('alone')
  await come('b')
  expect(inside).toEqual(['a'])
  await go('a')
  expect(inside).toEqual(['alone'])
  await come('c')
  expect(inside).toEqual(['alone'])
  await go('alone')
  // The next that must be alone may be on its way.
  expect(inside).toEqual([])
  await vi.advanceTimersByTimeAsync(100)
  expect(inside).toEqual(['b', 'c'])
})

test('who must be alone is so although another comes, or was let go on, in the same moment', async () => {
  await Promise.all(['alone 1', 'a'].map(come))
  expect(inside).toEqual(['alone 1'])
  const next = come('alone 2')
  await go('alone 1')
  await next
  expect(inside).toEqual(['alone 2'])
  await go('alone 2')
  const late = vi.advanceTimersByTimeAsync(100)
  await Promise.all([late, come('alone 3')])
  expect(inside).toHaveLength(1)
})

test('those that must be alone are so one after the other, and nobody comes in between', async () => {
  for (const name of ['a', 'alone 1', 'b', 'alone 2']) await come(name)
  await go('a')
  expect(inside).toEqual(['alone 1'])
  await go('alone 1')
  expect(inside).toEqual(['alone 2'])
  await go('alone 2')
  await vi.advanceTimersByTimeAsync(99)
  await come('alone 3')
  expect(inside).toEqual(['alone 3'])
  await go('alone 3')
  await vi.advanceTimersByTimeAsync(100)
  expect(inside).toEqual(['b'])
})

test('together they keep others out for two seconds, and then rest for as long', async () => {
  for (const name of ['alone 1', 'b']) await come(name)
  await vi.advanceTimersByTimeAsync(1_500)
  await go('alone 1')
  await come('alone 2')
  await vi.advanceTimersByTimeAsync(500)
  expect(inside).toEqual(['alone 2', 'b'])
  await go('alone 2')
  await go('b')
  await come('alone 3')
  await vi.advanceTimersByTimeAsync(1_999)
  await come('c')
  expect(inside).toEqual(['c'])
  await go('c')
  await vi.advanceTimersByTimeAsync(1)
  expect(inside).toEqual(['alone 3'])
})

test('nobody waits for longer than two seconds, neither to be alone nor for one that is', async () => {
  await come('hangs')
  await come('alone')
  await come('b')
  await vi.advanceTimersByTimeAsync(2_000)
  expect(inside).toEqual(['hangs', 'alone'])
  await vi.advanceTimersByTimeAsync(2_000)
  expect(inside).toEqual(['hangs', 'alone', 'b'])
  // What leaves late lets nobody in by mistake.
  await vi.advanceTimersByTimeAsync(8_000)
  await come('alone 2')
  await go('alone')
  await come('c')
  expect(inside).toEqual(['hangs', 'b'])
  await vi.advanceTimersByTimeAsync(2_000)
  expect(inside).toEqual(['hangs', 'b', 'alone 2'])
})

test('where one waited in vain, those that follow do not wait, for ten seconds', async () => {
  for (const name of ['hangs', 'alone 1']) await come(name)
  await vi.advanceTimersByTimeAsync(2_000)
  await come('b')
  expect(inside).toEqual(['hangs', 'alone 1'])
  await go('alone 1')
  await vi.advanceTimersByTimeAsync(100)
  expect(inside).toEqual(['hangs', 'b'])
  await come('alone 2')
  await vi.advanceTimersByTimeAsync(100)
  expect(inside).toEqual(['hangs', 'b', 'alone 2'])
  await go('alone 2')
  await vi.advanceTimersByTimeAsync(10_000)
  await come('alone 3')
  expect(inside).toEqual(['hangs', 'b'])
  for (const name of ['hangs', 'b']) await go(name)
  expect(inside).toEqual(['alone 3'])
})
