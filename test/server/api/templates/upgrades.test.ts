import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import type { UpgradeCreate } from '../../../../src/core/contract/templates/upgrades.ts'
import { sweep } from '../../../../src/server/background/maintenance.ts'
import { upgradePasses } from '../../../../src/server/pass-content/upgrade-passes.ts'
import { TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import {
  definition,
  makePass,
  makeProject,
  makeTemplate,
  passBody,
  publishedTemplate,
  publishVersion,
} from '../../fixtures.ts'
import { usePhones } from '../../inbound/phones.ts'

const { create, list, get, cancel } = contract.upgrades

const seat = { name: 'seat', label: 'Seat' }
const tier = { name: 'tier', label: 'Tier', default: 'Green' }
/** A second version, which needs a seat. */
const needsSeat = () => definition({ variables: [tier, { ...seat, required: true }] })

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  /** Creates passes of a new template. A pass without a seat does not fit the second version. */
  async function templateWith(seats: (string | undefined)[], projectId?: string) {
    const { id } = await publishedTemplate(workspace, { ...(projectId && { projectId }) })
    const passes = []
    for (const value of seats) {
      api.advance(1)
      passes.push(await makePass(workspace, id, value === undefined ? {} : { variables: { seat: value } }))
    }
    return withSecondVersion(id, passes)
  }

  /** Creates many passes of a new template, each with a seat. */
  async function largeTemplate(seats: string[]) {
    const { id } = await publishedTemplate(workspace)
    const bodies = seats.map((seat) => passBody(id, { variables: { seat } }))
    const passes = []
    for (const some of [bodies.slice(0, 100), bodies.slice(100)]) {
      const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes: some } })
      passes.push(...results.map(({ pass }) => pass!))
    }
    return withSecondVersion(id, passes)
  }

  async function withSecondVersion(id: string, passes: { id: string; externalPassId: string }[]) {
    await api.runJobs()
    await publishVersion(workspace, id, needsSeat())
    api.advance(1)
    return { params: { id }, ids: passes.map((pass) => pass.id), passes }
  }

  const start = (params: { id: string }, body: Partial<UpgradeCreate> = {}) =>
    workspace.ok(create, { params, body: { to: 'latest', ...body } })

  const read = (params: { id: string }, upgradeId: string) => workspace.ok(get, { params: { ...params, upgradeId } })

  async function run(params: { id: string }, body: Partial<UpgradeCreate> = {}) {
    const { id } = await start(params, body)
    await api.runJobs()
    return read(params, id)
  }

  const versionsOf = async (ids: string[]) =>
    Promise.all(ids.map(async (id) => (await workspace.ok(contract.passes.get, { params: { id } })).templateVersion))

  test('an upgrade moves each pass that fits once, and reports the others', async () => {
    const { params, ids, passes } = await templateWith(['A', undefined, 'C', 'D', 'E'])
    await workspace.ok(contract.passes.update, { params: { id: ids[3]! }, body: { templateVersion: 2 } })
    await workspace.ok(contract.passes.void, { params: { id: ids[4]! }, body: {} })
    const started = await workspace.call(create, { params, body: { to: 'latest' } })
    expect(started.status).toBe(202)
    const counts = { matched: 0, upgraded: 0, unchanged: 0, failed: 0, failures: [] }
    expect(started.body).toMatchObject({ templateId: params.id, to: 2, limit: null, status: 'PENDING', ...counts })
    await api.runJobs()
    const done = await read(params, (started.body as { id: string }).id)
    expect(done).toMatchObject({ status: 'DONE', matched: 4, upgraded: 2, unchanged: 1, failed: 1 })
    const { externalPassId } = passes[1]!
    const message = 'variables.seat: Is required (Seat)'
    expect(done.failures).toEqual([{ passId: ids[1], externalPassId, code: 'VALIDATION_ERROR', message }])
    expect(await versionsOf(ids)).toEqual([2, 1, 2, 2, 1])
    const again = await run(params)
    expect(again).toMatchObject({ status: 'DONE', matched: 4, upgraded: 0, unchanged: 3, failed: 1 })
    expect((await workspace.ok(list, { params })).items.map(({ id }) => id)).toEqual([again.id, done.id])
    const updates = await api.database.reader('events').where({ type: 'pass.updated' }).whereIn('subject', ids)
    expect(updates.map(({ subject }) => subject).sort()).toEqual([ids[0], ids[2], ids[3]].sort())
  })

  test('a limit selects the oldest passes, so that a repeated canary changes no further ones', async () => {
    const { params, ids } = await templateWith(['A', 'B', undefined, 'D', 'E'])
    const rehearsed = await run(params, { limit: 3, dryRun: true })
    expect(rehearsed).toMatchObject({ dryRun: true, matched: 3, upgraded: 2, failed: 1, status: 'DONE' })
    expect(await versionsOf(ids)).toEqual([1, 1, 1, 1, 1])
    expect(await run(params, { limit: 3 })).toMatchObject({ limit: 3, matched: 3, upgraded: 2, failed: 1 })
    expect(await run(params, { limit: 3 })).toMatchObject({ matched: 3, upgraded: 0, unchanged: 2, failed: 1 })
    expect(await versionsOf(ids)).toEqual([2, 2, 1, 1, 1])
    expect(await run(params)).toMatchObject({ matched: 5, upgraded: 2, unchanged: 2, failed: 1 })
  })

  test('a filter selects the passes, and the limit counts only those', async () => {
    const { params, ids } = await largeTemplate(Array.from({ length: 130 }, (_, n) => `S${n % 3}`))
    const filter = { variable: ['seat:S1', 'seat:S2'] }
    const canary = await run(params, { filter, limit: 50 })
    expect(canary).toMatchObject({ filter, limit: 50, status: 'DONE', matched: 50, upgraded: 50 })
    const started = await start(params, { filter, dryRun: true })
    expect(started).toMatchObject({ matched: 0 })
    expect(await run(params, { filter })).toMatchObject({ matched: 86, upgraded: 36, unchanged: 50 })
    const rows = await api.database.reader('passes').whereIn('id', ids).select('id', 'template_version')
    const versions = new Map(rows.map((row) => [row.id, Number(row.template_version)]))
    expect(ids.map((id) => versions.get(id))).toEqual(ids.map((_, n) => (n % 3 === 0 ? 1 : 2)))
    expect(await run(params, { filter: { templateId: (await publishedTemplate(workspace)).id } })).toMatchObject({
      status: 'DONE',
      matched: 0,
    })
    expect(
      await workspace.refused(create, { params, body: { to: 2, filter: { status: 'VOID' } as object } }),
    ).toMatchObject({
      status: 400,
      details: { issues: [{ path: ['filter', 'status'] }] },
    })
  })

  test('latest is resolved at creation, and an upgrade of a pass never lowers its version', async () => {
    const { params, ids } = await templateWith(['A', 'B'])
    const { id } = await start(params)
    await publishVersion(workspace, params.id, needsSeat())
    await workspace.ok(contract.passes.update, { params: { id: ids[0]! }, body: { templateVersion: 3 } })
    await api.runJobs()
    expect(await read(params, id)).toMatchObject({ to: 2, upgraded: 1, unchanged: 1 })
    expect(await versionsOf(ids)).toEqual([3, 2])
    for (const to of [4, 10_000, Number.MAX_SAFE_INTEGER]) {
      const refused = [
        await workspace.refused(create, { params, body: { to } }),
        await workspace.refused(contract.passes.update, { params: { id: ids[0]! }, body: { templateVersion: to } }),
      ]
      expect(refused.map(({ errorCode }) => errorCode)).toEqual(['TEMPLATE_NOT_FOUND', 'TEMPLATE_NOT_FOUND'])
    }
    const draft = await makeTemplate(workspace)
    expect(await workspace.refused(create, { params: { id: draft.id }, body: { to: 'latest' } })).toMatchObject({
      errorCode: 'TEMPLATE_NOT_FOUND',
    })
  })

  test('an upgrade whose worker dies resumes after its last chunk, and changes no pass twice', async () => {
    const { params, ids } = await largeTemplate(Array.from({ length: 120 }, (_, n) => `S${n}`))
    const { id } = await start(params)
    const { store } = api.services
    let chunks = 0
    const dying = {
      ...api.services,
      store: {
        ...store,
        async transaction<T>(work: Parameters<typeof store.transaction<T>>[0]) {
          chunks += 1
          if (chunks === 3) throw new Error('The worker died')
          return store.transaction(work)
        },
      },
    }
    const claim = { priority: 'bulk' as const, limit: 1, leaseSeconds: 10, workspaceId: workspace.id }
    const [job] = await store.transaction((tx) => tx.jobs.claim('database', api.now, claim))
    await expect(upgradePasses([job!], dying)).rejects.toThrow('The worker died')
    const partial = await read(params, id)
    expect(partial).toMatchObject({ status: 'PENDING', matched: 120, failed: 0 })
    expect([partial.upgraded > 0, partial.upgraded < 120]).toEqual([true, true])
    // A worker whose lease has ended writes nothing.
    api.advance(11)
    await store.transaction((tx) => tx.jobs.release(api.now))
    await upgradePasses([job!], api.services)
    expect(await read(params, id)).toMatchObject({ upgraded: partial.upgraded })
    await api.runJobs()
    expect(await read(params, id)).toMatchObject({ status: 'DONE', matched: 120, upgraded: 120 })
    const rows = await api.database.reader('passes').whereIn('id', ids).distinct('revision', 'template_version')
    expect(rows.map((row) => [Number(row.revision), Number(row.template_version)])).toEqual([[2, 2]])
    const entries = await api.database
      .reader('audit_entries')
      .where({ action: 'pass.update' })
      .whereIn('target_id', ids)
    expect(new Set(entries.map((entry) => entry.target_id)).size).toBe(120)
    expect(entries).toHaveLength(120)
  })

  test('a pass that changes between the read and the write of a chunk is upgraded as it is then', async () => {
    const { params, ids } = await templateWith(['A', 'B', 'C'])
    const { id } = await start(params)
    const { store, definitions } = api.services
    let hasChanged = false
    const racing = {
      ...api.services,
      definitions: {
        ...definitions,
        async findVersions(...given: Parameters<typeof definitions.findVersions>) {
          const found = await definitions.findVersions(...given)
          if (!hasChanged) {
            hasChanged = true
            await workspace.ok(contract.passes.update, { params: { id: ids[1]! }, body: { variables: { seat: 'Z' } } })
            await workspace.ok(contract.passes.void, { params: { id: ids[2]! }, body: {} })
          }
          return found
        },
      },
    }
    const claim = { priority: 'bulk' as const, limit: 1, leaseSeconds: 10, workspaceId: workspace.id }
    await upgradePasses(await store.transaction((tx) => tx.jobs.claim('database', api.now, claim)), racing)
    expect(hasChanged).toBe(true)
    expect(await read(params, id)).toMatchObject({ status: 'DONE', matched: 2, upgraded: 2 })
    const changed = await workspace.ok(contract.passes.get, { params: { id: ids[1]! } })
    expect(changed).toMatchObject({ variables: { seat: 'Z' }, revision: 3, templateVersion: 2 })
  })

  test('DELETE stops an upgrade, and is idempotent', async () => {
    const { params, ids } = await templateWith(['A', 'B'])
    const { id } = await start(params)
    const named = { params: { ...params, upgradeId: id } }
    expect(await workspace.refused(create, { params, body: { to: 'latest' } })).toMatchObject({
      errorCode: 'CONFLICT',
      ...{ details: { upgradeId: id } },
    })
    const { store } = api.services
    const claim = { priority: 'bulk' as const, limit: 1, leaseSeconds: 10, workspaceId: workspace.id }
    const jobs = await store.transaction((tx) => tx.jobs.claim('database', api.now, claim))
    for (let n = 0; n < 2; n += 1) await workspace.ok(cancel, named)
    await upgradePasses(jobs, api.services)
    expect(await read(params, id)).toMatchObject({ status: 'CANCELLED', upgraded: 0 })
    expect(await versionsOf(ids)).toEqual([1, 1])
    expect(await api.database.reader('jobs').where({ subject: id })).toEqual([])
    const done = await run(params)
    await workspace.ok(cancel, { params: { ...params, upgradeId: done.id } })
    expect(await read(params, done.id)).toMatchObject({ status: 'DONE', upgraded: 2 })
  })

  test('a deleted template stops its upgrade', async () => {
    const { params, ids } = await templateWith(['A'])
    const { id } = await start(params)
    await workspace.ok(contract.templates.delete, { params })
    await api.runJobs()
    expect((await api.database.reader('template_upgrades').where({ id }).first()).status).toBe('CANCELLED')
    const [pass] = await api.database.reader('passes').where({ id: ids[0] })
    expect(Number(pass.revision)).toBe(1)
    expect(await workspace.refused(get, { params: { ...params, upgradeId: id } })).toMatchObject({
      errorCode: 'TEMPLATE_NOT_FOUND',
    })
  })

  test('at most 10 upgrades and dry runs of a workspace are pending', async () => {
    const other = await api.workspace()
    const { id } = await publishedTemplate(other)
    const body = { to: 'latest' as const, dryRun: true }
    for (let n = 0; n < 10; n += 1) await other.ok(create, { params: { id }, body })
    expect(await other.refused(create, { params: { id }, body })).toMatchObject({
      errorCode: 'CONFLICT',
      ...{ details: { allowed: 10, used: 10 } },
    })
    await api.runJobs()
    await other.ok(create, { params: { id }, body })
  })

  test('a token that is bound to projects upgrades only their passes, and sees only its upgrades', async () => {
    const project = await makeProject(workspace)
    const elsewhere = await makeProject(workspace)
    const { params, ids } = await templateWith(['A', 'B'], project.id)
    await api.database.writer('passes').where({ id: ids[1] }).update({ project_id: elsewhere.id })
    const whole = await run(params, { dryRun: true })
    expect(whole).toMatchObject({ upgraded: 2 })
    const boundTo = async (...projectIds: string[]) =>
      new TestWorkspace(api, workspace.id, await api.token(workspace.id, { projectIds }))
    const bound = await boundTo(project.id)
    const upgrade = await bound.ok(create, { params, body: { to: 'latest' } })
    expect(await workspace.refused(create, { params, body: { to: 'latest' } })).toMatchObject({
      errorCode: 'CONFLICT',
      details: { upgradeId: upgrade.id },
    })
    await api.runJobs()
    const named = { params: { ...params, upgradeId: upgrade.id } }
    expect(await bound.ok(get, named)).toMatchObject({ matched: 1, upgraded: 1, status: 'DONE' })
    expect(await versionsOf(ids)).toEqual([2, 1])
    expect(await bound.refused(get, { params: { ...params, upgradeId: whole.id } })).toMatchObject({
      errorCode: 'NOT_FOUND',
    })
    expect(await bound.refused(cancel, { params: { ...params, upgradeId: whole.id } })).toMatchObject({
      errorCode: 'NOT_FOUND',
    })
    expect((await bound.ok(list, { params })).items.map(({ id }) => id)).toEqual([upgrade.id])
    expect((await workspace.ok(list, { params })).total).toBe(2)
    const both = await boundTo(project.id, elsewhere.id)
    expect((await both.ok(list, { params })).total).toBe(1)
    const running = await both.ok(create, { params, body: { to: 'latest' } })
    const hidden = await bound.refused(create, { params, body: { to: 'latest' } })
    expect(hidden).toMatchObject({ errorCode: 'CONFLICT', details: { templateId: params.id } })
    expect(JSON.stringify(hidden)).not.toContain(running.id)
    expect(
      await workspace.refused(get, { params: { id: (await templateWith([])).params.id, upgradeId: running.id } }),
    ).toMatchObject({ errorCode: 'NOT_FOUND' })
    await api.runJobs()
    expect(await versionsOf(ids)).toEqual([2, 2])
  })

  test('ended upgrades are deleted after 90 days, and failures of an erased pass at once', async () => {
    const { params, ids } = await templateWith([undefined, undefined])
    const done = await run(params)
    expect(done.failures).toHaveLength(2)
    await api.services.store.transaction((tx) => tx.erasure.erase(workspace.id, ids[0]!, Buffer.alloc(32), api.now))
    expect((await read(params, done.id)).failures.map(({ passId }) => passId)).toEqual([ids[1]])
    api.advance(90 * 86_400 - 1)
    await sweep({ ...api.services, retention: { deliveriesDays: 0, auditDays: 0 } })
    await read(params, done.id)
    const pending = await start(params)
    api.advance(2)
    await sweep({ ...api.services, retention: { deliveriesDays: 0, auditDays: 0 } })
    expect((await workspace.ok(list, { params })).items.map(({ id }) => id)).toEqual([pending.id])
    expect(await api.database.reader('template_upgrade_failures').where({ upgrade_id: done.id })).toEqual([])
    await api.runJobs()
  })

  /** A definition whose every stored effect depends on the version. */
  function wide(version: number): DefinitionInput {
    const { design, ...rest } = definition({ variables: [tier, seat, { name: 'until', label: 'Until' }] })
    return {
      ...rest,
      design: { ...design, barcode: { format: 'qr', message: `${version}:{{seat}}:{{pass.scanCode}}` } },
      expiresAt: '{{until}}',
      group: { key: `${version}-{{seat}}` },
      google: { classKey: `${version}-{{seat}}` },
      redemption: {
        windows: [{ start: `2026-0${version}-01T10:00:00Z`, end: `2026-0${version}-02T10:00:00Z`, maxUses: version }],
      },
    } as DefinitionInput
  }

  test('an upgraded pass has the same rows, events, and jobs as one that a client updated', async () => {
    const other = await api.workspace()
    const sets: { id: string; externalPassId: string }[][] = []
    for (const set of ['client', 'server']) {
      const { id } = await publishedTemplate(other, { definition: wide(4) })
      const passes = []
      for (const [n, until] of ['', '2026-03-20', '2099-01-01', '', '', ''].entries()) {
        const options = { externalPassId: `${set}-${n}`, variables: { seat: `${n % 3}`, until } }
        passes.push(await makePass(other, id, options))
      }
      sets.push(passes)
      await api.runJobs()
      await phones.addApple(other.id, passes[0]!.id)
      await phones.addGoogle(other.id, passes[2]!.id)
      const { writer } = api.database
      await writer('passes').where({ id: passes[3]!.id }).update({ status: 'FAILED', issued_at: null, error: '{}' })
      await writer('passes').where({ id: passes[4]!.id }).update({ status: 'QUEUED', issued_at: null })
      await publishVersion(other, id, wide(5))
    }
    await api.runJobs()
    const [clients, servers] = sets as [(typeof sets)[0], (typeof sets)[0]]
    for (const { id } of clients) {
      await other.ok(contract.passes.update, {
        params: { id },
        query: { bulk: true },
        body: { templateVersion: 'latest' },
      })
    }
    const { templateId } = await other.ok(contract.passes.get, { params: { id: servers[0]!.id } })
    await other.ok(create, { params: { id: templateId! }, body: { to: 'latest' } })
    const { store } = api.services
    const claim = { priority: 'bulk' as const, limit: 1, leaseSeconds: 10, workspaceId: other.id }
    await upgradePasses(await store.transaction((tx) => tx.jobs.claim('database', api.now, claim)), api.services)

    const effects = async (passes: { id: string }[]) => {
      const ids = passes.map(({ id }) => id)
      const nameOf = (id: string) => ids.indexOf(id)
      const of = (table: string, column: string) => api.database.reader(table).whereIn(column, ids)
      const rows = await of('passes', 'id').orderBy('id')
      const own = new Set(['id', 'row_number', 'external_pass_id', 'external_folded', 'scan_code', 'apple_token'])
      const named = new Set(['template_id', 'template_version_id', 'change_position', 'google_class_id'])
      const classes = [...new Set(rows.map((row) => row.google_class_id))]
      const sorted = (some: unknown[]) => some.map((one) => JSON.stringify(one)).sort()
      const identifiers = await of('pass_identifiers', 'pass_id')
      const windows = await of('pass_windows', 'pass_id')
      const variables = await of('pass_variables', 'pass_id')
      const jobs = await of('jobs', 'subject')
      const events = await of('events', 'subject').where({ type: 'pass.updated' })
      const entries = await of('audit_entries', 'target_id').where({ action: 'pass.update' })
      return {
        passes: rows.map((row) => [
          Object.entries(row).filter(([name]) => !own.has(name) && !named.has(name)),
          classes.indexOf(row.google_class_id),
        ]),
        classes: (await api.database.reader('google_classes').whereIn('id', classes)).map((row) => row.class_values),
        identifiers: sorted(identifiers.map((row) => [nameOf(row.pass_id), Boolean(row.active)])),
        windows: sorted(windows.map((row) => [nameOf(row.pass_id), row.start_date])),
        variables: sorted(variables.map((row) => [nameOf(row.pass_id), row.name, row.value])),
        jobs: sorted(jobs.map(({ kind, subject, queue, priority }) => [kind, nameOf(subject), queue, priority])),
        events: sorted(events.map(({ subject, data }) => [nameOf(subject), JSON.parse(data).changedFields])),
        entries: sorted(entries.map((entry) => [nameOf(entry.target_id), entry.actor_name, entry.actor_token_id])),
      }
    }
    const [byClient, byServer] = [await effects(clients), await effects(servers)]
    // A client's retry of a failed pass is not one of many.
    const isIssuing = (job: string) => job.includes('issue-pass')
    expect(byServer.jobs.filter((job) => !isIssuing(job))).toEqual(byClient.jobs.filter((job) => !isIssuing(job)))
    expect(byServer.jobs.filter(isIssuing)).toHaveLength(byClient.jobs.filter(isIssuing).length)
    expect({ ...byServer, jobs: [] }).toEqual({ ...byClient, jobs: [] })
    expect(byServer.events).toHaveLength(6)
  })
})
