import { count, cut, printable, textWidth } from '../command/output.ts'
import { decisionLines, neededHeight } from './decision-lines.ts'
import type { DoorState } from './door.ts'
import { age, clockTime, clockZone, filled, historyLines, joined, type Line, NARROW, toHeight } from './lines.ts'
import type { Place } from './offline/door-folder.ts'
import { type Panel, panelLines } from './panel-lines.ts'
import { rate } from './recent-scans.ts'

/** Everything that the screen is made of. */
export interface View {
  place: Place
  gate: string | null
  door: DoorState
  panel: Panel
  isLocked: boolean
  /** What was typed and not ended with Enter. */
  typed: string
  now: Date
}

/** The size of a terminal, in its cells. */
export interface ScreenSize {
  columns: number
  rows: number
}

const HISTORY = 8
const FOOT = 4
/** Word, name, ticket and a reason of two lines. */
const LEAST_VERDICT = 5
/** A question with its answer and its keys, or a few to choose from: behind them word and name are enough. */
const PANEL = 5
const BEHIND_PANEL = 2
const TALL = 20

/** A group is a list of people to read. */
function panelHeight({ kind }: NonNullable<Panel>): number {
  return kind === 'group' || kind === 'entered' ? Number.POSITIVE_INFINITY : PANEL
}

/**
 * The whole screen: one line less than the terminal has, each exactly as wide, whatever is going on, so that nothing ever
 * jumps or scrolls.
 */
export function screenLines(view: View, { columns, rows }: ScreenSize): Line[] {
  const width = Math.max(20, columns)
  const height = Math.max(1, rows - 1)
  const banner = bannerLines(view, width, rows >= TALL)
  const foot = footLines(view, width)
  const middle = Math.max(0, height - banner.length - FOOT)
  const { panel, door } = view
  const usual = Math.max(0, Math.min(HISTORY, Math.floor(middle / 2), middle - LEAST_VERDICT))
  // A low screen drops the last scans before it cuts off what the operator must read.
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

/** The connection; large while there is none. */
function bannerLines({ door, place, gate, now }: View, width: number, isTall: boolean): Line[] {
  const { connection, lists, pending } = door
  const names = [gate, place.projectName, place.workspaceName, clockZone()].map((name) => name && printable(name))
  if (connection.offlineSince === null) {
    const state = door.lists.rejection === null ? ' ● online' : ' ● online, not without the server'
    const where = joined(names, width - state.length - 3)
    const gap = ' '.repeat(Math.max(1, width - state.length - 1 - textWidth(where)))
    return [filled(`${state}${gap}${where}`, width, { color: 'green' })]
  }
  const { list, rejection } = lists
  const texts = [
    ` ▲ OFFLINE since ${clockTime(connection.offlineSince)} · ${count(pending)} wait`,
    list
      ? ` List ${age(list.generatedAt, now)} old (${clockTime(list.generatedAt)}) · ${count(list.size)} passes`
      : ` No list to judge by${rejection ? `: ${rejection}` : ''}`,
  ]
  const style = { background: 'yellow', color: 'black', bold: true } as const
  return [...texts, ...(isTall ? [` ${joined(names, width - 2)}`] : [])].map((text) => filled(text, width, style))
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

/** What every scan is evaluated under beyond the ordinary; it stands there as long as it is armed. */
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
  const { counters, waiting, conflicts, pending, connection } = door
  const facts = [
    `✔ ${count(counters.accepted)} ${isNarrow ? 'in' : 'accepted'}`,
    `✘ ${count(counters.turnedAway)} ${isNarrow ? 'refused' : 'turned away'}`,
    waiting > 1 ? `${count(waiting)} queued` : null,
    conflicts > 0 ? `≠ ${count(conflicts)} ${conflicts === 1 ? 'conflict' : 'conflicts'}` : null,
    connection.offlineSince === null && pending > 0 ? `↑ ${count(pending)} wait` : null,
    `${count(rate(counters, now.getTime()))}/min`,
  ]
  return filled(` ${joined(facts, width - 1)}`, width, { bold: true })
}

/** A stray character in front of a payload would spoil it, so what is typed is always seen. */
function typedLine({ typed, panel, door }: View, width: number): Line {
  if (typed !== '' && (panel === null || panel.kind === 'choose' || panel.kind === 'undo')) {
    return filled(` › ${cut(printable(typed), width - 5)}▏`, width)
  }
  const { notice, connection } = door
  const text = notice ?? (connection.rejection && `Not uploaded: ${connection.rejection.message}`)
  return text === null ? filled('', width) : filled(` ${printable(text)}`, width, { color: 'yellow' })
}

function helpLine({ panel, isLocked }: View, width: number, isNarrow: boolean): Line {
  const text = () => {
    if (panel?.kind === 'choose')
      return isNarrow ? '↑↓ Enter scans it · Esc' : '↑↓ or its number, Enter scans it · Esc back'
    if (isLocked) return 'F8 unlock'
    return isNarrow
      ? 'F2 find F3 undo F4 context F8 lock'
      : 'F2 search · F3 undo · F4 context, date · F8 lock · Ctrl-C quit'
  }
  return filled(` ${text()}`, width, { dim: true })
}
