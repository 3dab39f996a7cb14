import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { runPrepared } from '../../../src/storage/db/dialect.ts'
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
    const find = () => runPrepared(writer, 'find-note', [1], () => writer('notes').where('id', 0))
    await expect(find()).rejects.toThrow()
    await writer.schema.createTable('notes', (table) => table.integer('id'))
    await writer('notes').insert({ id: 1 })
    await expect(find()).resolves.toEqual([{ id: 1 }])
  })
})
