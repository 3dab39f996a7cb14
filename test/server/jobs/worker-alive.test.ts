import { expect, onTestFinished, test, vi } from 'vitest'
import { eventually, gate, openServices } from './fixtures.ts'

test('a worker of which a lane hangs is not running, until the lane goes on', async () => {
  const services = await openServices('sqlite')
  const { jobs } = services.store
  const held = gate()
  const look = jobs.look.bind(jobs)
  jobs.look = async (queue, at) => {
    if (queue === 'issuing') await held.pass()
    return look(queue, at)
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
