import { expect, test, vi } from 'vitest'
import { createFairQueue, QueueFull } from '../../../src/server/images/images.ts'
import { gate } from '../jobs/fixtures.ts'

test('one piece of work runs at a time, and owners take turns however much one of them brought', async () => {
  vi.useFakeTimers()
  try {
    const queue = createFairQueue({ max: 10, maxOfOwner: 5 })
    const order: string[] = []
    const run = (owner: string, name: string) =>
      queue.run(owner, async () => {
        order.push(name)
        await new Promise((resolve) => setTimeout(resolve, 10))
      })
    const runs = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => run(name[0]!, name))
    await vi.advanceTimersByTimeAsync(9)
    expect(order).toEqual(['a1'])
    await vi.advanceTimersByTimeAsync(60)
    await Promise.all(runs)
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  } finally {
    vi.useRealTimers()
  }
})

test('an owner, and all together, have so much waiting and running; the rest is refused at once', async () => {
  const queue = createFairQueue({ max: 3, maxOfOwner: 2 })
  const held = gate()
  const work = () => held.pass()
  const runs = [queue.run('a', work), queue.run('a', work)]
  await expect(queue.run('a', work)).rejects.toMatchObject({ isOwners: true })
  runs.push(queue.run('b', work))
  await expect(queue.run('c', work)).rejects.toMatchObject({ isOwners: false })
  await expect(queue.run('c', work)).rejects.toBeInstanceOf(QueueFull)
  held.open()
  await Promise.all(runs)
  await expect(queue.run('c', async () => 'done')).resolves.toBe('done')
})

test('work that fails fails for whoever brought it alone', async () => {
  const queue = createFairQueue({ max: 3, maxOfOwner: 2 })
  const failing = queue.run('a', () => Promise.reject(new Error('no')))
  const next = queue.run('a', async () => 'done')
  await expect(failing).rejects.toThrow('no')
  await expect(next).resolves.toBe('done')
})
