import { type BarcodeFormat, barcodeFormats, drawnAs } from '../core/barcode-formats.ts'
import type { Platform } from '../core/contract/schemas/platform.ts'
import { layOutFront } from '../core/rules/display/apple-front.ts'
import type { Card, CardField } from '../core/rules/display/card.ts'
import { cardColors, channels } from '../core/rules/display/colors.ts'
import { details, pad, printable, textWidth, wrapText } from './command/output.ts'

/** A card as the API returns it: dates are ISO 8601 strings. */
export type CardJson = Omit<Card, 'expiresAt'> & { expiresAt: string | null }

export interface PictureOptions {
  /** The width of the terminal; `undefined` for no limit. */
  width: number | undefined
  colorDepth: ColorDepth
  /** The platform for which the front is drawn. An iPhone moves and omits fields; Android shows the card as given. */
  platform?: Platform
  /** Whether the card is a poster. An iPhone draws the fields of a poster as given. */
  isPoster?: boolean
  /** Whether fields that an iPhone omits are drawn below a heading. By default, these fields are not drawn. */
  marksSurplus?: boolean
}

const USUAL_WIDTH = 48
const MARGINS = 4

/** Draws a card in characters: its front with the code, and below it the fields of its back. */
export async function drawCard(card: CardJson, options: PictureOptions): Promise<string> {
  const { width, colorDepth, platform = 'apple', isPoster = false, marksSurplus = false } = options
  const room = (width ?? Number.POSITIVE_INFINITY) - MARGINS
  const symbol = await symbolOf(card, room)
  const inside = Math.max(Math.min(USUAL_WIDTH, room), symbol.width)
  const { header, primary, rows, surplus } = platform === 'apple' && !isPoster ? iphoneFront(card) : givenFront(card)
  const name = { key: '', label: '', value: card.logoText?.trim() || card.organizationName }
  const lines: Line[] = [
    blankLine(inside),
    ...fieldLines([name, ...header], inside),
    ...fieldLines(primary, inside, 'strong'),
    ...rows.flatMap((fields) => fieldLines(fields, inside)),
    ...(marksSurplus && surplus.length > 0
      ? [...textLine('Not shown on an iPhone:', inside, 'label'), ...fieldLines(surplus, inside, 'label')]
      : []),
    ...symbol.lines.map((line) => centredLine(line, inside, 'symbol')),
    ...symbol.caption.flatMap((text) => textLine(text, inside, 'value')),
    blankLine(inside),
  ]
  const back = backOf(card)
  const front = paint(lines, { colors: card.colors, depth: colorDepth, width: inside })
  return [...front, ...(back ? ['', back] : [])].join('\n')
}

interface Front {
  header: readonly CardField[]
  primary: readonly CardField[]
  rows: (readonly CardField[])[]
  surplus: readonly CardField[]
}

function iphoneFront(card: CardJson): Front {
  const all = layOutFront(card)
  const [header = [], primary = [], ...rows] = all.map(({ fields }) => fields)
  return { header, primary, rows, surplus: all.flatMap(({ surplus }) => surplus) }
}

function givenFront({ fields: { header, primary, secondary, auxiliary } }: CardJson): Front {
  return { header, primary, rows: [secondary, auxiliary], surplus: [] }
}

/** Draws the barcode. If it cannot be drawn or is wider than `room`, returns its text instead. */
async function symbolOf({ barcode: { format, message, altText } }: CardJson, room: number) {
  const lines = await symbolLines(format, message)
  const width = lines?.[0]?.length ?? 0
  if (lines && width <= room) return { width, lines, caption: altText ? [altText] : [] }
  const why = lines ? ` (drawn if the terminal has ${width + MARGINS} columns)` : ''
  return {
    width: 0,
    lines: [],
    caption: [`${barcodeFormats[format].name}: ${message}${why}`, ...(altText ? [altText] : [])],
  }
}

function backOf({ fields, links, expiresAt }: CardJson): string {
  const entries = [
    ...fields.back.map(({ label, value }) => [label, value] as const),
    ...links.map(({ label, url }) => [label, url] as const),
    ...(expiresAt ? [['Expires', expiresAt] as const] : []),
  ]
  return entries.length > 0 ? details(entries) : ''
}

/**
 * Draws a QR code, always black on white if there are colors. Returns `undefined` if a QR code cannot hold the message,
 * or if the code is wider than the terminal.
 */
