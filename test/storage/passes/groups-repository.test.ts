import { expect, test } from 'vitest'
import { insertPasses, passId, templateId } from '../../../bench/support/many-passes.ts'
import { dialects } from '../../support/databases.ts'
import { explainPostgres, explainSqlite, type Statement } from '../db/query-plans.ts'
import { insertWorkspace, openTestStore, start } from '../fixtures.ts'

test.each(dialects)('on %s, lists the installable passes of a group without reading void ones', async (dialect) => {
  const { store, database } = await openTestStore(dialect)
  const db = database.writer
  const workspaceId = await insertWorkspace(store)
  await insertPasses(db, workspaceId, 2_000)
  const groupId = templateId(1)
  await db('passes').update({ group_id: groupId, status: 'VOID' })
  const living = [passId(1_000), passId(1_999)]
  await db('passes').whereIn('id', living).update({ status: 'ISSUED', expires_at: null })
  const expired = { status: 'ISSUED', expires_at: start.getTime() }
  await db('passes')
    .where({ id: passId(1_500) })
    .update(expired)
  if (dialect === 'postgres') await db.raw('vacuum analyze passes')

  const statements: Statement[] = []
  database.reader.on('query', ({ sql, bindings }: Statement) => statements.push({ sql, bindings }))
  const found = await store.groups.listInstallable(workspaceId, groupId, { limit: 21 }, start)
  expect(found.map(({ id }) => id)).toEqual(living.toSorted())
  const explain = dialect === 'postgres' ? explainPostgres : explainSqlite
  const { text } = await explain(db, statements[0]!)
  expect(text).toContain('passes_installable_of_group')
})

test.each(dialects)('on %s, the index of group keys contains only passes with a key', async (dialect) => {
  const { database } = await openTestStore(dialect)
  const [{ sql }] = await (dialect === 'postgres'
    ? database.reader('pg_indexes').where({ indexname: 'passes_by_group_key' }).select({ sql: 'indexdef' })
    : database.reader('sqlite_master').where({ name: 'passes_by_group_key' }).select('sql'))
  expect(sql).toMatch(/where \(?group_key is not null/i)
})
