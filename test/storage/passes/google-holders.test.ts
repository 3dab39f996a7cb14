import { describe, expect, test } from 'vitest'
import { dialects } from '../../support/databases.ts'
import {
  insertPasses,
  insertTemplate,
  insertWorkspace,
  later,
  newPass,
  openTestStore,
  sentObject,
  start,
} from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test.each<[title: string, changes: (1 | -1)[], installed: (number | null)[]]>([
    ['is installed from the first save until the last removal', [1, 1, -1, -1], [0, 0, 0, null]],
    ['is installed again when it is saved again', [1, -1, 1], [0, null, 2]],
    ['is not installed if its removal is reported before its save', [1, -1, -1, 1], [0, null, null, null]],
    ['is installed by the next save after a removal without a save', [-1, 1, 1], [null, null, 2]],
  ])('a pass %s', async (_, changes, installed) => {
    const { store } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const [passId] = await insertPasses(store, workspaceId, [newPass(await insertTemplate(store, workspaceId))])
    await store.transaction((tx) =>
      tx.googleObjects.setSent(workspaceId, passId!, { ...sentObject(passId!), version: 1 }, start),
    )
    const seen: (Date | null)[] = []
    for (const [n, change] of changes.entries()) {
      await store.transaction((tx) => tx.googleObjects.addHolders(`${passId}-generic`, change, later(n)))
      const [object] = await store.googleObjects.list(workspaceId, [passId!])
      seen.push(object!.installedAt)
    }
    expect(seen).toEqual(installed.map((n) => (n === null ? null : later(n))))
  })
})
