import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { JobKind, Queue } from '../../../src/storage/jobs/job-kinds.ts'
import type { Job } from '../../../src/storage/jobs/jobs-repository.ts'
import { createStore, type Repositories, type Store } from '../../../src/storage/store.ts'
import { dialects } from '../../support/databases.ts'
import { later, openTestDatabase, openTestStore, start } from '../fixtures.ts'

const workspaceId = randomUUID()
const lease = { limit: 100, leaseSeconds: 10 }

describe.each(dialects)('on %s', (dialect) => {
  test('a claimed job is not claimed again until it is released', async () => {
    const { store } = await openTestStore(dialect)
    const subject = await insert(store)
    const [job] = await claim(store, start)
    expect(job).toMatchObject({ workspaceId, kind: 'issue-pass', subject, correlationId: 'c-1', attempts: 1 })
    expect((await store.jobs.nextTurn('issuing', later(9))).workspaceId).toBe(undefined)
    expect(await claim(store, later(9))).toEqual([])
    await write(store, (tx) => tx.jobs.retry([job!], later(5), 'no luck'))
    expect(await claim(store, later(4))).toEqual([])
    expect(await claim(store, later(5))).toMatchObject([{ subject, attempts: 2 }])
  })

  test('a completed job is deleted', async () => {
    const { store } = await openTestStore(dialect)
    await insert(store)
    const jobs = await claim(store, start)
    expect(await write(store, (tx) => tx.jobs.complete(jobs))).toEqual(jobs)
    expect(await write(store, (tx) => tx.jobs.complete(jobs))).toEqual([])
    expect(await claim(store, later(86_400))).toEqual([])
  })

  test('a job that failed permanently is discarded with its reason', async () => {
    const { store, database } = await openTestStore(dialect)
    await insert(store)
    const jobs = await claim(store, start)
    await write(store, (tx) => tx.jobs.fail(jobs, later(1), 'the reason'))
    expect(await claim(store, later(86_400))).toEqual([])
    expect(await store.jobs.hasLapsed(later(86_400))).toBe(false)
    expect(await database.reader('jobs').first('failed_at', 'last_error')).toEqual({
      failed_at: later(1).getTime(),
      last_error: 'the reason',
    })
  })

  test('a job can be released when its lease expires, and not before', async () => {
    const { store } = await openTestStore(dialect)
    const subject = await insert(store)
    await claim(store, start)
    expect(await store.jobs.hasLapsed(later(9.999))).toBe(false)
    expect(await write(store, (tx) => tx.jobs.release(later(9.999)))).toEqual([])
    expect(await store.jobs.hasLapsed(later(10))).toBe(true)
    expect(await write(store, (tx) => tx.jobs.release(later(10)))).toMatchObject([
      { workspaceId, kind: 'issue-pass', subject, isQuarantined: false },
    ])
    expect(await claim(store, later(10), { queue: 'quarantine' })).toMatchObject([{ subject, attempts: 2 }])
  })

  test('a renewed lease lasts until its new end', async () => {
    const { store } = await openTestStore(dialect)
    await insert(store)
    const jobs = await claim(store, start)
    await write(store, (tx) => tx.jobs.renew(jobs, later(15)))
    expect(await write(store, (tx) => tx.jobs.release(later(14)))).toEqual([])
    expect(await write(store, (tx) => tx.jobs.complete(jobs))).toEqual(jobs)
  })

  test('a worker with an expired lease changes nothing', async () => {
    const { store, database } = await openTestStore(dialect)
    await insert(store)
    const stale = await claim(store, start)
    await write(store, (tx) => tx.jobs.release(later(10)))
    const attempts: ((jobs: Job[]) => Promise<unknown>)[] = [
      (jobs) => write(store, (tx) => tx.jobs.renew(jobs, later(99))),
      (jobs) => write(store, (tx) => tx.jobs.retry(jobs, later(99), 'stale')),
      (jobs) => write(store, (tx) => tx.jobs.fail(jobs, later(99), 'stale')),
      (jobs) => write(store, (tx) => tx.jobs.complete(jobs)),
    ]
    const state = () => database.reader('jobs').first()
    for (const claimed of [false, true]) {
      const current = claimed ? await claim(store, later(10), { queue: 'quarantine' }) : []
      const before = await state()
      expect(before).toMatchObject({ claim_token: current[0]?.claimToken ?? null, failed_at: null })
      for (const attempt of attempts) await attempt(stale)
      expect(await state()).toEqual(before)
    }
  })

  test('claims the oldest due jobs of a queue first, and none of other queues', async () => {
    const { store } = await openTestStore(dialect)
    await insert(store, { kind: 'detach-project', runAt: later(-60) })
    const second = await insert(store, { runAt: later(-1) })
    const third = await insert(store, { runAt: start })
    const first = await insert(store, { runAt: later(-30) })
    await insert(store, { runAt: later(1) })
    const order = []
    for (let n = 0; n < 5; n++) order.push(...(await claim(store, start, { limit: 1 })))
    expect(order.map((job) => job.subject)).toEqual([first, second, third])
    expect((await store.jobs.nextTurn('database', start, { priority: 'bulk' })).workspaceId).toBe(workspaceId)
  })

  test('concurrent workers never claim the same job, nor more than their limit', async () => {
    const { store, url } = await openTestStore(dialect)
    const subjects = await write(store, async (tx) => {
      const jobs = Array.from({ length: 300 }, () => newJob())
      await tx.jobs.insert(jobs, start)
      return jobs.map((job) => job.subject)
    })
    const workers = [store, ...Array.from({ length: 3 }, () => createStore(openTestDatabase(url)))]
    const claimed = await Promise.all(workers.map(claimAll))
    expect(claimed.flat().sort()).toEqual(subjects.sort())
  })

  test.each([
    ['forward', 3600],
    ['back', -3600],
  ])('setting the clock an hour %s loses no job, and runs none early by more than the jump', async (_, jump) => {
    const { store } = await openTestStore(dialect)
    const waiting = await insert(store, { runAt: later(7200) })
    const held = await insert(store)
    const [job] = await claim(store, start)
    expect(job!.subject).toBe(held)

    const jumped = later(jump)
    await write(store, (tx) => tx.jobs.release(jumped))
    const due = await claim(store, jumped, { queue: 'quarantine' })
    expect(due.map(({ subject }) => subject)).toEqual(jump > 10 ? [held] : [])
    const duringJump = await claim(store, later(7199))
    expect(duringJump.map(({ subject }) => subject)).not.toContain(waiting)

    const end = later(7200 + 3600)
    await write(store, (tx) => tx.jobs.release(end))
    const rest = await Promise.all((['issuing', 'quarantine'] as const).map((queue) => claim(store, end, { queue })))
    expect(rest.flat().map(({ subject }) => subject)).toEqual(expect.arrayContaining([held, waiting]))
  })

  test('insertUnlessDue adds a job unless an unclaimed one is due', async () => {
    const { store, database } = await openTestStore(dialect)
    const job = newJob({ kind: 'deliver-webhooks' })
    const add = (runAt = start) => write(store, (tx) => tx.jobs.insertUnlessDue([{ ...job, runAt }], start))
    const count = async () => (await database.reader('jobs').where({ subject: job.subject })).length
    await add(later(300))
    await add()
    await add()
    expect(await count()).toBe(2)
    // Adds a job next to a claimed one, because that run might be about to end.
    await claim(store, start, { queue: 'webhooks' })
    await add()
    expect(await count()).toBe(3)
  })
})

