import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createThread, type Leave, type Thread } from '../../src/server/thread.ts'

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

/** Who came in, in order, with the way out of each. */
function come(workspaces: string[], enter = thread.enterRequest) {
  const inside: { workspace: string; leave: Leave }[] = []
  const refused: string[] = []
  for (const workspace of workspaces) {
    enter(workspace).then(
      (leave) => inside.push({ workspace, leave }),
      () => refused.push(workspace),
    )
  }
  return { inside, refused, names: () => inside.map(({ workspace }) => workspace) }
}

async function measured(use: number): Promise<void> {
  used = use
  await vi.advanceTimersByTimeAsync(100)
}

test('nobody waits while the thread has time to spare', async () => {
  const { names } = come([...'aaaaaaaab'])
  await measured(0.5)
  expect(names()).toEqual([...'aaaaaaaab'])
})

test('a workspace that is alone does not wait for itself', async () => {
  await measured(1)
  const { names } = come([...'aaaaaa'])
  await measured(1)
  expect(names()).toEqual([...'aaaaaa'])
})

test.each(['enterRequest', 'enterJobs'] as const)('while time is short each has two in work by %s', async (enter) => {
  come(['b'])
  await measured(1)
  const { inside, names } = come([...'aaaab'], thread[enter])
  await measured(1)
  expect(names()).toEqual([...'aab'])
  inside[0]!.leave()
  await measured(1)
  expect(names()).toEqual([...'aaba'])
  await measured(0.2)
  expect(names()).toEqual([...'aabaa'])
})

test('jobs of a workspace do not take the places of its requests', async () => {
  come(['b'])
  await measured(1)
  come([...'aaaa'], thread.enterJobs)
  const { names } = come([...'a'])
  await measured(1)
  expect(names()).toEqual(['a'])
})

test('a request that waits for ten seconds is refused, and gives up its place in the line', async () => {
  come(['b'])
  await measured(1)
  const { inside, refused, names } = come([...'aaa'])
  for (let second = 0; second < 11; second += 1) {
    void thread.enterRequest('b').then((leave) => leave())
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect([names(), refused]).toEqual([['a', 'a'], ['a']])
  for (const { leave } of inside) leave()
  const later = come(['a'])
  await measured(1)
  expect(later.names()).toEqual(['a'])
})

test('a workspace that has been away for ten seconds holds nobody back', async () => {
  come(['b'])
  used = 1
  await vi.advanceTimersByTimeAsync(2_000)
  const { names } = come([...'aaa'])
  await vi.advanceTimersByTimeAsync(7_900)
  expect(names()).toEqual([...'aa'])
  void thread.enterJobs('a')
  await vi.advanceTimersByTimeAsync(300)
  expect(names()).toEqual([...'aaa'])
})
