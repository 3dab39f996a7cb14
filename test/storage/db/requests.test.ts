import type { Knex } from 'knex'
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { isTooSlow, isUnavailable } from '../../../src/storage/db/database-errors.ts'
import { pendingMigrations } from '../../../src/storage/db/migrate.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects, type TestDialect } from '../../support/databases.ts'
import { errorOf } from '../../support/error-of.ts'
import { times } from '../../support/long.ts'
import { openTestDatabase, openTestStore, start } from '../fixtures.ts'

/** A statement that runs until it is interrupted. */
const endless: Record<TestDialect, string> = {
  sqlite: 'with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n',
  postgres: 'select pg_sleep(1000)',
}

describe.each(dialects)('on %s', (dialect) => {
  async function setUp() {
    const { url } = await openTestStore(dialect)
    return openTestDatabase(url, { statementLimitMs: 200 })
  }

  test('request statements end at their time limit; later ones and background work continue', async () => {
    const database = await setUp()
    const { reader } = database.forRequests('a')
    const held = await database.reader.client.acquireConnection()
    let isOver = false
    const background = errorOf(database.reader.raw(endless[dialect]).connection(held)).then(() => (isOver = true))
    for (let round = 0; round < times(2, 5); round += 1) {
      // Run as many statements as the party has connections, so that later ones use the connections that were interrupted.
      const slow = Array.from({ length: dialect === 'sqlite' ? 2 : 5 }, () => errorOf(reader.raw(endless[dialect])))
      for (const error of await Promise.all(slow))
        expect([isTooSlow(error), isUnavailable(error)]).toEqual([true, true])
      for (let n = 0; n < 20; n += 1) await reader.raw('select 1')
    }
    expect(isOver).toBe(false)
    if (dialect === 'sqlite') held.interrupt()
    else await database.writer.raw('select pg_cancel_backend(?)', [held.processID])
    await background
    database.reader.client.releaseConnection(held)
  })

  test('while one party uses its share, another can read, and tokens and health checks work', async () => {
    const database = await setUp()
    const greedy = database.forRequests('greedy')
    const ended: number[] = []
    const attempts = Array.from({ length: 10 }, (_, n) =>
      errorOf(greedy.reader.raw(endless[dialect])).then(() => ended.push(n)),
    )
    await database.forRequests('other').reader.raw('select 1')
    expect(await createStore(database).tokens.findByDigest('none')).toBeUndefined()
    expect(await pendingMigrations(database)).toEqual([])
    // The request of another party did not wait for all of these requests.
    expect(ended.length).toBeLessThan(10)
    await Promise.all(attempts)
    await greedy.reader.raw('select 1')
  })
})

test('on PostgreSQL, request transactions plan by keys, even if statistics show an empty table', async () => {
  const { database } = await openTestStore('postgres')
  // The statistics now show an empty table, which is cheap to read completely.
  await database.writer.raw('vacuum analyze accepted_scans')
  const sql = `explain select count(*) from accepted_scans where workspace_id = gen_random_uuid() and pass_id = ?`
  const explain = (db: Knex) => db.raw(sql, [newId(start)])
  const texts = ({ rows }: { rows: object[] }) => JSON.stringify(rows)
  expect(texts(await explain(database.forRequests('a').reader))).toContain('Seq Scan')
  const plan = await database.forRequests('a').writer.transaction((tx) => explain(tx))
  expect(texts(plan)).not.toContain('Seq Scan')
})

test('on PostgreSQL, request transactions have a longer time limit than reads', async () => {
  const { database } = await openTestStore('postgres')
  const limit = async (db: Knex) => (await db.raw('show statement_timeout')).rows[0].statement_timeout
  const { reader, writer } = database.forRequests('a')
  expect(await writer.transaction(limit)).toBe('7s')
  expect(await limit(reader)).toBe('2s')
  expect([await limit(database.reader), await limit(database.entry)]).toEqual(['0', '0'])
})
