import { promisify } from 'node:util'
import fc from 'fast-check'
import sqlite3 from 'sqlite3'
import { expect, test } from 'vitest'
import { scriptOf } from '../../../src/storage/db/sqlite/sqlite-script.ts'

/** Texts with characters that could end or start a literal. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom("'", '"', '`', '?', ':a', ';', '--', '/*', '\\', '\0', '\n', "''", 'x', 'é', '🎟'),
    fc.string({ unit: 'binary', maxLength: 1 }),
  ),
})
const value = fc.oneof(
  text,
  fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
  // Integers beyond 2^53 are rejected before they are stored.
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
)

test('a script sent to SQLite has the same effect as its statements with bound values', async () => {
  const database = new sqlite3.Database(':memory:')
  const exec = promisify(database.exec.bind(database)) as (sql: string) => Promise<void>
  const all = promisify<string, unknown[], unknown[]>(database.all.bind(database))
  await exec(`create table notes (n integer primary key, "odd?" text, a, b)`)
  const sql = `insert into notes (n, "odd?", a, b) values (?, 'why? it''s', ?, ?)`
  let n = 0
  await fc.assert(
    fc.asyncProperty(value, value, async (a, b) => {
      n += 3
      await all(sql, [n, a, b])
      await exec(scriptOf([n + 1, n + 2].map((place) => ({ sql, bindings: [place, a, b] }))))
      const same = await all(
        `select one."odd?" as odd from notes one join notes bound on bound.n = ?
          where one.n >= bound.n and one.a is bound.a and one.b is bound.b`,
        [n],
      )
      expect(same).toEqual(Array(3).fill({ odd: "why? it's" }))
    }),
    {
      numRuns: 300,
      examples: [
        [8.6924025622648e-121, 5e-324],
        [0.1, -2.2250738585072014e-308],
      ],
    },
  )
})