test('insertOnce adds a job while another runs, which may have read outdated data', async () => {
  const { store, database } = await openTestStore('sqlite')
  const job = newJob()
  const add = () => write(store, (tx) => tx.jobs.insertOnce([job], start))
  const count = async () => (await database.reader('jobs').where({ subject: job.subject })).length
  await add()
  await add()
  expect(await count()).toBe(1)
  await claim(store, start)
  await add()
  expect(await count()).toBe(2)
})

test('a waiting job that a change relies on starts on PostgreSQL only after the change is committed', async () => {
  const { store } = await openTestStore('postgres')
  const job = newJob()
  await write(store, (tx) => tx.jobs.insertOnce([job], start))
  await write(store, async (tx) => {
    await tx.jobs.insertOnce([job], start)
    expect(await claim(store, start)).toEqual([])
  })
  expect(await claim(store, start)).toMatchObject([{ subject: job.subject, attempts: 1 }])
})

function newJob({ kind = 'issue-pass' as JobKind, runAt }: { kind?: JobKind; runAt?: Date } = {}) {
  return { workspaceId, kind, subject: randomUUID(), correlationId: 'c-1', ...(runAt && { runAt }) }
}

async function insert(store: Store, fields: { kind?: JobKind; runAt?: Date } = {}): Promise<string> {
  const job = newJob(fields)
  await write(store, (tx) => tx.jobs.insert([job], start))
  return job.subject
}

function claim(store: Store, at: Date, { limit = lease.limit, queue = 'issuing' as Queue } = {}): Promise<Job[]> {
  return write(store, (tx) => tx.jobs.claim(queue, at, { ...lease, limit }))
}

/** Claims jobs like a worker, seven at a time, until none is left. */
async function claimAll(store: Store): Promise<string[]> {
  const subjects: string[] = []
  while ((await store.jobs.nextTurn('issuing', start)).workspaceId) {
    const jobs = await claim(store, start, { limit: 7 })
    expect(jobs.length).toBeLessThanOrEqual(7)
    subjects.push(...jobs.map((job) => job.subject))
  }
  return subjects
}

function write<T>(store: Store, work: (tx: Repositories) => Promise<T>): Promise<T> {
  return store.transaction(work)
}
