import { barcodeFormats } from '../../barcode-formats.ts'
import type { FieldGroup, PassType } from '../../contract/schemas/definition.ts'
import type { Card, CardField } from './card.ts'

/**
 * The layout of the front of a pass on an iPhone, according to Apple's guide. The preview and the warnings use this
 * layout. Lengths are in points.
 */

/** The width of the content of a card on the narrowest iPhones with Wallet. */
export const CONTENT_WIDTH = 320
/** The gap between the fields of a row, and between an image and the text next to it. */
export const GAP = 16
export const LABEL_SIZE = 11
export const VALUE_SIZE = 17
export const LOGO = { width: 160, height: 40 } as const
/** The width and height of the thumbnail. */
export const THUMBNAIL = 90
/** The maximum share that the header fields take of the first line. */
export const HEADER_SHARE = 0.6
/** The width of the transit icon between origin and destination, including the gaps on both sides. */
export const SIGN_WIDTH = 64

export const primarySizes: Record<PassType, number> = {
  generic: 28,
  eventTicket: 28,
  storeCard: 40,
  coupon: 40,
  boardingPass: 36,
}

/** The scales of primary values. The first scale that fits applies. Text that is too long at the last scale is cut. */
export const scales = [1, 0.9, 0.8, 0.7, 0.6, 0.5] as const

type FrontGroup = Exclude<FieldGroup, 'back'>

/** Lengths are in points. */
export interface FrontField extends CardField {
  group: FrontGroup
  /** The width that the field needs: that of its label or value, whichever is wider, at the scale of the row. */
  width: number
  /** The maximum width of the field in its row. Wider text is cut. */
  room: number
}

/** The fields begin at the leading edge. */
export interface FrontRow {
  name: FrontGroup
  fields: FrontField[]
  /** The fields beyond `max`, which phones do not show. */
  surplus: FrontField[]
  max: number
  /** The scale of the values in the row; 1 is their usual size. */
  scale: number
}

export type FrontContent = Pick<Card, 'passType' | 'images' | 'fields' | 'barcode'>

/** Returns the rows of the front, from top to bottom. Omits empty fields, as wallets do. */
export function layOutFront(card: FrontContent): FrontRow[] {
  const { passType, images } = card
  const isBoarding = passType === 'boardingPass'
  const occupied = isBoarding ? SIGN_WIDTH : images.thumbnail === undefined ? 0 : THUMBNAIL + GAP
  const header = toRow(card, ['header'], 3, { room: CONTENT_WIDTH * HEADER_SHARE })
  const primary = toRow(card, ['primary'], isBoarding ? 2 : 1, {
    room: CONTENT_WIDTH - occupied,
    size: primarySizes[passType],
    canShrink: true,
  })
  if (passType === 'coupon' || passType === 'storeCard') {
    return [header, primary, toRow(card, ['secondary', 'auxiliary'], MAX_TOGETHER)]
  }
  const secondary = toRow(card, ['secondary'], MAX_TOGETHER)
  if (isBoarding) return [header, primary, toRow(card, ['auxiliary'], 5), secondary]
  const left = hasSquareCode(card) && passType === 'generic' ? MAX_TOGETHER - secondary.fields.length : MAX_TOGETHER
  return [header, primary, secondary, toRow(card, ['auxiliary'], left)]
}

/** The maximum number of secondary and auxiliary fields together, if they share a row or are above a square barcode. */
const MAX_TOGETHER = 4

/** Returns the width in the first line for the text next to a logo of this ratio (width divided by height). */
export function roomForLogoText(card: Card, header: FrontRow, logoRatio = SOME_RATIO): number {
  const taken = header.fields.reduce((sum, { width, room }) => sum + Math.min(width, room) + GAP, 0)
  const brand = CONTENT_WIDTH - taken
  const logo = Math.min(LOGO.width, LOGO.height * logoRatio, brand / 2)
  return card.images.logo === undefined ? brand : brand - logo - GAP / 2
}

/** The assumed ratio (width divided by height) of an unknown logo. */
const SOME_RATIO = 2

export function logoTextWidth(text: string): number {
  return estimateWidth(text.trim()) * VALUE_SIZE * SEMIBOLD
}

const SEMIBOLD = 1.05

interface RowOptions {
  room?: number
  size?: number
  canShrink?: boolean
}

function toRow(card: FrontContent, groups: FrontGroup[], max: number, options: RowOptions = {}): FrontRow {
  const { room = CONTENT_WIDTH, size = VALUE_SIZE, canShrink = false } = options
  const all = groups.flatMap((group) => card.fields[group].filter(saysSomething).map((field) => ({ ...field, group })))
  const shown = all.slice(0, max)
  const space = Math.max(0, room - GAP * (shown.length - 1))
  const widthsAt = (scale: number) =>
    shown.map(({ label, value }) =>
      Math.max(estimateWidth(label) * LABEL_SIZE * SEMIBOLD, estimateWidth(value) * size * scale),
    )
  const fits = (scale: number) => sum(widthsAt(scale)) <= space
  const scale = canShrink ? (scales.find(fits) ?? scales.at(-1)!) : 1
  const widths = widthsAt(scale)
  const share = largestShare(widths, space)
  return {
    name: groups[0]!,
    fields: shown.map((field, index) => ({ ...field, width: widths[index]!, room: share })),
    surplus: all.slice(max).map((field) => ({ ...field, width: 0, room: 0 })),
    max,
    scale,
  }
}

export function saysSomething({ label, value }: Pick<CardField, 'label' | 'value'>): boolean {
  return `${label}${value}`.trim() !== ''
}

function hasSquareCode({ barcode: { format, message } }: FrontContent): boolean {
  return message !== '' && barcodeFormats[format].shape === 'square'
}

/**
 * Returns the maximum width of a field in a row. Narrower fields take the width that they need, and the other fields
 * share the remaining width equally.
 */
function largestShare(widths: number[], space: number): number {
  let left = space
  const ascending = widths.toSorted((a, b) => a - b)
  for (const [index, width] of ascending.entries()) {
    const share = left / (ascending.length - index)
    if (width > share) return share
    left -= width
  }
  return space
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/**
 * Estimates the width of a text in the sans-serif font of a phone, in units of the font size, from the average widths
 * of letters. For a word, the estimate is within a few percent, which is enough to warn about cut text.
 */
export function estimateWidth(text: string): number {
  let width = 0
  for (const char of text) width += widthOf(char)
  return width
}

const FULL_WIDTH =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Extended_Pictographic}\u3000-\u303f\uff01-\uff60]/u
const NOTHING = /[\p{M}\p{Cf}\p{Cc}]/u
const LETTER_CLASSES: readonly (readonly [pattern: RegExp, width: number])[] = [
  [/[\s.,:;'’!|iIjlftr()[\]-]/u, 0.32],
  [/[mwMW@%—]/u, 0.88],
  [/\p{Lu}/u, 0.68],
  [/\p{Nd}/u, 0.62],
]
const USUAL = 0.56

function widthOf(char: string): number {
  // Without the lower bound, digits and signs such as © would be wide: they are Extended_Pictographic, but narrow.
  if (char > '\u2000' && FULL_WIDTH.test(char)) return 1
  if (char !== '\n' && NOTHING.test(char)) return 0
  return LETTER_CLASSES.find(([pattern]) => pattern.test(char))?.[1] ?? USUAL
}
