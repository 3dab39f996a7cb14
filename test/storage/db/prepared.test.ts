import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { insertRows } from '../../../src/storage/db/bulk-rows.ts'
import { named, runPrepared } from '../../../src/storage/db/prepared.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects, emptyDatabase, migratedDatabase } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestDatabase, start } from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('a cached statement sees every change of rows and of the schema', async () => {
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

  test('prepares a statement again after preparing it failed', async () => {
    const { writer } = openTestDatabase(await emptyDatabase(dialect))
    const find = () =>
      runPrepared(writer, 'find-note', { id: 1 }, () => writer('notes').where('id', named(writer, 'id')))
    await expect(find()).rejects.toThrow()
    await writer.schema.createTable('notes', (table) => table.integer('id'))
    await writer('notes').insert({ id: 1 })
    await expect(find()).resolves.toEqual([{ id: 1 }])
  })

  test('values are bound by name in any order; missing values and names are reported', async () => {
    const { writer } = openTestDatabase(await emptyDatabase(dialect))
    const select = (name: string, values: Record<string, string>, text: string) =>
      runPrepared(writer, name, values, () => text)
    const text = 'select cast(:b as text) as first, cast(:a as text) as second, cast(:b as text) as third'
    const values = { a: 'one', b: 'two' }
    await expect(select('names', values, text)).resolves.toEqual([{ first: 'two', second: 'one', third: 'two' }])
    await expect(select('names', { a: 'one' }, text)).rejects.toThrow('no value for :b')
    const unnamed = runPrepared(writer, 'unnamed', {}, () => writer('notes').where('id', 7))
    await expect(unnamed).rejects.toThrow('A prepared query cannot contain unnamed values')
  })

  test('one statement inserts any number of rows, and their values are read back unchanged', async () => {
    const { writer } = openTestDatabase(await emptyDatabase(dialect))
    await writer.schema.createTable('notes', (table) => {
      table.integer('n').primary()
      table.text('text')
      table.bigInteger('large')
      table.boolean('is_read')
      table.binary('bytes')
      table.text('unset').defaultTo('as it was made')
    })
    const texts = ['', '7', 'null', 'O\'Hara "Ada" \\x00 ? :n \u{1f600} \n', null]
    const rows = texts.map((text, n) => ({
      n,
      text,
      large: n === 0 ? Number.MAX_SAFE_INTEGER : -n,
      is_read: n % 2 === 0,
      bytes: n < 3 ? null : Buffer.from([0, n, 255]),
    }))
    const statements: string[] = []
    writer.on('query', ({ sql }: { sql: string }) => statements.push(sql))
    const ending = 'on conflict (n) do nothing returning n'
    await expect(insertRows(writer, 'notes', rows.slice(0, 4), ending)).resolves.toHaveLength(4)
    await expect(insertRows(writer, 'notes', rows, ending)).resolves.toEqual([{ n: 4 }])
    await expect(insertRows(writer, 'notes', [])).resolves.toEqual([])
    expect(statements[1]).toBe(statements[0])
    expect(statements).toHaveLength(2)
    const found: (typeof rows)[number][] = await writer('notes').orderBy('n')
    expect(found.map((row) => ({ ...row, is_read: Boolean(row.is_read) }))).toEqual(
      rows.map((row) => ({ ...row, unset: 'as it was made' })),
    )
  })
})
