import type { Definition, PassType } from '../../contract/schemas/definition.ts'
import type { Warning } from '../../contract/schemas/warnings.ts'
import { CONTENT_WIDTH, type FrontField, LABEL_SIZE, layOutFront, primarySizes } from '../display/apple-front.ts'
import type { Card } from '../display/card.ts'
import {
  cardColors,
  contrast,
  contrastOf,
  luminance,
  luminanceOver,
  MIN_CONTRAST,
  variantsOf,
} from '../display/colors.ts'
import { directionOfLanguage } from '../display/language-match.ts'
import { sampleImage } from '../template/image-choice.ts'
import { lonePlaceholder } from '../template/placeholder.ts'
import { type AppleFacts, quote, type StripPixels, warn } from './lint-facts.ts'
import { MOSAIC } from './mosaic.ts'

export function* lintColors({ definition, apple }: AppleFacts): Generator<Warning> {
  if (!apple) return
  const front = layOutFront(apple).flatMap(({ fields }) => fields)
  const isWritten = {
    foreground: apple.logoText !== null || front.some(({ value }) => value.trim() !== ''),
    label: front.some(({ label }) => label.trim() !== ''),
  }
  for (const { state, colors } of shownVariants(definition, apple, definition.design.colors)) {
    const { background, ...texts } = cardColors(colors)
    for (const role of ['foreground', 'label'] as const) {
      const ratio = contrast(texts[role], background)
      if (!isWritten[role] || ratio >= MIN_CONTRAST) continue
      yield warn(
        'contrast-low',
        isOverride(definition, role) ? ['apple', `${role}Color`] : ['design', 'colors', role],
        `${COLORED[role]} in ${texts[role]} on ${background} have a contrast of ${ratio.toFixed(2)}${state}, ` +
          `below the minimum of ${MIN_CONTRAST} for readable text: choose a ${role} or a background with more ` +
          'contrast',
      )
    }
  }
}

const COLORED = { foreground: 'Values', label: 'Labels' }

type ColorRole = keyof Card['colors']

interface Variant {
  /** A phrase that names the state in messages. Empty if there is only one state. */
  state: string
  colors: Card['colors']
  /** The image source of the strip in this state, if the strip is one of the choices. */
  strip: string | null
}

/** Returns the colors and the strip in each state of the choices. Overrides take precedence over the design. */
function shownVariants(
  definition: Definition,
  { colors: shown }: Card,
  choices: Parameters<typeof variantsOf<ColorRole | 'strip'>>[0],
): Variant[] {
  const variants = variantsOf(choices)
  return variants.map(({ keys, values }) => {
    const isShown = (role: ColorRole) => variants.length === 1 || isOverride(definition, role)
    const pick = (role: ColorRole) => (isShown(role) ? shown : values)[role] ?? null
    return {
      state: keys.length > 0 ? ` if the state is ${keys.join(', ')}` : '',
      colors: { background: pick('background'), foreground: pick('foreground'), label: pick('label') },
      strip: values.strip ?? null,
    }
  })
}

function isOverride({ apple }: Definition, role: ColorRole): boolean {
  return apple?.[`${role}Color`] !== undefined
}

/** The height of the strip at a width of 375 points, for each style with the primary field over the strip. */
const stripHeights: Partial<Record<PassType, number>> = { coupon: 144, storeCard: 144, eventTicket: 98 }

/** The maximum number of combinations of colors and a strip to check. Each check reads many cells of the strip. */
const MAX_PAIRS = 100

/** The minimum size of large text, in points. WCAG 2 requires less contrast for large text. */
const LARGE = 24
const MIN_CONTRAST_OF_LARGE = 3

/**
 * The share of the area behind a text that can have a lower contrast. A photo has light and dark spots, and a
 * word remains readable if a few letters are faint.
 */
const FAINT_SHARE = 0.25

