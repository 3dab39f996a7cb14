import { expect, test } from 'vitest'
import { editDistance, suggestCommand } from '../../../src/cli/command/failure.ts'

const commands = ['issue', 'pass list', 'pass get', 'template publish', 'scan', 'scans list', 'update', 'void']

test.each([
  ['isue', 'issue'],
  ['isue attendees.csv', 'issue'],
  ['pass lst', 'pass list'],
  ['pas list', 'pass list'],
  ['templat publsh 0198', 'template publish'],
  ['udpate', 'update'],
  ['scans lst', 'scans list'],
  ['scn', 'scan'],
])('for "%s", suggests "%s"', (typed, meant) => {
  expect(suggestCommand(typed.split(' '), commands)).toBe(meant)
})

test('suggests nothing for a name that resembles no command', () => {
  expect(suggestCommand(['entirely'], commands)).toBeUndefined()
})

test('the edit distance counts inserted, deleted, and replaced letters', () => {
  expect([editDistance('kitten', 'sitting'), editDistance('', 'abc'), editDistance('same', 'same')]).toEqual([3, 3, 0])
})
