import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createThread, LIST_BYTES, type Thread } from '../../../src/server/admission/event-loop.ts'
import type { Leave } from '../../../src/server/admission/fair-queue.ts'

let used = 0
let thread: Thread
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] })
  thread = createThread({ measure: () => used })
})
afterEach(() => {
  thread.close()
  vi.useRealTimers()
})

const LARGE = 100_000

/** Requests of the workspaces that the letters name; capitals are large ones. */
function come(workspaces: string, enter: 'enterRequest' | 'enterJobs' = 'enterRequest') {
  const inside: { name: string; leave: Leave }[] = []
  const refused: string[] = []
  for (const name of workspaces) {
    const cost = name === name.toUpperCase() ? LARGE : 1
    thread[enter](name.toLowerCase(), cost).then(
      (leave) => inside.push({ name, leave }),
      () => refused.push(name),
    )
  }
  return {
    refused,
    names: () => inside.map(({ name }) => name).join(''),
    leave: (name: string) =>
      inside
        .splice(
          inside.findIndex((one) => one.name === name),
          1,
        )[0]!
        .leave(),
  }
}

async function pass(milliseconds: number, use = used): Promise<void> {
  used = use
  await vi.advanceTimersByTimeAsync(milliseconds)
}

/** The event loop is busy, with work of both workspaces. */
async function busy(): Promise<void> {
  const before = come('ab')
  await pass(100, 1)
  for (const name of ['a', 'b']) before.leave(name)
}

test('nothing waits while the event loop has time to spare', async () => {
  const { names } = come('AAAAAAAAb')
  await pass(100, 0.5)
  expect(names()).toBe('AAAAAAAAb')
})

test('a workspace that is alone does not wait for itself', async () => {
  await pass(100, 1)
  const { names } = come('AAAAAA')
  await pass(100)
  expect(names()).toBe('AAAAAA')
})

test('in a busy process a workspace has one large request in work, and small ones do not wait for it', async () => {
  await busy()
  const { names, leave } = come('AAAaaaBBb')
  await pass(0)
  expect(names()).toBe('AaaaBb')
  leave('A')
  // Next to small requests, large ones begin a tenth of a second apart.
  await pass(100)
  expect(names()).toBe('aaaBbA')
})

test('large requests of a workspace take turns while it also sends small ones', async () => {
  await pass(100, 1)
  come('a')
  const { names } = come('AAA')
  await pass(0)
  expect(names()).toBe('A')
})

test('in a busy process a workspace has eight small requests in work', async () => {
  await busy()
  const { names } = come('aaaaaaaaaabb')
  await pass(0)
  expect(names()).toBe('aaaaaaaabb')
})

test('jobs of a workspace do not take the turn of its requests', async () => {
  await busy()
  const jobs = come('AAA', 'enterJobs')
  const { names } = come('A')
  await pass(0)
  expect([jobs.names(), names()]).toEqual(['A', 'A'])
})

test('work that began before the process was busy does not count, and work that waits starts when a turn ends', async () => {
  const before = come('AAAb')
  await pass(100, 1)
  const { names, leave } = come('AA')
  await pass(0)
  expect([before.names(), names()]).toEqual(['AAAb', 'A'])
  // The process has time to spare again: what waits still has its turn.
  await pass(4_000, 0.2)
  leave('A')
  await pass(0)
  expect(names()).toBe('A')
  const later = come('AAA')
  await pass(0)
  expect(later.names()).toBe('AAA')
})

test('a request that waits for ten seconds is rejected', async () => {
  await busy()
  const { refused, names } = come('AA')
  for (let second = 0; second < 11; second += 1) await pass(1_000)
  expect([names(), refused]).toEqual(['A', ['A']])
})

test('a workspace that has been away for ten seconds does not make another wait', async () => {
  await busy()
  await pass(10_200)
  const { names } = come('AAA')
  await pass(0)
  expect(names()).toBe('AAA')
})

test.each(['enterRequest', 'enterJobs'] as const)(
  'next to small requests of its own, a workspace begins large work by %s a tenth of a second apart',
  async (enter) => {
    await pass(100, 1)
    const door = come('a')
    const { names, leave } = come('AAA', enter)
    await pass(0)
    expect([door.names(), names()]).toEqual(['a', 'A'])
    leave('A')
    await pass(99)
    expect(names()).toBe('')
    await pass(1)
    expect(names()).toBe('A')
  },
)

test('lists of a workspace do not wait for its small requests, and single jobs wait for a millisecond', async () => {
  await pass(100, 1)
  come('a')
  const list = thread.enterRequest('a', LIST_BYTES)
  await pass(0)
  ;(await list)()
  const next = thread.enterRequest('a', LIST_BYTES)
  await pass(0)
  ;(await next)()
  const first = await thread.enterJobs('a', 1)
  first()
  const second = thread.enterJobs('a', 1)
  await pass(1)
  ;(await second)()
})
