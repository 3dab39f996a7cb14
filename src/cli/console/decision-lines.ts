import type { Outcome } from '../../core/rules/door/outcome.ts'
import { badgeOf, overfullZone, type Tone } from '../../core/rules/door/outcome.ts'
import { age, clockTime, count, cut, pad, printable, wrapText } from '../command/output.ts'
import type { DoorState } from './console-door.ts'
import { directionMarks, filled, joined, type Line, type Style, toHeight } from './lines.ts'
import { badgeWords } from './outcome.ts'

/** Signs that are visible from an arm's length and without color. */
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
/** The minimum height of the area for a sign: five lines and margins. */
const SIGN_HEIGHT = 7
const SIGN_COLUMNS = 60
/** The age after which a decision is dimmed. By then, the person has usually entered. */
const FRESH_MS = 10_000

/**
 * The maximum difference between the clocks of this machine and the server. If `scannedAt` and `readAt` differ by more,
 * the scan has a validity date.
 */
const SKEW_MS = 600_000

/** The size of the area of the newest decision, in terminal cells. */
export interface DecisionSize {
  width: number
  height: number
}

export function decisionLines(
  { decision, isSlow }: Pick<DoorState, 'decision' | 'isSlow'>,
  size: DecisionSize,
  now: Date,
): Line[] {
  const { width, height } = size
  if (!decision) return toHeight(centred(isSlow ? ['Checking …'] : ['Ready', 'Scan a pass'], size), height)
  const { tone } = badgeOf(decision)
  const isFresh = now.getTime() - Date.parse(decision.readAt) < FRESH_MS
  const style: Style = isFresh ? fills[tone] : {}
  const { margin, room, hasSign } = frameOf(size)
  const texts = textsOf(decision, room, now)
  return Array.from({ length: height }, (_, index) => {
    const row = hasSign ? index - 1 : index
    const sign = hasSign ? `${pad(signs[tone][row] ?? '', SIGN_WIDTH)}   ` : ''
    const { text = '', isStrong = false } = texts[row] ?? {}
    const content = ' '.repeat(margin) + sign + cut(text, room.width)
    return filled(content, width, { ...style, ...(isStrong && { bold: true }), ...(!isFresh && { dim: true }) })
  })
}

/** Returns the number of lines, at most `height`, that the newest decision needs to be shown in full. */
export function neededHeight({ decision }: Pick<DoorState, 'decision'>, { width, height }: DecisionSize): number {
  if (!decision) return 0
  const { room, hasSign } = frameOf({ width, height })
  const { top, door, message } = partsOf(decision, { ...room, height: Number.POSITIVE_INFINITY })
  return Math.min(height, top.length + door.length + message.length + (hasSign ? 2 : 0))
}

interface Room extends DecisionSize {
  hasSign: boolean
}

function frameOf({ width, height }: DecisionSize): { margin: number; room: Room; hasSign: boolean } {
  const hasSign = height >= SIGN_HEIGHT && width >= SIGN_COLUMNS
  const margin = hasSign ? 2 : 1
  const columns = width - 2 * margin - (hasSign ? SIGN_WIDTH + 3 : 0)
  return { margin, hasSign, room: { width: columns, height: hasSign ? height - 2 : height, hasSign } }
}

interface TextLine {
  text: string
  isStrong?: boolean
}

function partsOf(decision: Outcome, room: Room): Record<'top' | 'door' | 'message', TextLine[]> {
  const badge = badgeOf(decision)
  const badgeText = badgeWords[badge.word]
  const word = room.hasSign ? [...badgeText].join(' ') : `${badge.sign} ${badgeText}`
  const marks = [decision.direction && directionMarks[decision.direction], offlineMark(decision)]
  const who = decision.label ?? decision.payload ?? decision.externalPassId ?? ''
  const mostOfName = Math.max(1, Math.min(MAX_NAME_LINES, room.height - 4))
  const most = Math.max(1, Math.floor((room.height - 3) / 2))
  return {
    top: [
      [word, ...marks.filter(Boolean)].join(room.hasSign ? '   ' : ' '),
      ...wrapAtMost(printable(who), room.width, mostOfName),
    ].map((text) => ({ text, isStrong: true })),
    door: [
      ...overfullLines(decision, room.width),
      ...instructionLines(decision, room.width, most),
      ...groupLines(decision, room.width),
    ],
    message: wrapText(printable(decision.message), room.width).map((text) => ({ text })),
  }
}