export async function drawQr(
  message: string,
  { width, colorDepth: depth }: Pick<PictureOptions, 'width' | 'colorDepth'>,
): Promise<string | undefined> {
  const modules = await symbolModules('qr', message)
  if (!modules || modules.length > (width ?? Number.POSITIVE_INFINITY)) return undefined
  const lines = halfBlocks(modules)
  if (depth === 1) return lines.join('\n')
  const style = symbolStyle(depth)
  return lines.map((line) => `${style}${line}${RESET}`).join('\n')
}

/** Returns the style of a code: always black on white, as cameras require. */
function symbolStyle(depth: ColorDepth): string {
  return `${back('#000000', depth)}${front('#ffffff', depth)}`
}

/** The color depth of a terminal, in bits; with 1, nothing is colored. */
export type ColorDepth = 1 | 8 | 24

function paint(
  lines: readonly Line[],
  { colors, depth, width }: { colors: Card['colors']; depth: ColorDepth; width: number },
): string[] {
  if (depth === 1) return frame(lines, width)
  const { background, foreground, label } = cardColors(colors)
  const styles: Record<Style, string> = {
    label: `${back(background, depth)}${front(label, depth)}`,
    value: `${back(background, depth)}${front(foreground, depth)}`,
    strong: `${back(background, depth)}${front(foreground, depth)}\u001B[1m`,
    symbol: symbolStyle(depth),
  }
  const margin = `${styles.value}  `
  return lines.map((line) => {
    const text = line.map((piece) => `${RESET}${styles[piece.style]}${piece.text}`).join('')
    return `${margin}${text}${RESET}${margin}${RESET}`
  })
}

const RESET = '\u001B[0m'

function frame(lines: readonly Line[], width: number): string[] {
  const texts = lines.map((line) => line.map(({ text }) => text).join(''))
  const edge = '─'.repeat(width + 2)
  return [`╭${edge}╮`, ...texts.map((text) => `│ ${text} │`), `╰${edge}╯`]
}

function front(color: string, depth: ColorDepth): string {
  return `\u001B[38;${code(color, depth)}m`
}

function back(color: string, depth: ColorDepth): string {
  return `\u001B[48;${code(color, depth)}m`
}

/**
 * Returns the escape code of a color. If the terminal does not have 24-bit colors, uses the nearest color in the 6x6x6
 * cube of its 256 colors.
 */
function code(color: string, depth: ColorDepth): string {
  if (depth === 24) return `2;${channels(color).join(';')}`
  const [r = 0, g = 0, b = 0] = channels(color).map((channel) => Math.round((channel / 255) * 5))
  return `5;${16 + 36 * r + 6 * g + b}`
}

/** The modules (squares) of a two-dimensional code, row by row: `true` is dark. */
export type Modules = boolean[][]

/** The maximum length of an encoded message. Longer messages take long to encode, and their codes fit no terminal. */
const MAX_LENGTH = 1000

async function symbolLines(format: BarcodeFormat, message: string): Promise<string[] | undefined> {
  if (barcodeFormats[format].shape === 'linear') return linearLines(format, message)
  const modules = await symbolModules(format, message)
  return modules && halfBlocks(modules)
}

/** Returns a two-dimensional code with its quiet zone; `undefined` for a message that the format cannot hold. */
export async function symbolModules(format: BarcodeFormat, message: string): Promise<Modules | undefined> {
  const symbol = await encode(format, message)
  return symbol && 'pixs' in symbol ? framed(symbol, barcodeFormats[format].quietZone) : undefined
}

async function encode(format: BarcodeFormat, message: string) {
  if (message === '' || message.length > MAX_LENGTH) return undefined
  // Use the default export: the named export `raw` draws a barcode of the type "raw" instead.
  const { default: library } = await import('bwip-js/node')
  try {
    return library.raw(drawnAs(format, message))[0]
  } catch (error) {
    // Return nothing if the format cannot hold the message. The library's error then starts with the name of the failed
    // check: `bwipp.qrcodeTooLong#1234`.
    if (error instanceof Error && /^bwipp\.|^bwip-js/.test(error.message)) return undefined
    throw error
  }
}

/** The height of a linear code, in lines: tall enough that a scanner held at an angle crosses all bars. */
const LINEAR_HEIGHT = 5

