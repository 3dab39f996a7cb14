import type { Card } from '../../core/rules/display/card.ts'
import { details } from '../command/output.ts'
import { blankLine, centredLine, fieldLines, type Line, textLine } from './layout.ts'
import { type ColorDepth, paint } from './paint.ts'
import { halfBlocks, symbolModules } from './symbol.ts'

/** A card as the interface shows it: JSON has no dates. */
export type CardJson = Omit<Card, 'expiresAt'> & { expiresAt: string | null }

export interface PictureOptions {
  /** Columns of the terminal; undefined where nothing limits them. */
  width: number | undefined
  colorDepth: ColorDepth
}

const USUAL_WIDTH = 48
/** What stands left and right of the inside of a card. */
const MARGINS = 4

/** A card drawn in characters: its front with the code to scan, and under it what stands on its back. */
export async function drawCard(card: CardJson, { width, colorDepth }: PictureOptions): Promise<string> {
  const room = (width ?? Number.POSITIVE_INFINITY) - MARGINS
  const symbol = await symbolOf(card, room)
  const inside = Math.max(Math.min(USUAL_WIDTH, room), symbol.width)
  const { header, primary, secondary, auxiliary } = card.fields
  const name = { key: '', label: '', value: card.logoText?.trim() || card.organizationName }
  const lines: Line[] = [
    blankLine(inside),
    ...fieldLines([name, ...header], inside),
    ...fieldLines(primary, inside, 'strong'),
    ...fieldLines(secondary, inside),
    ...fieldLines(auxiliary, inside),
    ...symbol.lines.map((line) => centredLine(line, inside, 'symbol')),
    ...symbol.caption.flatMap((text) => textLine(text, inside, 'value')),
    blankLine(inside),
  ]
  const back = backOf(card)
  return [...paint(lines, card.colors, colorDepth), ...(back ? ['', back] : [])].join('\n')
}

const names = { qr: 'QR code', pdf417: 'PDF417', aztec: 'Aztec code', code128: 'Code 128' }

/** The code where it can be drawn and has room, otherwise what it says. */
async function symbolOf({ barcode: { format, message, altText } }: CardJson, room: number) {
  const modules = await symbolModules(format, message)
  const width = modules?.[0]?.length ?? 0
  if (modules && width <= room) {
    return { width, lines: halfBlocks(modules), caption: altText ? [altText] : [] }
  }
  const why = modules ? ` (drawn where the terminal has ${width + MARGINS} columns)` : ''
  return { width: 0, lines: [], caption: [`${names[format]}: ${message}${why}`, ...(altText ? [altText] : [])] }
}

function backOf({ fields, links, expiresAt }: CardJson): string {
  const entries = [
    ...fields.back.map(({ label, value }) => [label, value] as const),
    ...links.map(({ label, url }) => [label, url] as const),
    ...(expiresAt ? [['Expires', expiresAt] as const] : []),
  ]
  return entries.length > 0 ? details(entries) : ''
}
