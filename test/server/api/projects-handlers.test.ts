import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { useApi } from '../../support/api.ts'
import { dialects, testOn } from '../../support/databases.ts'
import { issuedPass, makePass, makeProject, makeTemplate, publishedTemplate } from '../fixtures.ts'

const { create, get, update, delete: remove, stats } = contract.projects
const missing = { params: { id: '018f2f5e-7c1a-7000-8000-0123456789ab' } }
const DAY_SECONDS = 86_400

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)

  test('creates a project with defaults, and reads, changes, and deletes it', async () => {
    const workspace = await api.workspace()
    const answer = await workspace.call(create, { body: { name: '東京 🎟️' } })
    expect(answer.status).toBe(201)
    const at = api.now.toISOString()
    const project = { name: '東京 🎟️', description: '', color: 'gray', createdAt: at, updatedAt: at }
    expect(answer.body).toMatchObject(project)
    const params = { id: (answer.body as { id: string }).id }
    expect(await workspace.ok(get, { params })).toEqual(answer.body)

    api.advance(60)
    const changed = { ...(answer.body as object), description: 'New', color: 'pink', updatedAt: api.now.toISOString() }
    expect(await workspace.ok(update, { params, body: { description: 'New', color: 'pink' } })).toEqual(changed)
    expect(await workspace.ok(get, { params })).toEqual(changed)

    expect((await workspace.call(remove, { params })).status).toBe(204)
    for (const call of [get, remove, stats]) {
      expect(await workspace.refused(call, { params })).toMatchObject({ status: 404, errorCode: 'NOT_FOUND' })
    }
  })

  testOnce('an empty change is 400 MISSING_REQUIRED_FIELD', async () => {
    const workspace = await api.workspace()
    const { id } = await makeProject(workspace)
    const rejection = await workspace.refused(update, { params: { id }, body: {} })
    expect(rejection).toMatchObject({ status: 400, errorCode: 'MISSING_REQUIRED_FIELD' })
  })

  test('an unknown project is 404 NOT_FOUND', async () => {
    const workspace = await api.workspace()
    const rejections = [
      await workspace.refused(get, missing),
      await workspace.refused(update, { ...missing, body: { name: 'x' } }),
      await workspace.refused(remove, missing),
      await workspace.refused(stats, missing),
    ]
    for (const rejection of rejections) expect(rejection).toMatchObject({ status: 404, errorCode: 'NOT_FOUND' })
  })

  testOnce('each bound of a project holds exactly, in code points', async () => {
    const workspace = await api.workspace()
    for (const body of [{ name: '😀'.repeat(255) }, { name: 'x', description: '😀'.repeat(2000) }]) {
      expect((await workspace.call(create, { body })).status).toBe(201)
    }
    const bad = [
      { name: '' },
      { name: 'x'.repeat(256) },
      { name: 'x', description: 'x'.repeat(2001) },
      { name: 'x', color: 'black' },
      { name: 'a\u0000b' },
      { name: null },
      {},
    ]
    for (const body of bad) {
      const answer = await workspace.send('POST', '/v1/projects', { body })
      expect([answer.status, (answer.body as { errorCode: string }).errorCode]).toEqual([400, 'VALIDATION_ERROR'])
    }
  })

  test('deleting a project keeps its templates and passes, without a project', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const other = await makeProject(workspace, 'Other')
    const pass = await issuedPass(workspace, { projectId: project.id })
    const untouched = await issuedPass(workspace, { projectId: other.id })
    await workspace.ok(remove, { params: { id: project.id } })
    const seen = async (id: string) => (await workspace.ok(contract.passes.get, { params: { id } })).projectId
    expect(await seen(pass.id)).toBe(null)
    const listed = async (...projectId: string[]) => {
      const page = await workspace.ok(contract.passes.list, { query: { projectId } })
      expect(page.total).toBe(page.items.length)
      return page.items.map(({ id }) => id)
    }
    const expectLists = async () => {
      expect(await listed(project.id)).toEqual([])
      expect(await listed('null')).toEqual([pass.id])
      expect(await listed(other.id)).toEqual([untouched.id])
      expect(await listed(project.id, other.id)).toEqual([untouched.id])
      expect(await listed('null', other.id)).toEqual([untouched.id, pass.id])
    }
    await expectLists()
    await api.runJobs()
    await expectLists()
    const rows = await api.database.writer('passes').where({ project_id: project.id })
    expect(rows).toEqual([])
    expect(await seen(pass.id)).toBe(null)
    expect(await seen(untouched.id)).toBe(other.id)
    const template = await workspace.ok(contract.templates.get, { params: { id: pass.templateId! } })
    expect(template.projectId).toBe(null)
    const after = await makePass(workspace, pass.templateId!)
    expect(after.projectId).toBe(null)
  })

  test('the scheduled broadcasts of a deleted project are cancelled, and their keys are free', async () => {
    const workspace = await api.workspace()
    const [gone, other] = [await makeProject(workspace), await makeProject(workspace, 'Other')]
    const at = (seconds: number) => new Date(api.now.getTime() + seconds * 1000).toISOString()
    const send = (id: string, idempotencyKey: string, sendAt?: string) =>
      workspace.call(contract.broadcasts.create, {
        params: { id },
        body: { body: 'Now', idempotencyKey, ...(sendAt && { sendAt }) },
      })
    await send(gone.id, 'tomorrow', at(DAY_SECONDS))
    await send(gone.id, 'in an hour', at(3600))
    const sent = await send(gone.id, 'right away')
    const kept = await send(other.id, 'elsewhere', at(3600))
    await workspace.ok(remove, { params: { id: gone.id } })
    const jobs = await api.database.writer('jobs').where({ workspace_id: workspace.id, kind: 'fan-out-broadcast' })
    const idOf = ({ body }: { body: unknown }) => (body as { id: string }).id
    expect(jobs.map((job) => job.subject).sort()).toEqual([idOf(sent), idOf(kept)].sort())
    for (const key of ['tomorrow', 'in an hour']) {
      expect(await send(other.id, key, at(60))).toMatchObject({ status: 201, body: { projectId: other.id } })
    }
    expect(await send(other.id, 'right away')).toMatchObject({ status: 200, body: sent.body })
  })

  test('statistics count live, all and recent passes, and an expired one is not live before any sweep', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const empty = {
      projectId: project.id,
      templateCount: 0,
      livePassCount: 0,
      totalPassCount: 0,
      googleInstallCount: 0,
      passesAddedLast7Days: 0,
    }
    const counts = () => workspace.ok(stats, { params: { id: project.id } })
    expect(await counts()).toEqual(empty)

    const expiresAt = new Date(api.now.getTime() + 3 * DAY_SECONDS * 1000).toISOString()
    const design = { organizationName: 'O', description: 'D' }
    const template = await publishedTemplate(workspace, { projectId: project.id, definition: { design, expiresAt } })
    await makeTemplate(workspace, { projectId: project.id })
    await makePass(workspace, template.id)
    await makePass(workspace, template.id)
    expect(await counts()).toMatchObject({ templateCount: 2, livePassCount: 0, totalPassCount: 2 })
    await api.runJobs()
    await makePass(workspace, template.id)
    await issuedPass(workspace)
    const issuing = { ...empty, templateCount: 2, livePassCount: 3, totalPassCount: 3, passesAddedLast7Days: 3 }
    expect(await counts()).toEqual(issuing)
    api.advance(3 * DAY_SECONDS)
    expect(await counts()).toEqual({ ...issuing, livePassCount: 0 })
    api.advance(5 * DAY_SECONDS)
    expect(await counts()).toEqual({ ...issuing, livePassCount: 0, passesAddedLast7Days: 0 })
  })

  test('a deleted template is no longer counted', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const template = await makeTemplate(workspace, { projectId: project.id })
    await workspace.ok(contract.templates.delete, { params: { id: template.id } })
    expect(await workspace.ok(stats, { params: { id: project.id } })).toMatchObject({ templateCount: 0 })
  })

  test('statistics count passes that are installed on google', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const pass = await issuedPass(workspace, { projectId: project.id })
    await issuedPass(workspace, { projectId: project.id })
    const [at, row] = [api.now.getTime(), { pass_id: pass.id, workspace_id: workspace.id, object_suffix: pass.id }]
    await api.database.writer('google_objects').insert({ ...row, sent_version: 1, sent_at: at, installed_at: at })
    expect(await workspace.ok(stats, { params: { id: project.id } })).toMatchObject({ googleInstallCount: 1 })
  })

  test('exactly one of concurrent creates of a unique project succeeds, and the others name it', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const design = { organizationName: 'O', description: 'D' }
    const url = 'https://hooks.example/only'
    const makers = {
      projectId: () => workspace.call(create, { body: { name: 'Only', unique: true } }),
      webhookId: () =>
        workspace.call(contract.webhooks.create, { body: { url, events: ['pass.issued'], unique: true } }),
      newestVersion: () =>
        workspace.call(contract.templates.createVersion, {
          params: { id: template.id },
          body: { definition: { design }, after: 0 },
        }),
    }
    for (const [named, make] of Object.entries(makers)) {
      const answers = await Promise.all(Array.from({ length: 8 }, make))
      const bodies = answers.map(({ body }) => body as Record<string, unknown> & { details: Record<string, unknown> })
      const made = bodies.filter((_, index) => answers[index]!.status === 201)
      const refused = bodies.filter((_, index) => answers[index]!.status === 409)
      expect([made.length, refused.length]).toEqual([1, 7])
      const expected = named === 'newestVersion' ? 1 : made[0]!.id
      expect(new Set(refused.map(({ details }) => details[named]))).toEqual(new Set([expected]))
    }
    // Without the flag, two projects can have the same name, as before.
    expect((await workspace.call(create, { body: { name: 'Only' } })).status).toBe(201)
  })
})