/** Draws a linear code. Each character shows two modules: one in its left half and one in its right half. */
async function linearLines(format: BarcodeFormat, message: string): Promise<string[] | undefined> {
  const symbol = await encode(format, message)
  if (!symbol || !('sbs' in symbol)) return undefined
  const quietZone = Array.from({ length: barcodeFormats[format].quietZone }, () => false)
  const bars = symbol.sbs.flatMap((width, index) => Array.from({ length: width }, () => index % 2 === 0))
  const modules = [...quietZone, ...bars, ...quietZone]
  let line = ''
  for (let x = 0; x < modules.length; x += 2) line += halves[(modules[x] ? 0 : 1) + (modules[x + 1] ? 0 : 2)]
  return Array.from({ length: LINEAR_HEIGHT }, () => line)
}

/**
 * The characters for two modules side by side, in this order: neither is light (the foreground color), only the left
 * one is, only the right one is, both are.
 */
const halves = [' ', '▌', '▐', '█']

/**
 * Draws two modules per character, one above the other. Light modules have the foreground color, and dark modules the
 * background color.
 */
export function halfBlocks(modules: Modules): string[] {
  const lines: string[] = []
  for (let y = 0; y < modules.length; y += 2) {
    const upper = modules[y]!
    const lower = modules[y + 1] ?? upper.map(() => false)
    lines.push(upper.map((isDark, x) => blocks[(isDark ? 0 : 1) + (lower[x] ? 0 : 2)]).join(''))
  }
  return lines
}

const blocks = [' ', '▀', '▄', '█']

function framed({ pixs, pixx, pixy }: { pixs: number[]; pixx: number; pixy: number }, quietZone: number): Modules {
  // The height of a row, in modules. The library returns each row once, but a row of PDF417 is several modules tall.
  const tall = (pixx * pixy) / pixs.length
  return Array.from({ length: pixy + 2 * quietZone }, (_, row) =>
    Array.from({ length: pixx + 2 * quietZone }, (__, column) => {
      const [x, y] = [column - quietZone, Math.floor((row - quietZone) / tall)]
      return x >= 0 && x < pixx && y >= 0 && pixs[y * pixx + x] === 1
    }),
  )
}

type Style = 'label' | 'value' | 'strong' | 'symbol'

/** A line of the card, as styled parts that together fill the inner width. */
type Line = { text: string; style: Style }[]

const GAP = 2
const NARROWEST_COLUMN = 12

function fieldLines(fields: readonly CardField[], width: number, value: Style = 'value'): Line[] {
  const shown = fields.filter((field) => `${field.label}${field.value}`.trim() !== '')
  const perRow = Math.max(1, Math.floor((width + GAP) / (NARROWEST_COLUMN + GAP)))
  const lines: Line[] = []
  for (let at = 0; at < shown.length; at += perRow) lines.push(...rowLines(shown.slice(at, at + perRow), width, value))
  return lines.length > 0 ? [...lines, blankLine(width)] : []
}

function textLine(text: string, width: number, style: Style): Line[] {
  return wrapText(printable(text), width).map((line) => [{ text: pad(line, width), style }])
}

function centredLine(text: string, width: number, style: Style): Line {
  const before = Math.max(0, Math.floor((width - textWidth(text)) / 2))
  const after = Math.max(0, width - textWidth(text) - before)
  return [
    { text: ' '.repeat(before), style: 'value' },
    { text, style },
    { text: ' '.repeat(after), style: 'value' },
  ]
}

function blankLine(width: number): Line {
  return [{ text: ' '.repeat(width), style: 'value' }]
}

function rowLines(fields: readonly CardField[], width: number, value: Style): Line[] {
  const column = Math.floor((width - GAP * (fields.length - 1)) / fields.length)
  const cells = fields.map((field) => [
    ...wrapText(printable(field.label), column).map((text) => ({ text, style: 'label' as Style })),
    ...wrapText(printable(field.value), column).map((text) => ({ text, style: value })),
  ])
  const height = Math.max(...cells.map((cell) => cell.length))
  return Array.from({ length: height }, (_, row) =>
    cells.map((cell, index) => {
      const { text, style } = cell[row] ?? { text: '', style: value }
      // Give the rest of the width to the last column. Otherwise, rounding would leave the line too short.
      const isLast = index === cells.length - 1
      const room = isLast ? width - index * (column + GAP) : column + GAP
      return { text: pad(text, room), style }
    }),
  )
}
