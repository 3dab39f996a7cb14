import { stripVTControlCharacters } from 'node:util'
import bwip from 'bwip-js/node'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { type CardJson, drawCard, halfBlocks, symbolModules } from '../../src/cli/card-picture.ts'
import { textWidth } from '../../src/cli/command/output.ts'
import { readPicture } from '../support/read-picture.ts'

const card: CardJson = {
  passType: 'eventTicket',
  organizationName: 'Fair',
  description: 'Ticket',
  logoText: 'Grand Fair',
  colors: { background: '#1b1d4d', foreground: '#ffffff', label: '#ffc15e' },
  images: {},
  fields: {
    header: [{ key: 'seat', label: 'SEAT', value: '12A' }],
    primary: [{ key: 'name', label: 'NAME', value: 'Ada Lovelace' }],
    secondary: [
      { key: 'hall', label: 'HALL', value: '李𠮷祥'.repeat(10) },
      { key: 'day', label: 'DAY', value: '2027-05-31' },
    ],
    auxiliary: [],
    back: [{ key: 'terms', label: 'Terms', value: 'Be \u001B[2Jkind' }],
  },
  barcode: { format: 'qr', message: 'https://passes.example/T-1', altText: 'T-1' },
  locations: [],
  relevantDate: null,
  links: [{ label: 'Help', url: 'https://fair.example' }],
  expiresAt: '2027-06-01T00:00:00.000Z',
  voided: false,
  apple: {},
  google: {},
}

const plain = { width: undefined, colorDepth: 1 } as const

/** Returns the modules of a barcode from its lines of half blocks. A module that is not light is dark. */
function readBack(lines: string[]): boolean[][] {
  return lines.flatMap((line) => [
    [...line].map((block) => block !== '█' && block !== '▀'),
    [...line].map((block) => block !== '█' && block !== '▄'),
  ])
}

/** Returns the modules of a code according to the library, for codes whose rows are one module tall. */
function modulesOf(bcid: string, text: string): boolean[][] {
  const [symbol] = bwip.raw({ bcid, text })
  if (!symbol || !('pixs' in symbol)) throw new Error('Not a code of two dimensions')
  return Array.from({ length: symbol.pixy }, (_, y) =>
    Array.from({ length: symbol.pixx }, (__, x) => symbol.pixs[y * symbol.pixx + x] === 1),
  )
}

test.each([
  ['qr', 'qrcode', 4],
  ['aztec', 'azteccode', 2],
] as const)('draws each module of a %s code, with its quiet zone', async (format, bcid, quiet) => {
  for (const message of ['T-1', 'https://passes.example/0198c7a2', 'Grüße aus Łódź 李']) {
    const modules = (await symbolModules(format, message))!
    const drawn = readBack(halfBlocks(modules))
    const inner = drawn.slice(quiet, modules.length - quiet).map((row) => row.slice(quiet, -quiet))
    expect(inner).toEqual(modulesOf(bcid, message))
    const border = [...drawn.slice(0, quiet), ...drawn.slice(modules.length - quiet, modules.length)].flat()
    expect(border).not.toContain(true)
    for (const row of drawn.slice(0, modules.length)) {
      expect([...row.slice(0, quiet), ...row.slice(-quiet)]).not.toContain(true)
    }
  }
})

test('draws the rows of PDF417 three modules tall, as readers require', async () => {
  const modules = (await symbolModules('pdf417', 'T-1'))!
  const inner = modules.slice(2, -2)
  expect(inner.length % 3).toBe(0)
  for (let row = 0; row < inner.length; row += 3) {
    expect(inner[row + 1]).toEqual(inner[row])
    expect(inner[row + 2]).toEqual(inner[row])
  }
  expect(inner.every((row) => row[2] && row.at(-3))).toBe(true)
})

