import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import type { WalletItem } from '../../../../src/core/contract/wallets.ts'
import { newId } from '../../../../src/core/ids.ts'
import { Wallets } from '../../../../src/storage/passes/wallet-list.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { issuedPass } from '../../fixtures.ts'
import { usePhones } from '../../inbound/phones.ts'

const { wallets, passes } = contract

describe.each(dialects)('wallets, on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)

  const hold = (workspace: TestWorkspace, pass: Pass) =>
    api.services.store.transaction((tx) => tx.heldPasses.settle(workspace.id, [pass.id]))
  const change = (workspace: TestWorkspace, pass: Pass, label: string) =>
    workspace.ok(passes.update, { params: { id: pass.id }, body: { label } })
  const list = (workspace: TestWorkspace, query: object = {}) => workspace.ok(wallets.list, { query })
  const fetchLatest = (workspace: TestWorkspace, pass: Pass, version: number) =>
    api.services.store.transaction((tx) => tx.registrations.setFetched(workspace.id, pass.id, version, api.now))
  /** Expects the same lists and counts if a page ends in the middle of a pass. */
  async function expectSameInParts({ id: workspaceId }: TestWorkspace, items: WalletItem[]) {
    const inParts = new Wallets({ db: api.database.reader }, 1)
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await inParts.list(workspaceId, {}, { limit: 2, cursor })
      expect(page.total).toBe(items.length)
      seen.push(...page.rows.map(({ passId, platform, deviceId }) => `${passId} ${platform} ${deviceId}`))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    expect(new Set(seen).size).toBe(items.length)
    expect(seen.map((wallet) => wallet.split(' ').slice(0, 2).join(' '))).toEqual(
      items.map(({ passId, platform }) => `${passId} ${platform}`),
    )
    const counts = await inParts.counts(workspaceId, undefined, api.now)
    expect(counts).toEqual(await api.services.store.wallets.counts(workspaceId, undefined, api.now))
    expect(counts.phones).toBe(items.filter(({ platform }) => platform === 'apple').length)
  }

  const refuse = (workspace: TestWorkspace, { id }: Pass) =>
    api.services.store.transaction(async (tx) =>
      tx.registrations.setErrors(workspace.id, await tx.registrations.list(workspace.id, [id]), 'no'),
    )

  test('each wallet shows its version, and why it is considered outdated', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    await phones.addApple(workspace.id, pass.id)
    await phones.addGoogle(workspace.id, pass.id)
    await hold(workspace, pass)
    const { items, total } = await list(workspace)
    expect(total).toBe(2)
    const common = { passId: pass.id, externalPassId: pass.externalPassId, reason: null, lastError: null }
    expect(items).toMatchObject([
      { ...common, platform: 'apple', device: expect.stringMatching(/^[0-9a-f]{12}$/), lastPushAt: null },
      { ...common, platform: 'google', device: null },
    ])
    const reasons = async (query: object = {}) =>
      (await list(workspace, { platform: 'apple', ...query })).items.map(({ reason }) => reason)

    api.advance(60)
    await change(workspace, pass, 'Grace')
    expect(await reasons()).toEqual(['not_pushed'])
    await api.runJobs()
    expect(await reasons()).toEqual(['silent'])
    api.advance(60)
    expect(await reasons({ stale: true, olderThan: 61 })).toEqual([])
    expect(await reasons({ stale: true, olderThan: 59 })).toEqual(['silent'])
    expect(await reasons({ stale: false })).toEqual([])
    const [behind] = (await list(workspace, { platform: 'apple' })).items
    // The fetched version is older than the pushed one.
    await fetchLatest(workspace, pass, behind!.current - 1)
    await change(workspace, pass, 'Ada')
    await api.runJobs()
    await fetchLatest(workspace, pass, behind!.current)
    expect(await reasons()).toEqual(['behind'])
    await fetchLatest(workspace, pass, behind!.current + 1)
    expect(await reasons()).toEqual([null])
    expect((await list(workspace, { stale: true })).total).toBe(0)

    await change(workspace, pass, 'Edsger')
    await refuse(workspace, pass)
    expect((await list(workspace, { platform: 'apple' })).items).toMatchObject([{ reason: 'refused', lastError: 'no' }])
  })

  test('wallets are listed once across pages, those of the newest passes first, and no others', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const held: Pass[] = []
    for (const devices of [3, 1, 5]) {
      const pass = await issuedPass(workspace)
      for (let n = 0; n < devices; n++) await phones.addApple(workspace.id, pass.id)
      await phones.addGoogle(workspace.id, pass.id)
      await hold(workspace, pass)
      held.unshift(pass)
    }
    const whole = await list(workspace, { limit: 100 })
    await expectSameInParts(workspace, whole.items)
    const sizes = held.map(({ id }) => whole.items.filter(({ passId }) => passId === id).length)
    expect([whole.total, sizes]).toEqual([12, [6, 2, 4]])
    expect(whole.items.map(({ passId }) => passId)).toEqual(held.flatMap(({ id }, n) => Array(sizes[n]).fill(id)))
    for (const limit of [1, 2, 5]) {
      const seen: unknown[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await list(workspace, { limit, ...(cursor && { cursor }) })
        expect([page.total, page.offset]).toEqual([12, seen.length])
        seen.push(...page.items)
        cursor = page.nextCursor
      }
      expect(seen).toEqual(whole.items)
    }
    expect((await list(workspace, { projectId: newId(api.now) })).total).toBe(0)
    expect((await list(other)).total).toBe(0)
    const { nextCursor } = await list(workspace, { limit: 1 })
    const mixed = { query: { cursor: nextCursor!, stale: true } }
    expect(await workspace.refused(wallets.list, mixed)).toMatchObject({ errorCode: 'VALIDATION_ERROR' })
    expect(await workspace.refused(wallets.list, { query: { olderThan: 1 } })).toMatchObject({
      message: expect.stringContaining('stale'),
    })
    // Only the device that the query reads last is outdated.
    const oldest = held.at(-1)!
    await change(workspace, oldest, 'Grace')
    const stale = await new Wallets({ db: api.database.reader }, 1).list(workspace.id, { stale: true }, { limit: 1 })
    expect(stale).toMatchObject({ rows: [{ passId: oldest.id }], total: 4 })
  })

  test('the objective distinguishes late phones, settling phones, and unreachable ones', async () => {
    const workspace = await api.workspace()
    const slo = (query: object = {}) => workspace.ok(wallets.slo, { query })
    expect(await slo()).toMatchObject({ phones: 0, share: null, isMet: null })
    const [still, changed] = [await issuedPass(workspace), await issuedPass(workspace)]
    await phones.addApple(workspace.id, still.id)
    await phones.addApple(workspace.id, changed.id)
    await hold(workspace, still)
    await hold(workspace, changed)
    await change(workspace, changed, 'Grace')
    expect(await slo()).toMatchObject({ phones: 2, current: 1, settling: 1, late: 0, share: 1, isMet: true })
    await api.runJobs()
    api.advance(302)
    expect(await slo()).toMatchObject({ phones: 2, current: 1, settling: 0, late: 1, share: 0.5, isMet: false })
    await refuse(workspace, changed)
    expect(await slo()).toMatchObject({ phones: 2, late: 0, refused: 1, share: 1, isMet: true })
  })

  test('pushes a silent phone again at the configured times', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    for (let n = 0; n < 3; n++) await phones.addApple(workspace.id, pass.id)
    await hold(workspace, pass)
    await change(workspace, pass, 'Grace')
    await api.runJobs()
    const pushes = async () =>
      (await list(workspace)).items.filter(({ lastPushAt }) => lastPushAt === api.now.toISOString()).length
    const nudge = (body: object) => workspace.ok(wallets.nudge, { body: { silentFor: 600, ...body } })
    expect(await nudge({})).toEqual({ devices: 0, passes: 0 })
    api.advance(600)
    expect(await nudge({ limit: 2 })).toEqual({ devices: 2, passes: 1 })
    await api.runJobs()
    expect(await pushes()).toBe(2)
    expect(await nudge({})).toEqual({ devices: 1, passes: 1 })
    await api.runJobs()
    expect(await nudge({})).toEqual({ devices: 0, passes: 0 })
    const other = await api.workspace()
    api.advance(600)
    expect(await other.ok(wallets.nudge, { body: {} })).toEqual({ devices: 0, passes: 0 })
    expect(await workspace.refused(wallets.nudge, { body: { silentFor: 599 } })).toMatchObject({
      errorCode: 'VALIDATION_ERROR',
    })
    // Two concurrent runs together handle all devices. Reading one pass at a time finds the same
    // devices.
    const before = { pushedBefore: new Date(api.now.getTime() - 600_000), limit: 10 }
    const silent = await api.services.store.wallets.listSilent(workspace.id, undefined, before)
    expect(await new Wallets({ db: api.database.reader }, 1).listSilent(workspace.id, undefined, before)).toEqual(
      silent,
    )
    const forget = () =>
      api.services.store.transaction((tx) => tx.wallets.forgetPushes(workspace.id, silent, before.pushedBefore))
    expect(await forget()).toEqual({ devices: 3, passIds: [pass.id] })
    expect(await forget()).toEqual({ devices: 0, passIds: [] })
    // A phone that holds the newest version is left alone.
    for (let n = 0; n < 3; n++) await fetchLatest(workspace, pass, (await list(workspace)).items[0]!.current)
    expect(await nudge({})).toEqual({ devices: 0, passes: 0 })
  })
})
