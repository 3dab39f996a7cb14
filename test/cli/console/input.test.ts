import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createInputReader, type Input } from '../../../src/cli/console/input.ts'

const F2 = '\u001BOQ'

/** What comes of pieces that arrive a millisecond apart. */
function read(pieces: string[], millisecondsApart = 1): Input[] {
  const reader = createInputReader()
  return pieces.flatMap((piece, index) => reader.push(piece, index * millisecondsApart))
}

const scan = (text: string): Input => ({ kind: 'line', text, isTyped: false })
const key = (name: string) => ({ kind: 'key', key: name })
const lines = (found: Input[]) => found.flatMap((input) => (input.kind === 'line' ? [input.text] : []))

test('a payload with Enter in one piece is one line', () => {
  expect(read(['ABC123\r'])).toEqual([scan('ABC123')])
})

test('a scanner may end payloads with Tab, or with Tab and Enter', () => {
  expect(lines(read(['ABC123\tDEF456\t\r']))).toEqual(['ABC123', 'DEF456'])
  expect(read(['\t'])).toEqual([])
})

test('control characters of a hand do not stand before the payload that follows', () => {
  expect(lines(read(['\u000C', '\u001A', '\t', 'ABC\u001D123\r', '\u001DGS1\r']))).toEqual([
    'ABC\u001D123',
    '\u001DGS1',
  ])
})

test('500 payloads in one piece are 500 lines in their order', () => {
  const payloads = Array.from({ length: 500 }, (_, n) => `PAYLOAD-${n}`)
  expect(lines(read([`${payloads.join('\r')}\r`]))).toEqual(payloads)
})

test('however payloads and keys are cut into pieces, each comes out whole and nothing else does', () => {
  const character = fc.constantFrom(...'ABCxyz019]:;/?=&%+~ -\u001D\u00E9\u4E00')
  const payload = fc.string({ unit: character, minLength: 1, maxLength: 40 })
  const sequence = fc.constantFrom(F2, '\u001B[12~', '\u001B[[B', '\u001B[13~', '\u001B[19~', '\u001B[A', '\u001B[1;5R')
  const enter = fc.constantFrom('\r', '\n', '\r\n')
  const item = fc.tuple(payload, fc.nat(40), fc.option(sequence, { nil: '' }), enter)
  fc.assert(
    fc.property(fc.array(item), fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (items, sizes) => {
      // A key in the middle of a payload, too: hands and scanners do not wait for each other.
      const text = items.map(([text, at, keys, end]) => text.slice(0, at) + keys + text.slice(at) + end).join('')
      const pieces: string[] = []
      for (let start = 0, n = 0; start < text.length; n += 1) {
        const size = sizes[n % sizes.length]!
        pieces.push(text.slice(start, start + size))
        start += size
      }
      expect(lines(read(pieces))).toEqual(items.map(([text]) => text))
    }),
  )
})

test.each([
  ['F2 of xterm', '\u001BOQ', 'search'],
  ['F2 of VT220 and rxvt', '\u001B[12~', 'search'],
  ['F2 of the Linux console', '\u001B[[B', 'search'],
  ['F3', '\u001BOR', 'undo'],
  ['F4', '\u001BOS', 'override'],
  ['F5', '\u001B[15~', 'group'],
  ['F5 of the Linux console', '\u001B[[E', 'group'],
  ['F8', '\u001B[19~', 'lock'],
  ['up', '\u001B[A', 'up'],
  ['down in application mode', '\u001BOB', 'down'],
  ['Ctrl-C', '\u0003', 'interrupt'],
])('%s is a key, alone and glued to a payload', (_, sequence, name) => {
  expect(read([sequence])).toEqual([key(name)])
  expect(read([`AB${sequence}C\r`])).toEqual([key(name), scan('ABC')])
  expect(read([...`AB${sequence}C\r`])).toEqual([key(name), scan('ABC')])
})

test.each(['\u001B[17~', '\u001B[1;2Q', '\u001B[200~', '\u001B[?62;c', '\u001BOP', '\u001B[H'])(
  'a sequence that means nothing here (%j) vanishes whole',
  (sequence) => {
    expect(read([`${sequence}ABC\r`])).toEqual([scan('ABC')])
  },
)

test('an Escape key before a payload with an AIM identifier leaves the payload whole', () => {
  expect(read(['\u001B', ']C1ABC\r'])).toEqual([key('escape'), scan(']C1ABC')])
})

test('an ESC with nothing behind it is the Escape key, once it is sure', () => {
  const reader = createInputReader()
  expect(reader.push('\u001B', 0)).toEqual([])
  expect(reader.settle(50)).toEqual([])
  expect(reader.settle(100)).toEqual([key('escape')])
  expect(reader.push('OQ\r', 200)).toEqual([scan('OQ')])
})

test('the start of a sequence that never ends does not eat the next scan', () => {
  const reader = createInputReader()
  expect(reader.push('\u001B[', 0)).toEqual([])
  expect(reader.push('ABC\r', 1_000)).toEqual([scan('ABC')])
})

test('Enter on an empty line is a key, but not where it is the tail of a scan', () => {
  const reader = createInputReader()
  expect(reader.push('ABC\r', 0)).toEqual([scan('ABC')])
  expect(reader.push('\n', 1)).toEqual([])
  expect(reader.push('\r', 2_000)).toEqual([key('enter')])
  expect(reader.push('ABC\r', 3_000)).toEqual([scan('ABC')])
  expect(reader.push('\u001B[B\r', 3_010)).toEqual([key('down'), key('enter')])
})

test('what a person types is told from what a scanner types', () => {
  const typed = read([...'ada\r'], 120)
  expect(typed).toEqual([{ kind: 'line', text: 'ada', isTyped: true }])
  expect(read([...'ADA-123\r'], 20)).toEqual([scan('ADA-123')])
})

test('backspace takes back what was typed', () => {
  expect(read(['AX\u007FB\r'])).toEqual([scan('AB')])
})
