import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { named, runPrepared } from '../../../src/storage/db/dialect.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects, emptyDatabase, migratedDatabase } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestDatabase, start } from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('a statement that is kept sees every change of rows and of the schema', async () => {
    const database = openTestDatabase(await migratedDatabase(dialect))
    const store = createStore(database)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)
    const [id] = await insertPasses(store, workspaceId, [newPass(version)])
    for (const label of ['one', 'two', 'three']) {
      await database.writer('passes').where({ id }).update({ label })
      await database.writer.schema.alterTable('passes', (table) => table.text(`more_${label}`))
      await expect(store.passes.find(workspaceId, id!)).resolves.toMatchObject({ label })
      const inTransaction = store.transaction((tx) => tx.passes.find(workspaceId, id!))
      await expect(inTransaction).resolves.toMatchObject({ label })
    }
    await expect(store.passes.find(workspaceId, newId(start))).resolves.toBe(undefined)
    await expect(store.passes.find(await insertWorkspace(store, 'other'), id!)).resolves.toBe(undefined)
  })

  test('one that could not be prepared is tried anew', async () => {
    const { writer } = openTestDatabase(await emptyDatabase(dialect))
    const find = () =>
      runPrepared(writer, 'find-note', { id: 1 }, () => writer('notes').where('id', named(writer, 'id')))
    await expect(find()).rejects.toThrow()
    await writer.schema.createTable('notes', (table) => table.integer('id'))
    await writer('notes').insert({ id: 1 })
    await expect(find()).resolves.toEqual([{ id: 1 }])
  })

  test('values go to their names, wherever these stand, and one that is missing or has no name is told', async () => {
    const { writer } = openTestDatabase(await emptyDatabase(dialect))
    const select = (name: string, values: Record<string, string>, text: string) =>
      runPrepared(writer, name, values, () => text)
    const text = 'select cast(:b as text) as first, cast(:a as text) as second, cast(:b as text) as third'
    const values = { a: 'one', b: 'two' }
    await expect(select('names', values, text)).resolves.toEqual([{ first: 'two', second: 'one', third: 'two' }])
    await expect(select('names', { a: 'one' }, text)).rejects.toThrow('no value for :b')
    const unnamed = runPrepared(writer, 'unnamed', {}, () => writer('notes').where('id', 7))
    await expect(unnamed).rejects.toThrow('A value has no name')
  })
})
