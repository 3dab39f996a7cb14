import { type Fullness, fullnessOf } from '../../core/rules/zones/capacity.ts'
import { age, clockTime, count, counted, cut, localZone, printable, textWidth } from '../command/output.ts'
import { type DoorState, rate } from './console-door.ts'
import { decisionLines, neededHeight } from './decision-lines.ts'
import { directionMarks, filled, historyLines, joined, type Line, NARROW, type Style, toHeight } from './lines.ts'
import type { Place } from './offline/door-folder.ts'
import { type Panel, panelLines } from './panel-lines.ts'

export interface View {
  place: Place
  gate: string | null
  door: DoorState
  panel: Panel
  isLocked: boolean
  /** Text that was typed and not ended with Enter. */
  typed: string
  now: Date
}

export interface ScreenSize {
  columns: number
  rows: number
}

const HISTORY = 8
const FOOT = 4
/** The minimum height of a decision: badge, name, ticket, and a reason of two lines. */
const LEAST_DECISION = 5
/** The height of a panel: a question with its answer and keys, or a short list. */
const PANEL = 5
/** The height of the decision above a panel: badge and name. */
const BEHIND_PANEL = 2
const TALL = 20
/** The width below which the help omits keys, because it would be cut off. */
const NARROWEST = 36

/** Returns the maximum height of a panel. The list of a group can use all free lines. */
function panelHeight({ kind }: NonNullable<Panel>): number {
  return kind === 'group' || kind === 'entered' ? Number.POSITIVE_INFINITY : PANEL
}

/**
 * Returns the whole screen: one line less than the terminal has, always with the same size and full width, so that
 * nothing moves or scrolls.
 */
export function screenLines(view: View, { columns, rows }: ScreenSize): Line[] {
  const width = Math.max(20, columns)
  const height = Math.max(1, rows - 1)
  const banner = [...bannerLines(view, width, rows >= TALL), ...zoneLines(view, width)]
  const foot = footLines(view, width)
  const middle = Math.max(0, height - banner.length - FOOT)
  const { panel, door } = view
  const usual = Math.max(0, Math.min(HISTORY, Math.floor(middle / 2), middle - LEAST_DECISION))
  // On a low screen, omit recent scans rather than text that the operator must read.
  const lower = panel
    ? Math.max(usual, Math.min(panelHeight(panel), middle - BEHIND_PANEL))
    : Math.min(usual, middle - neededHeight(door, { width, height: middle }))
  const upper = middle - lower
  return toHeight(
    [
      ...banner,
      ...(upper > 0 ? decisionLines(door, { width, height: upper }, view.now) : []),
      ...toHeight(
        panel ? panelLines(panel, view.typed, { width, height: lower }) : historyLines(door.counters.last, width),
        lower,
      ),
      ...foot,
    ],
    height,
  )
}

/** Returns the connection state: one line while online, a colored block while offline. */
function bannerLines({ door, place, gate, now }: View, width: number, isTall: boolean): Line[] {
  const { connection, lists, pending } = door
  const names = [gate, place.projectName, place.workspaceName, localZone()].map((name) => name && printable(name))
  if (connection.offlineSince === null) {
    const state = door.lists.rejection === null ? ' ● online' : ' ● online, without an offline list'
    const where = joined(names, width - state.length - 3)
    const gap = ' '.repeat(Math.max(1, width - state.length - 1 - textWidth(where)))
    return [filled(`${state}${gap}${where}`, width, { color: 'green' })]
  }
  const { list, rejection } = lists
  const texts = [
    ` ▲ OFFLINE since ${clockTime(connection.offlineSince)} · ${count(pending)} pending`,
    list
      ? ` List ${age(list.generatedAt, now)} old (${clockTime(list.generatedAt)}) · ${count(list.size)} passes`
      : ` No offline list${rejection ? `: ${rejection}` : ''}`,
  ]
  const style = { background: 'yellow', color: 'black', bold: true } as const
  return [...texts, ...(isTall ? [` ${joined(names, width - 2)}`] : [])].map((text) => filled(text, width, style))
}

const zoneStates: Record<Fullness, { text: string | null; style: Style }> = {
  free: { text: null, style: { bold: true } },
  nearlyFull: { text: '▲ NEARLY FULL', style: { background: 'yellow', color: 'black', bold: true } },
  full: { text: '■ FULL', style: { background: 'red', color: 'white', bold: true } },
}

