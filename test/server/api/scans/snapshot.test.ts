import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { SnapshotItem } from '../../../../src/core/contract/scans/scanner.ts'
import { newId } from '../../../../src/core/ids.ts'
import { insertRows } from '../../../../src/storage/db/bulk-rows.ts'
import { type TestWorkspace, targetOf, useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { definition, issuedPass, makePass, makeProject, publishedTemplate } from '../../fixtures.ts'

const { snapshot } = contract.scanner
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A variable selects the payload that scanners read. */
const scanned = definition({
  variables: [{ name: 'code', label: 'Code' }],
  design: { ...definition().design, fields: {}, barcode: { format: 'qr', message: '{{code}}' } },
  redemption: { maxUses: 2 },
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)

  async function walk(workspace: TestWorkspace, limit: number, between = async (): Promise<unknown> => undefined) {
    const pages = [await workspace.ok(snapshot, { query: { limit } })]
    while (pages.at(-1)!.nextCursor !== null) {
      await between()
      pages.push(await workspace.ok(snapshot, { query: { limit, cursor: pages.at(-1)!.nextCursor! } }))
    }
    return pages
  }

  /** Inserts accepted scans directly, without requests. */
  async function accept(workspace: TestWorkspace, passId: string, times: number[]) {
    const rows = times.map((scanned_at) => ({
      scan_id: newId(api.now),
      workspace_id: workspace.id,
      pass_id: passId,
      scan_context_key: '',
      scanned_at,
    }))
    // Insert one row alone first: the count of a row depends on earlier rows of its pass, including those of its statement.
    for (const part of [rows.slice(0, 1), rows.slice(1)]) {
      await api.database.writer.transaction((tx) => insertRows(tx, 'accepted_scans', part))
    }
  }

  test('an entry contains the facts for a decision, and only hashes of identifiers', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const pass = await issuedPass(workspace, {
      definition: scanned,
      projectId: project.id,
      name: 'Day ticket',
      variables: { code: 'OLD-CODE' },
    })
    await workspace.ok(contract.passes.update, { params: { id: pass.id }, body: { variables: { code: 'NEW-CODE' } } })
    await accept(workspace, pass.id, [Date.UTC(2026, 2, 1, 11), Date.UTC(2026, 2, 1, 10)])
    const answer = await workspace.call(snapshot, { query: { projectId: project.id } })
    expect(answer.body).toEqual({
      id: expect.any(String),
      projectId: project.id,
      generatedAt: api.now.toISOString(),
      items: [
        {
          passId: pass.id,
          externalPassId: pass.externalPassId,
          label: pass.label,
          templateName: 'Day ticket',
          status: expect.stringMatching(/^(ISSUED|QUEUED)$/),
          expiresAt: null,
          redemption: { maxUses: 2 },
          identifiers: [sha256('NEW-CODE')],
          staleIdentifiers: [sha256('OLD-CODE')],
          acceptedScans: [
            { scannedAt: '2026-03-01T10:00:00.000Z', scanContextKey: null },
            { scannedAt: '2026-03-01T11:00:00.000Z', scanContextKey: null },
          ],
        },
      ],
      nextCursor: null,
      hasMore: false,
    })
    expect(answer.text).not.toMatch(/OLD-CODE|NEW-CODE/)
  })

  test('a pass past its expiry is expired before any sweep', async () => {
    const workspace = await api.workspace()
    const expiresAt = new Date(api.now.getTime() + 60_000).toISOString()
    const { id } = await issuedPass(workspace, { definition: definition({ expiresAt }) })
    const statusNow = async () => (await workspace.ok(snapshot, {})).items.find(({ passId }) => passId === id)!.status
    expect(await statusNow()).toBe('ISSUED')
    api.advance(60)
    expect(await statusNow()).toBe('EXPIRED')
  })

  test('pagination during writes returns each pass that existed at its start once, and no later one', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const made: string[] = []
    for (let n = 0; n < 7; n += 1) {
      made.push((await makePass(workspace, template.id)).id)
      api.advance(0.001)
    }
    const pages = await walk(workspace, 2, async () => {
      api.advance(1)
      await makePass(workspace, template.id)
      for (const id of [made[0]!, made[6]!]) {
        await workspace.ok(contract.passes.update, { params: { id }, body: { label: `Ada at ${api.now.getTime()}` } })
      }
    })
    expect(pages.flatMap(({ items }) => items.map(({ passId }) => passId))).toEqual(made)
    expect(pages.map(({ items }) => items.length)).toEqual([2, 2, 2, 1])
    expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, true, true, false])
    expect(new Set(pages.map(({ id, generatedAt }) => `${id} ${generatedAt}`)).size).toBe(1)
    expect(pages.at(-1)!.items[0]!.label).toBe(`Ada at ${api.now.getTime()}`)
  })

  test('omits passes of other projects and workspaces', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const project = await makeProject(workspace)
    const inside = await issuedPass(workspace, { projectId: project.id })
    const outside = await issuedPass(workspace)
    await issuedPass(other)
    const ids = ({ items }: { items: SnapshotItem[] }) => items.map(({ passId }) => passId)
    expect(ids(await workspace.ok(snapshot, { query: { projectId: project.id } }))).toEqual([inside.id])
    expect(ids(await workspace.ok(snapshot, {}))).toEqual([inside.id, outside.id])
    expect(await other.refused(snapshot, { query: { projectId: project.id } })).toMatchObject({ status: 404 })
  })

  test('a cursor works for exactly 24 hours, in its own snapshot only', async () => {
    const workspace = await api.workspace()
    const projects = [await makeProject(workspace, 'a'), await makeProject(workspace, 'b')]
    const template = await publishedTemplate(workspace, { projectId: projects[0]!.id })
    for (let n = 0; n < 3; n += 1) await makePass(workspace, template.id)
    const query = { limit: 1, projectId: projects[0]!.id }
    const cursor = (await workspace.ok(snapshot, { query })).nextCursor!
    api.advance(24 * 3600)
    const second = await workspace.ok(snapshot, { query: { limit: 1, cursor } })
    expect(second).toMatchObject({ projectId: projects[0]!.id, hasMore: true, items: [{}] })
    expect(
      await workspace.refused(snapshot, { query: { ...query, projectId: projects[1]!.id, cursor } }),
    ).toMatchObject({
      status: 400,
      errorCode: 'VALIDATION_ERROR',
      details: { issues: [{ path: ['cursor'] }] },
    })
    api.advance(0.001)
    for (const stale of [cursor, second.nextCursor!]) {
      expect(await workspace.refused(snapshot, { query: { cursor: stale } })).toMatchObject({
        status: 409,
        errorCode: 'SCANNER_SNAPSHOT_STALE',
        details: { snapshotId: second.id },
      })
    }
    for (const odd of [
      'x',
      Buffer.from('["a",null,"b"]').toString('base64url'),
      Buffer.from('{}').toString('base64url'),
    ]) {
      expect(await workspace.refused(snapshot, { query: { cursor: odd } })).toMatchObject({ status: 400 })
    }
  })

  test('a project deleted before the last page has no list', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const template = await publishedTemplate(workspace, { projectId: project.id })
    for (let n = 0; n < 3; n += 1) await makePass(workspace, template.id)
    const { nextCursor } = await workspace.ok(snapshot, { query: { limit: 1, projectId: project.id } })
    await workspace.ok(contract.projects.delete, { params: { id: project.id } })
    for (let jobs = 0; jobs < 2; jobs += 1) {
      expect(await workspace.refused(snapshot, { query: { cursor: nextCursor! } })).toMatchObject({
        status: 404,
        errorCode: 'NOT_FOUND',
        details: { projectId: project.id },
      })
      await api.runJobs()
    }
  })

  test('a page with very many scans ends early, and omits no scan', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const counts = [3, 12_000, 4_000, 5_000, 4_000, 0]
    for (const count of counts) {
      const { id } = await makePass(workspace, template.id)
      await accept(
        workspace,
        id,
        Array.from({ length: count }, (_, n) => n),
      )
      api.advance(0.001)
    }
    const pages = await walk(workspace, 100)
    expect(pages.map(({ items }) => items.map(({ acceptedScans }) => acceptedScans.length))).toEqual([
      [3],
      [12_000],
      [4_000, 5_000],
      [4_000, 0],
    ])
  })

  testOnce('is sent as gzip to clients that accept it, with the same content', async () => {
    const workspace = await api.workspace()
    await issuedPass(workspace)
    const target = targetOf(snapshot, {})
    const ask = (headers: Record<string, string>) =>
      api.app.fetch(
        new Request(`https://passes.example${target}`, {
          headers: { authorization: `Bearer ${workspace.token}`, ...headers },
        }),
      )
    const plain = await ask({})
    const zipped = await ask({ 'accept-encoding': 'br, gzip' })
    expect([plain, zipped].map(({ headers }) => [headers.get('content-encoding'), headers.get('vary')])).toEqual([
      [null, 'Accept-Encoding'],
      ['gzip', 'Accept-Encoding'],
    ])
    const unzipped = JSON.parse(gunzipSync(Buffer.from(await zipped.arrayBuffer())).toString())
    expect(unzipped.items).toEqual(((await plain.json()) as { items: unknown }).items)
    expect(zipped.headers.get('content-type')).toBe('application/json')
  })
})
