import type { ColorChoice, Definition } from '../../contract/definition.ts'
import { choose } from '../template/image-choice.ts'
import type { Scope } from '../template/placeholder.ts'

/** The colours of a card, as `#rrggbb`. */
type ShownColors = Record<'background' | 'foreground' | 'label', string | null>

type DesignColors = Definition['design']['colors']

/** The colours of a design for one pass; of a choice that comes to none nothing. */
export function colorsOf({ background, foreground, label }: DesignColors, scope: Scope): ShownColors {
  const pick = (color: ColorChoice | undefined) => (typeof color === 'object' ? choose(color, scope) : color) ?? null
  return { background: pick(background), foreground: pick(foreground), label: pick(label) }
}

/** What is the same for all passes: of a choice what stands for any other state. */
export function sharedColor(color: ColorChoice | undefined): string | undefined {
  return typeof color === 'object' ? color.else : color
}

/** More are looked at by nobody; what three choices of a hundred states make together would stop the server. */
const MAX_VARIANTS = 1000

/** The colours of a design in each state that its choices know, with the keys of the state. */
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

/** Colours as `#rrggbb`. */
export interface CardColors {
  background: string
  foreground: string
  label: string
}

/** What WCAG 2 asks of text at level AA. */
export const MIN_CONTRAST = 4.5

const WHITE = '#ffffff'
const BLACK = '#000000'

/**
 * The colours that phones draw a card in: those that it gives, however they read together. Texts without a colour are
 * written in one that stands out.
 */
export function cardColors({ background, foreground, label }: ShownColors): CardColors {
  const behind = background ?? WHITE
  const text = foreground ?? farthest(behind)
  return { background: behind, foreground: text, label: label ?? readable(mix(text, behind, 0.3), behind) }
}

/** The contrast ratio of WCAG 2 between two colours, 1 to 21. */
export function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

/** The colour as Apple writes it, `rgb(26, 43, 60)`, as `#1a2b3c`; null for any other text. */
export function parseRgb(text: string | undefined): string | null {
  const channels = /^rgb\((\d{1,3}), ?(\d{1,3}), ?(\d{1,3})\)$/
    .exec(text ?? '')
    ?.slice(1)
    .map(Number)
  return channels?.every((channel) => channel <= 255) ? toHex(channels) : null
}

const STEPS = 20

/** The colour itself, or moved towards black or white in steps until it stands out; one of the two always does. */
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
