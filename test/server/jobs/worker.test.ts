import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MAX_JOB_ATTEMPTS } from '../../../src/core/rules/sending/retries.ts'
import type { JobHandler } from '../../../src/server/jobs/worker.ts'
import { type JobKind, placeOf } from '../../../src/storage/jobs/job-kinds.ts'
import type { Job } from '../../../src/storage/jobs/jobs-repository.ts'
import { createStore, type Store } from '../../../src/storage/store.ts'
import { openTestDatabase } from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'
import { eventually, gate, openServices, type TestServices } from './fixtures.ts'

const anHour = 3600

/** The seconds to wait after each failed run. After all later runs, it is 300. */
const backoff = [2, 4, 8, 16, 32, 64, 128, 256]

describe.each(dialects)('on %s', (dialect) => {
  test('a worker runs a job as soon as its process commits it, long before the next poll', async () => {
    const services = await openServices(dialect)
    const { handler, done } = recorder(services)
    services.work({ handlers: { 'issue-pass': handler }, pollSeconds: anHour })
    for (const _ of [1, 2, 3]) {
      const [subject] = await insertJobs(services, 1)
      await eventually(() => expect(done).toContain(subject))
    }
    expect(await services.database.reader('jobs')).toEqual([])
  })

  test('a worker claims no job while its clock is wrong, and continues once it is correct', async () => {
    const services = await openServices(dialect)
    let isOff = true
    let looks = 0
    services.isClockOff = () => {
      looks += 1
      return isOff
    }
    const { handler, done } = recorder(services)
    services.work({ handlers: { 'issue-pass': handler }, pollSeconds: 0.01 })
    const [subject] = await insertJobs(services, 1)
    const before = looks
    await eventually(() => expect(looks).toBeGreaterThan(before + 100))
    expect(done).toEqual([])
    isOff = false
    await eventually(() => expect(done).toEqual([subject]))
  })

  test('a job without a wake-up is found by the next poll', async () => {
    const services = await openServices(dialect)
    const { handler, done } = recorder(services)
    services.work({ handlers: { 'issue-pass': handler }, pollSeconds: 0.05 })
    const elsewhere = { ...services, store: createStore(services.database) }
    const [subject] = await insertJobs(elsewhere, 1)
    await eventually(() => expect(done).toEqual([subject]))
  })

  test('a job that fails during a database outage is released afterwards, long before its lease ends', async () => {
    const services = await openServices(dialect)
    const { store } = services
    let refused = 0
    let isAway = false
    const leaving = (whole: Store): Store => ({
      ...whole,
      async transaction(work) {
        if (!isAway) return whole.transaction(work)
        refused += 1
        throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
      },
      forJobs: (party) => leaving(whole.forJobs(party)),
    })
    services.store = leaving(store)
    const failing: JobHandler = async () => {
      isAway = true
      throw new Error('the connection ended')
    }
    services.work({ handlers: { 'issue-pass': failing }, leaseSeconds: anHour })
    await insertJobs(services, 1)
    await eventually(() => expect(refused).toBeGreaterThan(1))
    isAway = false
    await eventually(async () => {
      const jobs = await services.database.reader('jobs')
      expect(jobs).toMatchObject([{ claim_token: null, attempts: 1, last_error: 'the connection ended' }])
    })
  })

  test('a stopping worker finishes jobs in flight, claims no new ones, and releases the others', async () => {
    const services = await openServices(dialect)
    const { handler, done } = recorder(services)
    const held = gate()
    const slow: JobHandler = async (jobs, context) => {
      await held.pass()
      await handler(jobs, context)
    }
    const worker = services.work({ handlers: { 'issue-pass': slow }, batchSize: 2 })
    const subjects = await insertJobs(services, 5)
    await eventually(() => expect(held.waiting()).toBe(1))
    let isStopped = false
    const stopped = worker.stop().then(() => {
      isStopped = true
    })
    worker.wake(placeOf({ kind: 'issue-pass' }))
    await insertJobs(services, 1)
    expect([isStopped, worker.isRunning(), done]).toEqual([false, false, []])
    held.open()
    await stopped
    expect(done).toHaveLength(2)
    const waiting = await services.database.reader('jobs').select('subject', 'claim_token', 'attempts')
    expect(waiting).toHaveLength(4)
    for (const job of waiting) {
      expect(job).toMatchObject({ claim_token: null, attempts: 0 })
      expect(done).not.toContain(job.subject)
    }
    expect(subjects).toEqual(expect.arrayContaining(done))
  })

  test('retries a job that throws after increasing delays, and discards it after the last attempt', async () => {
    const services = await openServices(dialect)
    let runs = 0
    const failing: JobHandler = async () => {
      runs += 1
      throw new Error(`failure ${runs}`)
    }
    const worker = services.work({ handlers: { 'issue-pass': failing }, pollSeconds: anHour })
    await insertJobs(services, 1)
    const job = () => services.database.reader('jobs').first()
    for (let attempt = 1; attempt < MAX_JOB_ATTEMPTS; attempt++) {
      const wait = backoff[attempt - 1] ?? 300
      await eventually(async () => expect(await job()).toMatchObject({ last_error: `failure ${attempt}` }))
      expect(await job()).toMatchObject({
        attempts: attempt,
        claim_token: null,
        failed_at: null,
        run_at: services.clock().getTime() + wait * 1000,
      })
      services.advance(wait)
      worker.wake(placeOf({ kind: 'issue-pass' }))
    }
    await eventually(async () => expect(await job()).toMatchObject({ failed_at: services.clock().getTime() }))
    services.advance(anHour)
    worker.wake(placeOf({ kind: 'issue-pass' }))
    await worker.stop()
    expect(runs).toBe(MAX_JOB_ATTEMPTS)
    expect(await job()).toMatchObject({ attempts: MAX_JOB_ATTEMPTS, claim_token: null })
  })

  test('a job that always throws does not prevent the others of its batch', async () => {
    const services = await openServices(dialect)
    const { handler, done } = recorder(services)
    const subjects = await insertJobs(services, 10)
    const poison = subjects[4]
    const choking: JobHandler = async (jobs, context) => {
      if (jobs.some((job) => job.subject === poison)) throw new Error('poison')
      await handler(jobs, context)
    }
    services.work({ handlers: { 'issue-pass': choking } }).wake(placeOf({ kind: 'issue-pass' }))
    await eventually(() => expect(done.toSorted()).toEqual(subjects.filter((subject) => subject !== poison).sort()))
    await eventually(async () => {
      const rest = await services.database.reader('jobs').select('subject', 'attempts', 'claim_token')
      expect(rest).toEqual([{ subject: poison, attempts: 1, claim_token: null }])
    })
  })

  test('a job that takes longer than its lease stays with its worker', async () => {
    const services = await openServices(dialect)
    const { handler, done } = recorder(services)
    const held = gate()
    const slow: JobHandler = async (jobs, context) => {
      await held.pass()
      await handler(jobs, context)
    }
    services.work({ handlers: { 'issue-pass': slow }, leaseSeconds: 0.1 })
    const [subject] = await insertJobs(services, 1)
    await eventually(() => expect(held.waiting()).toBe(1))
    for (const _ of [1, 2, 3]) {
      services.advance(0.09)
      const until = services.clock().getTime() + 100
      await eventually(async () =>
        expect(await services.database.reader('jobs').first()).toMatchObject({ run_at: until }),
      )
      expect(await services.store.jobs.hasLapsed(services.clock())).toBe(false)
    }
    held.open()
    await eventually(() => expect(done).toEqual([subject]))
  })

  test('the leases of all batches in flight are renewed in one statement', async () => {
    const services = await openServices(dialect)
    const { handler } = recorder(services)
    const held = gate()
    const slow: JobHandler = async (jobs, context) => {
      await held.pass()
      await handler(jobs, context)
    }
    // Renew the leases one after the other: a renewal must not wait for a row that another one has locked.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    services.work({ handlers: { 'issue-pass': slow }, leaseSeconds: anHour, batchSize: 1, batches: 8 })
    await insertJobs(services, 4)
    await eventually(() => expect(held.waiting()).toBe(4))
    const ids = (await services.database.reader('jobs').pluck('id')).sort()
    const renewed: string[][] = []
    let answered = 0
    const { writer } = services.database.forJobs('issuing')
    writer.on('query', ({ bindings }: { bindings: string[] }) => {
      renewed.push(ids.filter((id) => bindings.includes(id)))
    })
    writer.on('query-response', () => {
      answered += 1
    })
    for (const renewals of [1, 2, 3]) {
      vi.advanceTimersByTime((anHour * 1000) / 3)
      await eventually(() => expect(answered).toBe(renewals))
    }
    expect(renewed).toEqual([ids, ids, ids])
    held.open()
  })

  test('two workers share the work, and each job is done once', async () => {
    const services = await openServices(dialect)
    const { handler, done } = recorder(services)
    const other = { ...services, store: createStore(openTestDatabase(services.url)) }
    const counts = [0, 0]
    const both = gate()
    const counting =
      (n: 0 | 1, context: TestServices): JobHandler =>
      async (jobs) => {
        counts[n]! += jobs.length
        // Neither worker does all the jobs before the other has begun, for example while the other one still connects.
        if (counts.every((count) => count > 0)) both.open()
        await both.pass()
        await handler(jobs, context)
      }
    const subjects = await insertJobs(services, 400)
    const options = { batchSize: 20, pollSeconds: 0.05 }
    services.work({ ...options, handlers: { 'issue-pass': counting(0, services) } })
    other.work({ ...options, handlers: { 'issue-pass': counting(1, other) } })
    await eventually(() => expect(done).toHaveLength(400))
    expect(done.toSorted()).toEqual(subjects.sort())
    expect(Math.min(...counts)).toBeGreaterThan(0)
  })

  test('a hanging batch delays neither other queues nor other batches of its queue', async () => {
    const services = await openServices(dialect)
    const issuing = recorder(services)
    const wallets = recorder(services)
    const held = gate()
    const hanging: JobHandler = async (jobs, context) => {
      if (held.waiting() === 0) await held.pass()
      await wallets.handler(jobs, context)
    }
    services.work({
      handlers: { 'issue-pass': issuing.handler, 'update-apple': hanging },
      batchSize: 1,
      batches: 3,
      pollSeconds: anHour,
    })
    const [first] = await insertJobs(services, 1, 'update-apple')
    await eventually(() => expect(held.waiting()).toBe(1))
    const others = await insertJobs(services, 5, 'update-apple')
    const urgent = await insertJobs(services, 5)
    await eventually(() => expect(issuing.done.toSorted()).toEqual(urgent.toSorted()))
    await eventually(() => expect(wallets.done.toSorted()).toEqual(others.toSorted()))
    held.open()
    await eventually(() => expect(wallets.done).toContain(first))
  })

  test('a worker continues after a database outage', async () => {
    const services = await openServices(dialect)
    const { handler, done } = recorder(services)
    let isDown = true
    const { jobs } = services.store
    const unreachable = async () => {
      throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
    }
    const failing = {
      nextTurn: (...options: Parameters<typeof jobs.nextTurn>) => (isDown ? unreachable() : jobs.nextTurn(...options)),
    }
    services.store = { ...services.store, jobs: Object.assign(Object.create(jobs), failing) }
    services.work({ handlers: { 'issue-pass': handler }, pollSeconds: 0.02 })
    const [subject] = await insertJobs(services, 1)
    expect(done).toEqual([])
    isDown = false
    await eventually(() => expect(done).toEqual([subject]))
  })
})

