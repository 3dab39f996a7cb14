import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createShares } from '../../../src/server/admission/queue-shares.ts'
import { queueOptions } from '../../../src/server/background/job-handlers.ts'
import type { WorkerQueues } from '../../../src/server/jobs/queue-options.ts'
import type { JobHandler } from '../../../src/server/jobs/worker.ts'
import { type JobKind, queuePlaces } from '../../../src/storage/jobs/job-kinds.ts'
import type { Job } from '../../../src/storage/jobs/jobs-repository.ts'
import { dialects } from '../../support/databases.ts'
import { eventually, gate, openServices, type TestServices } from './fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('hanging jobs of one workspace leave slots for another in each of their queues', async () => {
    const services = await openServices(dialect)
    const [hog, other] = [randomUUID(), randomUUID()]
    const kinds: JobKind[] = ['issue-pass', 'update-apple', 'deliver-webhooks']
    const held = gate()
    const begun: Job[] = []
    const handler: JobHandler = async (jobs) => {
      begun.push(...jobs)
      if (jobs[0]!.workspaceId === hog) await held.pass()
      await services.store.transaction((tx) => tx.jobs.complete(jobs))
    }
    const handlers = Object.fromEntries(kinds.map((kind) => [kind, handler]))
    services.work({ handlers, batchSize: 2, batches: 7, pollSeconds: 3600 })
    for (const kind of kinds) await insert(services, hog, kind, 40)
    await eventually(() => expect(held.waiting()).toBe(kinds.length * 4))
    for (const kind of kinds) await insert(services, other, kind, 1)
    const served = () => begun.filter(({ workspaceId }) => workspaceId === other).map(({ kind }) => kind)
    await eventually(() => expect(served().toSorted()).toEqual(kinds.toSorted()))
    expect(held.waiting()).toBe(kinds.length * 4)
    held.open()
    await eventually(async () => expect(await services.database.reader('jobs')).toEqual([]))
    expect(begun).toHaveLength(kinds.length * 41)
  })

  test('jobs behind a thousand of another workspace run before most of those', async () => {
    const services = await openServices(dialect)
    const [hog, other] = [randomUUID(), randomUUID()]
    const begun: string[] = []
    const handler: JobHandler = async (jobs) => {
      begun.push(...jobs.map((job) => job.workspaceId))
      await services.store.transaction((tx) => tx.jobs.complete(jobs))
    }
    await insert(services, hog, 'issue-pass', 1_000)
    await insert(services, other, 'issue-pass', 20)
    services.work({ handlers: { 'issue-pass': handler }, batchSize: 10, batches: 3 })
    await eventually(async () => expect(await services.database.reader('jobs')).toEqual([]))
    expect(begun).toHaveLength(1_020)
    expect(begun.lastIndexOf(other)).toBeLessThan(100)
  })
})

test('each newcomer gets a slot while others hold theirs, until all slots are taken', () => {
  const shares = createShares(8)
  const takeAll = (name: string) => {
    let taken = 0
    for (; !shares.full().includes(name) && taken < 9; taken += 1) shares.take(name)
    return taken
  }
  expect(['a', 'b', 'c', 'd'].map(takeAll)).toEqual([4, 2, 1, 1])
})

test('each priority of each queue has options and at least two slots', () => {
  const options: WorkerQueues = queueOptions
  for (const { queue, priority } of queuePlaces) expect(options[queue][priority]?.batches).toBeGreaterThan(1)
})

async function insert(
  { store, clock }: TestServices,
  workspaceId: string,
  kind: JobKind,
  count: number,
): Promise<void> {
  const jobs = Array.from({ length: count }, () => ({ workspaceId, kind, subject: randomUUID(), correlationId: null }))
  await store.transaction((tx) => tx.jobs.insert(jobs, clock()))
}
