import { expect, test, vi } from 'vitest'
import { createFairQueue } from '../../../src/server/images/images.ts'
import { gate } from '../jobs/fixtures.ts'

class QueueFull extends Error {
  readonly isOwners: boolean
  constructor(isOwners: boolean) {
    super()
    this.isOwners = isOwners
  }
}

const toError = (isOwners: boolean) => new QueueFull(isOwners)

test('runs one job at a time, and alternates owners regardless of their number of jobs', async () => {
  vi.useFakeTimers()
  try {
    const queue = createFairQueue({ max: 10, maxOfOwner: 5, toError })
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

test('rejects jobs above the limits of an owner and of all owners immediately', async () => {
  const queue = createFairQueue({ max: 3, maxOfOwner: 2, toError })
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

test('a failed job rejects only its own caller', async () => {
  const queue = createFairQueue({ max: 3, maxOfOwner: 2, toError })
  const failing = queue.run('a', () => Promise.reject(new Error('no')))
  const next = queue.run('a', async () => 'done')
  await expect(failing).rejects.toThrow('no')
  await expect(next).resolves.toBe('done')
})
