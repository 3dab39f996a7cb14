import { createRequire } from 'node:module'
import sharp from 'sharp'
import { expect, test, vi } from 'vitest'
import { type BarcodeFormat, barcodeFormatNames, drawnAs } from '../../../../src/core/barcode-formats.ts'
import { barcodeHtml } from '../../../../src/server/pages/card/card.ts'
import { barcodeSvg, drawAhead } from '../../../../src/server/pages/card/symbols.ts'
import { readPicture } from '../../../support/read-picture.ts'

/** Two valid messages for each format. */
const messagesOf = (format: BarcodeFormat): [string, string] =>
  format === 'ean13'
    ? ['4006381333931', '0012345678905']
    : format === 'codabar' || format === 'itf'
      ? ['270016', '270017']
      : ['PG27-00016', 'PG27-00017']

test.each(barcodeFormatNames)('draws %s as an image with an accessible name', async (format) => {
  const [message] = messagesOf(format)
  const html = barcodeHtml({ format, message, altText: 'No. 16' })
  expect(html).toMatch(/role="img" aria-label="[\w -]+"><svg /)
  expect(html).toContain('<figcaption dir="auto">No. 16</figcaption>')
  expect(html).not.toMatch(/style=|<script|<style/)
  const { width, height } = await sharp(Buffer.from(barcodeSvg(format, message)!)).metadata()
  expect(Math.min(width!, height!)).toBeGreaterThan(20)
})

test.each(barcodeFormatNames)('%s draws a message the same each time, and another message differently', (format) => {
  const [one, other] = messagesOf(format)
  expect(barcodeSvg(format, one)).toBe(barcodeSvg(format, one))
  expect(barcodeSvg(format, one)).not.toBe(barcodeSvg(format, other))
})

test.each(['code128', 'ean13', 'code39', 'codabar', 'itf'] as const)(
  'a scanner reads %s on a dark card',
  async (format) => {
    const [message] = messagesOf(format)
    const size = { width: 900, height: 240, fit: 'fill' } as const
    const symbol = await sharp(Buffer.from(barcodeSvg(format, message)!), { density: 300 })
      .flatten({ background: '#ffffff' })
      .resize(size)
      .toBuffer()
    const screen = await sharp(symbol)
      .extend({ top: 40, bottom: 40, left: 40, right: 40, background: '#102030' })
      .toBuffer()
    expect(await readPicture(screen)).toBe(drawnAs(format, message).text)
  },
)

test('draws a symbol once, and tries a message that the format cannot encode once', () => {
  const toSVG = vi.spyOn(createRequire(import.meta.url)('bwip-js/node'), 'toSVG')
  for (const message of ['drawn once', '日本語 once']) {
    for (let n = 0; n < 3; n += 1) barcodeSvg('code128', message)
  }
  expect(toSVG).toHaveBeenCalledTimes(2)
  toSVG.mockRestore()
})

test('the drawing thread gives the same symbols as the event loop, and none for invalid messages', async () => {
  const resources = process.getActiveResourcesInfo()
  const library = createRequire(import.meta.url)('bwip-js/node')
  const toSVG = vi.spyOn(library, 'toSVG')
  const symbols = barcodeFormatNames.map((format) => ({
    format,
    message: messagesOf(format)[0].startsWith('PG')
      ? format === 'code39'
        ? 'X'.repeat(80)
        : 'x'.repeat(110)
      : messagesOf(format)[0],
  }))
  await Promise.all([drawAhead([...symbols, { format: 'code128', message: 'x'.repeat(600) }]), drawAhead(symbols)])
  const shown = symbols.map(({ format, message }) => barcodeSvg(format, message))
  expect(toSVG).not.toHaveBeenCalled()
  toSVG.mockRestore()
  expect(barcodeSvg('code128', 'x'.repeat(600))).toBeUndefined()
  const drawn = symbols.map(({ format, message }) => library.toSVG(drawnAs(format, message)).trim())
  expect(shown.map((svg) => svg?.replace(' preserveAspectRatio="none"', ''))).toEqual(drawn)
  // An idle thread does not keep the process alive.
  const ports = (names: string[]) => names.filter((name) => name === 'MessagePort').length
  expect(ports(process.getActiveResourcesInfo())).toBe(ports(resources))
})

test('draws a short code before long ones that already wait', async () => {
  const order: string[] = []
  const draw = (name: string, message: string) => drawAhead([{ format: 'qr', message }]).then(() => order.push(name))
  const long = Array.from({ length: 3 }, (_, n) => draw(`long ${n}`, `${n}`.repeat(900)))
  await Promise.all([...long, draw('short', 'short')])
  expect(order).toEqual(['long 0', 'short', 'long 1', 'long 2'])
})

test.each([
  { format: 'code128', message: '日本語', why: 'a script that it cannot encode' },
  { format: 'code128', message: 'x'.repeat(600), why: 'more than it holds' },
  { format: 'aztec', message: '語'.repeat(900), why: 'more than it holds' },
  { format: 'qr', message: 'x'.repeat(1001), why: 'more characters than a camera can read' },
  { format: 'qr', message: '語'.repeat(334), why: 'more bytes than a camera can read' },
] as const)('shows a message that $format cannot draw as text: $why', ({ format, message }) => {
  const html = barcodeHtml({ format, message, altText: null })
  expect(html).not.toContain('<svg')
  expect(html).toContain(`>${message}</figcaption>`)
})

test('escapes a message shown as text', () => {
  const html = barcodeHtml({ format: 'code128', message: '<b>日本語</b>', altText: null })
  expect(html).toContain('&#60;b&#62;日本語')
})

test.each(barcodeFormatNames)('shows messages in any script as %s or as text', (format) => {
  for (const message of ['Café Zoë', 'ÿ', '日本語', '🎟️', '^ECI000026', '^FNC1', '\u0000\u001f', ' ']) {
    expect(barcodeHtml({ format, message, altText: null }), message).toMatch(/<svg|<figcaption/)
  }
})

test('an empty message shows no barcode', () => {
  expect(barcodeHtml({ format: 'qr', message: '', altText: 'No. 16' })).toBe('')
})
