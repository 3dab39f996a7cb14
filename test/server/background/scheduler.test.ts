import { describe, expect, onTestFinished, test } from 'vitest'
import { expirePasses } from '../../../src/server/background/maintenance.ts'
import { startScheduler } from '../../../src/server/background/scheduler.ts'
import type { Job } from '../../../src/storage/jobs/jobs-repository.ts'
import { insertPasses, later, newPass } from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'
import { within } from '../../support/eventually.ts'
import { eventually, openServices, type TestServices } from '../jobs/fixtures.ts'

const lease = { limit: 100, leaseSeconds: 10 }

describe.each(dialects)('on %s', (dialect) => {
  test('a pass past its expiry is EXPIRED within a second, without any request', async () => {
    const services = await openServices(dialect)
    start(services)
    const [id] = await insertIssued(services, 1)
    services.advance(10)
    await within(1_900, async () => expect(await statuses(services, [id!])).toEqual({ EXPIRED: 1 }))
  })

  test('one run expires every pass that is due, chunk by chunk', async () => {
    const services = await openServices(dialect)
    const due = await insertIssued(services, 1_050)
    services.advance(9.999)
    await expirePasses(services)
    expect(await statuses(services, due)).toEqual({ ISSUED: 1_050 })
    services.advance(0.001)
    await expirePasses(services)
    expect(await statuses(services, due)).toEqual({ EXPIRED: 1_050 })
  })

  test('a job of a dead worker is due when its lease ends, with its pass QUEUED, and runs at once', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId } = services
    const scheduler = start(services)
    const ids = await insertPasses(store, workspaceId, [newPass(services.version), newPass(services.version)])
    const jobs = await store.transaction((tx) => tx.jobs.claim('issuing', services.clock(), lease))
    services.advance(9.999)
    await scheduler.tick()
    expect(await statuses(services, ids)).toEqual({ ISSUING: 2 })

    services.advance(0.001)
    await scheduler.tick()
    expect(await statuses(services, ids)).toEqual({ QUEUED: 2 })
    const again = await store.transaction((tx) => tx.jobs.claim('quarantine', services.clock(), lease))
    expect(again.map((job) => [job.id, job.attempts]).sort()).toEqual(jobs.map((job) => [job.id, 2]).sort())
  })

  test('releases jobs of a dead worker before it expires passes, which can be slow or fail', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId } = services
    const [id] = await insertPasses(store, workspaceId, [newPass(services.version)])
    await store.transaction((tx) => tx.jobs.claim('issuing', services.clock(), lease))
    services.advance(10)
    store.passes.hasExpired = () => Promise.reject(new Error('out of order'))
    await expect(start(services).tick()).rejects.toThrow('out of order')
    expect(await statuses(services, [id!])).toEqual({ QUEUED: 1 })
  })

  test('runs no schedule while the clock is off', async () => {
    const services = await openServices(dialect)
    const ids = await insertIssued(services, 1)
    services.advance(10)
    await start({ ...services, isClockOff: () => true }).tick()
    expect(await statuses(services, ids)).toEqual({ ISSUED: 1 })
    expect(await services.database.reader('leases')).toEqual([])
  })

  test('a stopping server leaves due passes to the next one', async () => {
    const services = await openServices(dialect)
    const ids = await insertIssued(services, 1)
    services.advance(10)
    const stopping = new AbortController()
    stopping.abort()
    await start({ ...services, stopping: stopping.signal }).tick()
    expect(await statuses(services, ids)).toEqual({ ISSUED: 1 })
  })

  test('a worker is notified of jobs that are due again', async () => {
    const services = await openServices(dialect)
    await insertPasses(services.store, services.workspaceId, [newPass(services.version)])
    await services.store.transaction((tx) => tx.jobs.claim('issuing', services.clock(), lease))
    const done: string[] = []
    const handler = async (jobs: Job[]) => void done.push(...jobs.map((job) => job.id))
    services.work({ handlers: { 'issue-pass': handler }, pollSeconds: 3600 })
    services.advance(10)
    await start(services).tick()
    await eventually(() => expect(done).toHaveLength(1))
  })

  test('two servers that tick concurrently do the work once', async () => {
    const services = await openServices(dialect)
    const schedulers = [start(services), start(services)]
    const ids = await insertIssued(services, 100)
    services.advance(10)
    await Promise.all(schedulers.map((scheduler) => scheduler.tick()))
    // The previous run might still lock some of them. Later runs skip locked rows.
    await within(5_000, async () => expect(await statuses(services, ids)).toEqual({ EXPIRED: 100 }))
    const passes = await services.store.passes.listByIds(services.workspaceId, ids)
    expect(new Set(passes.map((pass) => pass.walletVersion))).toEqual(new Set([2]))
  })
})

test('one tick expires at most 5,000 due passes, so that other tasks run', async () => {
  const services = await openServices('sqlite')
  let chunks = 0
  services.store.passes.hasExpired = async () => true
  services.store.transaction = (async () => {
    chunks += 1
    return 500
  }) as typeof services.store.transaction
  await expirePasses(services)
  expect(chunks).toBe(10)
})

function start(services: TestServices) {
  const scheduler = startScheduler(services)
  onTestFinished(() => scheduler.stop())
  return scheduler
}

/** Issued passes that expire in ten seconds. */
async function insertIssued({ store, workspaceId, version, clock }: TestServices, count: number): Promise<string[]> {
  const passes = Array.from({ length: count }, () => newPass(version, { expiresAt: later(10, clock()) }))
  const ids: string[] = []
  for (let from = 0; from < count; from += 100) {
    const some = passes.slice(from, from + 100)
    const made = await store.transaction((tx) => tx.passes.insert(workspaceId, some, clock()))
    await store.transaction((tx) => tx.passes.setIssued(workspaceId, [...made], clock()))
    ids.push(...made)
  }
  return ids
}

async function statuses({ store, workspaceId }: TestServices, ids: string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { status } of await store.passes.listByIds(workspaceId, ids)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
