import { DateTime } from 'luxon'
import type { DoorGroup } from '../../core/contract/scan-shapes.ts'
import { type Badge, badgeOf, type Tone } from '../../core/rules/door/badge.ts'
import type { Candidate, Outcome } from '../../core/rules/door/outcome.ts'
import { cut, pad, printable, textWidth, wrapText } from '../command/output.ts'
import type { DoorState, Overrides } from './door.ts'
import { badgeWords } from './outcome.ts'

/** A piece of a line in one style. */
export interface Span {
  text: string
  color?: 'black' | 'white' | 'green' | 'red' | 'yellow' | 'cyan'
  background?: 'green' | 'red' | 'yellow' | 'cyan'
  bold?: true
  dim?: true
  inverse?: true
}

/** A line of the screen, from the left. */
export type Line = Span[]
/** How text looks; by default as the terminal writes it. */
export type Style = Omit<Span, 'text'>

/** A line of one style over the whole width. */
export function filled(text: string, width: number, style: Style = {}): Line {
  return [{ text: pad(cut(text, width), width), ...style }]
}

/** As many of the parts as fit, with dots between them; the first ones matter most. */
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

/** A time of day on the operator's clock. */
export function clockTime(at: Date | string): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

/** The zone of that clock, by its name. */
export function clockZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Moments as the server writes them, each in a zone of its policy: one clock is enough at a door. */
const MOMENT = /(\d{1,2} [A-Z][a-z]{2} \d{4} at \d{2}:\d{2}:\d{2}) ([\w/+-]+)/g

/** A message with its moments on the operator's clock. */
function onClock(message: string): string {
  return message.replaceAll(MOMENT, (text, moment: string, zone: string) => {
    const at = DateTime.fromFormat(moment, FORMAT, { zone, locale: 'en' })
    return at.isValid ? at.toLocal().setLocale('en').toFormat(FORMAT) : text
  })
}

const FORMAT = "d LLL yyyy 'at' HH:mm:ss"

