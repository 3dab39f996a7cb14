import { expect, onTestFinished, test, vi } from 'vitest'
import { eventually, gate, openServices } from './fixtures.ts'

test('a worker with a queue that hangs is not running until the queue continues', async () => {
  const services = await openServices('sqlite')
  const { jobs } = services.store
  const held = gate()
  const look = jobs.nextTurn.bind(jobs)
  jobs.nextTurn = async (queue, at, options) => {
    if (queue === 'issuing' && options?.priority === 'bulk') await held.pass()
    return look(queue, at, options)
  }
  const worker = services.work({ handlers: {}, pollSeconds: 0.01 })
  await eventually(() => expect(held.waiting()).toBe(1))
  expect(worker.isRunning()).toBe(true)
  const now = performance.now.bind(performance)
  const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 31_000)
  onTestFinished(() => later.mockRestore())
  expect(worker.isRunning()).toBe(false)
  held.open()
  await eventually(() => expect(worker.isRunning()).toBe(true))
})
