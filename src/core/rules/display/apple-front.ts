import type { FieldGroup, PassType } from '../../contract/definition.ts'
import type { Card, CardField } from './card.ts'

/**
 * The front of a pass as an iPhone lays it out, by Apple's guide: what the preview draws by, and warnings are made of.
 * Lengths are points.
 */

/** The inside of a card on the narrowest phones that have Wallet. */
export const CONTENT_WIDTH = 320
/** Between the fields of a row, and between a picture and what stands beside it. */
export const GAP = 16
/** Of the labels of fields. */
export const LABEL_SIZE = 11
/** Of the values in small. */
export const VALUE_SIZE = 17
/** The room of the logo. */
export const LOGO = { width: 160, height: 40 } as const
/** The side of the thumbnail. */
export const THUMBNAIL = 90
/** What the fields of the header may take of the first line. */
export const HEADER_SHARE = 0.6
/** Of the sign between origin and destination, with the gaps around it. */
export const SIGN_WIDTH = 64

/** Of the values in large. */
export const primarySizes: Record<PassType, number> = {
  generic: 28,
  eventTicket: 28,
  storeCard: 40,
  coupon: 40,
  boardingPass: 36,
}

/** How far values in large are shrunk to fit, in steps; longer ones are cut. */
export const scales = [1, 0.9, 0.8, 0.7, 0.6, 0.5] as const

type FrontGroup = Exclude<FieldGroup, 'back'>

/** A field with its place on the front; lengths are points. */
export interface FrontField extends CardField {
  group: FrontGroup
  /** What the wider of its label and its value needs, at the scale of the row. */
  width: number
  /** What the row leaves it: a text that is wider is cut. */
  room: number
}

/** A row of the front, from the leading edge; see layOutFront. */
export interface FrontRow {
  name: FrontGroup
  fields: FrontField[]
  /** Fields that the style has no place for: no phone shows them. */
  surplus: FrontField[]
  /** How many fields the row takes at most. */
  max: number
  /** How large its values are, in shares of their usual size. */
  scale: number
}

/** What the front is laid out by. */
export type FrontContent = Pick<Card, 'passType' | 'images' | 'fields' | 'barcode'>

/** The rows of the front, from the top. Fields that say nothing are left out, as wallets do. */
export function layOutFront(card: FrontContent): FrontRow[] {
  const { passType, images } = card
  const isBoarding = passType === 'boardingPass'
  const beside = isBoarding ? SIGN_WIDTH : images.thumbnail === undefined ? 0 : THUMBNAIL + GAP
  const header = toRow(card, ['header'], 3, { room: CONTENT_WIDTH * HEADER_SHARE })
  const primary = toRow(card, ['primary'], isBoarding ? 2 : 1, {
    room: CONTENT_WIDTH - beside,
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

/** Of secondary and auxiliary fields where they share a row, and on a generic pass whose square code takes the room. */
const MAX_TOGETHER = 4

/** What is left of the first line for the text beside the logo; the ratio is that of the logo's width to its height. */
export function roomForLogoText(card: Card, header: FrontRow, logoRatio = SOME_RATIO): number {
  const taken = header.fields.reduce((sum, { width, room }) => sum + Math.min(width, room) + GAP, 0)
  const brand = CONTENT_WIDTH - taken
  const logo = Math.min(LOGO.width, LOGO.height * logoRatio, brand / 2)
  return card.images.logo === undefined ? brand : brand - logo - GAP / 2
}

/** The shape of a logo of which nothing is known. */
const SOME_RATIO = 2

/** The width of the text beside the logo. */
export function logoTextWidth(text: string): number {
  return estimateWidth(text.trim()) * VALUE_SIZE * SEMIBOLD
}

/** Letters in a heavier weight are wider. */
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

/** True of a field that shows anything. */
export function saysSomething({ label, value }: Pick<CardField, 'label' | 'value'>): boolean {
  return `${label}${value}`.trim() !== ''
}

function hasSquareCode({ barcode: { format, message } }: FrontContent): boolean {
  return message !== '' && (format === 'qr' || format === 'aztec')
}

/** The most that one of a row may take: each takes what it needs up to that, and what it leaves goes to the others. */
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
 * About how wide a text is in the sans serif of a phone, in units of its font size. The widths of letters are rounded means
 * of such fonts: good to some per cent for a word, which is enough to say that a text will be cut.
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
  // Digits and signs such as © are pictographs by name alone.
  if (char > '\u2000' && FULL_WIDTH.test(char)) return 1
  if (char !== '\n' && NOTHING.test(char)) return 0
  return LETTER_CLASSES.find(([pattern]) => pattern.test(char))?.[1] ?? USUAL
}
