import type { ColorChoice, Definition } from '../../contract/schemas/definition.ts'
import { type Choice, choose } from '../template/image-choice.ts'
import type { Scope } from '../template/placeholder.ts'

/** The colors of a card, as `#rrggbb`. */
type ShownColors = Record<'background' | 'foreground' | 'label', string | null>

type DesignColors = Definition['design']['colors']

/** A color is `null` if it is omitted, or if its choice has no match. */
export function colorsOf({ background, foreground, label }: DesignColors, scope: Scope): ShownColors {
  const pick = (color: ColorChoice | undefined) => (typeof color === 'object' ? choose(color, scope) : color) ?? null
  return { background: pick(background), foreground: pick(foreground), label: pick(label) }
}

/** Returns the color for content that all passes of a version share. For a choice, this is the `else` color. */
export function sharedColor(color: ColorChoice | undefined): string | undefined {
  return typeof color === 'object' ? color.else : color
}

/**
 * The maximum number of variants. Three choices with 100 states each would otherwise make a million variants, and block
 * the server.
 */
const MAX_VARIANTS = 1000

/**
 * Returns each combination of states of the choices, with the value of each choice in this combination. The value is
 * `null` if the choice has no match.
 */
export function variantsOf<Name extends string>(
  choices: Partial<Record<Name, string | Choice<string>>>,
): { keys: string[]; values: Record<Name, string | null> }[] {
  const entries = Object.entries(choices) as [Name, string | Choice<string> | undefined][]
  const keysBy = new Map<string, Set<string | undefined>>()
  for (const [, choice] of entries) {
    if (typeof choice !== 'object') continue
    keysBy.set(choice.by, new Set([...(keysBy.get(choice.by) ?? []), ...Object.keys(choice.map), undefined]))
  }
  let states: Map<string, string | undefined>[] = [new Map()]
  for (const [by, keys] of keysBy) {
    const some = states.slice(0, Math.ceil(MAX_VARIANTS / keys.size))
    states = some.flatMap((state) => [...keys].map((key) => new Map([...state, [by, key]])))
  }
  return states.map((state) => {
    const pick = (choice: string | Choice<string> | undefined) => {
      if (typeof choice !== 'object') return choice ?? null
      const key = state.get(choice.by)
      return (key !== undefined && Object.hasOwn(choice.map, key) ? choice.map[key] : choice.else) ?? null
    }
    return {
      keys: [...state.values()].filter((key) => key !== undefined),
      values: Object.fromEntries(entries.map(([name, choice]) => [name, pick(choice)])) as Record<Name, string | null>,
    }
  })
}

export type CardColors = Record<keyof ShownColors, string>

/** The minimum contrast of text at WCAG 2 level AA. */
export const MIN_CONTRAST = 4.5

const WHITE = '#ffffff'
const BLACK = '#000000'

/** Returns the colors in which phones draw a card. Replaces missing text colors by colors with sufficient contrast. */
export function cardColors({ background, foreground, label }: ShownColors): CardColors {
  const behind = background ?? WHITE
  const text = foreground ?? farthest(behind)
  return { background: behind, foreground: text, label: label ?? readable(mix(text, behind, 0.3), behind) }
}

/** Returns the WCAG 2 contrast ratio of two colors, from 1 to 21. */
export function contrast(one: string, other: string): number {
  return contrastOf(luminance(one), luminance(other))
}

/** Returns the contrast ratio of two luminances. */
export function contrastOf(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
}

/** Converts a color in the form of Apple, such as `rgb(26, 43, 60)`, to `#1a2b3c`; else returns `null`. */
export function parseRgb(text: string | undefined): string | null {
  const channels = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/i
    .exec(text ?? '')
    ?.slice(1)
    .map(Number)
  return channels?.every((channel) => channel <= 255) ? toHex(channels) : null
}

/** Converts a color of an override, such as `rgb(26, 43, 60)` or `#abc`, to the form `#1a2b3c`; else returns `null`. */
export function parseColor(text: string): string | null {
  if (!/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)) return parseRgb(text)
  return text.length === 7 ? text : `#${[...text.slice(1)].map((digit) => digit + digit).join('')}`
}

/** Converts `#1a2b3c` to `rgb(26, 43, 60)`. */
export function toRgb(color: string): string {
  return `rgb(${channels(color).join(', ')})`
}

const STEPS = 20

/** Moves a color towards black or white until its contrast with the background is at least MIN_CONTRAST. */
function readable(color: string, background: string): string {
  const target = farthest(background)
  for (let step = 0; step < STEPS; step++) {
    const candidate = mix(color, target, step / STEPS)
    if (contrast(candidate, background) >= MIN_CONTRAST) return candidate
  }
  return target
}

function farthest(background: string): string {
  return contrast(BLACK, background) > contrast(WHITE, background) ? BLACK : WHITE
}

function mix(color: string, other: string, share: number): string {
  const others = channels(other)
  const mixed = channels(color).map((channel, n) => Math.round(channel + (others[n]! - channel) * share))
  return toHex(mixed)
}

function toHex(channels: number[]): string {
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

export function luminance(color: string): number {
  return luminanceOf(channels(color))
}

/** Returns the luminance of a color (red, green, blue, alpha; 0 to 255) on an opaque background. */
export function luminanceOver([red = 0, green = 0, blue = 0, alpha = 255]: Uint8Array, background: string): number {
  const behind = channels(background)
  return luminanceOf([red, green, blue].map((channel, n) => behind[n]! + ((channel - behind[n]!) * alpha) / 255))
}

function luminanceOf(channels: number[]): number {
  const [red, green, blue] = channels.map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

export function channels(color: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16))
}
