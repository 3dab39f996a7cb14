import { expect, test } from 'vitest'
import { databasePasswordIn } from '../../../src/cli/settings/server-flags.ts'

test.each([
  [['--database', 'postgres://passes:secret@db/passes'], true],
  [['--database=postgresql://passes:secret@db/passes'], true],
  [['--database', 'postgres://db/passes?sslmode=require&password=secret'], true],
  [['--database', 'postgres://passes@db/passes'], false],
  [['--database', 'postgres://passes:@db/passes'], false],
  [['--database', 'postgres://db:5432/passes'], false],
  [['--database', 'sqlite:./a:b@c.db'], false],
  [['--database'], false],
  [['--name', 'postgres://passes:secret@db/passes'], false],
])('a password of a database among the arguments is seen: %j %j', (argv, expected) => {
  expect(databasePasswordIn(argv)).toBe(expected)
})
