import { expect, test } from 'vitest'
import {
  details,
  duration,
  printable,
  table,
  tableWriter,
  textWidth,
  wrapText,
} from '../../../src/cli/command/output.ts'

const columns = [
  { title: 'id', value: (row: { id: string; name: string }) => row.id },
  { title: 'name', value: (row: { id: string; name: string }) => row.name },
]

test('aligns table columns, including wide characters', () => {
  const rows = [
    { id: '歐陽', name: 'one' },
    { id: 'abcdef', name: 'two' },
  ]
  expect(table(rows, columns)).toBe('ID      NAME\n歐陽    one\nabcdef  two')
})

test.each([
  ['「東京」', 8],
  ['ラーメン', 8],
  ['ﾊﾝｶｸ', 4],
  ['❤️', 2],
  ['👩‍👩‍👧', 2],
  ['한국', 4],
  ['Ａ１', 4],
  ['é', 1],
])('%s has a width of %d columns, in a table and next to a label', (text, width) => {
  expect(textWidth(text)).toBe(width)
  const [, first, second] = table(
    [text, 'x'.repeat(8)].map((id) => ({ id, name: 'end' })),
    columns,
  ).split('\n')
  expect(first!.slice(0, -'end'.length)).toBe(text + ' '.repeat(10 - width))
  expect(second).toBe('xxxxxxxx  end')
  const [line] = details([
    [text, 'end'],
    ['xxxxxxxx', 'end'],
  ]).split('\n')
  expect(line).toBe(`${text}${' '.repeat(10 - width)}end`)
})

test('a table fits its terminal and cuts the widest column', () => {
  const text = table([{ id: 'abc', name: '名'.repeat(60) }], columns, { width: 40 })
  for (const line of text.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(40)
  expect(text).toContain('abc')
  expect(text).toContain('…')
})

test('never cuts a column of values to copy', () => {
  const whole = [{ ...columns[0]!, whole: true as const }, columns[1]!]
  const text = table([{ id: 'i'.repeat(36), name: 'n'.repeat(60) }], whole, { width: 46 })
  expect(text).toContain('i'.repeat(36))
  expect(text).toContain(`${'n'.repeat(7)}…`)
})

test('leaves out the last columns if shortening cells is not enough', () => {
  const whole = [
    { ...columns[0]!, whole: true as const },
    ...columns.slice(1),
    { title: 'end', value: () => 'e'.repeat(9) },
  ]
  const row = { id: 'i'.repeat(36), name: 'n'.repeat(60) }
  expect(table([row], whole, { width: 56 })).toContain('END')
  expect(table([row], whole, { width: 50 }).split('\n')).toEqual([
    expect.stringMatching(/^ID +NAME$/),
    expect.stringMatching(/^i{36} {2}n{11}…$/),
  ])
  expect(table([row], whole, { width: 20 })).toBe(`ID\n${row.id}`)
})

test('external text cannot change the text direction, and zero-width characters have no width', () => {
  expect(printable('a\u202Eb\u2066c\u2069')).toBe('abc')
  expect(textWidth('a\u200Bb\u0301é')).toBe(3)
})

test('a paginated table keeps its widths and widens if it can; without a terminal nothing is shortened', () => {
  const long = { id: 'i'.repeat(12), name: 'n'.repeat(12) }
  const write = tableWriter(columns, { width: 14 })
  expect(write([{ id: 'abcdefgh', name: 'one' }])).toBe('ID        NAME\nabcdefgh  one')
  expect(write([long])).toBe('iiiiiii…  nnn…')
  const roomy = tableWriter(columns, { width: 30 })
  roomy([{ id: 'abcdefgh', name: 'one' }])
  expect(roomy([long, { id: 'a', name: 'b' }])).toBe(`${long.id}  ${long.name}\n${'a'.padEnd(12)}  b`)
  expect(roomy([{ id: 'abcdefgh', name: 'one' }])).toBe('abcdefgh      one')
  const unbounded = tableWriter(columns)
  unbounded([{ id: 'a', name: 'b' }])
  expect(unbounded([long])).toBe(`${long.id}  ${long.name}`)
})

test.each([
  ['one two three', 7, ['one two', 'three']],
  ['abcdefgh', 3, ['abc', 'def', 'gh']],
  ['李𠮷祥 李', 4, ['李𠮷', '祥', '李']],
  ['李', 1, ['李']],
  ['', 5, []],
])('wraps %j to %d columns between words if possible', (text, width, lines) => {
  expect(wrapText(text, width)).toEqual(lines)
})

test('removes terminal control sequences from external text', () => {
  expect(printable('a\u001B[2Jb\nc')).toBe('a\uFFFD[2Jb c')
  expect(details([['Label', '\u001B]0;x\u0007']])).not.toContain('\u001B')
})

test.each([
  [0.44, '0.4 s'],
  [42, '42 s'],
  [200, '3 min 20 s'],
  [7500, '2 h 5 min'],
])('formats %d seconds as %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text)
})
