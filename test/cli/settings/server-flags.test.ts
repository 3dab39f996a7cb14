import { expect, test } from 'vitest'
import { databasePasswordsIn } from '../../../src/cli/settings/server-flags.ts'

test.each([
  [['--database', 'postgres://passes:secret@db/passes'], ['database']],
  [['--database=postgresql://passes:secret@db/passes'], ['database']],
  [['--database', 'postgres://db/passes?sslmode=require&password=secret'], ['database']],
  [
    ['--from=postgres://passes:secret@db/passes', '--to', 'postgres://passes:secret@db/other'],
    ['from', 'to'],
  ],
  [['--database', 'postgres://passes@db/passes'], []],
  [['--database', 'postgres://passes:@db/passes'], []],
  [['--database', 'postgres://db:5432/passes'], []],
  [['--database', 'sqlite:./a:b@c.db'], []],
  [['--database'], []],
  [['--name', 'postgres://passes:secret@db/passes'], []],
])('a password of a database among the arguments is seen: %j %j', (argv, expected) => {
  expect(databasePasswordsIn(argv)).toEqual(expected)
})
