import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { defaultLimits, type WorkspaceLimits } from '../../../src/core/rules/pass/workspace-limits.ts'
import { erasePass } from '../../../src/server/operator/erase-pass.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import {
  definition,
  issuedPass,
  makePass,
  makeProject,
  makeTemplate,
  passBody,
  publishedTemplate,
} from '../fixtures.ts'
import { png } from './templates/pictures.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  const usageOf = async (workspace: TestWorkspace) => (await workspace.ok(contract.workspace.get, {})).usage!
  const later = () => new Date(api.now.getTime() + 3_600_000).toISOString()

  /** Sets limits, and applies them from the next request. A running server applies them within two seconds. */
  async function limit(workspace: TestWorkspace, limits: Partial<WorkspaceLimits>): Promise<void> {
    await api.services.store.transaction((tx) => tx.limits.set(workspace.id, limits))
    api.advance(1)
  }

  function overLimit(name: keyof WorkspaceLimits, allowed: number, used = allowed) {
    return { status: 409, errorCode: 'CONFLICT', details: { limit: name, allowed, used } }
  }

  test('returns the limits and the usage of a workspace', async () => {
    const workspace = await api.workspace()
    const nothing = { webhooks: 0, passes: 0, storedBytes: 0, waitingJobs: 0, draftsPerTemplate: 0, scheduledSends: 0 }
    expect(await workspace.ok(contract.workspace.get, {})).toEqual({
      id: workspace.id,
      name: expect.stringMatching(/^workspace \d+$/),
      expiresAt: null,
      // No entry is chained yet.
      ledgerPublicKey: null,
      limits: defaultLimits,
      usage: { ...nothing, requestsInFlight: 1 },
    })
    const { id } = await issuedPass(workspace, { variables: { seat: 'Ü1' } })
    const url = 'https://hooks.example/passes'
    await workspace.ok(contract.webhooks.create, { body: { url, events: ['pass.issued'] } })
    const template = await makeTemplate(workspace)
    const content = { definition: definition() }
    const drafts = [
      await workspace.ok(contract.templates.createVersion, { params: { id: template.id }, body: content }),
      await workspace.ok(contract.templates.createVersion, { params: { id: template.id } }),
    ]
    const image = await workspace.ok(contract.images.create, { body: await png(), contentType: 'image/png' })
    await workspace.ok(contract.notifications.create, { params: { id }, body: { body: 'Doors', sendAt: later() } })

    const definitionBytes = Buffer.byteLength(JSON.stringify(drafts[0]!.definition))
    const files: { data: Uint8Array }[] = await api.database.reader('image_files').where({ image_id: image.id })
    expect(files.length).toBeGreaterThan(0)
    const imageBytes = files.reduce((sum, { data }) => sum + data.length, image.bytes)
    const storedBytes = 3 * definitionBytes + imageBytes + Buffer.byteLength('{"seat":"Ü1"}')
    const some = { webhooks: 1, passes: 1, storedBytes, draftsPerTemplate: 2, scheduledSends: 1, requestsInFlight: 1 }
    // The notification waits for its time, and the update of Google's class for its job.
    expect(await usageOf(workspace)).toEqual({ ...some, waitingJobs: 1 })
  })

  test('exactly as many concurrent creates succeed as the limit allows', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    await limit(workspace, { passes: 10 })
    const singles = Array.from({ length: 20 }, () =>
      workspace.call(contract.passes.create, { body: passBody(template.id) }),
    )
    const batches = Array.from({ length: 4 }, () =>
      workspace.call(contract.passes.createBatch, {
        body: { passes: Array.from({ length: 4 }, () => passBody(template.id)) },
      }),
    )
    const answers = await Promise.all([...singles, ...batches])
    const made = answers.flatMap(({ status, body }) =>
      status === 201
        ? [body]
        : ((body as { results?: { success: boolean }[] }).results ?? []).filter((one) => one.success),
    )
    expect(made).toHaveLength(10)
    expect(await usageOf(workspace)).toMatchObject({ passes: 10 })
    expect(await workspace.refused(contract.passes.create, { body: passBody(template.id) })).toMatchObject({
      ...overLimit('passes', 10),
      message: expect.stringContaining('passes workspace limits'),
    })
  })

  test('an existing pass is returned from a full workspace, alone, in a batch, and in a race', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    await limit(workspace, { passes: 2 })
    const known = passBody(template.id)
    await workspace.ok(contract.passes.create, { body: known })
    const racing = passBody(template.id)
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => workspace.call(contract.passes.create, { body: racing })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])

    await limit(workspace, { passes: 1, waitingJobs: 0, storedBytes: 0 })
    expect((await workspace.call(contract.passes.create, { body: known })).status).toBe(200)
    const batch = { passes: [passBody(template.id), known] }
    expect((await workspace.ok(contract.passes.createBatch, { body: batch })).results).toMatchObject([
      { success: false, error: { code: 'CONFLICT' } },
      { success: true, pass: { externalPassId: known.externalPassId } },
    ])
  })

  test('accepts the items of a batch in order until the workspace is full', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const { storedBytes } = await usageOf(workspace)
    await limit(workspace, { passes: 2, storedBytes: storedBytes + 40 })
    const withSeat = (seat: string) => ({ ...passBody(template.id), variables: { seat } })
    const tooLong = { ...withSeat('2'), variables: { note: 'x'.repeat(50) } }
    const body = { passes: [withSeat('1'), tooLong, withSeat('3'), withSeat('4')] }
    const { results } = await workspace.ok(contract.passes.createBatch, { body })
    expect(results.map(({ success, error }) => error?.details?.limit ?? success)).toEqual([
      true,
      'storedBytes',
      true,
      'passes',
    ])
    expect(await usageOf(workspace)).toMatchObject({ passes: 2, storedBytes: storedBytes + 2 * '{"seat":"1"}'.length })
  })

  test('bytes are rejected wherever they would be stored, released, and never required to shrink a value', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const pass = await makePass(workspace, template.id, { variables: { note: 'x'.repeat(100) } })
    const params = { id: template.id }
    const draft = await workspace.ok(contract.templates.createVersion, { params })
    const file = { body: await png(), contentType: 'image/png' }
    await workspace.ok(contract.images.create, file)
    const { storedBytes } = await usageOf(workspace)
    const full = async () => overLimit('storedBytes', storedBytes, (await usageOf(workspace)).storedBytes)
    await limit(workspace, { storedBytes })

    const other = { body: await png({ color: '#ff0000' }), contentType: 'image/png' }
    expect(await workspace.refused(contract.images.create, other)).toMatchObject(await full())
    expect((await workspace.call(contract.images.create, file)).status).toBe(200)
    expect(await workspace.refused(contract.templates.createVersion, { params })).toMatchObject(await full())
    const longer = definition()
    longer.design.description = 'A ticket with many words'
    const grown = { params: { id: draft.id }, body: { definition: longer } }
    expect(await workspace.refused(contract.templateVersions.update, grown)).toMatchObject(await full())
    const update = (note: string) => ({ params: { id: pass.id }, body: { variables: { note } } })
    expect(await workspace.refused(contract.passes.update, update('x'.repeat(101)))).toMatchObject(await full())

    await workspace.ok(contract.passes.update, update('x'.repeat(90)))
    expect((await usageOf(workspace)).storedBytes).toBe(storedBytes - 10)
    expect(await workspace.refused(contract.passes.update, update('x'.repeat(101)))).toMatchObject(await full())
    await workspace.ok(contract.passes.update, update('x'.repeat(100)))
    const [{ n: definitionBytes }] = await api.database
      .writer('template_versions')
      .where({ id: draft.id })
      .select({ n: api.database.writer.raw('octet_length(definition)') })
    await workspace.ok(contract.templateVersions.delete, { params: { id: draft.id } })
    expect((await usageOf(workspace)).storedBytes).toBe(storedBytes - definitionBytes)
    const { store } = api.services
    await erasePass({ store, database: api.database }, workspace.id, pass.id, api.now)
    const left = storedBytes - definitionBytes - '{"note":""}'.length - 100 + '{}'.length
    expect(await usageOf(workspace)).toMatchObject({ storedBytes: left, passes: 1 })
  })

  test('one of the webhooks racing for the last place is created, and a deleted one frees its place', async () => {
    const workspace = await api.workspace()
    await limit(workspace, { webhooks: 2 })
    const create = () => {
      const body = { url: 'https://hooks.example/passes', events: ['pass.issued' as const] }
      return workspace.call(contract.webhooks.create, { body })
    }
    const answers = await Promise.all([create(), create(), create(), create()])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409])
    const { status, body } = await create()
    expect({ status, ...(body as object) }).toMatchObject(overLimit('webhooks', 2))
    const { id } = answers.find((answer) => answer.status === 201)!.body as { id: string }
    await workspace.ok(contract.webhooks.delete, { params: { id } })
    expect((await create()).status).toBe(201)
  })

  test('rejects a draft over the limit until one is published or deleted', async () => {
    const workspace = await api.workspace()
    const [template, other] = [await makeTemplate(workspace), await makeTemplate(workspace)]
    await limit(workspace, { draftsPerTemplate: 2 })
    const body = { definition: definition() }
    const create = (id: string) => workspace.call(contract.templates.createVersion, { params: { id }, body })
    const racing = await Promise.all([create(template.id), create(template.id), create(template.id)])
    expect(racing.map(({ status }) => status).sort()).toEqual([201, 201, 409])
    expect(racing.find(({ status }) => status === 409)!.body).toMatchObject({
      details: overLimit('draftsPerTemplate', 2).details,
    })
    expect((await create(other.id)).status).toBe(201)
    const [first, second] = racing.filter(({ status }) => status === 201).map((one) => (one.body as { id: string }).id)
    await workspace.ok(contract.templateVersions.publish, { params: { id: first! } })
    expect((await create(template.id)).status).toBe(201)
    await workspace.ok(contract.templateVersions.delete, { params: { id: second! } })
    expect((await create(template.id)).status).toBe(201)
    expect((await create(template.id)).status).toBe(409)
  })

  test('notifications and broadcasts share the limit of scheduled sends, and free it when cancelled or sent', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const pass = await issuedPass(workspace, { projectId: project.id })
    await limit(workspace, { scheduledSends: 2 })
    const platforms = ['apple' as const]
    const notify = (more: object) =>
      workspace.call(contract.notifications.create, {
        params: { id: pass.id },
        body: { body: 'Doors open at 7', platforms, ...more },
      })
    const broadcast = (more: object) =>
      workspace.call(contract.broadcasts.create, {
        params: { id: project.id },
        body: { body: 'Doors open at 7', platforms, ...more },
      })
    const sendAt = later()
    const keyed = { sendAt, idempotencyKey: randomUUID() }
    const scheduled = await notify({ sendAt })
    expect([scheduled.status, (await broadcast(keyed)).status]).toEqual([201, 201])
    for (const refused of [await notify({ sendAt }), await broadcast({ sendAt })]) {
      expect(refused.body).toMatchObject({ details: overLimit('scheduledSends', 2).details })
    }
    // The limit does not apply to existing notifications and immediate ones.
    expect([(await broadcast(keyed)).status, (await notify({})).status]).toEqual([200, 201])
    const { id: notificationId } = scheduled.body as { id: string }
    await workspace.ok(contract.notifications.cancel, { params: { id: pass.id, notificationId } })
    expect((await notify({ sendAt })).status).toBe(201)
    api.advance(3_600)
    await api.runJobs()
    expect((await notify({ sendAt: later() })).status).toBe(201)
  })

  test('a workspace with too many waiting jobs can queue no more until some have run', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const pass = await makePass(workspace, template.id)
    await api.runJobs()
    await limit(workspace, { waitingJobs: 3 })
    api.advance(10)
    const batch = { passes: Array.from({ length: 3 }, () => passBody(template.id)) }
    expect(await workspace.ok(contract.passes.createBatch, { body: batch })).toMatchObject({ totalCreated: 3 })
    const rejection = await workspace.refused(contract.passes.create, { body: passBody(template.id) })
    expect(rejection).toMatchObject(overLimit('waitingJobs', 3))
    const message = { params: { id: pass.id }, body: { body: 'Doors' } }
    expect(await workspace.refused(contract.notifications.create, message)).toMatchObject(overLimit('waitingJobs', 3))
    // Urgent requests are never rejected.
    await workspace.ok(contract.passes.void, { params: { id: pass.id }, body: {} })
    await api.runJobs()
    api.advance(1)
    await makePass(workspace, template.id)
  })

  test('requests in flight beyond the limit get 429 with Retry-After, and those of others continue', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    await limit(workspace, { requestsInFlight: 2 })
    // The token is cached now, so that requests are handled in the order in which they are sent.
    await usageOf(workspace)
    const held: (() => void)[] = []
    const hold = () => {
      const body = new ReadableStream({
        start: (controller) =>
          void held.push(() => {
            controller.enqueue(new TextEncoder().encode('{"name":"Held"}'))
            controller.close()
          }),
      })
      return workspace.send('POST', '/v1/projects', { body, headers: { 'content-type': 'application/json' } })
    }
    const first = [hold(), hold()]
    const refused = await workspace.call(contract.workspace.get, {})
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(refused.body).toMatchObject({
      errorCode: 'TOO_MANY_REQUESTS',
      details: { limit: 'requestsInFlight', allowed: 2, used: 2 },
    })
    expect(await usageOf(other)).toMatchObject({ requestsInFlight: 1 })
    for (const release of held) release()
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([201, 201])
    expect(await usageOf(workspace)).toMatchObject({ requestsInFlight: 1 })
  })
})
