import { tracingChannel } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Endpoint, TRIPS, tripsOf } from '../../../bench/support/trips.ts'
import { passes } from '../../../src/core/contract/passes.ts'
import { jobHandlers, queueOptions } from '../../../src/server/background/job-handlers.ts'
import type { RegularQueue } from '../../../src/storage/jobs/job-kinds.ts'
import { useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { startReceiver } from '../../support/receiver.ts'
import { issuedPass, makePass, publishedTemplate } from '../fixtures.ts'
import { gate } from '../jobs/fixtures.ts'
import { makeWebhook } from '../webhooks/webhook-fixtures.ts'
import { scan, scannablePass } from './scans/scan-support.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect, { outbound: { allowInsecure: true } })

  const commits = (trips: string[][]) => trips.flat().filter((sql) => /^begin/i.test(sql)).length

  test('a request makes at most this number of database round trips', async () => {
    // Two seconds later, the workspaces of other tests no longer count as active.
    stopTime(performance.now() + 2_000)
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    // The first pass fills the caches of the token, the template, and the queue.
    await makePass(workspace, template.id)
    const { code } = await scannablePass(workspace)
    await scan(workspace, { qrPayload: code, scanContextKey: 'first' })
    const { id } = await issuedPass(workspace)
    await workspace.ok(passes.update, { params: { id }, body: { label: 'Ada Lovelace' } })
    const works: Record<Endpoint, () => Promise<unknown>> = {
      'GET of a pass': () => workspace.ok(passes.get, { params: { id } }),
      // If a page is not full, its total needs no query.
      'list of passes': () => workspace.ok(passes.list, { query: { limit: 1 } }),
      create: () => makePass(workspace, template.id),
      scan: () => scan(workspace, { qrPayload: code, scanContextKey: 'second' }),
      PATCH: () => workspace.ok(passes.update, { params: { id }, body: { label: 'Grace' } }),
      void: () => workspace.ok(passes.void, { params: { id } }),
    }
    const made: Record<string, number> = {}
    for (const [name, work] of Object.entries(works)) made[name] = (await tripsOf(work)).length
    expect(made).toEqual(TRIPS[dialect])
    // With a reference, an additional insert finds out whether the reference is taken.
    const withRef = () => scan(workspace, { qrPayload: code, scanContextKey: 'third', externalRef: 'third' })
    expect(await tripsOf(withRef)).toHaveLength(TRIPS[dialect].scan + 1)
  })

  test('an endpoint subscribed to the events costs a request no round trip', async () => {
    const workspace = await api.workspace()
    await makeWebhook(workspace, await startReceiver(), 'pass.scanned', 'pass.updated', 'pass.voided')
    const { code, id } = await scannablePass(workspace)
    const update = (label: string) => workspace.ok(passes.update, { params: { id }, body: { label } })
    await update('Ada')
    const { scan: ofScan, PATCH, void: ofVoid } = TRIPS[dialect]
    const works = [
      () => scan(workspace, { qrPayload: code }),
      () => update('Grace'),
      () => workspace.ok(passes.void, { params: { id } }),
    ]
    const made: number[] = []
    for (const work of works) made.push((await tripsOf(work)).length)
    expect(made).toEqual([ofScan, PATCH, ofVoid])
    expect(await api.database.writer('webhook_deliveries').where({ workspace_id: workspace.id })).toHaveLength(4)
    const jobs = api.database.writer('jobs').where({ workspace_id: workspace.id, kind: 'deliver-webhooks' })
    expect(await jobs).toHaveLength(1)
  })

  test('a worker needs at most this many round trips for a pass, its webhook, and its phones', async () => {
    // Keeps cached values valid, even on a slow machine.
    stopTime(performance.now())
    const workspace = await api.workspace()
    const receiver = await startReceiver()
    await makeWebhook(workspace, receiver, 'pass.issued')
    const template = await publishedTemplate(workspace)
    await api.runJobs()
    const store = api.services.store.forJobs(workspace.id)
    const limits = { limit: 25, leaseSeconds: 10, workspaceId: workspace.id }

    /** Claims the due jobs of a queue and runs them. */
    async function work(queue: RegularQueue): Promise<unknown> {
      const jobs = await store.statement((tx) => tx.jobs.claim(queue, api.now, limits))
      expect(jobs).toHaveLength(1)
      return jobHandlers[jobs[0]!.kind](jobs, { ...api.services, store })
    }

    // The first round fills the caches. A late response is recorded with later ones, so the minimum counts.
    const rounds: [string, number, number][][] = []
    for (const _ of ['remembers', 'counts', 'counts', 'counts']) {
      const made: [string, number, number][] = []
      rounds.push(made)
      const { id } = await makePass(workspace, template.id)
      const count = async (queue: RegularQueue) => {
        const statements = await tripsOf(() => work(queue))
        made.push([queue, commits(statements), statements.length])
      }
      await count('issuing')
      await count('webhooks')
      await api.services.google!.ensure((await store.passes.find(workspace.id, id))!, api.now)
      const phone = { passId: id, deviceId: id, pushToken: id }
      await store.transaction((tx) => tx.registrations.insert(workspace.id, phone, api.now))
      await workspace.ok(passes.update, { params: { id }, body: { label: 'Grace' } })
      await count('pushes')
      await count('google')
    }
    expect(receiver.received).toHaveLength(rounds.length)
    const least = rounds[1]!.map((_, queue) =>
      rounds
        .slice(1)
        .map((made) => made[queue]!)
        .reduce((one, other) => (other[2] < one[2] ? other : one)),
    )
    // One round trip of Google's jobs records the send, so that unchanged objects are not sent again (decision 0015).
    const [issuing, webhooks, pushes, google] = dialect === 'sqlite' ? [8, 10, 7, 13] : [7, 8, 5, 13]
    expect(least).toEqual([
      ['issuing', 1, issuing],
      ['webhooks', 1, webhooks],
      ['pushes', 2, pushes],
      ['google', 1, google],
    ])
  })

  test('a batch makes at most this number of trips, and the worker claims several batches at once', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    let number = 0
    const hundred = () =>
      Array.from({ length: 100 }, () => ({ externalPassId: `T-${number++}`, label: 'Ada', templateId: template.id }))
    const create = () => workspace.ok(passes.createBatch, { body: { passes: hundred() } })
    const store = api.services.store.forJobs(workspace.id)

    /** Claims the due jobs that issue passes, and runs them. */
    async function issue(): Promise<{ claimed: number; commits: number }> {
      const { batchSize } = queueOptions.issuing.bulk
      const limits = { priority: 'bulk' as const, limit: batchSize, leaseSeconds: 10, workspaceId: workspace.id }
      const jobs = await store.statement((tx) => tx.jobs.claim('issuing', api.now, limits))
      const statements = await tripsOf(() => jobHandlers['issue-pass'](jobs, { ...api.services, store }))
      return { claimed: jobs.length, commits: commits(statements) }
    }

    // The first pass fills the caches of the token, the template, and the queue.
    await create()
    await issue()
    // The reads are sent one after the other if another workspace used the queue within the last second.
    const reads = 2
    const turns = dialect === 'sqlite' ? 4 : 1
    expect((await tripsOf(create)).length).toBeLessThanOrEqual(reads + turns * (TRIPS[dialect].create - 1))
    const { claimed, commits: made } = await issue()
    expect(claimed).toBe(100)
    // The first claim takes 50 jobs. Each later claim takes as many as fit into 10 ms, but at least 25.
    expect(made).toBeLessThanOrEqual(3)
    const { items } = await workspace.ok(passes.list, { query: { limit: 100, status: ['ISSUED'] } })
    expect(items).toHaveLength(100)
  })

  /** Runs requests so that their writes form one group: no write starts before all requests have read. */
  async function atOnce<T>(work: () => Promise<T>): Promise<T> {
    let lastAt = performance.now()
    let underWay = 0
    const note = (change: 1 | -1) => () => {
      lastAt = performance.now()
      underWay += change
    }
    const nothing = () => undefined
    const subscribers = { start: note(1), end: nothing, asyncStart: nothing, asyncEnd: note(-1), error: nothing }
    const channel = tracingChannel('passes:database-trip')
    channel.subscribe(subscribers)
    onTestFinished(() => channel.unsubscribe(subscribers))
    const everyone = gate()
    const holding = api.database.writer.transaction(async (tx) => {
      if (dialect === 'postgres') await tx.raw('lock table passes in share row exclusive mode')
      await everyone.pass()
    })
    const done = work()
    // Only the first write is then in progress, even if a busy database answers a read late.
    while (underWay > 1 || performance.now() - lastAt < 200) await sleep(20)
    everyone.open()
    await holding
    return done
  }

  test('concurrent requests of one kind share their statements', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const many = Array.from({ length: 20 }, (_, n) => n)
    let ids: string[] = []
    const created = await tripsOf(async () => {
      ids = (await atOnce(() => Promise.all(many.map(() => makePass(workspace, template.id))))).map(({ id }) => id)
    })
    const voided = await tripsOf(async () => {
      const answers = await atOnce(() =>
        Promise.all(
          many.map((n) => workspace.call(passes.void, { params: { id: ids[n]! }, body: { reason: `${n}` } })),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual(many.map(() => 200))
    })
    expect(commits(created)).toBeLessThan(many.length / 2)
    expect(commits(voided)).toBeLessThan(many.length / 2)
    for (const [n, id] of ids.entries()) {
      const events = await workspace.events(id)
      expect(events.map(({ type, data }) => [type, data.reason])).toEqual([['pass.voided', `${n}`]])
    }
    const actions: string[] = await api.database.writer('audit_entries').whereIn('target_id', ids).pluck('action')
    expect(actions.toSorted()).toEqual([...many.map(() => 'pass.create'), ...many.map(() => 'pass.void')])
  })
})

/** Stops the clock until the end of the test. */
function stopTime(now: number): void {
  const stopped = vi.spyOn(performance, 'now').mockReturnValue(now)
  onTestFinished(() => stopped.mockRestore())
}
