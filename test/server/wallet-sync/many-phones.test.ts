import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { definition, issuedPass } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)

  /** Creates four passes, each on a phone. The counts in the database say that two are on 10,000 phones and one on 15,000. */
  async function passesOnMany() {
    const workspace = await api.workspace()
    const ids: string[] = []
    for (let n = 0; n < 4; n += 1) ids.push((await issuedPass(workspace)).id)
    for (const id of ids) await phones.addApple(workspace.id, id)
    const held = ids
      .slice(0, 3)
      .map((pass_id, n) => ({ workspace_id: workspace.id, pass_id, apple: n < 2 ? 10_000 : 15_000 }))
    await api.database.writer('held_passes').insert(held.map((row) => ({ ...row, google: 0 })))
    return { workspace, ids }
  }

  /** Returns the number of passes whose phones each call of the method read. */
  function parts(method: 'list' | 'listOutdated'): () => number[] {
    const read = vi.spyOn(api.services.store.registrations, method)
    onTestFinished(() => read.mockRestore())
    return () => read.mock.calls.map(([, passIds]) => passIds.length)
  }

  test('an update of passes on many phones pushes in parts', async () => {
    const { workspace, ids } = await passesOnMany()
    const told = parts('listOutdated')
    for (const id of ids) await workspace.ok(contract.passes.update, { params: { id }, body: { label: 'Grace' } })
    await api.runJobs()
    expect(told()).toEqual([2, 2])
    for (const id of ids) {
      const { apple } = await workspace.ok(contract.passes.wallets, { params: { id } })
      expect(apple).toMatchObject([{ pushedVersion: 2, lastError: null }])
    }
  })

  test('messages are also sent in parts', async () => {
    const { workspace, ids } = await passesOnMany()
    const told = parts('list')
    const sent = await Promise.all(
      ids.map((id) => workspace.ok(contract.notifications.create, { params: { id }, body: { body: 'Doors open' } })),
    )
    await api.runJobs()
    expect(told()).toEqual([2, 2])
    for (const { id: notificationId, passId: id } of sent) {
      const params = { id, notificationId }
      expect(await workspace.ok(contract.notifications.get, { params })).toMatchObject({ status: 'SENT' })
    }
  })

  test('100 entries of a balance within a second push once, and both platforms have the last value', async () => {
    const workspace = await api.workspace()
    const field = { key: 'points', label: 'Points', value: '{{balance.points}}' }
    const balances = { points: { label: 'Points', kind: 'integer' as const } }
    const design = { ...definition().design, fields: { primary: [field] } }
    const { id } = await issuedPass(workspace, { definition: definition({ balances, design }) })
    await phones.addApple(workspace.id, id)
    await phones.addGoogle(workspace.id, id)
    const pushes = vi.spyOn(api.services.push!, 'send')
    onTestFinished(() => pushes.mockRestore())
    for (let n = 0; n < 100; n += 1) {
      const entry = { params: { id, name: 'points' }, body: { delta: 1, externalRef: `entry-${n}` } }
      await workspace.ok(contract.balances.createEntry, entry)
      api.advance(0.009)
      await api.runJobs()
    }
    expect(pushes).not.toHaveBeenCalled()
    api.advance(1)
    await api.runJobs()
    expect(pushes).toHaveBeenCalledTimes(1)
    const { walletVersion, apple, google } = await workspace.ok(contract.passes.wallets, { params: { id } })
    expect([apple[0]!.pushedVersion, google!.sentVersion]).toEqual([walletVersion, walletVersion])
    const object = await api.services.google!.api.getObject('generic', phones.objectId(id))
    expect(JSON.stringify(object)).toContain('"100"')
  })
})
