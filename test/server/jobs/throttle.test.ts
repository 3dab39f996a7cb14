import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createThrottle } from '../../../src/server/jobs/queue-options.ts'
import type { JobHandler } from '../../../src/server/jobs/worker.ts'
import { placeOf } from '../../../src/storage/jobs/job-kinds.ts'
import { eventually, openServices } from './fixtures.ts'

test('a throttle spaces work evenly at its rate, and does not save up unused capacity', () => {
  let now = 0
  const throttle = createThrottle(500, () => now)
  expect([throttle.most, throttle.wait()]).toEqual([500, 0])
  throttle.take(250)
  expect(throttle.wait()).toBe(500)
  now = 400
  expect(throttle.wait()).toBe(100)
  throttle.take(250)
  expect(throttle.wait()).toBe(600)
  now = 60_000
  expect(throttle.wait()).toBe(0)
  throttle.take(500)
  expect(throttle.wait()).toBe(1_000)
})

test('without a rate nothing waits, and a rate below one per second admits one at a time', () => {
  const free = createThrottle()
  free.take(1_000_000)
  expect([free.most, free.wait()]).toEqual([Number.POSITIVE_INFINITY, 0])
  expect(createThrottle(0.1).most).toBe(1)
})

test('wake-ups do not exceed the rate of a throttled queue, and other queues continue', async () => {
  const services = await openServices('sqlite')
  const begun: string[] = []
  const handler: JobHandler = async (jobs) => {
    begun.push(...jobs.map(({ kind }) => kind))
    await services.store.transaction((tx) => tx.jobs.complete(jobs))
  }
  const insert = (kind: 'update-apple' | 'issue-pass', count: number) =>
    services.store.transaction((tx) => {
      const job = { workspaceId: services.workspaceId, kind, correlationId: null }
      const jobs = Array.from({ length: count }, () => ({ ...job, subject: randomUUID() }))
      return tx.jobs.insert(jobs, services.clock())
    })
  await insert('update-apple', 5)
  // One job in 1,000 seconds.
  const worker = services.work({ handlers: { 'update-apple': handler, 'issue-pass': handler }, perSecond: 0.001 })
  await eventually(() => expect(begun).toEqual(['update-apple']))
  worker.wake(placeOf({ kind: 'update-apple' }))
  await insert('issue-pass', 1)
  await eventually(() => expect(begun).toEqual(['update-apple', 'issue-pass']))
  worker.wake(placeOf({ kind: 'update-apple' }))
  expect(await services.database.reader('jobs').where({ kind: 'update-apple' })).toHaveLength(4)
})
