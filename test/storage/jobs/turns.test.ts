import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { JobKind, Queue } from '../../../src/storage/jobs/job-kinds.ts'
import type { ClaimOptions, Job, NewJob } from '../../../src/storage/jobs/jobs-repository.ts'
import type { Store } from '../../../src/storage/store.ts'
import { dialects } from '../../support/databases.ts'
import { explainSqlite, type Statement } from '../db/query-plans.ts'
import { insertWorkspace, later, openTestStore, start } from '../fixtures.ts'

const lease = { limit: 100, leaseSeconds: 10 }

describe.each(dialects)('on %s', (dialect) => {
  test.each([
    ['few', 1],
    ['more than are searched one by one', 120],
  ])('workspaces with due jobs take turns, regardless of the number of jobs of the first: %s', async (_, count) => {
    const { store } = await openTestStore(dialect)
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()].sort()
    await insert(store, a!, count)
    await insert(store, b!, 1, { runAt: later(1) })
    await insert(store, c!, 2)
    const turn = async (after?: string, except: string[] = [], at = start) =>
      (await store.jobs.nextTurn('issuing', at, { after, except })).workspaceId
    expect([await turn(), await turn(a), await turn(b), await turn(c)]).toEqual([a, c, c, a])
    expect([await turn(a, [c!]), await turn(undefined, [a!]), await turn(a, [a!, c!])]).toEqual([a, c, undefined])
    expect(await turn(a, [], later(1))).toBe(b)
    expect(await turn(undefined, [], later(-1))).toBe(undefined)
    expect((await store.jobs.nextTurn('pushes', start)).workspaceId).toBe(undefined)
  })

  test('a claim takes jobs of one workspace, the oldest first', async () => {
    const { store } = await openTestStore(dialect)
    const [a, b] = [randomUUID(), randomUUID()].sort()
    const [second, first] = [await insert(store, b!, 1), await insert(store, b!, 1, { runAt: later(-9) })]
    await insert(store, a!, 3)
    const jobs = await claim(store, 'issuing', start, { workspaceId: b! })
    expect(jobs.map(({ subject }) => subject).sort()).toEqual([...first, ...second].sort())
    expect((await claim(store, 'issuing', start, { limit: 2 })).map((job) => job.workspaceId)).toEqual([a, a])
  })

  test.each([
    ['few', 3],
    ['more than are searched one by one', 120],
  ])('jobs of suspended and expired workspaces wait, and delay no others: %s', async (_, count) => {
    const { store, database } = await openTestStore(dialect)
    const [suspended, expired, other] = [
      await insertWorkspace(store, 'suspended'),
      await insertWorkspace(store, 'expired'),
      await insertWorkspace(store, 'other'),
    ]
    for (const workspaceId of [suspended, expired]) await insert(store, workspaceId, count)
    await insert(store, other, 1)
    await store.transaction((tx) => tx.workspaces.update(suspended, { suspendedAt: start }))
    await database
      .writer('workspaces')
      .where({ id: expired })
      .update({ expires_at: later(60).getTime() })
    const taken = async (at: Date) => (await claim(store, 'issuing', at)).map((job) => job.workspaceId)
    expect([await taken(later(60)), await taken(later(60))]).toEqual([[other], []])
    expect(new Set(await taken(later(59)))).toEqual(new Set([expired]))
    await store.transaction((tx) => tx.workspaces.update(suspended, { suspendedAt: null }))
    expect(new Set(await taken(later(60)))).toEqual(new Set([suspended]))
  })

  test('one job of a kind and subject runs at a time; another kind can run concurrently', async () => {
    const { store } = await openTestStore(dialect)
    const [workspaceId, subject] = [randomUUID(), randomUUID()]
    const put = (kind: JobKind) =>
      store.transaction((tx) => tx.jobs.insert([{ workspaceId, kind, subject, correlationId: null }], start))
    await put('update-google')
    await put('update-google')
    const [running, ...more] = await claim(store, 'google', start)
    expect(more).toEqual([])
    expect(await claim(store, 'google', start)).toEqual([])
    expect((await store.jobs.nextTurn('google', start)).workspaceId).toBe(undefined)
    await put('upsert-google-class')
    expect(await claim(store, 'google', start)).toMatchObject([{ kind: 'upsert-google-class', subject }])
    await store.transaction((tx) => tx.jobs.complete([running!]))
    expect(await claim(store, 'google', start)).toMatchObject([{ kind: 'update-google', subject }])
  })

  test('each priority of a queue is claimed apart from the others of the same kind', async () => {
    const { store } = await openTestStore(dialect)
    const workspaceId = randomUUID()
    const expected: [JobKind, Queue][] = [
      ['issue-pass', 'issuing'],
      ['update-apple', 'pushes'],
      ['update-google', 'google'],
    ]
    for (const [kind, queue] of expected) {
      const [single] = await insert(store, workspaceId, 1, { kind })
      const [bulk] = await insert(store, workspaceId, 1, { kind, isBulk: true })
      expect(await claim(store, queue, start)).toMatchObject([{ subject: single }])
      expect(await claim(store, queue, start)).toEqual([])
      expect(await claim(store, queue, start, { priority: 'bulk' })).toMatchObject([{ subject: bulk }])
    }
  })

  test('notifications of broadcasts never have the priority of single ones', async () => {
    const { store } = await openTestStore(dialect)
    const workspaceId = randomUUID()
    const expected: [JobKind, Queue][] = [
      ['send-broadcast-notification', 'pushes'],
      ['message-google-broadcast', 'google'],
    ]
    for (const [kind, queue] of expected) {
      const [subject] = await insert(store, workspaceId, 1, { kind })
      for (const priority of ['urgent', 'interactive'] as const) {
        expect(await claim(store, queue, start, { priority })).toEqual([])
      }
      expect(await claim(store, queue, start, { priority: 'bulk' })).toMatchObject([{ kind, subject }])
    }
  })

  test('an update in a bulk becomes interactive once a person waits for it', async () => {
    const { store } = await openTestStore(dialect)
    const job = {
      workspaceId: randomUUID(),
      kind: 'update-apple' as const,
      subject: randomUUID(),
      correlationId: null,
    }
    const once = (isBulk: boolean) => store.transaction((tx) => tx.jobs.insertOnce([{ ...job, isBulk }], start))
    await once(true)
    await once(false)
    await once(true)
    expect(await claim(store, 'pushes', start)).toMatchObject([{ subject: job.subject }])
    expect(await claim(store, 'pushes', start, { priority: 'bulk' })).toEqual([])
  })
})