test('concurrent servers on PostgreSQL run one job of a subject at a time, and lose none', async () => {
  const services = await openServices('postgres')
  const { store, database, workspaceId, clock } = services
  const errors = vi.spyOn(services.log, 'error')
  const { handler, done } = recorder(services)
  const job = { workspaceId, kind: 'issue-pass' as const, subject: randomUUID(), correlationId: null }
  await createStore(database).transaction((tx) => tx.jobs.insert([job, job], clock()))
  const blocked = database.reader('pg_stat_activity').where({ wait_event_type: 'Lock' })
  const [ours] = await store.transaction(async (tx) => {
    const jobs = await tx.jobs.claim('issuing', clock(), { limit: 1, leaseSeconds: anHour })
    services.work({ handlers: { 'issue-pass': handler }, pollSeconds: 0.02 })
    await eventually(async () => {
      const waiting = await blocked.clone().whereRaw('datname = current_database()')
      expect(done.length + waiting.length).toBeGreaterThan(0)
    })
    return jobs
  })
  const other = randomUUID()
  await store.transaction((tx) => tx.jobs.insert([{ ...job, subject: other }], clock()))
  await eventually(() => expect(done).toContain(other))
  expect(done).toEqual([other])
  await store.transaction((tx) => tx.jobs.complete([ours!]))
  await eventually(() => expect(done).toEqual([other, job.subject]))
  expect(errors).not.toHaveBeenCalled()
})

