import { describe, expect, test } from 'vitest'
import { retryJobs } from '../../../src/server/operator/failed-jobs.ts'
import type { JobKind } from '../../../src/storage/jobs/job-kinds.ts'
import type { PassError } from '../../../src/storage/passes/pass-row.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass } from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'
import { openServices, type TestServices } from '../jobs/fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('a retried job is due at once with no attempts counted, and its pass is QUEUED again', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId } = services
    const id = await insertFailed(services, workspaceId, 'issue-pass')
    const [failed] = await store.backlog.listFailed({}, 10)
    expect(failed).toMatchObject({ workspaceId, kind: 'issue-pass', subject: id, error: 'no luck' })
    services.advance(60)
    expect(await retryJobs(store, { ids: [failed!.id] }, services.clock())).toBe(1)
    expect(await store.passes.find(workspaceId, id)).toMatchObject({ status: 'QUEUED' })
    expect(await store.backlog.listFailed({}, 10)).toEqual([])
    const [job] = await store.transaction((tx) => tx.jobs.claim('issuing', services.clock(), lease))
    expect(job).toMatchObject({ id: failed!.id, attempts: 1 })
    expect(await retryJobs(store, {}, services.clock())).toBe(0)
  })

  test('a retried wallet update emits pass.updated with manual_requeue as the only changed field', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId, database } = services
    const id = await insertFailed(services, workspaceId, 'update-apple')
    const before = await store.passes.find(workspaceId, id)
    await database.writer('events').delete()
    expect(await retryJobs(store, {}, services.clock())).toBe(1)
    const events = await database.reader('events').select('type', 'subject', 'data', 'correlation_id')
    expect(events).toMatchObject([{ type: 'pass.updated', subject: id, correlation_id: 'c-1' }])
    expect(JSON.parse(events[0].data)).toEqual({
      id,
      externalPassId: before!.externalPassId,
      templateId: before!.templateId,
      projectId: null,
      templateVersionId: before!.templateVersionId,
      changedFields: ['manual_requeue'],
    })
    expect(await store.passes.find(workspaceId, id)).toEqual(before)
  })

  test('reissues passes that could not be signed, of the given workspace, and no other failed ones', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId, clock } = services
    const other = await insertWorkspace(store, 'other')
    const fail = async (workspace: string, ...codes: PassError['code'][]) => {
      const ids = await insertPasses(
        store,
        workspace,
        codes.map(() => newPass(version(workspace))),
      )
      await store.transaction(async (tx) => {
        await tx.jobs.complete(await tx.jobs.claim('issuing', clock(), lease))
        for (const [n, code] of codes.entries())
          await tx.passes.setFailed(workspace, ids[n]!, { code, message: 'no' }, clock())
      })
      return ids
    }
    const versions = new Map([
      [workspaceId, await insertTemplate(store, workspaceId)],
      [other, await insertTemplate(store, other)],
    ])
    const version = (workspace: string) => versions.get(workspace)!
    const [apple, google] = await fail(workspaceId, 'APPLE_SIGNING_FAILED', 'GOOGLE_JWT_FAILED', 'PASS_ISSUING_FAILED')
    const theirs = await fail(other, 'APPLE_SIGNING_FAILED')
    const claimed = async () => {
      const jobs = await store.transaction((tx) => tx.jobs.claim('issuing', clock(), lease))
      return jobs.map(({ subject }) => subject).toSorted()
    }
    expect(await retryJobs(store, { ids: [] }, clock())).toBe(0)
    expect(await retryJobs(store, { workspaceId }, clock())).toBe(2)
    expect(await store.passes.find(workspaceId, apple!)).toMatchObject({ status: 'QUEUED' })
    expect(await claimed()).toEqual([apple, google].toSorted())
    expect(await retryJobs(store, {}, clock())).toBe(1)
    expect(await claimed()).toEqual(theirs)
    const { rows } = await store.auditLog.list({ actions: ['job.retry'], limit: 9 })
    expect(rows.map((entry) => [entry.workspaceId, entry.targetCount])).toEqual([
      [other, 1],
      [workspaceId, 2],
    ])
  })

  test('retries only the jobs of the given workspace', async () => {
    const services = await openServices(dialect)
    const { store, workspaceId } = services
    const other = await insertWorkspace(store, 'other')
    await insertFailed(services, workspaceId, 'issue-pass')
    await insertFailed(services, other, 'issue-pass')
    expect(await retryJobs(store, { workspaceId: other }, services.clock())).toBe(1)
    expect(await store.backlog.listFailed({}, 10)).toMatchObject([{ workspaceId }])
    expect(await store.backlog.counts()).toMatchObject([{ kind: 'issue-pass', waiting: 1, running: 0, discarded: 1 }])
  })
})

const lease = { limit: 100, leaseSeconds: 10 }

/** Inserts a pass with one failed job. */
async function insertFailed({ store, database, clock }: TestServices, workspaceId: string, kind: JobKind) {
  const version = await insertTemplate(store, workspaceId)
  const [id] = await insertPasses(store, workspaceId, [newPass(version)])
  await database.writer('jobs').where({ subject: id }).delete()
  await store.transaction(async (tx) => {
    await tx.jobs.insert([{ workspaceId, kind, subject: id!, correlationId: 'c-1' }], clock())
    const jobs = await tx.jobs.claim(kind === 'issue-pass' ? 'issuing' : 'pushes', clock(), lease)
    await tx.jobs.fail(jobs, clock(), 'no luck')
    if (kind !== 'issue-pass') return
    await tx.passes.setFailed(workspaceId, id!, { code: 'PASS_ISSUING_FAILED', message: 'no luck' }, clock())
  })
  return id!
}
