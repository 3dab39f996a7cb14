import type { Outcome } from '../../core/rules/door/outcome.ts'
import { badgeOf, type Tone } from '../../core/rules/door/outcome.ts'
import type { Direction } from '../../core/rules/zones/presence.ts'
import { clockTime, cut, pad, printable, textWidth } from '../command/output.ts'
import { badgeWords } from './outcome.ts'

export interface Span {
  text: string
  color?: 'black' | 'white' | 'green' | 'red' | 'yellow' | 'cyan'
  background?: 'green' | 'red' | 'yellow' | 'cyan'
  bold?: true
  dim?: true
  inverse?: true
}

export type Line = Span[]
/** The style of text; by default, the terminal's style. */
export type Style = Omit<Span, 'text'>

export function filled(text: string, width: number, style: Style = {}): Line {
  return [{ text: pad(cut(text, width), width), ...style }]
}

/** Joins the parts that fit, in order of importance, with dots between them. */
export function joined(parts: readonly (string | null)[], width: number): string {
  const shown = parts.filter((part) => part !== null && part !== '') as string[]
  let text = shown[0] ?? ''
  for (const part of shown.slice(1)) {
    if (textWidth(text) + 3 + textWidth(part) > width) break
    text += ` · ${part}`
  }
  return text
}

export function toHeight(lines: readonly Line[], height: number): Line[] {
  return Array.from({ length: Math.max(0, height) }, (_, index) => lines[index] ?? [{ text: ' ' }])
}

const colors: Record<Tone, Style> = {
  yes: { color: 'green' },
  no: { color: 'red' },
  ask: { color: 'yellow' },
  note: { color: 'cyan' },
}

/** The signs of the directions. They differ even without color. */
export const directionMarks: Record<Direction, string> = { in: '▶ IN', out: '◀ OUT' }

const WORD_WIDTH = 13
/** The width below which optional parts are omitted. */
export const NARROW = 64

export function historyLines(last: readonly Outcome[], width: number): Line[] {
  return last.map((outcome) => {
    const { tone, sign, word } = badgeOf(outcome)
    const standing = standingOf(outcome)
    const time = clockTime(outcome.readAt)
    const start = ` ${width < NARROW ? time.slice(0, 5) : time} `
    const end = standing === '' ? '' : ` ${standing}`
    const mark = outcome.direction === undefined ? '' : `${directionMarks[outcome.direction][0]} `
    const left = width - start.length - 2 - WORD_WIDTH - 1 - mark.length - textWidth(end)
    const name = printable(outcome.label ?? outcome.payload ?? '')
    return [
      { text: start, dim: true },
      { text: `${sign} ${pad(cut(badgeWords[word], WORD_WIDTH), WORD_WIDTH)} `, bold: true, ...colors[tone] },
      ...(mark === '' ? [] : [{ text: mark, ...colors[tone] }]),
      { text: pad(cut(name, left), left) },
      { text: end, color: outcome.conflict === null ? 'cyan' : 'yellow' },
    ]
  })
}

/** Returns the upload state: pending, or in conflict with the server's decision. */
function standingOf({ verified, scanId, conflict }: Outcome): string {
  if (conflict !== null) return `≠ ${conflict}`
  return verified === 'offline' && scanId === null ? '↑ waits' : ''
}