test('on sqlite, each search for a turn uses the index of turns, and the first the one of due times', async () => {
  const { store, database } = await openTestStore('sqlite')
  const workspaceId = randomUUID()
  await insert(store, workspaceId, 120)
  const statements: Statement[] = []
  database.reader.on('query', ({ sql, bindings }: Statement) => statements.push({ sql, bindings }))
  await store.jobs.nextTurn('issuing', start, { after: workspaceId, except: [randomUUID()] })
  const plans = await Promise.all(statements.splice(0).map((one) => explainSqlite(database.reader, one)))
  const indexes = plans.map(({ text }) =>
    [...text.matchAll(/(?:SEARCH|SCAN) jobs USING (?:COVERING )?(.*)/g)].map(([, index]) => index),
  )
  const moments = [
    'INDEX jobs_due (queue=? AND priority=? AND run_at<?)',
    'INDEX jobs_due (queue=? AND priority=? AND run_at>?)',
  ]
  const after = 'INDEX jobs_turns (queue=? AND priority=? AND workspace_id>?)'
  const due = 'INDEX jobs_turns (queue=? AND priority=? AND workspace_id=? AND run_at<?)'
  expect(indexes[0]).toEqual(moments)
  // The search after the last turn, and then the search from the start.
  expect(indexes[1]?.toSorted()).toEqual(
    [after, after, due, 'INDEX jobs_turns (queue=? AND priority=?)', after, due].toSorted(),
  )
})

test('on postgres, jobs are found by index, even if statistics are from a time with few jobs', async () => {
  const { store, database, url } = await openTestStore('postgres')
  const db = database.writer
  const workspaceId = await insertWorkspace(store)
  await insert(store, workspaceId, 1)
  await db.raw('vacuum analyze jobs')
  const [subject] = await insert(store, workspaceId, 3_000)
  const statements: Statement[] = []
  db.on('query', ({ sql, bindings }: Statement) => statements.push({ sql, bindings }))
  await store.jobs.nextTurn('issuing', start, { after: workspaceId, except: [randomUUID()] })
  const job = { workspaceId, kind: 'issue-pass' as const, subject: subject!, correlationId: null }
  await store.transaction(async (tx) => {
    await tx.jobs.insertUnlessDue([job], start)
    await tx.jobs.insertOnce([job], start)
    await tx.jobs.deleteWaiting('issue-pass', subject!)
  })
  const ours = statements.splice(0).filter(({ sql }) => /\bjobs\b/.test(sql))
  expect(ours).toHaveLength(6)
  const session = new pg.Client(url)
  await session.connect()
  onTestFinished(() => session.end())
  await session.query('set enable_seqscan = off')
  for (const { sql, bindings } of ours) {
    const { rows } = await session.query(`explain ${sql}`, bindings)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).not.toMatch(/Filter: .*(subject|workspace_id) = /)
  }
})

test('on postgres, a plan cached while no job waited uses indexes once thousands wait', async () => {
  const { store, database } = await openTestStore('postgres')
  const db = database.writer
  await db.raw('vacuum jobs')
  const look = () => store.jobs.nextTurn('issuing', start)
  // PostgreSQL caches a plan after the fifth execution.
  for (let times = 0; times < 6; times += 1) await look()
  await insert(store, await insertWorkspace(store), 3_000)
  await look()
  const [kept] = await db('pg_prepared_statements').where({ name: 'look-queue' }).where('generic_plans', '>', 1)
  expect(kept).toBeDefined()
  const { rows } = await db.raw(
    `explain execute "look-queue" (0, 'issuing', 'interactive', 0, 'issuing', 'interactive', 0)`,
  )
  const plan = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n')
  expect(plan).toContain('using jobs_due on jobs')
  expect(plan).not.toContain('Seq Scan on jobs')
})

async function insert(
  store: Store,
  workspaceId: string,
  count: number,
  fields: Partial<NewJob> = {},
): Promise<string[]> {
  const subjects = Array.from({ length: count }, () => randomUUID())
  const job = { workspaceId, kind: 'issue-pass' as const, correlationId: null, ...fields }
  await store.transaction((tx) =>
    tx.jobs.insert(
      subjects.map((subject) => ({ ...job, subject })),
      start,
    ),
  )
  return subjects
}

function claim(store: Store, queue: Queue, at: Date, options: Partial<ClaimOptions> = {}): Promise<Job[]> {
  return store.transaction((tx) => tx.jobs.claim(queue, at, { ...lease, ...options }))
}