/** Warns if the primary field cannot be read over the strip. */
export function* lintStrip({ definition, passType, apple, strips }: AppleFacts): Generator<Warning> {
  const height = stripHeights[passType]
  const row = apple && layOutFront(apple)[1]
  const field = row?.fields[0]
  if (!apple || !field || height === undefined) return
  const { colors, images } = definition.design
  const size = primarySizes[passType] * row.scale
  const texts = [
    ['foreground', field.value, size >= LARGE ? MIN_CONTRAST_OF_LARGE : MIN_CONTRAST],
    ['label', field.label, MIN_CONTRAST],
  ] as const
  const box = textBox(field, { size, height, isRtl: directionOfLanguage(apple.language ?? '') === 'rtl' })
  const checked = new Set<string>()
  for (const variant of shownVariants(definition, apple, { ...colors, strip: images.strip })) {
    const source = variant.strip ?? ''
    const strip = strips.get(sampleImage(source, definition) ?? '')
    const shown = cardColors(variant.colors)
    const pair = [variant.strip, ...Object.values(shown)].join()
    if (!strip || checked.has(pair)) continue
    if (checked.size === MAX_PAIRS) return
    checked.add(pair)
    const kind = lonePlaceholder(source) === undefined ? 'strip' : 'sample strip'
    const luminances = [...cellsIn(strip, height, box)].map((cell) => luminanceOver(cell, shown.background))
    for (const [role, text, min] of texts) {
      if (text.trim() === '') continue
      const own = luminance(shown[role])
      const ratios = luminances.map((behind) => contrastOf(own, behind)).sort((a, b) => a - b)
      const ratio = ratios[Math.floor(ratios.length * FAINT_SHARE)] ?? min
      if (ratio >= min) continue
      yield warn(
        'strip-contrast-low',
        ['design', 'images', 'strip'],
        `${quote(text)} in ${shown[role]} has a contrast of ${ratio.toFixed(2)} to the ${kind}${variant.state}, below the ` +
          `minimum of ${min} for ${min === MIN_CONTRAST ? 'readable' : 'large'} text: choose another ${role}, or a ` +
          'strip that is plain behind the text',
      )
    }
  }
}

/** A part of the visible area of a strip. The edges are shares of the width or height of this area. */
interface Box {
  left: number
  right: number
  top: number
  bottom: number
}

/** The space between the edge of the card and its content, in points. */
const MARGIN = 16
const CARD_WIDTH = CONTENT_WIDTH + 2 * MARGIN
const LINE_HEIGHT = 1.25

/** Returns the area of the primary field on the strip: at the leading edge, and vertically centered. */
function textBox(
  { width, room }: FrontField,
  { size, height, isRtl }: { size: number; height: number; isRtl: boolean },
): Box {
  const [start, end] = [MARGIN / CARD_WIDTH, (MARGIN + Math.min(width, room)) / CARD_WIDTH]
  const shown = (height / 375) * CARD_WIDTH
  const half = Math.min(1, ((size + LABEL_SIZE) * LINE_HEIGHT) / shown) / 2
  return { left: isRtl ? 1 - end : start, right: isRtl ? 1 - start : end, top: 0.5 - half, bottom: 0.5 + half }
}

/**
 * Yields the cells of a strip's mosaic (its average colors) that a box covers. The image is scaled until it covers its
 * frame, so its left and right edges, or its top and bottom edges, can be outside the frame.
 */
function* cellsIn({ width, height, mosaic }: StripPixels, frameHeight: number, box: Box): Generator<Uint8Array> {
  const ratio = width / height / (375 / frameHeight)
  const rows = indexes(box.top, box.bottom, Math.min(1, ratio), MOSAIC.rows)
  const columns = indexes(box.left, box.right, Math.min(1, 1 / ratio), MOSAIC.columns)
  for (const row of rows) {
    for (const column of columns) {
      const at = 4 * (row * MOSAIC.columns + column)
      yield mosaic.subarray(at, at + 4)
    }
  }
}

/**
 * Returns the indexes of the cells between `from` and `to` in a row or column. Both are shares of the visible part,
 * which is in the middle of the row or column.
 */
function indexes(from: number, to: number, visible: number, count: number): number[] {
  const place = (share: number) => ((1 - visible) / 2 + share * visible) * count
  const [first, last] = [Math.floor(place(from)), Math.min(count, Math.ceil(place(to)))]
  return Array.from({ length: last - first }, (_, n) => first + n)
}
