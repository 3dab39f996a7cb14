import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createThread, type Leave, LIST_BYTES, type Thread } from '../../../src/server/http/thread.ts'

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

/** Who came in, in order, with the way out of each. Letters in capitals come with much to do. */
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

/** Of `a` and `b`, `a` has done much of late, and the thread has no time to spare. */
async function aIsHeavy(): Promise<void> {
  const before = come('Ab')
  await pass(100, 1)
  for (const name of ['A', 'b']) before.leave(name)
}

test('nobody waits while the thread has time to spare', async () => {
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

test.each(['enterRequest', 'enterJobs'] as const)(
  'while time is short and small ones of its own come, a workspace begins large ones by %s a tenth of a second apart',
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
    // Nobody was at the door for a while.
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
  'while time is short, who does much has one in work by %s, and the others several',
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

test('who does much begins when nobody who does less is at work, or after a quarter of a second', async () => {
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

test('what was done is forgotten in time, and who has time to spare waits for nobody', async () => {
  await aIsHeavy()
  const { names } = come('AAA')
  await pass(100)
  expect(names()).toBe('A')
  await pass(3_300, 0.2)
  expect(names()).toBe('AAA')
})

test('what is small does not wait for what is large, of a workspace that does much, either', async () => {
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

test('a request that waits for ten seconds is refused, and gives up its place in the line', async () => {
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

test('a workspace that has been away for ten seconds holds nobody back', async () => {
  await aIsHeavy()
  await pass(2_000)
  const { names } = come('AAA')
  await pass(7_800)
  expect(names()).toBe('A')
  void thread.enterJobs('a', 1)
  await pass(300)
  expect(names()).toBe('AAA')
})

test('what has waited for long gets its turn while another goes on', async () => {
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
  // The next gives way for a moment, longer after it came than a workspace is remembered that is away.
  await pass(100)
  expect(names()).toBe('')
  await pass(300)
  expect(names()).toBe('A')
})
