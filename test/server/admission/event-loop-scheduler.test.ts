import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createEventLoopScheduler,
  type EventLoopScheduler,
  type Leave,
  LIST_BYTES,
} from '../../../src/server/admission/event-loop-scheduler.ts'

let used = 0
let scheduler: EventLoopScheduler
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] })
  scheduler = createEventLoopScheduler({ measure: () => used })
})
afterEach(() => {
  scheduler.close()
  vi.useRealTimers()
})

const LARGE = 100_000

/**
 * Enters workspaces in order. Records their admissions, with the function that ends each. Workspaces in capital
 * letters have much work.
 */
function come(workspaces: string, enter: 'enterRequest' | 'enterJobs' = 'enterRequest') {
  const inside: { name: string; leave: Leave }[] = []
  const rejected: string[] = []
  for (const name of workspaces) {
    const cost = name === name.toUpperCase() ? LARGE : 1
    scheduler[enter](name.toLowerCase(), cost).then(
      (leave) => inside.push({ name, leave }),
      () => rejected.push(name),
    )
  }
  return {
    rejected,
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

/** Advances the time while a workspace sends a small request every tenth of a second. */
async function passBeside(workspace: string, milliseconds: number, use = used): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 100) {
    come(workspace)
    await pass(Math.min(100, milliseconds - passed), use)
  }
}

/** Brings the scheduler to a state in which `a` has used much time recently, `b` has not, and no time is left. */
async function aIsHeavy(): Promise<void> {
  const before = come('Ab')
  await pass(100, 1)
  for (const name of ['A', 'b']) before.leave(name)
  // Workspace `a` is idle.
  await pass(100)
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

describe.each(['enterRequest', 'enterJobs'] as const)('while the event loop is busy, %s', (enter) => {
  test('runs large work of a workspace with small requests one by one, with a rest of 0.1 s', async () => {
    await pass(100, 1)
    const door = come('a')
    const { names, leave } = come('AA', enter)
    await pass(0)
    expect([door.names(), names()]).toEqual(['a', 'A'])
    leave('A')
    await pass(99)
    come('a')
    expect(names()).toBe('')
    await pass(1)
    expect(names()).toBe('A')
  })

  test('runs large work of the workspace with most use one by one, and of others at once', async () => {
    await aIsHeavy()
    const { names, leave } = come('AAbbb', enter)
    await pass(0)
    expect(names()).toBe('Abbb')
    leave('A')
    await pass(99)
    expect(names()).toBe('bbb')
    await pass(1)
    expect(names()).toBe('bbbA')
  })

  test('lets a workspace rest for as long as its last work took', async () => {
    await aIsHeavy()
    const { names, leave } = come('AA', enter)
    await passBeside('b', 300)
    leave('A')
    await passBeside('b', 299)
    expect(names()).toBe('')
    await passBeside('b', 1)
    expect(names()).toBe('A')
  })

  test('lets a workspace rest for at most five seconds after work that hung', async () => {
    await aIsHeavy()
    const { names, leave } = come('A', enter)
    await passBeside('a', 60_000)
    leave('A')
    const next = come('A', enter)
    await passBeside('a', 4_900)
    expect([names(), next.names()]).toEqual(['', ''])
    await passBeside('a', 100)
    expect(next.names()).toBe('A')
  })

  test('admits all work of a busy workspace a second after the last request of others', async () => {
    await aIsHeavy()
    const { names } = come('AAA', enter)
    await pass(700)
    expect(names()).toBe('A')
    await pass(200)
    expect(names()).toBe('AAA')
  })
})

test('lists of a workspace do not wait for its small requests', async () => {
  await pass(100, 1)
  come('a')
  const lists = Promise.all(Array.from({ length: 3 }, () => scheduler.enterRequest('a', LIST_BYTES)))
  await pass(0)
  expect(await lists).toHaveLength(3)
})

test('lists and large requests of a workspace with small requests do not wait for each other', async () => {
  await pass(100, 1)
  come('a')
  const { names, leave } = come('AA')
  const lists = Promise.all(Array.from({ length: 3 }, () => scheduler.enterRequest('a', LIST_BYTES)))
  await pass(0)
  expect(await Promise.race([lists, 'waiting'])).toHaveLength(3)
  expect(names()).toBe('A')
  leave('A')
  await passBeside('a', 100)
  expect(names()).toBe('A')
})

test('past work expires, and a workspace with spare time does not wait', async () => {
  await aIsHeavy()
  const { names } = come('AAA')
  await passBeside('b', 100)
  expect(names()).toBe('A')
  await passBeside('b', 3_300, 0.2)
  expect(names()).toBe('AAA')
})

test('small requests do not wait for large ones, not even in a busy workspace', async () => {
  await aIsHeavy()
  come('bbAA')
  const { names, leave } = come('aaaaaaaaaa')
  await pass(100)
  expect(names()).toBe('aaaaaaaa')
  leave('a')
  await pass(0)
  expect(names()).toBe('aaaaaaaa')
})

test('jobs of a workspace do not take the places of its requests', async () => {
  await aIsHeavy()
  come('AAAA', 'enterJobs')
  const { names } = come('A')
  await pass(0)
  expect(names()).toBe('A')
})

test('a request that waits for ten seconds is rejected and leaves the queue', async () => {
  await aIsHeavy()
  const { rejected, names, leave } = come('AA')
  await passBeside('a', 11_000)
  expect([names(), rejected]).toEqual(['A', ['A']])
  leave('A')
  await pass(11_000)
  const later = come('A')
  await pass(0)
  expect(later.names()).toBe('A')
})

test('jobs wait without a limit', async () => {
  await aIsHeavy()
  const { rejected, names } = come('AA', 'enterJobs')
  await passBeside('a', 60_000)
  expect([names(), rejected]).toEqual(['A', []])
})
