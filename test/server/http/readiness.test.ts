import { describe, expect, test } from 'vitest'
import { createReadiness } from '../../../src/server/http/readiness.ts'
import { openTestDatabase, openTestStore } from '../../storage/fixtures.ts'
import { dialects, emptyDatabase, type TestDialect } from '../../support/databases.ts'

const state = { isWritable: () => true, isWorking: () => true, isClockOff: () => false, isServing: () => true }
const allOf = (dialect: TestDialect) => ({
  database: true,
  migrations: true,
  writable: true,
  clock: true,
  worker: true,
  serving: true,
  ...(dialect === 'sqlite' && { integrity: true }),
})

describe.each(dialects)('on %s', (dialect) => {
  const allIsWell = allOf(dialect)

  test('a migrated, reachable database is ready', async () => {
    const { database } = await openTestStore(dialect)
    expect(await createReadiness({ database, ...state })()).toEqual(allIsWell)
  })

  test('reports a missing migration, and accepts one of a newer program', async () => {
    const { database } = await openTestStore(dialect)
    const readiness = createReadiness({ database, ...state })
    await database.writer('migrations').insert({ name: '9999-newer' })
    expect(await readiness()).toEqual(allIsWell)
    await database.writer('migrations').where({ name: '0001-baseline' }).delete()
    expect(await readiness()).toEqual({ ...allIsWell, migrations: false })
    const empty = openTestDatabase(await emptyDatabase(dialect))
    expect(await createReadiness({ database: empty, ...state })()).toEqual({ ...allIsWell, migrations: false })
  })

  test('reports a server that stops or does not run its jobs; a server without a worker has no such check', async () => {
    const { database } = await openTestStore(dialect)
    const stopping = createReadiness({ ...state, database, isWorking: () => false, isServing: () => false })
    expect(await stopping()).toEqual({ ...allIsWell, worker: false, serving: false })
    const { clock: _, worker: __, ...ofApi } = allIsWell
    expect(await createReadiness({ ...state, database, isWorking: undefined })()).toEqual(ofApi)
  })

  test('a server that runs no jobs because its clock is wrong names the clock', async () => {
    const { database } = await openTestStore(dialect)
    const isClockOff = () => true
    const wrong = createReadiness({ ...state, database, isClockOff })
    expect(await wrong()).toEqual({ ...allIsWell, clock: false, worker: false })
    const { clock: _, worker: __, ...ofApi } = allIsWell
    expect(await createReadiness({ ...state, database, isWorking: undefined, isClockOff })()).toEqual(ofApi)
  })
})

test.each([
  ['does not listen', 'postgres', 'postgres://nobody@127.0.0.1:1/none'],
  ['cannot be opened', 'sqlite', 'sqlite:/no-such-folder/passes.db'],
] as const)('reports a database that %s', async (_, dialect, url) => {
  const readiness = createReadiness({ database: openTestDatabase(url), ...state })
  expect(await readiness()).toEqual({ ...allOf(dialect), database: false, migrations: false })
})
