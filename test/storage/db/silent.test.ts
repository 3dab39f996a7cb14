import { describe, expect, test } from 'vitest'
import { tripsOf } from '../../../bench/support/trips.ts'
import { insertRows } from '../../../src/storage/db/bulk-rows.ts'
import { isTaken } from '../../../src/storage/db/database-errors.ts'
import { runPrepared, runSilently } from '../../../src/storage/db/prepared.ts'
import { dialects, emptyDatabase } from '../../support/databases.ts'
import { openTestDatabase } from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  async function setUp() {
    const database = openTestDatabase(await emptyDatabase(dialect), { poolSize: 1 })
    await database.writer.schema.createTable('notes', (table) => {
      table.integer('n').primary()
      table.text('text')
    })
    const writers = { requests: database.forRequests('a').writer, jobs: database.forJobs('a').writer }
    const numbers = () => database.reader('notes').orderBy('n').pluck('n')
    return { ...database, ...writers, numbers }
  }
  const note = (n: number, text = '') => [{ n, text }]
  const count = (db: Parameters<typeof runPrepared>[0]) =>
    runPrepared<{ n: number }>(db, 'count-notes', {}, () => 'select count(*) as n from notes')

  test('a statement without a result is sent with the next one, which sees its effect', async () => {
    const { requests, numbers } = await setUp()
    const texts = ["O'Hara ? :n \\ \u{1f600}", '\0', '']
    const trips = await tripsOf(() =>
      requests.transaction(async (tx) => {
        await insertRows(tx, 'notes', note(1, texts[0]))
        await insertRows(tx, 'notes', note(2, texts[2]))
        expect(await count(tx)).toEqual([{ n: 2 }])
        await runSilently(tx, 'rename', { n: 2, text: 'renamed' }, () => 'update notes set text = :text where n = :n')
        await insertRows(tx, 'notes', note(3))
      }),
    )
    expect(trips).toHaveLength(dialect === 'sqlite' ? 4 : 2)
    expect(await numbers()).toEqual([1, 2, 3])
    expect(await requests('notes').orderBy('n').pluck('text')).toEqual([texts[0], 'renamed', ''])
  })

  test('a failed statement ends its transaction, regardless of what follows, and keeps its connection', async () => {
    const { requests, jobs, numbers } = await setUp()
    await requests('notes').insert(note(1))
    const followers: ((tx: typeof requests) => Promise<unknown>)[] = [
      async () => undefined,
      (tx) => insertRows(tx, 'notes', note(4)),
      (tx) => count(tx),
      (tx) => Promise.all([count(tx), count(tx)]),
      // A caller that ignores the error has not written anything.
      (tx) => count(tx).catch(() => undefined),
    ]
    for (const writer of [requests, jobs]) {
      for (const follow of followers) {
        const work = writer.transaction(async (tx) => {
          await insertRows(tx, 'notes', note(3))
          await insertRows(tx, 'notes', note(1))
          await follow(tx)
        })
        expect(
          isTaken(
            await work.then(
              () => undefined,
              (error: unknown) => error,
            ),
          ),
        ).toBe(true)
        expect(await numbers()).toEqual([1])
      }
      await writer.transaction((tx) => insertRows(tx, 'notes', note(2)))
      expect(await numbers()).toEqual([1, 2])
      await writer('notes').where({ n: 2 }).delete()
    }
  })

  test('a transaction that throws writes none of its unsent statements', async () => {
    const { requests, numbers } = await setUp()
    for (const hasAsked of [false, true]) {
      const work = requests.transaction(async (tx) => {
        if (hasAsked) await count(tx)
        await insertRows(tx, 'notes', note(1))
        throw new Error('changed my mind')
      })
      await expect(work).rejects.toThrow('changed my mind')
    }
    await requests.transaction((tx) => insertRows(tx, 'notes', note(2)))
    expect(await numbers()).toEqual([2])
  })

  test('a transaction that throws while a statement is about to be sent sends nothing, then or later', async () => {
    const { requests, jobs, numbers } = await setUp()
    const insert = (tx: typeof requests, n: number) =>
      runPrepared(tx, 'insert-returning', { n }, () => 'insert into notes (n) values (:n) returning n')
    for (const writer of [requests, jobs]) {
      for (let turns = 0; turns < 12; turns += 1) {
        const work = writer.transaction(async (tx) => {
          const late = async () => {
            for (let turn = 0; turn < turns; turn += 1) await undefined
            throw new Error('changed my mind')
          }
          await Promise.all([insert(tx, 1), late()])
        })
        await expect(work).rejects.toThrow('changed my mind')
        await writer.transaction((tx) => count(tx))
        expect(await numbers()).toEqual([])
      }
    }
  })

  test('sends one statement several times together, even after one of them failed', async () => {
    const { requests, numbers } = await setUp()
    const twice = (n: number) =>
      requests.transaction(async (tx) => {
        await runSilently(tx, 'insert-note', { n }, () => 'insert into notes (n) values (:n)')
        await runSilently(tx, 'insert-note', { n: n + 1 }, () => 'insert into notes (n) values (:n)')
      })
    await requests('notes').insert(note(1))
    await expect(twice(1)).rejects.toThrow()
    await twice(2)
    await twice(4)
    expect(await numbers()).toEqual([1, 2, 3, 4, 5])
  })

  test('outside a transaction, a statement without a result is awaited', async () => {
    const { requests, numbers } = await setUp()
    await insertRows(requests, 'notes', note(1))
    expect(await numbers()).toEqual([1])
    await expect(insertRows(requests, 'notes', note(1))).rejects.toThrow()
  })

  test('a lost connection fails its transaction, and the next one gets another connection', async () => {
    if (dialect === 'sqlite') return
    const { requests, entry, numbers } = await setUp()
    const work = requests.transaction(async (tx) => {
      const [{ pid }] = (await runPrepared<{ pid: number }>(tx, 'pid', {}, () => 'select pg_backend_pid() as pid')) as [
        { pid: number },
      ]
      await insertRows(tx, 'notes', note(1))
      await entry.raw('select pg_terminate_backend(?)', [pid])
      await insertRows(tx, 'notes', note(2))
    })
    await expect(work).rejects.toThrow()
    await requests.transaction((tx) => insertRows(tx, 'notes', note(3)))
    expect(await numbers()).toEqual([3])
  })
})
