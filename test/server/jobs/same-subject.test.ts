import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { JobHandler } from '../../../src/server/jobs/worker.ts'
import { placeOf } from '../../../src/storage/jobs/job-kinds.ts'
import { dialects } from '../../support/databases.ts'
import { eventually, gate, openServices } from './fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test.each([
    ['a bulk job', { priority: 'bulk' }],
    ['a job of the quarantine queue', { priority: 'bulk', lapses: 1 }],
  ])('runs a job as soon as %s of its subject ends, long before the next poll', async (_, first) => {
    const services = await openServices(dialect)
    const { store, database, workspaceId, clock } = services
    const held = gate()
    const handler: JobHandler = async (jobs) => {
      await held.pass()
      await store.transaction((tx) => tx.jobs.complete(jobs))
    }
    const job = { workspaceId, kind: 'update-apple' as const, subject: randomUUID(), correlationId: null }
    await store.transaction((tx) => tx.jobs.insert([job], clock()))
    await database.writer('jobs').update(first)
    const place = placeOf(job)
    let polls = 0
    const nextTurn: typeof store.jobs.nextTurn = async (queue, now, options) => {
      const turn = await store.jobs.nextTurn(queue, now, options)
      if (queue === place.queue && options?.priority === place.priority) polls += 1
      return turn
    }
    services.store = { ...store, jobs: Object.assign(Object.create(store.jobs), { nextTurn }) }
    services.work({ handlers: { 'update-apple': handler }, pollSeconds: 3600 })
    await eventually(() => expect([held.waiting(), polls > 0]).toEqual([1, true]))
    const before = polls
    await store.transaction((tx) => tx.jobs.insert([job], clock()))
    await eventually(() => expect(polls).toBe(before + 1))
    held.open()
    await eventually(async () => expect(await database.reader('jobs')).toEqual([]))
  })
})
