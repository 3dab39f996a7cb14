import { expect, test } from 'vitest'
import type { DevicePlace } from '../../../src/storage/devices/device-lists.ts'
import { dialects } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, later, newPass, openTestStore, start } from '../fixtures.ts'

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
    const { serialNumbers, place } = await store.deviceLists.listChanged(deviceId, { tag: since }, [null], start)
    return { passIds: serialNumbers, tag: place.tag }
  }
  for (const id of [one, two, three]) await register(id, 'phone')
  await announce(one)
  expect(await changed('phone', 0)).toEqual({ passIds: [one], tag: 1 })
  await announce(two, one)
  expect(await changed('phone', 1)).toEqual({ passIds: [one, two].toSorted(), tag: 2 })
  await announce(three)
  expect(await changed('phone', 1)).toEqual({ passIds: [...[one, two].toSorted(), three], tag: 3 })
  expect(await changed('phone', 3)).toEqual({ passIds: [], tag: 3 })
  // A device that registers later gets the announcement with the push for earlier changes.
  await register(three, 'late')
  expect(await changed('late', 0)).toEqual({ passIds: [], tag: 0 })
  await announce(three)
  expect(await changed('late', 0)).toEqual({ passIds: [three], tag: 4 })
  // No phone has the pass, so it gets no tag.
  const [free] = await insertPasses(store, workspaceId, [newPass(version)])
  await announce(free!)
  expect(await store.deviceLists.isAhead(4)).toBe(false)
  expect(await store.deviceLists.isAhead(5)).toBe(true)
})

test.each(dialects)(
  'on %s, a device with many passes gets them in several lists that miss no change',
  async (dialect) => {
    const { store } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)
    const ids = (await insertPasses(
      store,
      workspaceId,
      Array.from({ length: 1_002 }, (_, n) => newPass(version, { externalPassId: `pass ${n}` })),
    )) as string[]
    for (const passId of ids) {
      await store.transaction((tx) =>
        tx.registrations.insert(workspaceId, { passId, deviceId: 'phone', pushToken: 'phone' }, start),
      )
    }
    const list = (from: DevicePlace | null) => store.deviceLists.listChanged('phone', from, [null], start)
    const announce = (...some: string[]) => store.transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, some))

    // Passes that have never changed share a tag.
    const first = await list(null)
    expect(first.serialNumbers).toHaveLength(1_000)
    const seen = first.serialNumbers[0]!
    await announce(seen)
    const second = await list(first.place)
    expect(second.serialNumbers).toEqual([...ids.toSorted().slice(1_000), seen])
    expect(await list(second.place)).toMatchObject({ serialNumbers: [], place: second.place })

    await announce(...ids)
    const again = await list(second.place)
    const rest = await list(again.place)
    expect([...again.serialNumbers, ...rest.serialNumbers]).toEqual(ids.toSorted())
    expect((await list(rest.place)).serialNumbers).toEqual([])
  },
)

test('records the lists of a device at most once in 10 seconds', async () => {
  const { store } = await openTestStore('sqlite')
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const passIds = (await insertPasses(store, workspaceId, [newPass(version)])) as [string]
  const device = { passId: passIds[0], deviceId: 'phone', pushToken: 'phone' }
  await store.transaction((tx) => tx.registrations.insert(workspaceId, device, start))
  const toNote = async (at: Date) => (await store.deviceLists.listChanged('phone', null, [null], at)).toNote
  expect(await toNote(start)).toEqual(passIds)
  await store.statement((tx) => tx.deviceLists.setListed('phone', passIds, start))
  expect(await toNote(later(9))).toEqual([])
  expect(await toNote(later(10))).toEqual(passIds)
  // A list is also recorded if the clock was set back.
  expect(await toNote(later(-10))).toEqual(passIds)
})
