import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { dialects } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestStore, start } from '../fixtures.ts'

/** More values than either database accepts as parameters of a statement. */
const MANY = 70_000

test.each(dialects)('on %s, statements accept 70,000 values where the contract has no limit', async (dialect) => {
  const { store } = await openTestStore(dialect)
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const [passId] = (await insertPasses(store, workspaceId, [newPass(version)])) as [string]
  const device = { passId, deviceId: 'phone', pushToken: 'a' }
  await store.transaction((tx) => tx.registrations.insert(workspaceId, device, start))
  const many = Array.from({ length: MANY }, () => randomUUID())

  await store.transaction((tx) => tx.deviceLists.setListed('phone', [...many, passId], start))
  const pushes = many.map((pushToken) => ({ passId, pushToken }))
  await store.transaction((tx) => tx.formerPasses.setPushed(workspaceId, pushes))
  // A pass can be on 10,000 phones, and Apple can report all of their tokens as invalid at once.
  const dropped = await store.transaction((tx) => tx.registrations.deleteByTokens([...many, 'a'], null))
  expect(dropped).toEqual([{ workspaceId, passId, pushToken: 'a' }])
})