/** How long ago, in one unit. */
export function age(since: Date | string, now: Date): string {
  const seconds = Math.max(0, Math.round((now.getTime() - new Date(since).getTime()) / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} days`
}

/** What the lower half of the screen is used for; null shows the last scans. */
export type Panel =
  | null
  | { kind: 'search' }
  /** Passes to choose from; the chosen one is scanned by its id. `of` names the ambiguous scan, where it was one. */
  | { kind: 'choose'; title: string; candidates: Candidate[]; selected: number; of: string | null }
  | { kind: 'undo'; scan: Outcome }
  | { kind: 'override'; field: keyof Overrides }
  /** Passes of the group of somebody, who may be let in together. */
  | { kind: 'group'; label: string; open: DoorGroup['open'] }
  /** What was read and is not evaluated yet: whoever ends the console now has to scan it again. */
  | { kind: 'quit'; unevaluated: readonly string[] }

const colors: Record<Tone, Style> = {
  yes: { color: 'green' },
  no: { color: 'red' },
  ask: { color: 'yellow' },
  note: { color: 'cyan' },
}

const WORD_WIDTH = 13
/** Narrower screens leave out what can be missed. */
export const NARROW = 64

/** Newest first: when, what, who, and how it stands with the server. */
export function historyLines(last: readonly Outcome[], width: number): Line[] {
  return last.map((outcome) => {
    const { tone, sign, word } = badgeOf(outcome)
    const standing = standingOf(outcome)
    const time = clockTime(outcome.readAt)
    const start = ` ${width < NARROW ? time.slice(0, 5) : time} `
    const end = standing === '' ? '' : ` ${standing}`
    const left = width - start.length - 2 - WORD_WIDTH - 1 - textWidth(end)
    const name = printable(outcome.label ?? outcome.payload ?? '')
    return [
      { text: start, dim: true },
      { text: `${sign} ${pad(cut(badgeWords[word], WORD_WIDTH), WORD_WIDTH)} `, bold: true, ...colors[tone] },
      { text: pad(cut(name, left), left) },
      { text: end, color: outcome.conflict === null ? 'cyan' : 'yellow' },
    ]
  })
}

/** A decision without the server waits for it, or turned out to be one that the server would not have given. */
function standingOf({ verified, scanId, conflict }: Outcome): string {
  if (conflict !== null) return `≠ ${conflict}`
  return verified === 'offline' && scanId === null ? '↑ waits' : ''
}

/** What a panel shows in the place of the last scans. */
export function panelLines(
  panel: NonNullable<Panel>,
  typed: string,
  { width, height }: { width: number; height: number },
): Line[] {
  switch (panel.kind) {
    case 'search':
      return question('Search by name or id', typed, 'Enter searches', width)
    case 'override':
      return panel.field === 'scanContextKey'
        ? question('Scan context', typed, 'Enter sets it, empty for none · F4 date', width)
        : question('Judge as of the date', typed, 'YYYY-MM-DD, Enter sets it, empty for today', width)
    case 'undo': {
      const name = printable(panel.scan.label ?? panel.scan.payload ?? 'the last scan')
      return [
        filled(cut(` Undo the scan of ${name}?`, width), width, { bold: true }),
        filled(` Let in at ${clockTime(panel.scan.readAt)}.`, width),
        filled(' F3 undoes it, Esc keeps it.', width),
      ]
    }
    case 'group': {
      const { open } = panel
      const hint = `F5 lets in ${open.length === 1 ? 'this one' : `all ${open.length}, or type how many and Enter`}`
      return [
        ...question(`Not let in yet, of the group of ${printable(panel.label)}`, typed, hint, width),
        ...open.map(({ label, externalPassId }, n) => {
          return filled(
            ` ${String(n + 1).padStart(2)} ${joined([label, externalPassId].map(printable), width - 5)}`,
            width,
          )
        }),
      ]
    }
    case 'quit':
      return [
        filled(` ${panel.unevaluated.length} not judged yet. Ctrl-C again quits, Esc stays.`, width, { bold: true }),
        ...panel.unevaluated.slice(0, height - 1).map((code) => filled(` ${printable(code)}`, width)),
      ]
    case 'choose':
      return [filled(` ${printable(panel.title)}`, width, { bold: true }), ...choices(panel, width, height - 1)]
  }
}

function question(title: string, typed: string, hint: string, width: number): Line[] {
  return [
    filled(` ${title}`, width, { bold: true }),
    filled(` › ${cut(printable(typed), width - 5)}▏`, width),
    // A narrow screen takes a second line for it: which key leads back must not be what is cut off.
    ...wrapText(`${hint} · Esc back`, width - 1).map((text) => filled(` ${text}`, width, { dim: true })),
  ]
}

/** A window over the list that holds the selected one. */
function choices(panel: { candidates: Candidate[]; selected: number }, width: number, height: number): Line[] {
  const { candidates, selected } = panel
  const first = Math.max(0, Math.min(selected - Math.floor(height / 2), candidates.length - height))
  return candidates.slice(first, first + height).map((candidate, index) => {
    const number = first + index + 1
    const isSelected = number - 1 === selected
    const lead = `${isSelected ? '›' : ' '}${String(number).padStart(2)} `
    const { label, standing, templateName, externalPassId } = candidate
    const text = joined(
      [label, standing, templateName, externalPassId].map((part) => part && printable(part)),
      width - lead.length,
    )
    return filled(lead + text, width, isSelected ? { inverse: true } : {})
  })
}

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

/** The room of the newest decision, in cells of the terminal. */
export interface DecisionSize {
  width: number
  height: number
}

/** The upper half of the screen: the newest decision, over its whole height, or what is waited for. */
export function decisionLines(
  { decision, isSlow }: Pick<DoorState, 'decision' | 'isSlow'>,
  size: DecisionSize,
  now: Date,
): Line[] {
  const { width, height } = size
  if (!decision) return toHeight(centred(isSlow ? ['Checking …'] : ['Ready', 'Scan a pass'], size), height)
  const badge = badgeOf(decision)
  const isFresh = now.getTime() - Date.parse(decision.readAt) < FRESH_MS
  const style: Style = isFresh ? fills[badge.tone] : {}
  const hasSign = height >= SIGN_HEIGHT && width >= SIGN_COLUMNS
  const margin = hasSign ? 2 : 1
  const columns = width - 2 * margin - (hasSign ? SIGN_WIDTH + 3 : 0)
  const room = hasSign ? height - 2 : height
  const texts = textsOf(decision, badge, { width: columns, height: room, hasSign }, now)
  return Array.from({ length: height }, (_, index) => {
    const row = hasSign ? index - 1 : index
    const sign = hasSign ? `${pad(signs[badge.tone][row] ?? '', SIGN_WIDTH)}   ` : ''
    const { text = '', isStrong = false } = texts[row] ?? {}
    const content = ' '.repeat(margin) + sign + cut(text, columns)
    return filled(content, width, { ...style, ...(isStrong && { bold: true }), ...(!isFresh && { dim: true }) })
  })
}

interface TextLine {
  text: string
  isStrong?: boolean
}

/** What is said, the most important first, so that a low screen loses the rest. */
function textsOf(
  decision: Outcome,
  badge: Badge,
  room: { width: number; height: number; hasSign: boolean },
  now: Date,
): TextLine[] {
  const said = badgeWords[badge.word]
  const word = room.hasSign ? [...said].join(' ') : `${badge.sign} ${said}`
  const who = decision.label ?? decision.payload ?? decision.externalPassId ?? ''
  const facts = joined([decision.templateName, decision.label === null ? null : decision.externalPassId], room.width)
  const door = [...doorLines(decision, room), ...groupLine(decision)]
  const top: TextLine[] = [
    { text: word, isStrong: true },
    { text: printable(who), isStrong: true },
  ]
  const about = { text: printable(facts) }
  const head = [...top, ...door, about]
  const message = wrapText(onClock(printable(decision.message)), room.width).map((text) => ({ text }))
  const foot = { text: joined([...lastUse(decision, now), clockTime(decision.readAt), source(decision)], room.width) }
  const air = room.height - head.length - message.length - 1
  if (air < 0) {
    // The message says when and where it was used: where there is little room, it goes before what else is known.
    const known = decision.result === 'accepted' ? [...door, ...message] : [...message, ...door]
    return [...top, ...(door.length > 0 ? known : [about, ...message])].slice(0, room.height)
  }
  const spread = air > 1 ? [head[0]!, { text: '' }, ...head.slice(1), { text: '' }] : head
  const gap = Array.from({ length: room.height - spread.length - message.length - 1 }, () => ({ text: '' }))
  return [...spread, ...message, ...gap, foot]
}

/**
 * What the template wants the operator to see. What to do is said where somebody is let in: who is turned away is to be given
 * nothing. Neither may take the room of the other.
 */
function doorLines({ door, result }: Outcome, { width, height }: { width: number; height: number }): TextLine[] {
  if (door === null) return []
  const most = Math.max(1, Math.floor((height - 3) / 2))
  const notice = result === 'accepted' && door.notice !== null ? [`▶ ${door.notice}`] : []
  const fields = door.fields.map(({ label, value }) => `${label}: ${value}`).join(' · ')
  return [
    ...notice.flatMap((text) => wrapAtMost(printable(text), width, most)).map((text) => ({ text, isStrong: true })),
    ...wrapAtMost(printable(fields), width, most).map((text) => ({ text })),
  ]
}

/** How many of a group are in; one alone is no group to an operator. */
function groupLine({ group }: Outcome): TextLine[] {
  if (group === null || (group.size < 2 && group.open.length === 0)) return []
  const { used, size, hasMore, open } = group
  const more = open.length > 0 ? ' · F5 lets more in' : ''
  return [{ text: `${used} of ${hasMore ? 'the first ' : ''}${size} of the group let in${more}` }]
}

function wrapAtMost(text: string, width: number, most: number): string[] {
  const lines = wrapText(text, width)
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), cut(lines.slice(most - 1).join(' '), width)]
}

/** When it was let in last, and how long ago that is. */
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

function centred(texts: string[], { width, height }: DecisionSize): Line[] {
  const top = Math.max(0, Math.floor((height - texts.length) / 2))
  const empty = Array.from({ length: top }, () => filled('', width))
  return [
    ...empty,
    ...texts.map((text) => filled(pad('', Math.floor((width - text.length) / 2)) + text, width, { bold: true })),
  ]
}