test('a picture shows fields, code, and back in a frame of constant width', async () => {
  const picture = await drawCard(card, plain)
  for (const text of ['Grand Fair', 'SEAT', '12A', 'Ada Lovelace', 'DAY', '2027-05-31', '▄▄▄▄▄', 'T-1']) {
    expect(picture).toContain(text)
  }
  expect(picture).toMatch(/^Terms +Be \uFFFD\[2Jkind\nHelp +https:\/\/fair\.example\nExpires +2027-06-01/m)
  const frame = picture.split('\n').filter((line) => /^[╭│╰]/.test(line))
  expect(frame.length).toBeGreaterThan(20)
  expect(new Set(frame.map(textWidth)).size).toBe(1)
})

test('uses the colors of the card if the terminal supports them, else the nearest of 256, else none', async () => {
  expect(await drawCard(card, plain)).not.toContain('\u001B')
  const [deep, shallow] = await Promise.all([
    drawCard(card, { width: 80, colorDepth: 24 }),
    drawCard(card, { width: 80, colorDepth: 8 }),
  ])
  expect(deep).toContain('\u001B[48;2;27;29;77m')
  expect(deep).toContain('\u001B[38;2;255;193;94m')
  expect(shallow).toContain('\u001B[48;5;60m')
  expect(shallow).not.toContain('8;2;')
  // The code is black on white, regardless of the colors of the card.
  expect(deep).toContain('\u001B[48;2;0;0;0m\u001B[38;2;255;255;255m█')
  for (const line of deep.split('\n').filter((text) => text.includes('\u001B'))) {
    expect(textWidth(stripVTControlCharacters(line))).toBe(52)
    expect(line.endsWith('\u001B[0m')).toBe(true)
  }
})

test('a picture fits its terminal; a code that does not fit is described in words', async () => {
  const picture = await drawCard({ ...card, barcode: { ...card.barcode, format: 'pdf417' } }, { ...plain, width: 40 })
  const frame = picture.split('\n').filter((line) => /^[╭│╰]/.test(line))
  expect(Math.max(...frame.map(textWidth))).toBe(40)
  expect(frame.join('\n')).toContain('PDF417: ')
})

test.each([
  ['code39', 'LONG'.repeat(9), 'Code 39: LONGLONG'],
  ['ean13', '4006381333932', 'EAN-13: 4006381333932'],
  ['qr', 'x '.repeat(501), 'QR code: x x'],
] as const)('describes %s that cannot be drawn in words', async (format, message, words) => {
  const drawn = await drawCard({ ...card, barcode: { format, message, altText: null } }, { ...plain, width: 80 })
  expect(drawn).toContain(words)
})

test.each([
  ['ean13', '4006381333931'],
  ['code39', 'ABC-1'],
  ['code39', '+A %B'],
  ['codabar', '123456'],
  ['itf', '123456'],
  ['code128', 'T-1'],
] as const)('a scanner reads %s from a picture', async (format, message) => {
  const picture = await drawCard({ ...card, barcode: { format, message, altText: null } }, { ...plain, width: 80 })
  const lines = picture.split('\n').filter((line) => /[▌▐]/.test(line))
  expect(new Set(lines.map((line) => line.replaceAll('│', '').trim()))).toHaveProperty('size', 1)
  const modules = [...lines[0]!.replaceAll('│', '').trim()].flatMap(
    (half) => ({ ' ': [0, 0], '▌': [255, 0], '▐': [0, 255] })[half] ?? [255, 255],
  )
  const raw = { width: modules.length, height: 1, channels: 1 } as const
  const png = sharp(Buffer.from(modules), { raw })
    .resize(modules.length * 3, 90, { kernel: 'nearest', fit: 'fill' })
    .png()
  expect(await readPicture(await png.toBuffer())).toBe(format === 'codabar' ? 'A123456A' : message)
})

test("the iPhone card shows its fields in Apple's order; the Android card shows all as defined", async () => {
  const field = (key: string) => ({ key, label: '', value: key })
  const fields = {
    ...card.fields,
    primary: [field('from'), field('to'), field('via')],
    secondary: [field('second')],
    auxiliary: [field('aux')],
  }
  const flight: CardJson = { ...card, passType: 'boardingPass', fields }
  const iphone = await drawCard(flight, plain)
  expect(iphone).not.toContain('via')
  expect(iphone.indexOf('aux')).toBeLessThan(iphone.indexOf('second'))
  expect(await drawCard(flight, { ...plain, marksSurplus: true })).toMatch(/Not shown on an iPhone:[\s\S]*via/)
  expect(await drawCard(flight, { ...plain, platform: 'google' })).toMatch(/via[\s\S]*second[\s\S]*aux/)
})
