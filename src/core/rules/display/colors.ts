import type { ColorChoice, Definition } from '../../contract/schemas/definition.ts'
import { choose } from '../template/image-choice.ts'
import type { Scope } from '../template/placeholder.ts'

/** The colors of a card, as `#rrggbb`. */
type ShownColors = Record<'background' | 'foreground' | 'label', string | null>

type DesignColors = Definition['design']['colors']

/** Returns the colors of a design for one pass, with `null` for a choice without a match. */
export function colorsOf({ background, foreground, label }: DesignColors, scope: Scope): ShownColors {
  const pick = (color: ColorChoice | undefined) => (typeof color === 'object' ? choose(color, scope) : color) ?? null
  return { background: pick(background), foreground: pick(foreground), label: pick(label) }
}

/** Returns the color that all passes of a version share. For a choice, this is its `else` color. */
export function sharedColor(color: ColorChoice | undefined): string | undefined {
  return typeof color === 'object' ? color.else : color
}

/**
 * The maximum number of variants. Three choices of 100 states each would otherwise make a million and block the server.
 */
const MAX_VARIANTS = 1000

/** Returns the colors of a design in each state of its choices, with the keys of the state. */
export function colorVariants(colors: DesignColors): { keys: string[]; colors: ShownColors }[] {
  const choices = Object.values(colors).filter((color) => typeof color === 'object')
  const keysBy = new Map<string, Set<string | undefined>>()
  for (const { by, map } of choices) {
    keysBy.set(by, new Set([...(keysBy.get(by) ?? []), ...Object.keys(map), undefined]))
  }
  let states: Map<string, string | undefined>[] = [new Map()]
  for (const [by, keys] of keysBy) {
    const some = states.slice(0, Math.ceil(MAX_VARIANTS / keys.size))
    states = some.flatMap((state) => [...keys].map((key) => new Map([...state, [by, key]])))
  }
  return states.map((state) => {
    const pick = (color: ColorChoice | undefined) => {
      if (typeof color !== 'object') return color ?? null
      const key = state.get(color.by)
      return (key !== undefined && Object.hasOwn(color.map, key) ? color.map[key] : color.else) ?? null
    }
    return {
      keys: [...state.values()].filter((key) => key !== undefined),
      colors: { background: pick(colors.background), foreground: pick(colors.foreground), label: pick(colors.label) },
    }
  })
}

export interface CardColors {
  background: string
  foreground: string
  label: string
}

/** The minimum contrast of text at WCAG 2 level AA. */
export const MIN_CONTRAST = 4.5

const WHITE = '#ffffff'
const BLACK = '#000000'

/** Returns the colors with which phones draw a card. Missing text colors are chosen for contrast. */
export function cardColors({ background, foreground, label }: ShownColors): CardColors {
  const behind = background ?? WHITE
  const text = foreground ?? farthest(behind)
  return { background: behind, foreground: text, label: label ?? readable(mix(text, behind, 0.3), behind) }
}

/** Returns the WCAG 2 contrast ratio of two colors, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

/** Converts a color as Apple writes it, such as `rgb(26, 43, 60)`, to `#1a2b3c`. Returns `null` for any other text. */
export function parseRgb(text: string | undefined): string | null {
  const channels = /^rgb\((\d{1,3}), ?(\d{1,3}), ?(\d{1,3})\)$/
    .exec(text ?? '')
    ?.slice(1)
    .map(Number)
  return channels?.every((channel) => channel <= 255) ? toHex(channels) : null
}

const STEPS = 20

/** Returns the color, moved towards black or white until its contrast is sufficient. */
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

function luminance(color: string): number {
  const [red, green, blue] = channels(color).map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function channels(color: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16))
}
