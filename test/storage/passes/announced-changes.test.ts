import { expect, test } from 'vitest'
import { dialects } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestStore, start } from '../fixtures.ts'

test.each(dialects)('on %s lists the passes that were announced to a phone since its tag', async (dialect) => {
  const { store } = await openTestStore(dialect)
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const passes = ['one', 'two', 'three'].map((externalPassId) => newPass(version, { externalPassId }))
  const [one, two, three] = (await insertPasses(store, workspaceId, passes)) as [string, string, string]
  const register = (passId: string, deviceId: string) => {
    const device = { passId, deviceId, pushToken: deviceId }
    return store.transaction((tx) => tx.registrations.insert(workspaceId, device, start))
  }
  const announce = (...ids: string[]) => store.transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, ids))
  const changed = async (deviceId: string, since: number) => {
    const { passIds, tag } = await store.registrations.listChanged(deviceId, since, [null])
    return { passIds, tag }
  }
  for (const id of [one, two, three]) await register(id, 'phone')
  await announce(one)
  expect(await changed('phone', 0)).toEqual({ passIds: [one], tag: 1 })
  await announce(two, one)
  expect(await changed('phone', 1)).toEqual({ passIds: [one, two].toSorted(), tag: 2 })
  await announce(three)
  expect(await changed('phone', 1)).toEqual({ passIds: [...[one, two].toSorted(), three], tag: 3 })
  expect(await changed('phone', 3)).toEqual({ passIds: [], tag: 3 })
  // A device that comes later is announced to with the push that tells it of what came before.
  await register(three, 'late')
  expect(await changed('late', 0)).toEqual({ passIds: [], tag: 0 })
  await announce(three)
  expect(await changed('late', 0)).toEqual({ passIds: [three], tag: 4 })
  // Nobody holds it: no tag is given.
  const [free] = await insertPasses(store, workspaceId, [newPass(version)])
  await announce(free!)
  expect(await store.registrations.isAhead(4)).toBe(false)
  expect(await store.registrations.isAhead(5)).toBe(true)
})
