import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { locateIssues, placeOf } from '../../../src/cli/command/failure.ts'
import { readJsonFile } from '../../../src/cli/template/json-file.ts'
import { temporaryFolder } from '../../support/databases.ts'

const text = '{\r\n\t"name": "é😀", "list": [\n    {"a": 1},\n    {"a": "*x"}\n  ]\n}\n'

test.each<[string, (string | number)[], number, number]>([
  ['a value', ['name'], 2, 10],
  ['a value after surrogate pairs', ['list'], 2, 25],
  ['an item of a list', ['list', 1, 'a'], 4, 11],
  ['a missing value, in its parent', ['list', 0, 'b'], 3, 5],
  ['the whole', [], 1, 1],
])('reports the line and column of %s', async (_, path, line, column) => {
  expect(await locateIssues(text, [{ path, message: 'm' }])).toEqual([{ path, message: 'm', line, column }])
})

test('counts lines and columns from 1', () => {
  expect([0, 3, 4].map((offset) => placeOf('ab\ncd', offset))).toEqual([
    { line: 1, column: 1 },
    { line: 2, column: 1 },
    { line: 2, column: 2 },
  ])
})

test.each([
  ['{\n  "a": x,\n  "b": 1\n}\n', '2:8', "Unexpected token 'x'"],
  ['externalPassId,label\nA-1,Ada\n', '1:1', "Unexpected token 'e'"],
  ['{\n  "a": [1,]\n}\n', '2:11', "Unexpected token ']'"],
  ['{\n  "a": "x",\n  "b": tru\n}\n', '3:11', "Unexpected token '"],
  ['{\n  "a": [\n', '3:1', 'Unexpected end of JSON input'],
])(
  'invalid JSON is reported with its position, with or without help from the parser: %j',
  async (content, place, why) => {
    const path = join(temporaryFolder(), 'file.json')
    writeFileSync(path, content)
    await expect(readJsonFile(path, z.unknown(), 'a file')).rejects.toThrow(
      `${path}:${place} is not valid JSON: ${why}`,
    )
  },
)

test('reads a file with a byte order mark, and rejects a file that is not UTF-8', async () => {
  const path = join(temporaryFolder(), 'file.json')
  writeFileSync(path, '\uFEFF{ "name": "Caf\u00e9" }')
  expect(await readJsonFile(path, z.unknown(), 'a file')).toMatchObject({ value: { name: 'Caf\u00e9' } })
  for (const encoding of ['latin1', 'utf16le'] as const) {
    writeFileSync(path, '{ "name": "Caf\u00e9" }', encoding)
    await expect(readJsonFile(path, z.unknown(), 'a file')).rejects.toThrow(`${path} is not valid UTF-8`)
  }
})

test('reports a key that an object repeats, with its position', async () => {
  const path = join(temporaryFolder(), 'file.json')
  writeFileSync(path, '{\r\n\t"a": [{ "b": 1 }, { "b": 2 }],\r\n\t"c": { "d\\"": 1, "d\\"": 2 }\r\n}\r\n')
  const message = `${path}:3:19 repeats the key "d\\"" of its object`
  await expect(readJsonFile(path, z.unknown(), 'a file')).rejects.toThrow(message)
})