test('renews the lease of a job on PostgreSQL after the transaction that locks it', async () => {
  const services = await openServices('postgres')
  const { store, database } = services
  const blocked = database.reader('pg_stat_activity').where({ wait_event_type: 'Lock' })
  const done: string[] = []
  const chunked: JobHandler = async ([job]) => {
    await store.transaction(async (tx) => {
      await tx.jobs.lockHeld([job!])
      await eventually(async () =>
        expect(await blocked.clone().whereRaw('datname = current_database()')).not.toEqual([]),
      )
    })
    await store.transaction((tx) => tx.jobs.complete([job!]))
    done.push(job!.subject)
  }
  services.work({ handlers: { 'issue-pass': chunked }, leaseSeconds: 0.1 })
  const [subject] = await insertJobs(services, 1)
  await eventually(() => expect(done).toEqual([subject]))
})

async function insertJobs(services: TestServices, count: number, kind: JobKind = 'issue-pass'): Promise<string[]> {
  const { store, workspaceId, clock } = services
  const subjects = Array.from({ length: count }, () => randomUUID())
  const jobs = subjects.map((subject) => ({ workspaceId, kind, subject, correlationId: null }))
  await store.transaction((tx) => tx.jobs.insert(jobs, clock()))
  return subjects
}

/** Creates a handler that completes its jobs and returns those whose lease it still had. */
function recorder({ store }: TestServices) {
  const done: string[] = []
  const handler: JobHandler = async (jobs: Job[]) => {
    const ours = await store.transaction((tx) => tx.jobs.complete(jobs))
    done.push(...ours.map((job) => job.subject))
  }
  return { handler, done }
}
