import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createInputReader, type Input } from '../../../src/cli/console/input.ts'

const F2 = '\u001BOQ'

/** Returns a reader, and a function that returns what the reader has reported since the last call. */
function openReader() {
  const found: Input[] = []
  const reader = createInputReader((input) => found.push(input))
  const look = () => found.splice(0)
  return {
    reader,
    push(text: string, at: number) {
      reader.push(text, at)
      return look()
    },
    settle(at: number) {
      reader.settle(at)
      return look()
    },
  }
}

/** Returns what a reader reports if the input arrives in these pieces, by default a millisecond apart. */
function read(pieces: string[], millisecondsApart = 1): Input[] {
  const { push } = openReader()
  return pieces.flatMap((piece, index) => push(piece, index * millisecondsApart))
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

test('typed control characters are not part of the payload that follows', () => {
  expect(lines(read(['\u000C', '\u001A', '\t', 'ABC\u001D123\r', '\u001DGS1\r']))).toEqual([
    'ABC\u001D123',
    '\u001DGS1',
  ])
})

test('500 payloads in one piece are 500 lines in their order', () => {
  const payloads = Array.from({ length: 500 }, (_, n) => `PAYLOAD-${n}`)
  expect(lines(read([`${payloads.join('\r')}\r`]))).toEqual(payloads)
})

test('reassembles payloads and keys from any chunks, and nothing else', () => {
  const character = fc.constantFrom(...'ABCxyz019]:;/?=&%+~ -\u001D\u00E9\u4E00')
  const payload = fc.string({ unit: character, minLength: 1, maxLength: 40 })
  const sequence = fc.constantFrom(F2, '\u001B[12~', '\u001B[[B', '\u001B[13~', '\u001B[19~', '\u001B[A', '\u001B[1;5R')
  const enter = fc.constantFrom('\r', '\n', '\r\n')
  const item = fc.tuple(payload, fc.nat(40), fc.option(sequence, { nil: '' }), enter)
  fc.assert(
    fc.property(fc.array(item), fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (items, sizes) => {
      // Press a key in the middle of a payload too, because staff type while a scanner sends.
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
  ['F6', '\u001B[17~', 'direction'],
  ['F8', '\u001B[19~', 'lock'],
  ['F9', '\u001B[20~', 'confirm'],
  ['up', '\u001B[A', 'up'],
  ['down in application mode', '\u001BOB', 'down'],
  ['Ctrl-C', '\u0003', 'interrupt'],
])('%s is a key, alone and glued to a payload', (_, sequence, name) => {
  expect(read([sequence])).toEqual([key(name)])
  expect(read([`AB${sequence}C\r`])).toEqual([key(name), scan('ABC')])
  expect(read([...`AB${sequence}C\r`])).toEqual([key(name), scan('ABC')])
})

test.each(['\u001B[18~', '\u001B[1;2Q', '\u001B[200~', '\u001B[?62;c', '\u001BOP', '\u001B[H'])(
  'ignores the unknown sequence %j',
  (sequence) => {
    expect(read([`${sequence}ABC\r`])).toEqual([scan('ABC')])
  },
)

test('an Escape key before a payload with an AIM identifier does not change the payload', () => {
  expect(read(['\u001B', ']C1ABC\r'])).toEqual([key('escape'), scan(']C1ABC')])
})

test('a single ESC becomes the Escape key after a short wait', () => {
  const reader = openReader()
  expect(reader.push('\u001B', 0)).toEqual([])
  expect(reader.settle(50)).toEqual([])
  expect(reader.settle(100)).toEqual([key('escape')])
  expect(reader.push('OQ\r', 200)).toEqual([scan('OQ')])
})

test('an unfinished escape sequence does not consume the next scan', () => {
  const reader = openReader()
  expect(reader.push('\u001B[', 0)).toEqual([])
  expect(reader.push('ABC\r', 1_000)).toEqual([scan('ABC')])
})

test('Enter on an empty line is a key unless it ends a scan', () => {
  const reader = openReader()
  expect(reader.push('ABC\r', 0)).toEqual([scan('ABC')])
  expect(reader.push('\n', 1)).toEqual([])
  expect(reader.push('\r', 2_000)).toEqual([key('enter')])
  expect(reader.push('ABC\r', 3_000)).toEqual([scan('ABC')])
  expect(reader.push('\u001B[B\r', 3_010)).toEqual([key('down'), key('enter')])
})

test('distinguishes typing from a scanner', () => {
  const typed = read([...'ada\r'], 120)
  expect(typed).toEqual([{ kind: 'line', text: 'ada', isTyped: true }])
  expect(read([...'ADA-123\r'], 20)).toEqual([scan('ADA-123')])
})

test('backspace deletes typed characters', () => {
  expect(read(['AX\u007FB\r'])).toEqual([scan('AB')])
})

/** Types text with a pause before each part, in milliseconds; the characters of a part are `apart` ms apart. */
function typeParts(parts: [pause: number, text: string, apart: number][]): { found: Input[]; left: string } {
  const { reader, push } = openReader()
  let at = 0
  const found = parts.flatMap(([pause, text, apart]) => {
    at += pause - apart
    return [...text].flatMap((character) => {
      at += apart
      return push(character, at)
    })
  })
  return { found, left: reader.typed }
}

const PAYLOAD = 'CEGFN42XKQ7'

test.each([0, 1, 20])('a key typed 300 ms before a scan does not change the scan, at %i ms a character', (apart) => {
  for (const stray of ['x', '\u001D', 'xy']) {
    expect(
      typeParts([
        [0, stray, 150],
        [300, `${PAYLOAD}\r`, apart],
      ]).found,
    ).toEqual([scan(PAYLOAD)])
  }
})

test.each([
  ['after one character', 'd', 300],
  ['after a word', 'day', 300],
  ['in the rhythm of the keys', 'day', 120],
])('a scan %s keeps typed text', (_, text, pause) => {
  const { found, left } = typeParts([
    [0, text, 120],
    [pause, `${PAYLOAD}\r\n`, 1],
  ])
  expect([found, left]).toEqual([[scan(PAYLOAD)], text])
  const goesOn = typeParts([
    [0, text, 120],
    [pause, `${PAYLOAD}\r\n`, 1],
    [500, '-1\r', 120],
  ]).found
  expect(goesOn).toEqual([scan(PAYLOAD), { kind: 'line', text: `${text}-1`, isTyped: true }])
})

test('a short scan right after a key is never read as typed text', () => {
  for (const pause of [40, 100, 290]) {
    expect(
      typeParts([
        [0, 'd', 0],
        [pause, 'A-1234\r', 1],
      ]).found,
    ).toEqual([scan('dA-1234')])
  }
})

test('a pause of up to 300 ms within a scan does not split it', () => {
  for (const at of [1, 2, 5, PAYLOAD.length - 1, PAYLOAD.length]) {
    const parts = [PAYLOAD.slice(0, at), `${PAYLOAD.slice(at)}\r`] as const
    expect(
      typeParts([
        [0, parts[0], 1],
        [299, parts[1], 1],
      ]).found,
    ).toEqual([scan(PAYLOAD)])
  }
})

test('text that a person types with pauses is one line', () => {
  expect(
    typeParts([
      [0, 'ada', 100],
      [2_000, ' love', 150],
      [900, 'lace', 60],
      [400, '\r', 0],
    ]).found,
  ).toEqual([{ kind: 'line', text: 'ada lovelace', isTyped: true }])
})

test('discarding the text keeps a scan that is still arriving', () => {
  const { reader, push } = openReader()
  push('x', 0)
  push(PAYLOAD.slice(0, 5), 400)
  reader.clear()
  expect(push(`${PAYLOAD.slice(5)}\r`, 405)).toEqual([scan(PAYLOAD)])
  push('x', 1_000)
  reader.settle(1_100)
  reader.clear()
  expect(reader.typed).toBe('')
})
