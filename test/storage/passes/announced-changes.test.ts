import { expect, test } from 'vitest'
import { dialects } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestStore, start } from '../fixtures.ts'

test.each(dialects)('on %s a phone is told what was announced since its tag, whoever announced it', async (dialect) => {
  const { store, database } = await openTestStore(dialect)
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const passes = ['one', 'two', 'three'].map((externalPassId) => newPass(version, { externalPassId }))
  const [one, two, three] = (await insertPasses(store, workspaceId, passes)) as [string, string, string]
  const register = (passId: string, deviceId: string) => {
    const device = { passId, deviceId, pushToken: deviceId }
    return store.transaction((tx) => tx.registrations.insert(workspaceId, device, start))
  }
  const announce = (...ids: string[]) => store.transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, ids))
  /** As servers of the version before do. */
  const announceOnPass = (id: string, tag: number) =>
    database.writer.transaction(async (tx) => {
      await tx('counters').where({ name: 'wallet-tag' }).update({ value: tag })
      await tx('passes').where({ id }).update({ wallet_tag: tag })
    })
  const changed = async (deviceId: string, since: number) => {
    const { passIds, tag } = await store.registrations.listChanged(deviceId, since, [null])
    return { passIds, tag }
  }
  for (const id of [one, two, three]) await register(id, 'phone')
  await announceOnPass(one, 7)
  expect(await changed('phone', 0)).toEqual({ passIds: [one], tag: 7 })
  await announce(two, one)
  expect(await changed('phone', 7)).toEqual({ passIds: [one, two].toSorted(), tag: 8 })
  await announceOnPass(two, 9)
  expect(await changed('phone', 8)).toEqual({ passIds: [two], tag: 9 })
  await announce(three)
  expect(await changed('phone', 8)).toEqual({ passIds: [two, three], tag: 10 })
  expect(await changed('phone', 10)).toEqual({ passIds: [], tag: 10 })
  // A device that comes later is announced to with the push that tells it of what came before.
  await register(three, 'late')
  expect(await changed('late', 0)).toEqual({ passIds: [], tag: 0 })
  await announce(three)
  expect(await changed('late', 0)).toEqual({ passIds: [three], tag: 11 })
  // Nobody holds it: no tag is given.
  const [free] = await insertPasses(store, workspaceId, [newPass(version)])
  await announce(free!)
  expect(await store.registrations.isAhead(11)).toBe(false)
  expect(await store.registrations.isAhead(12)).toBe(true)
})
