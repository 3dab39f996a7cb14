import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/core/errors.ts'
import { MAX_JOB_ATTEMPTS } from '../../../src/core/rules/sending/retries.ts'
import { createLimits } from '../../../src/server/admission/rate-limit.ts'
import { startScheduler } from '../../../src/server/background/scheduler.ts'
import { createApp } from '../../../src/server/boot/app.ts'
import { createCursors } from '../../../src/server/http/cursors.ts'
import { failPass, issuePasses } from '../../../src/server/wallet-sync/issue-pass.ts'
import { insertPasses, newPass } from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'
import { eventually, gate, openServices, type TestServices } from '../jobs/fixtures.ts'

const handlers = { 'issue-pass': issuePasses }

describe.each(dialects)('on %s', (dialect) => {
  test('a pass is ISSUING while it is rendered, then ISSUED with one event that lists its platforms', async () => {
    const held = gate()
    const services = await openServices(dialect, held.pass)
    const id = await insertPass(services)
    services.work({ handlers })
    await eventually(() => expect(held.waiting()).toBe(1))
    expect(await statusOf(services, id)).toBe('ISSUING')
    held.open()
    await eventually(async () => expect(await statusOf(services, id)).toBe('ISSUED'))
    expect(await eventsOf(services, id)).toMatchObject([
      { type: 'pass.issued', data: { id, variables: { seat: 'A1' }, templateId: services.version.templateId } },
    ])
    expect(await services.database.reader('jobs')).toEqual([])
  })

  test('a pass rejected by a platform is FAILED with one event, and others of the batch are issued', async () => {
    let refused: string | undefined
    const services = await openServices(dialect, async (pass) => {
      if (pass.id === refused) throw new ApiError('PASS_ISSUING_FAILED', { message: 'too odd' })
    })
    const passes = [newPass(services.version), newPass(services.version), newPass(services.version)]
    refused = passes[1]!.id
    const ids = await insertPasses(services.store, services.workspaceId, passes)
    services.work({ handlers })
    await eventually(async () => {
      expect(await Promise.all(ids.map((id) => statusOf(services, id)))).toEqual(['ISSUED', 'FAILED', 'ISSUED'])
    })
    expect(await eventsOf(services, refused)).toMatchObject([
      { type: 'pass.failed', data: { id: refused, error: { code: 'PASS_ISSUING_FAILED', message: 'too odd' } } },
    ])
  })

  test('a pass whose job failed for the last time is FAILED with one event, and its job is quarantined', async () => {
    const services = await openServices(dialect, async () => {
      throw new Error('out of order')
    })
    const id = await insertPass(services)
    await services.database.writer('jobs').update({ attempts: MAX_JOB_ATTEMPTS - 1 })
    services.work({ handlers, onDiscard: { 'issue-pass': failPass } })
    await eventually(async () => expect(await statusOf(services, id)).toBe('FAILED'))
    expect(await eventsOf(services, id)).toMatchObject([
      { type: 'pass.failed', data: { id, error: { code: 'PASS_ISSUING_FAILED', message: 'out of order' } } },
    ])
    expect(await services.database.reader('jobs')).toMatchObject([{ subject: id, last_error: 'out of order' }])
  })

  test('a pass that changes while it is being issued is issued again, once, with the new data', async () => {
    const held = gate()
    const services = await openServices(dialect, held.pass)
    const id = await insertPass(services)
    services.work({ handlers })
    await eventually(() => expect(held.waiting()).toBe(1))
    await services.database
      .writer('passes')
      .where({ id })
      .update({ variables: JSON.stringify({ seat: 'B2' }), revision: 2 })
    held.open()
    await eventually(async () => expect(await statusOf(services, id)).toBe('ISSUED'))
    expect(held.waiting()).toBe(2)
    expect(await eventsOf(services, id)).toMatchObject([{ type: 'pass.issued', data: { variables: { seat: 'B2' } } }])
    expect(await services.database.reader('jobs')).toEqual([])
  })

  test('opening the link of a QUEUED pass issues it at once, without a worker', async () => {
    const services = await openServices(dialect)
    const id = await insertPass(services)
    expect((await openLink(services, id)).status).toBe(200)
    expect(await statusOf(services, id)).toBe('ISSUED')
  })

  test('the first of links opened during the job issues the pass, with one event', async () => {
    const held = gate()
    const services = await openServices(dialect, held.pass)
    const id = await insertPass(services)
    services.work({ handlers })
    const opened = Array.from({ length: 4 }, () => openLink(services, id))
    await eventually(() => expect(held.waiting()).toBe(5))
    held.open()
    expect((await Promise.all(opened)).map((response) => response.status)).toEqual([200, 200, 200, 200])
    await eventually(async () => expect(await services.database.reader('jobs')).toEqual([]))
    expect(await statusOf(services, id)).toBe('ISSUED')
    expect(await eventsOf(services, id)).toMatchObject([{ type: 'pass.issued' }])
  })

  test('another worker takes over from one that hangs, whose later writes have no effect', async () => {
    const held = gate()
    let calls = 0
    const services = await openServices(dialect, async () => {
      calls += 1
      if (calls === 1) await held.pass()
    })
    const id = await insertPass(services)
    const hanging = services.work({ handlers })
    await eventually(() => expect(held.waiting()).toBe(1))

    const scheduler = startScheduler(services)
    services.advance(11)
    await scheduler.tick()
    await scheduler.stop()
    // The first worker may also take the job, because a hung job does not block its other queues.
    services.work({ handlers })
    await eventually(async () => expect(await statusOf(services, id)).toBe('ISSUED'))

    const issued = await services.store.passes.find(services.workspaceId, id)
    services.advance(1)
    held.open()
    await hanging.stop()
    expect(await services.store.passes.find(services.workspaceId, id)).toEqual(issued)
    expect(await eventsOf(services, id)).toMatchObject([{ type: 'pass.issued' }])
    expect(await services.database.reader('jobs')).toEqual([])
  })
})

async function insertPass({ store, workspaceId, version, clock }: TestServices): Promise<string> {
  const [id] = await insertPasses(store, workspaceId, [newPass(version)], clock())
  return id!
}

async function statusOf({ store, workspaceId }: TestServices, id: string): Promise<string | undefined> {
  return (await store.passes.find(workspaceId, id))?.status
}

async function eventsOf({ database }: TestServices, subject: string) {
  const rows = await database.reader('events').where({ subject }).orderBy('id')
  return rows.map((row) => ({ type: row.type, data: JSON.parse(row.data) }))
}

async function openLink(services: TestServices, id: string): Promise<Response> {
  const app = createApp({
    cursors: createCursors({ current: Buffer.alloc(32, 7), previous: [] }),
    services,
    readiness: async () => ({}),
    limits: createLimits({ perSecond: 0, burst: 0 }),
    trustedProxies: 0,
  })
  const pass = await services.store.passes.find(services.workspaceId, id)
  return app.fetch(new Request(services.links.urlFor('smart', pass!, services.clock())))
}
