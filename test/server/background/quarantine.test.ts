import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { MAX_JOB_LAPSES, QUARANTINE_REASON } from '../../../src/core/rules/sending/retries.ts'
import { onDiscard } from '../../../src/server/background/job-handlers.ts'
import { releaseJobs } from '../../../src/server/background/scheduler.ts'
import { workInChunks } from '../../../src/server/jobs/chunks.ts'
import type { JobHandler } from '../../../src/server/jobs/worker.ts'
import { deleteJobs, retryJobs } from '../../../src/server/operator/failed-jobs.ts'
import { issuePasses } from '../../../src/server/wallet-sync/issue-pass.ts'
import type { JobKind, Queue } from '../../../src/storage/jobs/job-kinds.ts'
import type { ClaimOptions, Job } from '../../../src/storage/jobs/jobs-repository.ts'
import { createStore } from '../../../src/storage/store.ts'
import { insertPasses, newPass, openTestDatabase } from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'
import { eventually, gate, openServices, type TestServices } from '../jobs/fixtures.ts'

const anHour = 3600

describe.each(dialects)('on %s', (dialect) => {
  test('quarantines only the job that stops four workers, not the jobs in flight with it', async () => {
    const services = await openServices(dialect)
    const ids = await insertPasses(
      services.store,
      services.workspaceId,
      [1, 2, 3, 4, 5].map(() => newPass(services.version)),
    )
    const [poison, ...innocents] = ids
    const notifications = await insert(services, 'send-notification', 3)

    // The first process is killed while all jobs are in flight.
    await claim(services, 'issuing')
    await claim(services, 'pushes', { priority: 'urgent' })
    await lapse(services)
    // The next workers run them one at a time, so that only the poisonous job kills them.
    const done: string[] = []
    for (let runs = 0; runs < 20; runs += 1) {
      const jobs = await claim(services, 'quarantine', { limit: 1 })
      if (jobs.some(({ subject }) => subject === poison)) await lapse(services)
      else done.push(...(await services.store.transaction((tx) => tx.jobs.complete(jobs))).map((job) => job.subject))
    }
    expect(done.toSorted()).toEqual([...innocents, ...notifications].sort())
    expect(await services.database.reader('jobs').whereNull('failed_at')).toEqual([])
    expect(await services.store.backlog.listFailed({}, 10)).toMatchObject([
      { state: 'quarantined', kind: 'issue-pass', subject: poison, attempts: MAX_JOB_LAPSES, error: QUARANTINE_REASON },
    ])
    expect(await services.store.passes.find(services.workspaceId, poison!)).toMatchObject({ status: 'FAILED' })
    const [event, ...others] = await services.database.reader('events').where({ subject: poison })
    expect([event.type, others]).toEqual(['pass.failed', []])
    expect(JSON.parse(event.data).error).toEqual({ code: 'PASS_ISSUING_FAILED', message: QUARANTINE_REASON })
  })

  test('a worker runs lapsed jobs one at a time, separately from others', async () => {
    const services = await openServices(dialect)
    const lapsed = [...(await insert(services, 'issue-pass', 3)), ...(await insert(services, 'update-apple', 3))]
    await claim(services, 'issuing')
    await claim(services, 'pushes')
    await lapse(services)
    const others = await insert(services, 'issue-pass', 3)
    const batches: string[][] = []
    const inFlight = new Set<string>()
    const handler: JobHandler = async (jobs) => {
      const subjects = jobs.map(({ subject }) => subject)
      batches.push(subjects)
      for (const subject of subjects) inFlight.add(subject)
      expect(lapsed.filter((subject) => inFlight.has(subject)).length).toBeLessThanOrEqual(1)
      await services.store.transaction((tx) => tx.jobs.complete(jobs))
      for (const subject of subjects) inFlight.delete(subject)
    }
    services.work({ handlers: { 'issue-pass': handler, 'update-apple': handler }, batches: 3 })
    await eventually(async () => expect(await services.database.reader('jobs')).toEqual([]))
    expect(batches.filter(([first]) => lapsed.includes(first!)).toSorted()).toEqual(
      lapsed.toSorted().map((subject) => [subject]),
    )
    expect(batches.filter(([first]) => others.includes(first!)).map((batch) => batch.length)).toEqual([3])
  })

  test('a job lapses if its worker hangs or was frozen, and not if the lease is renewed', async () => {
    const services = await openServices(dialect)
    const [subject] = await insert(services, 'issue-pass', 1)
    const [job] = await claim(services, 'issuing')
    services.advance(9)
    await services.store.transaction((tx) => tx.jobs.renew([job!], new Date(services.clock().getTime() + 10_000)))
    services.advance(9)
    await releaseJobs(services)
    expect(await lapsesOf(services, subject!)).toBe(0)
    services.advance(1)
    await releaseJobs(services)
    expect(await lapsesOf(services, subject!)).toBe(1)
    // The suspended worker resumes, and its lease has ended.
    expect(await services.store.transaction((tx) => tx.jobs.complete([job!]))).toEqual([])
    const metrics = await services.metrics.registry.getSingleMetricAsString('passes_job_runs_total')
    expect(metrics).toContain('outcome="lapsed"} 1')
  })

  test('a kill that finds an innocent job in the quarantine queue does not quarantine it', async () => {
    const services = await openServices(dialect)
    await insert(services, 'issue-pass', 2)
    await claim(services, 'issuing')
    await lapse(services)
    for (let kills = 0; kills < 2; kills += 1) {
      expect(await claim(services, 'quarantine', { limit: 1 })).toHaveLength(1)
      await lapse(services)
    }
    const rows = await services.database.reader('jobs').select('lapses', 'failed_at')
    expect(rows).toEqual([1, 2].map(() => ({ lapses: 2, failed_at: null })))
    for (const _ of rows) {
      const jobs = await claim(services, 'quarantine', { limit: 1 })
      await services.store.transaction((tx) => tx.jobs.complete(jobs))
    }
    expect(await services.database.reader('jobs')).toEqual([])
  })

  test('two servers that release at once count one lapse', async () => {
    const services = await openServices(dialect)
    const [subject] = await insert(services, 'issue-pass', 1)
    await claim(services, 'issuing')
    services.advance(10)
    const other = { ...services, store: createStore(openTestDatabase(services.url)) }
    await Promise.all([releaseJobs(services), releaseJobs(other), releaseJobs(services)])
    expect(await lapsesOf(services, subject!)).toBe(1)
  })

  test('a job that threw, was snoozed, or was released by a stopping server has not lapsed', async () => {
    const services = await openServices(dialect)
    const [subject] = await insert(services, 'issue-pass', 1)
    const held = gate()
    const worker = services.work({ handlers: { 'issue-pass': held.pass }, pollSeconds: anHour })
    await eventually(() => expect(held.waiting()).toBe(1))
    const stopped = worker.stop()
    await worker.abandon()
    expect(await services.database.reader('jobs').first()).toMatchObject({ claim_token: null, attempts: 0, lapses: 0 })
    held.open()
    await stopped
    const [job] = await claim(services, 'issuing')
    await services.store.transaction((tx) => tx.jobs.retry([job!], services.clock(), 'no luck'))
    const [again] = await claim(services, 'issuing')
    await services.store.transaction((tx) => tx.jobs.snooze([again!], services.clock()))
    expect(await lapsesOf(services, subject!)).toBe(0)
  })

  test('a committed chunk resets the lapses of its job, and an uncommitted one keeps them', async () => {
    const services = await openServices(dialect)
    const [subject] = await insert(services, 'detach-project', 1)
    await services.database.writer('jobs').update({ lapses: MAX_JOB_LAPSES - 1 })
    const [job] = await claim(services, 'quarantine', { limit: 1 })
    const chunk = (isPoison: boolean) =>
      workInChunks(job!, services, { first: 10, most: 10 }, () =>
        isPoison ? Promise.reject(new Error('the process dies')) : Promise.resolve(true),
      )
    await expect(chunk(true)).rejects.toThrow('the process dies')
    expect(await lapsesOf(services, subject!)).toBe(MAX_JOB_LAPSES - 1)
    expect(await chunk(false)).toBe(true)
    expect(await lapsesOf(services, subject!)).toBe(0)
    await lapse(services)
    expect(await lapsesOf(services, subject!)).toBe(1)
  })

  test('a quarantined job can be retried, one at a time, or deleted, and its pass is issued or stays FAILED', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId, clock } = services
    const ids = await insertPasses(store, workspaceId, [newPass(services.version), newPass(services.version)])
    await services.database.writer('jobs').update({ lapses: MAX_JOB_LAPSES - 1 })
    for (const _ of ids) await claim(services, 'quarantine', { limit: 1 })
    await lapse(services)
    const [first, second] = await store.backlog.listFailed({}, 10)
    expect([first!.state, second!.state]).toEqual(['quarantined', 'quarantined'])
    expect(await store.backlog.counts()).toMatchObject([{ kind: 'issue-pass', discarded: 0, quarantined: 2 }])
    expect(await store.overviews.read(clock())).toMatchObject({
      discarded: [],
      quarantined: [{ kind: 'issue-pass', count: 2 }],
    })

    expect(await retryJobs(store, { ids: [first!.id] }, clock())).toBe(1)
    expect(await store.passes.find(workspaceId, first!.subject)).toMatchObject({ status: 'QUEUED' })
    expect(await claim(services, 'issuing')).toEqual([])
    services.work({ handlers: { 'issue-pass': issuePasses }, onDiscard })
    await eventually(async () =>
      expect(await store.passes.find(workspaceId, first!.subject)).toMatchObject({ status: 'ISSUED' }),
    )
    expect(await deleteJobs(store, { ids: [first!.id, second!.id] }, clock())).toBe(1)
    expect(await services.database.reader('jobs')).toEqual([])
    expect(await store.passes.find(workspaceId, second!.subject)).toMatchObject({ status: 'FAILED' })
    const audited = await services.database.reader('audit_entries').whereIn('action', ['job.retry', 'job.delete'])
    expect(audited.map(({ action, target_id: id }) => [action, id]).sort()).toEqual([
      ['job.delete', second!.id],
      ['job.retry', first!.id],
    ])
  })

  test('deletes only discarded and quarantined jobs', async () => {
    const services = await openServices(dialect)
    await insert(services, 'issue-pass', 2)
    await claim(services, 'issuing', { limit: 1 })
    const ids: string[] = await services.database.reader('jobs').pluck('id')
    expect(await deleteJobs(services.store, { ids }, services.clock())).toBe(0)
    expect(await services.database.reader('jobs')).toHaveLength(2)
  })
})