const MAX_NAME_LINES = 3

/** Returns the texts of a decision, the most important first, because a low screen cuts off the last texts. */
function textsOf(decision: Outcome, room: Room, now: Date): TextLine[] {
  const { top, door, message } = partsOf(decision, room)
  const facts = joined([decision.templateName, decision.label === null ? null : decision.externalPassId], room.width)
  const about = { text: printable(facts) }
  const head = [...top, ...door, about]
  const foot = { text: joined([...lastUse(decision, now), clockTime(decision.readAt)], room.width) }
  const air = room.height - head.length - message.length - 1
  if (air < 0) {
    // A low screen cuts off the last lines. Therefore, put the message of a rejected scan before the other facts: the
    // message has the time and place of the last use.
    const known = decision.result === 'accepted' ? [...door, ...message] : [...message, ...door]
    return [...top, ...(door.length > 0 ? known : [about, ...message])].slice(0, room.height)
  }
  const spread = air > 1 ? [head[0]!, { text: '' }, ...head.slice(1), { text: '' }] : head
  return [...spread, ...message, foot]
}

/**
 * Returns the notice and fields that the template shows to the operator, each in at most `most` lines. The notice
 * applies only to admitted persons, so it is shown only for an accepted entry.
 */
export function instructionLines(
  { door, result, direction }: Outcome,
  width: number,
  most = Number.POSITIVE_INFINITY,
): TextLine[] {
  if (door === null) return []
  const notice = result === 'accepted' && direction !== 'out' && door.notice !== null ? [`▶ ${door.notice}`] : []
  const fields = door.fields.map(({ label, value }) => `${label}: ${value}`).join(' · ')
  return [
    ...notice.flatMap((text) => wrapAtMost(printable(text), width, most)).map((text) => ({ text, isStrong: true })),
    ...wrapAtMost(printable(fields), width, most).map((text) => ({ text })),
  ]
}

/** Returns a warning if an entry exceeded the capacity of its zone, which `whenFull: warn` permits. */
function overfullLines(decision: Outcome, width: number): TextLine[] {
  const zone = overfullZone(decision)
  const text = zone && `■ Zone full: ${count(zone.inside)} of ${count(zone.capacity)} inside`
  return text ? wrapText(text, width).map((text) => ({ text, isStrong: true })) : []
}

/** Returns how many members of a group are admitted or, with a zone, inside; nothing for a group of one pass. */
function groupLines({ group }: Outcome, width: number): TextLine[] {
  if (group === null || (group.size < 2 && group.open.length === 0)) return []
  const { used, size, hasMore, open, inside } = group
  const more = open.length > 0 ? ' · F5 lets more in' : ''
  const [people, state] = inside ? [inside.length, 'inside'] : [used, 'let in']
  const text = `${people} of ${hasMore ? 'the first ' : ''}${size} of the group ${state}${more}`
  return wrapText(text, width).map((text) => ({ text }))
}

function wrapAtMost(text: string, width: number, most: number): string[] {
  const lines = wrapText(text, width)
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), cut(lines.slice(most - 1).join(' '), width)]
}

function lastUse({ result, lastAcceptedAt, readAt, scannedAt }: Outcome, now: Date): string[] {
  if (lastAcceptedAt === null || result === 'accepted' || result === 'reversal') return []
  const text = `last let in ${clockTime(lastAcceptedAt)}`
  // If this scan has a validity date, the last use can have one, too. The recorded time of the last use is then on that
  // date, and not the real time, so omit "… ago".
  const isShifted = Math.abs(Date.parse(scannedAt) - Date.parse(readAt)) > SKEW_MS
  if (isShifted || Date.parse(lastAcceptedAt) > now.getTime()) return [text]
  return [`${text}, ${age(lastAcceptedAt, now)} ago`]
}

/** Returns the mark of an offline decision, which was made without the recent scans of other doors. */
function offlineMark({ verified }: Outcome): string | null {
  return verified === 'offline' ? '(OFFLINE)' : null
}

function centred(texts: string[], { width, height }: DecisionSize): Line[] {
  const top = Math.max(0, Math.floor((height - texts.length) / 2))
  const empty = Array.from({ length: top }, () => filled('', width))
  return [
    ...empty,
    ...texts.map((text) => filled(pad('', Math.floor((width - text.length) / 2)) + text, width, { bold: true })),
  ]
}
