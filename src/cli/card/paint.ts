import type { Card } from '../../core/rules/display/card.ts'
import { cardColors } from '../../core/rules/display/colors.ts'
import type { Line, Style } from './layout.ts'

/** Bits of colour that a terminal takes: 1 is none. */
export type ColorDepth = 1 | 8 | 24

/** The lines of a card on its background; without colour in a frame. */
export function paint(lines: readonly Line[], colors: Card['colors'], depth: ColorDepth): string[] {
  if (depth === 1) return frame(lines)
  const { background, foreground, label } = cardColors(colors)
  const styles: Record<Style, string> = {
    label: `${back(background, depth)}${front(label, depth)}`,
    value: `${back(background, depth)}${front(foreground, depth)}`,
    strong: `${back(background, depth)}${front(foreground, depth)}\u001B[1m`,
    // Whatever the card looks like, a camera wants black on white.
    symbol: `${back('#000000', depth)}${front('#ffffff', depth)}`,
  }
  const margin = `${styles.value}  `
  return lines.map((line) => {
    const text = line.map((piece) => `${RESET}${styles[piece.style]}${piece.text}`).join('')
    return `${margin}${text}${RESET}${margin}${RESET}`
  })
}

const RESET = '\u001B[0m'

function frame(lines: readonly Line[]): string[] {
  const texts = lines.map((line) => line.map(({ text }) => text).join(''))
  const edge = '─'.repeat(widthOf(lines) + 2)
  return [`╭${edge}╮`, ...texts.map((text) => `│ ${text} │`), `╰${edge}╯`]
}

/** All lines are as wide as a blank one, in which every character is one column. */
function widthOf(lines: readonly Line[]): number {
  const blank = lines.find((line) => line.every(({ text }) => text.trim() === ''))
  return blank?.reduce((sum, { text }) => sum + text.length, 0) ?? 0
}

function front(color: string, depth: ColorDepth): string {
  return `\u001B[38;${code(color, depth)}m`
}

function back(color: string, depth: ColorDepth): string {
  return `\u001B[48;${code(color, depth)}m`
}

/** The colour itself, or the nearest of the 6x6x6 cube of 256 colours. */
function code(color: string, depth: ColorDepth): string {
  const [red, green, blue] = channels(color)
  if (depth === 24) return `2;${red};${green};${blue}`
  const [r, g, b] = [red, green, blue].map((channel) => Math.round((channel / 255) * 5)) as [number, number, number]
  return `5;${16 + 36 * r + 6 * g + b}`
}

function channels(color: string): [number, number, number] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16)) as [number, number, number]
}
