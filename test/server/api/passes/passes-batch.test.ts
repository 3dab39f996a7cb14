import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../../src/core/contract/schemas/common.ts'
import { ApiError } from '../../../../src/core/errors.ts'
import { createIssuing } from '../../../../src/server/wallet-sync/issuing.ts'
import { Passes } from '../../../../src/storage/passes/passes-repository.ts'
import { TemplateVersions } from '../../../../src/storage/templates/template-versions-repository.ts'
import { useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { definition, issuedPass, makeTemplate, passBody, publishedTemplate } from '../../fixtures.ts'

const { createBatch, get, list } = contract.passes

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)

  test('creates 100 passes in one call, in the order of the request', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const items = Array.from({ length: 100 }, () => passBody(template.id))
    const answer = await workspace.call(createBatch, { body: { passes: items } })
    expect(answer.status).toBe(200)
    const { results, ...totals } = answer.body as { results: { externalPassId: string; pass: { id: string } }[] }
    expect(totals).toEqual({ totalRequested: 100, totalCreated: 100, totalFailed: 0 })
    expect(results.map(({ externalPassId }) => externalPassId)).toEqual(
      items.map(({ externalPassId }) => externalPassId),
    )
    expect(await workspace.ok(get, { params: { id: results[42]!.pass.id } })).toEqual(results[42]!.pass)
  })

  test('each success reports whether its item created the pass or found it', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const [old, fresh] = [passBody(template.id), passBody(template.id)]
    await workspace.ok(createBatch, { body: { passes: [old] } })
    const passes = [{ ...old, label: 'Eve' }, fresh, fresh, { ...passBody(template.id), label: '' }]
    const { results } = await workspace.ok(createBatch, { body: { passes } })
    expect(results.map(({ success, created }) => [success, created])).toEqual([
      [true, false],
      [true, true],
      [true, false],
      [false, undefined],
    ])
    expect(results[0]!.pass!.label).toBe(old.label)
  })

  test('reads few versions of many templates at once, and the first valid item creates its pass', async () => {
    const workspace = await api.workspace()
    const templates = await Promise.all(Array.from({ length: 12 }, () => publishedTemplate(workspace)))
    const newest = vi.spyOn(TemplateVersions.prototype, 'listNewestPublished')
    const byIds = vi.spyOn(TemplateVersions.prototype, 'listByIds')
    onTestFinished(() => void vi.restoreAllMocks())
    const [first, second] = [passBody(templates[0]!.id), passBody(templates[11]!.id)]
    const passes = [
      { ...first, variables: { 'a.b': 1 } },
      ...templates.map(({ id }) => passBody(id)),
      { ...second, externalPassId: first.externalPassId },
      first,
    ]
    const { results } = await workspace.ok(createBatch, { body: { passes } })
    expect(results.map(({ success }) => success)).toEqual([false, ...templates.map(() => true), true, false])
    expect(results[13]!.pass!.templateId).toBe(templates[11]!.id)
    expect(results[14]!.error!.code).toBe('DUPLICATE_PASS')
    expect(newest.mock.calls.map(([, ids]) => ids.length)).toEqual([5, 5, 3])
    const passIds = results.flatMap(({ pass }) => (pass ? [pass.id] : []))
    // A server that has read none of the versions.
    byIds.mockClear()
    await createIssuing(api.services.store, api.services.wallets).prepare(workspace.id, passIds, api.now)
    expect(byIds.mock.calls.map(([, ids]) => ids.length)).toEqual([5, 5, 2])
    await api.runJobs()
    const { items } = await workspace.ok(list, { query: { status: ['ISSUED'] } })
    expect(items).toHaveLength(13)
    expect(Math.max(...byIds.mock.calls.map(([, ids]) => ids.length))).toBe(5)
  })

  test('one item of concurrent batches creates each pass', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const passes = Array.from({ length: 10 }, () => passBody(template.id))
    const batches = await Promise.all([1, 2, 3].map(() => workspace.ok(createBatch, { body: { passes } })))
    const made = batches.flatMap(({ results }) => results.filter(({ created }) => created))
    expect(made.map(({ externalPassId }) => externalPassId).sort()).toEqual(
      passes.map(({ externalPassId }) => externalPassId).sort(),
    )
  })

  test('each item succeeds or fails separately, with the error of a single create', async () => {
    const workspace = await api.workspace()
    const variables = [{ name: 'day', label: 'Day', format: 'date' as const }]
    const design = { organizationName: 'O', description: 'D' }
    const template = await publishedTemplate(workspace, { definition: definition({ variables, design }) })
    const unpublished = await makeTemplate(workspace)
    const existing = await issuedPass(workspace, { externalPassId: 'existing' })
    const items = [
      passBody(template.id),
      passBody(unpublished.id),
      passBody(template.id, { variables: { day: 'x' } }),
      passBody(template.id, { variables: { 'a.b': 1 } }),
      passBody(template.id, { externalPassId: 'existing' }),
      { ...passBody(existing.templateId!), externalPassId: 'existing', label: 'Other' },
      { externalPassId: 'broken', label: '', more: 1 },
      { externalPassId: 7 },
      null,
      'text',
      [],
      passBody(template.id),
    ]
    const answer = await workspace.send('POST', '/v1/passes/batch', { body: { passes: items } })
    expect(answer.status).toBe(200)
    const body = answer.body as {
      results: { externalPassId: string; error?: { code: string }; pass?: { id: string } }[]
    }
    expect(body).toMatchObject({ totalRequested: 12, totalCreated: 3, totalFailed: 9 })
    expect(body.results.map(({ error }) => error?.code)).toEqual([
      undefined,
      'TEMPLATE_NOT_FOUND',
      'VALIDATION_ERROR',
      'SYSTEM_VARIABLE_READONLY',
      'DUPLICATE_PASS',
      undefined,
      ...Array.from({ length: 5 }, () => 'VALIDATION_ERROR'),
      undefined,
    ])
    expect(body.results[5]!.pass).toEqual(existing)
    expect(body.results.map(({ externalPassId }) => externalPassId).slice(4, 11)).toEqual([
      'existing',
      'existing',
      'broken',
      '',
      '',
      '',
      '',
    ])
    expect(body.results[6]!.error).toMatchObject({
      details: { issues: expect.arrayContaining([{ path: ['more'], message: 'Unknown property' }]) },
    })
    expect(await api.database.writer('passes').where({ workspace_id: workspace.id })).toHaveLength(3)
  })

  testOnce('the error of an item has the text of a single create', async () => {
    const workspace = await api.workspace()
    const item = { externalPassId: 7, templateId: 'x', variables: [], more: 1 }
    const single = await workspace.send('POST', '/v1/passes', { body: item })
    const { results } = await workspace.ok(createBatch, { body: { passes: [item as never] } })
    expect(results[0]!.error).toEqual({
      code: 'VALIDATION_ERROR',
      message: (single.body as ErrorBody).message,
      details: (single.body as ErrorBody).details,
    })
    expect(results[0]!.error!.details!.issues).toContainEqual({ path: ['label'], message: 'Is required' })
  })

  test('the first valid item with an externalPassId creates the pass, as consecutive creates do', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const other = await publishedTemplate(workspace)
    const item = (templateId: string, label: string, variables = {}) => ({
      externalPassId: 'same',
      templateId,
      label,
      variables,
    })
    const { results } = await workspace.ok(createBatch, {
      body: {
        passes: [
          item(template.id, 'refused', { 'a.b': 1 }),
          item(template.id, 'first'),
          item(template.id, 'second', { 'a.b': 1 }),
          item(other.id, 'elsewhere'),
        ],
      },
    })
    expect(results.map(({ pass, error }) => pass?.label ?? error?.code)).toEqual([
      'SYSTEM_VARIABLE_READONLY',
      'first',
      'first',
      'DUPLICATE_PASS',
    ])
    await api.runJobs()
    expect(await workspace.events(results[1]!.pass!.id)).toHaveLength(1)
  })

  test('a batch cut off keeps its first part, each pass with its job, and the same request completes it', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const items = Array.from({ length: 60 }, () => passBody(template.id))
    const { insert } = Passes.prototype
    const written = vi.spyOn(Passes.prototype, 'insert')
    onTestFinished(() => written.mockRestore())
    // On SQLite, other writers take turns between the parts.
    const turns = dialect === 'sqlite' ? [20, 20, 20] : [60]
    for (const _ of turns.slice(1)) written.mockImplementationOnce(insert)
    written.mockRejectedValueOnce(new ApiError('SERVICE_UNAVAILABLE', { headers: { 'retry-after': '1' } }))
    const send = () => workspace.send('POST', '/v1/passes/batch', { body: { passes: items } })
    const jobs = api.database.writer('jobs').where({ workspace_id: workspace.id, kind: 'issue-pass' })
    expect((await send()).status).toBe(503)
    const { items: there } = await workspace.ok(list, { query: { limit: 100 } })
    const before = 60 - turns.at(-1)!
    const idsOf = (some: { externalPassId: string }[]) => some.map(({ externalPassId }) => externalPassId)
    expect(idsOf(there).toSorted()).toEqual(idsOf(items.slice(0, before)).toSorted())
    expect(await jobs.clone()).toHaveLength(before)
    const { results } = (await send()).body as { results: { created: boolean }[] }
    expect(results.map(({ created }) => created)).toEqual(items.map((_, n) => n >= before))
    expect(await jobs.clone()).toHaveLength(60)
    expect(written.mock.calls.map(([, rows]) => rows.length)).toEqual([...turns, ...turns.slice(-1)])
  })

  test('concurrent batches with the same items create each pass once', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const items = Array.from({ length: 30 }, () => passBody(template.id))
    const batches = await Promise.all(
      [items, [...items].reverse(), items].map((passes) => workspace.ok(createBatch, { body: { passes } })),
    )
    expect(batches.map(({ totalCreated }) => totalCreated)).toEqual([30, 30, 30])
    const ids = batches.flatMap(({ results }) => results.map(({ pass }) => pass!.id))
    expect(new Set(ids).size).toBe(30)
    expect(await api.database.writer('jobs').where({ workspace_id: workspace.id, kind: 'issue-pass' })).toHaveLength(30)
  })

  testOnce.each([
    ['no items', { passes: [] }],
    ['101 items', { passes: Array.from({ length: 101 }, () => ({})) }],
    ['no list', { passes: {} }],
    ['nothing', {}],
    ['more than the list', { passes: [{}], dryRun: true }],
  ])('an envelope with %s is 400', async (_, body) => {
    const workspace = await api.workspace()
    const answer = await workspace.send('POST', '/v1/passes/batch', { body })
    expect([answer.status, answer.body]).toMatchObject([400, { errorCode: 'VALIDATION_ERROR' }])
  })
})
