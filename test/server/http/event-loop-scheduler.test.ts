import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  createEventLoopScheduler,
  type EventLoopScheduler,
  type Leave,
  LIST_BYTES,
} from '../../../src/server/http/event-loop-scheduler.ts'

let used = 0
let thread: EventLoopScheduler
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] })
  thread = createEventLoopScheduler({ measure: () => used })
})
afterEach(() => {
  thread.close()
  vi.useRealTimers()
})

const LARGE = 100_000

/**
 * Enters workspaces in order, and records their admissions with the function that ends each. Capital letters have much
 * work.
 */
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

/** Brings the thread to a state in which `a` has used much time recently, `b` has not, and no time is left. */
async function aIsHeavy(): Promise<void> {
  const before = come('Ab')
  await pass(100, 1)
  for (const name of ['A', 'b']) before.leave(name)
}

test('no request waits while the event loop has spare time', async () => {
  const { names } = come('AAAAAAAAb')
  await pass(100, 0.5)
  expect(names()).toBe('AAAAAAAAb')
})

test('a single workspace does not wait for itself', async () => {
  await pass(100, 1)
  const { names } = come('AAAAAA')
  await pass(100)
  expect(names()).toBe('AAAAAA')
})

test.each(['enterRequest', 'enterJobs'] as const)(
  'when time is short, %s spaces the large requests of a workspace with small ones by 0.1 s',
  async (enter) => {
    await pass(100, 1)
    const door = come('a')
    const { names } = come('AAAAA', enter)
    await pass(0)
    expect([door.names(), names()]).toEqual(['a', 'A'])
    await pass(99)
    expect(names()).toBe('A')
    await pass(1)
    expect(names()).toBe('AA')
    await pass(300)
    expect(names()).toBe('AAAAA')
    // The gate was idle for a while.
    const later = come('AAA', enter)
    await pass(0)
    expect(later.names()).toBe('AAA')
  },
)

test('lists of a workspace do not wait for its small requests, nor do single jobs for long', async () => {
  await pass(100, 1)
  come('a')
  const lists = Promise.all(Array.from({ length: 3 }, () => thread.enterRequest('a', LIST_BYTES)))
  await pass(0)
  expect(await lists).toHaveLength(3)
  const jobs = Promise.all(Array.from({ length: 3 }, () => thread.enterJobs('a', 1)))
  await pass(2)
  expect(await jobs).toHaveLength(3)
})

test.each(['enterRequest', 'enterJobs'] as const)(
  'when time is short, %s admits one request of a busy workspace at a time, and several of others',
  async (enter) => {
    await aIsHeavy()
    const { names, leave } = come('AAAbbb', enter)
    await pass(100)
    expect(names()).toBe('Abbb')
    for (const name of [...'bbb']) leave(name)
    leave('A')
    await pass(0)
    expect(names()).toBe('A')
    leave('A')
    await pass(0)
    expect(names()).toBe('A')
  },
)

test('a busy workspace starts when no idler one works, or after a quarter of a second', async () => {
  await aIsHeavy()
  const light = come('b')
  await pass(0)
  const heavy = come('AA')
  await pass(100)
  expect(heavy.names()).toBe('')
  light.leave('b')
  await pass(0)
  expect(heavy.names()).toBe('A')
  come('b')
  await pass(0)
  heavy.leave('A')
  await pass(100)
  expect(heavy.names()).toBe('')
  await pass(200)
  expect(heavy.names()).toBe('A')
})

test('past work expires, and a workspace with spare time does not wait', async () => {
  await aIsHeavy()
  const { names } = come('AAA')
  await pass(100)
  expect(names()).toBe('A')
  await pass(3_300, 0.2)
  expect(names()).toBe('AAA')
})

test('small requests do not wait for large ones, not even in a busy workspace', async () => {
  await aIsHeavy()
  come('bbAA')
  const { names } = come('aaaaaaaaaa')
  await pass(100)
  expect(names()).toBe('aaaaaaaa')
})

test('jobs of a workspace do not take the places of its requests', async () => {
  await aIsHeavy()
  come('AAAA', 'enterJobs')
  const { names } = come('A')
  await pass(100)
  expect(names()).toBe('A')
})

test('a request that waits for ten seconds is rejected and leaves the queue', async () => {
  await aIsHeavy()
  const { refused, names, leave } = come('AA')
  for (let second = 0; second < 11; second += 1) {
    come('b')
    await pass(1_000)
  }
  expect([names(), refused]).toEqual(['A', ['A']])
  leave('A')
  const later = come('A')
  await pass(300)
  expect(later.names()).toBe('A')
})

test('a workspace that was idle for ten seconds delays no other', async () => {
  await aIsHeavy()
  await pass(2_000)
  const { names } = come('AAA')
  await pass(7_800)
  expect(names()).toBe('A')
  void thread.enterJobs('a', 1)
  await pass(300)
  expect(names()).toBe('AAA')
})

test('a request that waited long gets its turn while another continues', async () => {
  await aIsHeavy()
  const { names, leave } = come('AAA', 'enterJobs')
  await pass(100)
  for (let second = 0; second < 11; second += 1) {
    come('b')
    await pass(1_000)
  }
  expect(names()).toBe('A')
  leave('A')
  await pass(0)
  leave('A')
  // The next one pauses, longer than an idle workspace is remembered.
  await pass(100)
  expect(names()).toBe('')
  await pass(300)
  expect(names()).toBe('A')
})
