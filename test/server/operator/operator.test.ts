import { describe, expect, test } from 'vitest'
import { defaultLimits } from '../../../src/core/rules/pass/workspace-limits.ts'
import { setExpiry, setLimits, setSuspended } from '../../../src/server/operator/operator.ts'
import { insertWorkspace, later, openTestStore, start } from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('workspace settings of an operator persist, and each change has an audit entry', async () => {
    const { url, store, database } = await openTestStore(dialect)
    const id = await insertWorkspace(store)
    const workspace = async () => (await store.workspaces.list())[0]
    const limit = (changes: object) => setLimits(url, 'acme', { changes, at: start })

    expect(await limit({})).toMatchObject({ id, name: 'acme', limits: defaultLimits, usage: { passes: 0 } })
    await limit({ webhooks: 0, storedBytes: 5 })
    expect((await limit({ webhooks: null })).limits).toEqual({ ...defaultLimits, storedBytes: 5 })
    const ended = await setExpiry(url, id, { expiresAt: later(60), at: start })
    expect([ended, await workspace()]).toMatchObject([{ expiresAt: later(60) }, { expiresAt: later(60) }])
    await setExpiry(url, 'acme', { expiresAt: null, at: start })
    const suspended = await setSuspended(url, 'acme', { isSuspended: true, closesLinks: true, at: start })
    expect(await workspace()).toEqual(suspended)
    expect(suspended).toMatchObject({ expiresAt: null, suspendedAt: start, linksClosedAt: start })
    await setSuspended(url, 'acme', { isSuspended: false, at: start })
    expect(await workspace()).toMatchObject({ suspendedAt: null, linksClosedAt: null })

    const entries = await database.reader('audit_entries').where({ workspace_id: id, target_id: id }).orderBy('id')
    expect(entries.map(({ action }) => action)).toEqual([
      'workspace.limits',
      'workspace.limits',
      'workspace.update',
      'workspace.update',
      'workspace.suspend',
      'workspace.resume',
    ])
    await expect(setLimits(url, 'nobody', { changes: {}, at: start })).rejects.toThrow('Workspace nobody not found')
  })
})
