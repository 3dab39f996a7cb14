import { cut, pad, textWidth } from '../../command/output.ts'

/** A piece of a line in one style. */
export interface Span {
  text: string
  color?: 'black' | 'white' | 'green' | 'red' | 'yellow' | 'cyan'
  background?: 'green' | 'red' | 'yellow' | 'cyan'
  bold?: true
  dim?: true
  inverse?: true
}

export type Line = Span[]
export type Style = Omit<Span, 'text'>

/** A line of one style over the whole width. */
export function filled(text: string, width: number, style: Style = {}): Line {
  return [{ text: pad(cut(text, width), width), ...style }]
}

/** As many of the parts as toHeight, with gaps between them; the first ones matter most. */
export function joined(parts: readonly (string | null)[], width: number): string {
  const shown = parts.filter((part) => part !== null && part !== '') as string[]
  let text = shown[0] ?? ''
  for (const part of shown.slice(1)) {
    if (textWidth(text) + 3 + textWidth(part) > width) break
    text += ` · ${part}`
  }
  return text
}

/** Exactly that many lines. */
export function toHeight(lines: readonly Line[], height: number): Line[] {
  return Array.from({ length: Math.max(0, height) }, (_, index) => lines[index] ?? [{ text: ' ' }])
}

/** A time of day on the steward's clock. */
export function clockTime(at: Date | string): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

/** How long ago, in one unit. */
export function age(since: Date | string, now: Date): string {
  const seconds = Math.max(0, Math.round((now.getTime() - new Date(since).getTime()) / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} days`
}
