import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { describe, expect, test } from 'vitest'
import { runFile } from '../../../src/cli/bulk/bulk-file.ts'
import { issueAction, planAction } from '../../../src/cli/issue/issue-action.ts'
import { createOne, type Existing } from '../../../src/cli/issue/outcomes.ts'
import { createClient } from '../../../src/client/client.ts'
import { definition, publishedTemplate } from '../../server/fixtures.ts'
import { useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { serveApp } from '../../support/served-app.ts'

// The command uses HTTP only. Tests of the API check the responses on each database.
describe('over HTTP', () => {
  const api = useApi('sqlite')
  const header = ['externalPassId', 'label', 'seat', 'day']

  /** Creates T-1 of Ada, T-2 of Grace, which is void, and T-3 of another template. */
  async function setUp() {
    const workspace = await api.workspace()
    const { client, url } = await serveApp(api, workspace.token)
    const variables = [
      { name: 'seat', label: 'Seat', required: true },
      { name: 'day', label: 'Day' },
    ]
    const publish = () =>
      publishedTemplate(workspace, {
        definition: definition({ variables, design: { organizationName: 'Fair', description: 'Ticket' } }),
      })
    const [{ id: templateId }, other] = [await publish(), await publish()]
    const make = (externalPassId: string, label: string, template = templateId) =>
      client.passes.create({
        body: { externalPassId, label, templateId: template, variables: { seat: '1', day: 'Monday', gate: 'N' } },
      })
    const [ada, grace, joan] = [
      await make('T-1', 'Ada'),
      await make('T-2', 'Grace'),
      await make('T-3', 'Joan', other.id),
    ]
    await client.passes.void({ params: { id: grace.id } })
    const folder = temporaryFolder()
    const file = join(folder, 'file.csv')
    const rows = [
      ['T-0', 'Mary', '7', ''],
      ['T-1', 'Eve', '2', ''],
      ['T-2', 'Grace', '1', 'Monday'],
      ['T-3', 'Joan', '1', 'Monday'],
      ['T-4', 'Alan', '', ''],
      ['T-0', 'Mary', '7', ''],
    ]
    writeFileSync(file, [header, ...rows].map((cells) => `${cells.join(',')}\n`).join(''))
    const read = (name: string): Record<string, string>[] => parse(readFileSync(join(folder, name)), { columns: true })
    const options = { file, templateId, externalIdColumn: 'externalPassId', labelColumn: 'label', concurrency: 2 }

    const runWith = async (dryRun: boolean, existing?: Existing, { as = client, restart = false } = {}) => {
      const action = (dryRun ? planAction : issueAction)({ ...options, existing })
      const notes: string[] = []
      const { summary } = await runFile(action as ReturnType<typeof issueAction>, {
        file,
        server: url,
        dryRun,
        restart,
        force: dryRun,
        rawCells: false,
        stop: new AbortController().signal,
        out: dryRun ? undefined : join(folder, 'links.csv'),
        failures: join(folder, 'failures.csv'),
        client: as,
        sender: () => as,
        note: (message) => notes.push(message),
      })
      return {
        summary,
        counts: summary.counts,
        notes,
        failures: read('failures.csv').map((row) => [row.externalPassId, row.error]),
      }
    }
    const issue = async (existing?: Existing, more?: { restart: boolean }) => {
      const result = await runWith(false, existing, more)
      return { ...result, links: read('links.csv').map((row) => [row.label, row.passId]) }
    }
    const pass = (id: string) => client.passes.get({ params: { id } })
    const plan = (existing?: Existing, more?: { as: typeof client }) => runWith(true, existing, more)
    return { workspace, client, url, templateId, folder, ada, grace, joan, issue, plan, pass }
  }

  test('fails a row whose pass differs, is void, or has another template, and gives it no links', async () => {
    const { ada, grace, joan, folder, issue, pass } = await setUp()
    const { counts, summary, links, failures } = await issue()
    expect(counts).toEqual({ created: 1, present: 1, updated: 0, differs: 1, void: 1, failed: 2, otherTemplate: 1 })
    expect(summary.errors.map(({ line, outcome }) => [line, outcome])).toEqual([
      [3, 'differs'] as const,
      [4, 'void'] as const,
      [5, 'otherTemplate'] as const,
      [6, 'failed'] as const,
    ])
    expect(links.map(([label]) => label)).toEqual(['Mary', 'Mary'])
    expect(failures).toEqual([
      ['T-1', `DIFFERS: In pass ${ada.id}, label is "Ada"; seat is "1"; day is "Monday"`],
      ['T-2', expect.stringMatching(`^VOID: Pass ${grace.id} .* give the row another external ID$`)],
      ['T-3', `DUPLICATE_PASS: Pass ${joan.id} of another template has this external ID`],
      ['T-4', 'seat: Is required (Seat)'],
    ])
    expect(await pass(ada.id)).toMatchObject({ label: 'Ada', revision: 1 })
    const [, entry] = readFileSync(join(folder, 'file.csv.journal'), 'utf8').split('\n')
    expect(JSON.parse(entry!).outcomes).toEqual(
      ['created', 'differs', 'void', 'otherTemplate', 'failed', 'present'].map((outcome) => [outcome, 1]),
    )
  })

  test('a repeated run counts finished rows as present, with its journal and without it', async () => {
    const { issue } = await setUp()
    await issue()
    const redone = { created: 0, present: 2, updated: 0, differs: 1, void: 1, failed: 2, otherTemplate: 1 }
    expect((await issue()).counts).toEqual(redone)
    expect((await issue(undefined, { restart: true })).counts).toEqual(redone)
  })

  test('--existing keep accepts passes that differ or are void, and shows no links to them', async () => {
    const { issue } = await setUp()
    const { counts, summary, links, failures } = await issue('keep')
    expect(counts).toMatchObject({ created: 1, present: 1, updated: 0, differs: 1, void: 1, failed: 2 })
    expect(summary.failing).toBe(2)
    expect(links.map(([label]) => label)).toEqual(['Mary', 'Mary'])
    expect(failures.map(([id]) => id)).toEqual(['T-3', 'T-4'])
  })

  test('--existing update applies the row to the pass once, and a void pass still fails', async () => {
    const { ada, issue, pass } = await setUp()
    const { counts, links, failures } = await issue('update')
    expect(counts).toEqual({ created: 1, present: 1, updated: 1, differs: 0, void: 1, failed: 2, otherTemplate: 1 })
    expect(links.map(([label]) => label)).toEqual(['Mary', 'Eve', 'Mary'])
    expect(links[1]).toEqual(['Eve', ada.id])
    expect(failures.map(([id]) => id)).toEqual(['T-2', 'T-3', 'T-4'])
    const { label, revision, variables } = await pass(ada.id)
    expect([label, revision, variables]).toEqual(['Eve', 2, { seat: '2', gate: 'N' }])
    expect((await issue('update', { restart: true })).counts).toMatchObject({ created: 0, present: 3, updated: 0 })
    expect(await pass(ada.id)).toMatchObject({ revision: 2 })
  })

  test('a dry run plans the run with the first rows of each outcome, and creates nothing', async () => {
    const { ada, client, plan } = await setUp()
    const { counts, summary, failures } = await plan()
    const same = { created: 1, present: 1, void: 1, failed: 2, otherTemplate: 1 }
    expect(counts).toEqual({ ...same, updated: 0, differs: 1 })
    expect(summary.first).toMatchObject({
      created: [{ line: 2, externalPassId: 'T-0' }],
      present: [{ line: 7 }],
      differs: [{ line: 3, error: expect.stringContaining(`In pass ${ada.id}, label is "Ada"`) }],
      void: [{ line: 4 }],
      otherTemplate: [{ line: 5 }],
      failed: [{ line: 6, error: 'seat: Is required (Seat)' }],
    })
    expect(failures.map(([id]) => id)).toEqual(['T-1', 'T-2', 'T-3', 'T-4'])
    expect((await plan('update')).counts).toEqual({ ...same, updated: 1, differs: 0 })
    expect((await plan('keep')).summary.failing).toBe(2)
    expect((await client.passes.list({ query: { limit: 1 } })).total).toBe(3)
  })

  test('a dry run whose token cannot read passes reports it and checks the rows', async () => {
    const { workspace, url, plan } = await setUp()
    const token = await api.token(workspace.id, { role: 'member', scopes: ['passes:write', 'templates:read'] })
    const writer = createClient({ url, token })
    const { counts, notes } = await plan(undefined, { as: writer })
    await writer.close()
    expect(counts).toEqual({ valid: 5, failed: 1 })
    expect(notes).toEqual([expect.stringContaining('cannot read passes (passes:read)')])
  })

  test('a create reports whether it made the pass; a used ID is an error unless reuse is allowed', async () => {
    const { client, templateId } = await setUp()
    const create = (externalPassId: string, label: string, existing?: Existing) =>
      createOne(client, { templateId, externalPassId, label, variables: { seat: '1' } }, existing)
    expect(await create('T-9', 'Ada')).toMatchObject({ outcome: 'created', pass: { label: 'Ada' } })
    expect(await create('T-9', 'Ada')).toMatchObject({ outcome: 'present', pass: { label: 'Ada' } })
    await expect(create('T-9', 'Eve')).rejects.toMatchObject({ code: 'DIFFERS', message: /label is "Ada"/ })
    expect(await create('T-9', 'Eve', 'keep')).toMatchObject({ outcome: 'differs', pass: { label: 'Ada' } })
    expect(await create('T-9', 'Eve', 'update')).toMatchObject({ outcome: 'updated', pass: { label: 'Eve' } })
    await expect(create('T-2', 'Grace', 'update')).rejects.toMatchObject({ code: 'VOID' })
    await expect(create('T-3', 'Joan', 'keep')).rejects.toMatchObject({ code: 'DUPLICATE_PASS' })
  })
})
