import { cut, pad, printable, wrapText } from '../../command/output.ts'
import type { Outcome } from '../outcome.ts'
import { type Face, faceOf, type Tone } from './face.ts'
import { age, clockTime, filled, joined, type Line, type Style, toHeight } from './lines.ts'

/** Signs that are seen from an arm's length and without colour. */
const signs: Record<Tone, readonly string[]> = {
  yes: ['        ██', '       ██ ', '██    ██  ', ' ██  ██   ', '  ████    '],
  no: ['██      ██', '  ██  ██  ', '    ██    ', '  ██  ██  ', '██      ██'],
  ask: ['  ██████  ', ' ██    ██ ', '     ██   ', '          ', '     ██   '],
  note: ['          ', '██████████', '          ', '██████████', '          '],
}

const fills: Record<Tone, Style> = {
  yes: { background: 'green', color: 'black' },
  no: { background: 'red', color: 'white' },
  ask: { background: 'yellow', color: 'black' },
  note: { background: 'cyan', color: 'black' },
}

const SIGN_WIDTH = 10
/** A sign needs its five lines and air. */
const SIGN_HEIGHT = 7
const SIGN_COLUMNS = 60
/** Older than that, it belongs to somebody who has gone in. */
const FRESH_MS = 10_000

/** Clocks of a door and its server may differ by so much. */
const SKEW_MS = 600_000

export interface VerdictSize {
  width: number
  height: number
}

/** The upper half of the screen: the newest verdict, over its whole height. */
export function verdictLines(verdict: Outcome | null, size: VerdictSize, now: Date): Line[] {
  const { width, height } = size
  if (!verdict) return toHeight(centred(['Ready', 'Scan a pass'], size), height)
  const face = faceOf(verdict)
  const isFresh = now.getTime() - Date.parse(verdict.readAt) < FRESH_MS
  const style: Style = isFresh ? fills[face.tone] : {}
  const hasSign = height >= SIGN_HEIGHT && width >= SIGN_COLUMNS
  const margin = hasSign ? 2 : 1
  const textWidth = width - 2 * margin - (hasSign ? SIGN_WIDTH + 3 : 0)
  const room = hasSign ? height - 2 : height
  const texts = textsOf(verdict, face, { width: textWidth, height: room, hasSign }, now)
  const lines = Array.from({ length: height }, (_, index) => {
    const row = hasSign ? index - 1 : index
    const sign = hasSign ? `${pad(signs[face.tone][row] ?? '', SIGN_WIDTH)}   ` : ''
    const { text = '', isStrong = false } = texts[row] ?? {}
    const content = ' '.repeat(margin) + sign + cut(text, textWidth)
    return filled(content, width, { ...style, ...(isStrong && { bold: true }), ...(!isFresh && { dim: true }) })
  })
  return lines
}

interface TextLine {
  text: string
  isStrong?: boolean
}

/** What is said, the most important first, so that a low screen loses the rest. */
function textsOf(
  verdict: Outcome,
  face: Face,
  room: { width: number; height: number; hasSign: boolean },
  now: Date,
): TextLine[] {
  const word = room.hasSign ? [...face.word].join(' ') : `${face.sign} ${face.word}`
  const who = verdict.label ?? verdict.payload ?? verdict.externalPassId ?? ''
  const facts = joined([verdict.templateName, verdict.label === null ? null : verdict.externalPassId], room.width)
  const head: TextLine[] = [
    { text: word, isStrong: true },
    { text: printable(who), isStrong: true },
    { text: printable(facts) },
  ]
  const message = wrapText(printable(verdict.message), room.width).map((text) => ({ text }))
  const foot = { text: joined([...lastUse(verdict, now), clockTime(verdict.readAt), source(verdict)], room.width) }
  // The message says when and where it was used: where there is little room, it goes before all else.
  const air = room.height - head.length - message.length - 1
  if (air < 0) return [...head, ...message].slice(0, room.height)
  const spread = air > 1 ? [head[0]!, { text: '' }, ...head.slice(1), { text: '' }] : head
  const gap = Array.from({ length: room.height - spread.length - message.length - 1 }, () => ({ text: '' }))
  return [...spread, ...message, ...gap, foot]
}

/** On the steward's own clock, beside the message in the zone of the pass. */
function lastUse({ result, lastAcceptedAt, readAt, scannedAt }: Outcome, now: Date): string[] {
  if (lastAcceptedAt === null || result === 'accepted' || result === 'reversal') return []
  const text = `last let in ${clockTime(lastAcceptedAt)}`
  // Under another date both moments are of that date, and their distance from now says nothing.
  const isShifted = Math.abs(Date.parse(scannedAt) - Date.parse(readAt)) > SKEW_MS
  if (isShifted || Date.parse(lastAcceptedAt) > now.getTime()) return [text]
  return [`${text}, ${age(lastAcceptedAt, now)} ago`]
}

function source({ verified }: Outcome): string | null {
  return verified === 'offline' ? 'judged offline' : null
}

function centred(texts: string[], { width, height }: VerdictSize): Line[] {
  const top = Math.max(0, Math.floor((height - texts.length) / 2))
  const empty = Array.from({ length: top }, () => filled('', width))
  return [
    ...empty,
    ...texts.map((text) => filled(pad('', Math.floor((width - text.length) / 2)) + text, width, { bold: true })),
  ]
}
