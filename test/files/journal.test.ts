import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { beginJournal, continueJournal, createJournal, readJournal } from '../../src/files/journal.ts'
import { temporaryFolder } from '../support/databases.ts'

test('a journal returns its entries, without a last line torn by a crash', () => {
  const path = join(temporaryFolder(), 'journal')
  expect(readJournal(path)).toBeUndefined()
  const begun = beginJournal<unknown>(path, ['é'])
  begun.append({ n: 1 }, [2])
  begun.sync()
  begun.close()
  const lines = readJournal(path)!
  expect(lines.map(({ value }) => value)).toEqual(['é', { n: 1 }, [2]])
  appendFileSync(path, '{"n":')
  expect(readJournal(path)).toEqual(lines)
  const continued = continueJournal(path, lines[1]!.end)
  continued.append(3)
  continued.close()
  expect(readFileSync(path, 'utf8')).toBe('"é"\n{"n":1}\n3\n')
  writeFileSync(path, '1\n{"n":\n\n2\n')
  expect(readJournal(path)!.map(({ value }) => value)).toEqual([1, undefined, undefined, 2])
})

test('only one of two writers creates the file of a journal', () => {
  const path = join(temporaryFolder(), 'journal')
  createJournal(path).close()
  expect(() => createJournal(path)).toThrow(expect.objectContaining({ code: 'EEXIST' }))
})

test('an error of a write names the journal', () => {
  const path = join(temporaryFolder(), 'journal')
  const begun = beginJournal(path, ['first'])
  begun.close()
  expect(() => begun.append('second')).toThrow(expect.objectContaining({ path }))
})
