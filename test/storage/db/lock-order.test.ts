import { expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import type { Database } from '../../../src/storage/db/database.ts'
import { createStore } from '../../../src/storage/store.ts'
import { eventually } from '../../support/eventually.ts'
import {
  definition,
  insertPasses,
  insertTemplate,
  insertWorkspace,
  later,
  newPass,
  openTestDatabase,
  openTestStore,
  start,
} from '../fixtures.ts'

test('on PostgreSQL, bumping the update tag of a locked pass blocks no other bump', async () => {
  const { store, other, workspaceId, passIds } = await openHeldPasses(2)
  const [first, second] = passIds as [string, string]
  let waiting: Promise<void> | undefined
  await store.transaction(async (tx) => {
    await tx.passes.findForUpdate(workspaceId, first)
    waiting = store.transaction((announcing) => announcing.registrations.bumpUpdateTag(workspaceId, [first]))
    await eventually(async () => expect(await locksWaitedFor(other.database)).toHaveLength(1))
    await other.transaction((announcing) => announcing.registrations.bumpUpdateTag(workspaceId, [second]))
  })
  await waiting
  const changed = await store.deviceLists.listChanged('phone', { tag: 0 }, [null], start)
  expect(changed.serialNumbers).toEqual([second, first])
})

test('locks passes in a consistent order on PostgreSQL, regardless of the input order', async () => {
  const { store, other, workspaceId, projectId, passIds } = await openHeldPasses(300)
  const works = [
    () => store.transaction((tx) => tx.passes.lockIssued(workspaceId, passIds, start)),
    () => other.transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, passIds)),
    () => store.transaction((tx) => tx.passes.setIssued(workspaceId, passIds, later(1))),
    () => other.transaction((tx) => tx.passes.setQueuedAgain(workspaceId, passIds, later(1))),
    () => other.transaction((tx) => tx.passes.detachFromProject(workspaceId, projectId, 100, later(1))),
  ]
  for (let n = 0; n < 10; n += 1) await Promise.all(works.map((work) => work()))
})

test('locks devices in a consistent order on PostgreSQL', async () => {
  const { store, other, workspaceId, passIds } = await openHeldPasses(300)
  const devices = passIds.map((passId) => ({ passId, deviceId: 'phone', pushedVersion: 0, version: 1 }))
  const works = [
    () => store.transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, passIds)),
    () => other.transaction((tx) => tx.registrations.setPushed(workspaceId, devices, start)),
    () => other.transaction((tx) => tx.registrations.setErrors(workspaceId, devices.toReversed(), 'error')),
    () => store.statement((tx) => tx.deviceLists.setListed('phone', passIds, start)),
  ]
  for (let n = 0; n < 10; n += 1) await Promise.all(works.map((work) => work()))
})

test('on PostgreSQL, deletes the zones of a project while a transaction with scans locks its zones', async () => {
  const { store, other, workspaceId, projectId } = await openHeldPasses(0)
  const insert = (whenFull: 'warn' | 'deny') => {
    const fields = { name: whenFull, capacity: 1, whenFull }
    return store.transaction((tx) => tx.zones.insert(workspaceId, projectId, fields, start))
  }
  // An update without an order would lock the zone with `warn` first.
  const ids = [(await insert('warn')).id, (await insert('deny')).id]
  let deleting: Promise<void> | undefined
  await store.transaction(async (tx) => {
    await tx.zones.lock(workspaceId, ids, ['deny'])
    deleting = other.transaction((tx) => tx.zones.endProject(workspaceId, projectId, later(1)))
    await eventually(async () => expect(await locksWaitedFor(other.database)).toHaveLength(1))
    await tx.zones.lock(workspaceId, ids, ['warn'])
  })
  await deleting
  expect(await store.zones.listOfProject(workspaceId, projectId)).toEqual([])
})

test('on PostgreSQL, a movement can be inserted while its zone is locked', async () => {
  const { store, other, workspaceId, projectId } = await openHeldPasses(0)
  const fields = { name: 'Hall', capacity: 1, whenFull: 'deny' } as const
  const zone = await store.transaction((tx) => tx.zones.insert(workspaceId, projectId, fields, start))
  await store.transaction(async (tx) => {
    await tx.zones.lock(workspaceId, [zone.id], ['deny'])
    // A foreign key of a movement takes this lock.
    await other.database.writer.raw('select id from zones where id = ? for key share', [zone.id])
  })
})

test('on PostgreSQL, a draft can be edited while its template is locked for publishing', async () => {
  const { store, other, workspaceId, templateId } = await openHeldPasses(0)
  const draft = await store.transaction((tx) =>
    tx.templateVersions.insert(workspaceId, templateId, 2, definition, start),
  )
  await store.transaction(async (tx) => {
    await tx.templates.findForUpdate(workspaceId, templateId)
    await other.transaction((edit) => edit.templateVersions.findForUpdate(workspaceId, draft.id))
    expect(await tx.templateVersions.findForUpdate(workspaceId, draft.id)).toEqual(draft)
  })
})

/** Creates passes on a phone. Their rows are in the reverse order of their IDs. */
async function openHeldPasses(count: number) {
  const { store, url } = await openTestStore('postgres')
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const projectId = newId(start)
  const passes = Array.from({ length: count }, (_, n) =>
    newPass(version, { externalPassId: `${9_999 - n}`, projectId }),
  )
  const passIds = await insertPasses(store, workspaceId, passes)
  await store.transaction(async (tx) => {
    for (const passId of passIds) {
      await tx.registrations.insert(workspaceId, { passId, deviceId: 'phone', pushToken: 'token' }, start)
    }
  })
  // A lock timeout that is much longer than PostgreSQL needs to detect a deadlock, because ordinary waits can be long on a busy
  // machine.
  const database = openTestDatabase(`${url}?lock_timeout=60000`)
  return {
    store,
    other: { ...createStore(database), database },
    workspaceId,
    projectId,
    templateId: version.templateId,
    passIds,
  }
}

function locksWaitedFor({ reader }: Database): Promise<unknown[]> {
  return reader('pg_stat_activity').where({ wait_event_type: 'Lock' }).whereRaw('datname = current_database()')
}