/** Returns the direction of the next scans, and how full the zone is; nothing without a zone. */
function zoneLines({ door: { movement }, place }: View, width: number): Line[] {
  if (!movement) return []
  const { direction, zone } = movement
  const { text, style } = zoneStates[zone ? fullnessOf(zone) : 'free']
  const inside = zone ? `${count(zone.inside)}${zone.capacity === null ? '' : ` / ${count(zone.capacity)}`}` : '–'
  const name = zone?.name ?? place.zone?.name ?? ''
  // Put the number of people before the name of the zone, so that a narrow screen omits a long name, not the number.
  const facts = [directionMarks[direction], `${inside} inside`, text].filter((fact) => fact !== null).join(' · ')
  const exits: Style = { background: 'cyan', color: 'black', bold: true }
  const look = direction === 'out' && text === null ? exits : style
  return [filled(` ${joined([facts, printable(name)], width - 2)}`, width, look)]
}

function footLines(view: View, width: number): Line[] {
  const isNarrow = width < NARROW
  return [
    armedLine(view, width),
    countsLine(view, width, isNarrow),
    typedLine(view, width),
    helpLine(view, width, isNarrow),
  ]
}

function armedLine({ door, isLocked }: View, width: number): Line {
  const { scanContextKey, validityDate } = door.overrides
  const armed = [
    isLocked ? 'LOCKED' : null,
    validityDate === null ? null : `AS OF ${validityDate}`,
    scanContextKey === null ? null : `CONTEXT ${printable(scanContextKey)}`,
  ]
  const text = joined(armed, width - 2)
  return text === '' ? filled('', width) : filled(` ${text}`, width, { color: 'yellow', bold: true, inverse: true })
}

function countsLine({ door, now }: View, width: number, isNarrow: boolean): Line {
  const { counters, movement, waiting, conflicts, pending, connection } = door
  const facts = [
    `✔ ${count(counters.accepted)} ${isNarrow ? 'in' : 'accepted'}`,
    movement || counters.left > 0 ? `◀ ${count(counters.left)} ${isNarrow ? 'out' : 'left'}` : null,
    `✘ ${count(counters.turnedAway)} ${isNarrow ? 'refused' : 'turned away'}`,
    waiting > 1 ? `${count(waiting)} queued` : null,
    conflicts > 0 ? `≠ ${counted(conflicts, 'conflict')}` : null,
    connection.offlineSince === null && pending > 0 ? `↑ ${count(pending)} wait` : null,
    `${count(rate(counters, now.getTime()))}/min`,
  ]
  return filled(` ${joined(facts, width - 1)}`, width, { bold: true })
}

/**
 * Returns the line of typed text. It is always visible, because a stray character before a payload would invalidate the
 * payload.
 */
function typedLine({ typed, panel, door }: View, width: number): Line {
  if (typed !== '' && (panel === null || panel.kind === 'choose' || panel.kind === 'undo')) {
    return filled(` › ${cut(printable(typed), width - 5)}▏`, width)
  }
  const { notice, connection } = door
  const text = notice ?? (connection.rejection && `Not uploaded: ${connection.rejection}`)
  return text === null ? filled('', width) : filled(` ${printable(text)}`, width, { color: 'yellow' })
}

function helpLine({ panel, isLocked, door }: View, width: number, isNarrow: boolean): Line {
  const text = () => {
    if (panel?.kind === 'choose')
      return isNarrow ? '↑↓ Enter scans it · Esc' : '↑↓ or its number, Enter scans it · Esc back'
    if (isLocked) return 'F8 unlock'
    if (width < NARROWEST) return `F2 find ${door.movement ? 'F6 in/out' : 'F3 undo'} F8 lock`
    if (isNarrow) return door.movement ? 'F2 find F3 undo F6 in/out F8 lock' : 'F2 find F3 undo F4 context F8 lock'
    const direction = door.movement ? ' · F6 in, out' : ''
    return `F2 search · F3 undo · F4 context, date${direction} · F8 lock · Ctrl-C quit`
  }
  return filled(` ${text()}`, width, { dim: true })
}
