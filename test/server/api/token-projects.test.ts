import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ScanStatsByTime } from '../../../src/core/contract/scans/scans.ts'
import { TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import {
  definition,
  issuedPass,
  makePass,
  makeProject,
  makeTemplate,
  passBody,
  publishedTemplate,
} from '../fixtures.ts'

// tenancy.test.ts checks the responses for every ID of another project.
describe.each(dialects)('a token that is bound to a project, on %s', (dialect) => {
  const api = useApi(dialect)
  let owner: TestWorkspace
  let door: TestWorkspace
  let both: TestWorkspace
  let own: Awaited<ReturnType<typeof makeSide>>
  let other: Awaited<ReturnType<typeof makeSide>>

  async function makeSide(name: string) {
    const project = await makeProject(owner, name)
    const template = await publishedTemplate(owner, { projectId: project.id, name })
    const pass = await makePass(owner, template.id, { externalPassId: `${name}-1`, label: `Guest of ${name}` })
    return { project, template, pass }
  }

  const boundTo = async (...projectIds: string[]) =>
    new TestWorkspace(api, owner.id, await api.token(owner.id, { projectIds }))

  beforeAll(async () => {
    owner = await api.workspace()
    own = await makeSide('North')
    other = await makeSide('South')
    await issuedPass(owner, { externalPassId: 'nowhere' })
    await api.runJobs()
    door = await boundTo(own.project.id)
    both = await boundTo(own.project.id, other.project.id)
  })

  const idsOf = ({ items, total }: { items: { id: string }[]; total?: number }) => [items.map(({ id }) => id), total]

  test('lists and counts contain only its project, with any filter', async () => {
    const projectId = [own.project.id, other.project.id]
    expect(idsOf(await door.ok(contract.projects.list, {}))).toEqual([[own.project.id], 1])
    expect(idsOf(await door.ok(contract.templates.list, {}))).toEqual([[own.template.id], 1])
    expect(idsOf(await door.ok(contract.templates.list, { query: { projectId } }))).toEqual([[own.template.id], 1])
    for (const query of [
      {},
      { projectId },
      { status: ['ISSUED' as const] },
      { label: 'Guest', labelMatch: 'prefix' as const },
    ]) {
      expect(idsOf(await door.ok(contract.passes.list, { query }))).toEqual([[own.pass.id], 1])
    }
    for (const query of [{ projectId: other.project.id }, { projectId: 'null' }, { externalPassId: 'South-1' }]) {
      expect(idsOf(await door.ok(contract.passes.list, { query }))).toEqual([[], 0])
    }
    expect((await both.ok(contract.passes.list, {})).total).toBe(2)
    expect((await owner.ok(contract.passes.list, {})).total).toBe(3)
  })

  test('rejects cursors of tokens with other projects, which contain their totals', async () => {
    const { nextCursor } = await both.ok(contract.templates.list, { query: { limit: 1 } })
    expect(await door.refused(contract.templates.list, { query: { limit: 1, cursor: nextCursor! } })).toMatchObject({
      errorCode: 'VALIDATION_ERROR',
    })
    const sameProjects = await boundTo(other.project.id, own.project.id)
    const next = await sameProjects.ok(contract.templates.list, { query: { limit: 1, cursor: nextCursor! } })
    expect(next).toMatchObject({ total: 2, hasMore: false })
  })

  test('its scans of other projects match nothing, and are recorded in its own project', async () => {
    const named = await door.ok(contract.scans.create, { body: { passId: other.pass.id } })
    expect(named).toMatchObject({ result: 'unknown', reasonCode: 'no_match', pass: null, candidates: [] })
    const { scan_code: qrPayload } = await api.database.writer('passes').where({ id: other.pass.id }).first('scan_code')
    expect(await owner.ok(contract.scans.create, { body: { qrPayload } })).toMatchObject({ result: 'accepted' })
    const read = await door.ok(contract.scans.create, { body: { qrPayload } })
    expect(read).toMatchObject({ result: 'unknown', reasonCode: 'no_match', scan: { projectId: own.project.id } })
    const { scan } = await door.ok(contract.scans.create, { body: { passId: own.pass.id } })
    const theirs = await owner.ok(contract.scans.create, { body: { passId: other.pass.id, externalRef: 'theirs' } })
    const listed = await door.ok(contract.scans.list, {})
    expect(new Set(listed.items.map(({ id }) => id))).toEqual(new Set([named.scan.id, read.scan.id, scan.id]))
    expect(listed.total).toBe(3)
    expect(await door.ok(contract.scans.stats, {})).toMatchObject({ totalPasses: 1, redeemed: 1, totalScans: 3 })
    const grouped = await door.ok(contract.scans.stats, { query: { groupBy: 'project' } })
    expect(grouped).toMatchObject({ items: [{ projectId: own.project.id, totalScans: 3 }] })
    for (const query of [
      { groupBy: 'gate' as const },
      { groupBy: 'gate' as const, scannedSince: '2000-01-01T00:00:00Z' },
    ]) {
      expect(await door.ok(contract.scans.stats, { query })).toMatchObject({ items: [{ gate: null, totalScans: 3 }] })
    }
    const since = new Date(api.now.getTime() - 86_400_000).toISOString()
    const query = { by: 'month' as const, from: [since], to: [new Date(api.now.getTime() + 1).toISOString()] }
    const overTime = (await door.ok(contract.scans.stats, { query })) as ScanStatsByTime
    expect(overTime.items.reduce((sum, { totalScans }) => sum + totalScans, 0)).toBe(3)

    // A reference of another project is neither revealed nor overwritten.
    const taken = { body: { passId: own.pass.id, externalRef: 'theirs' } }
    expect(await door.refused(contract.scans.create, taken)).toMatchObject({ status: 409 })
    const back = { params: { id: scan.id }, body: { externalRef: 'theirs' } }
    const { message } = await door.refused(contract.scans.reverse, back)
    expect(message).toBe('The externalRef belongs to a scan of another project.')
    const kept = await owner.ok(contract.scans.get, { params: { id: theirs.scan.id } })
    expect(kept).toMatchObject({ passId: other.pass.id, projectId: other.project.id })
  })

  test('the project of a scan is its own, or one that it names of several', async () => {
    const body = { passId: own.pass.id, projectId: other.project.id }
    expect(await door.refused(contract.scans.create, { body })).toMatchObject({ status: 404 })
    const unnamed = await both.refused(contract.scans.create, { body: { passId: own.pass.id } })
    expect(unnamed).toMatchObject({ status: 400, details: { issues: [{ path: ['projectId'] }] } })
    const elsewhere = await both.ok(contract.scans.create, { body })
    expect(elsewhere).toMatchObject({ reasonCode: 'wrong_scope', scan: { projectId: own.project.id } })
  })

  test('a door lists and reports for its own project', async () => {
    const { projectId, items } = await door.ok(contract.scanner.snapshot, {})
    expect([projectId, items.map(({ passId }) => passId)]).toEqual([own.project.id, [own.pass.id]])
    const query = { projectId: other.project.id }
    expect(await door.refused(contract.scanner.snapshot, { query })).toMatchObject({ status: 404 })
    const [first] = (await both.ok(contract.scanner.snapshot, { query: { ...query, limit: 1 } })).items
    expect(first).toMatchObject({ passId: other.pass.id })

    const said = { scannedAt: api.now.toISOString(), result: 'accepted' as const, reason: 'valid' as const }
    const scans = [{ ...said, passId: other.pass.id, externalRef: 'offline-1' }]
    const { results } = await door.ok(contract.scanner.report, { body: { scans } })
    expect(results).toMatchObject([{ conflict: 'no_match', scan: { projectId: own.project.id } }])
    expect(await both.refused(contract.scanner.report, { body: { scans } })).toMatchObject({ status: 403 })
  })

  test('a name used by another project is taken, without naming the project', async () => {
    const taken = await door.refused(contract.passes.create, {
      body: passBody(own.template.id, { externalPassId: 'South-1' }),
    })
    expect(taken).toMatchObject({ status: 409, errorCode: 'DUPLICATE_PASS' })
    expect(JSON.stringify(taken)).not.toContain(other.pass.id)
    const message = { body: 'Doors open at 7', idempotencyKey: 'only-once' }
    await owner.ok(contract.notifications.create, { params: { id: other.pass.id }, body: message })
    const clash = await door.refused(contract.notifications.create, { params: { id: own.pass.id }, body: message })
    expect(clash).toMatchObject({ status: 409, errorCode: 'CONFLICT' })
    const everyone = { body: 'All', idempotencyKey: 'only-once', sendAt: '2027-01-01T00:00:00Z' }
    await owner.ok(contract.broadcasts.create, { params: { id: other.project.id }, body: everyone })
    const call = { params: { id: own.project.id }, body: everyone }
    expect(await door.refused(contract.broadcasts.create, call)).toMatchObject({ status: 409, errorCode: 'CONFLICT' })
  })

  test('makes and changes resources of its project only', async () => {
    const template = { name: 'New', passType: 'generic' as const }
    expect(await door.refused(contract.projects.create, { body: { name: 'Mine' } })).toMatchObject({ status: 403 })
    expect(await door.refused(contract.templates.create, { body: template })).toMatchObject({ status: 403 })
    const body = { ...template, projectId: own.project.id }
    const { id } = await door.ok(contract.templates.create, { body })
    const params = { id }
    const leave = { params, body: { projectId: null } }
    expect(await door.refused(contract.templates.update, leave)).toMatchObject({ status: 403 })
    const move = { params, body: { projectId: other.project.id } }
    expect(await door.refused(contract.templates.update, move)).toMatchObject({ status: 404 })
    await door.ok(contract.templates.createVersion, { params, body: { definition: definition() } })
    const made = await door.ok(contract.passes.create, { body: passBody(own.template.id) })
    await door.ok(contract.passes.update, { params: { id: made.id }, body: { label: 'Grace' } })
    expect(await door.ok(contract.passes.void, { params: { id: made.id } })).toMatchObject({ status: 'VOID' })
    await door.ok(contract.templates.delete, { params })
  })

  test('sees its projects, and no other data of the workspace', async () => {
    expect(await door.ok(contract.tokens.current, {})).toMatchObject({ projectIds: [own.project.id] })
    expect(Object.keys(await door.ok(contract.workspace.get, {}))).toEqual(['id', 'name'])
    expect(await owner.ok(contract.tokens.current, {})).not.toHaveProperty('projectIds')
  })

  test('after the deletion of its project, sees nothing', async () => {
    const project = await makeProject(owner, 'Short')
    const template = await makeTemplate(owner, { projectId: project.id })
    const token = await boundTo(project.id)
    await owner.ok(contract.projects.delete, { params: { id: project.id } })
    await api.runJobs()
    expect(idsOf(await token.ok(contract.templates.list, {}))).toEqual([[], 0])
    expect(await token.refused(contract.templates.get, { params: { id: template.id } })).toMatchObject({ status: 404 })
  })

  test('lists only wallets of its passes', async () => {
    await api.services.store.transaction(async (tx) => {
      for (const { pass } of [own, other]) {
        await tx.registrations.insert(owner.id, { passId: pass.id, deviceId: 'shared', pushToken: 'push' }, api.now)
        await tx.passes.setVoid(owner.id, [pass.id], api.now)
        await tx.registrations.setPushed(
          owner.id,
          [{ passId: pass.id, deviceId: 'shared', pushedVersion: 0, version: 1 }],
          api.now,
        )
        await tx.heldPasses.settle(owner.id, [pass.id])
      }
    })
    const held = async (token: TestWorkspace, query: object = {}) =>
      (await token.ok(contract.wallets.list, { query })).items.map(({ passId }) => passId)
    expect(await held(door)).toEqual([own.pass.id])
    expect(await held(door, { projectId: other.project.id })).toEqual([])
    expect(await held(both)).toEqual([other.pass.id, own.pass.id])
    expect(await door.ok(contract.wallets.slo, {})).toMatchObject({ phones: 1 })
    const nudge = (token: TestWorkspace, body: object) => token.ok(contract.wallets.nudge, { body })
    const elsewhere = { body: { projectId: other.project.id } }
    expect(await door.refused(contract.wallets.nudge, elsewhere)).toMatchObject({ errorCode: 'NOT_FOUND' })
    api.advance(3600)
    expect(await nudge(door, {})).toEqual({ devices: 1, passes: 1 })
    expect(await nudge(both, {})).toEqual({ devices: 1, passes: 1 })
  })
})