test('each job of the quarantine queue runs alone, even if it hangs at a platform', async () => {
  const services = await openServices('sqlite')
  await insert(services, 'update-google', 3)
  await claim(services, 'google')
  await lapse(services)
  const running: string[][] = []
  const hanging: JobHandler = async (jobs, _, slot) => {
    slot?.leave()
    // Polls again, as it does after a commit.
    worker.wake('quarantine')
    running.push(await services.database.reader('jobs').whereNotNull('claim_token').pluck('id'))
    await services.store.transaction((tx) => tx.jobs.complete(jobs))
  }
  const worker = services.work({ handlers: { 'update-google': hanging } })
  await eventually(async () => expect(await services.database.reader('jobs')).toEqual([]))
  expect(running.map((ids) => ids.length)).toEqual([1, 1, 1])
})

async function insert({ store, workspaceId, clock }: TestServices, kind: JobKind, count: number): Promise<string[]> {
  const subjects = Array.from({ length: count }, () => randomUUID())
  const jobs = subjects.map((subject) => ({ workspaceId, kind, subject, correlationId: null }))
  await store.transaction((tx) => tx.jobs.insert(jobs, clock()))
  return subjects
}

function claim({ store, clock }: TestServices, queue: Queue, options: Partial<ClaimOptions> = {}): Promise<Job[]> {
  return store.transaction((tx) => tx.jobs.claim(queue, clock(), { limit: 100, leaseSeconds: 10, ...options }))
}

/** Ends the leases of all claimed jobs, as if their process was killed. */
async function lapse(services: TestServices): Promise<void> {
  services.advance(10)
  await releaseJobs(services)
}

async function lapsesOf({ database }: TestServices, subject: string): Promise<number> {
  return (await database.reader('jobs').where({ subject }).first()).lapses
}
