import { stripVTControlCharacters } from 'node:util'
import { render } from 'ink-testing-library'
import { expect, test, vi } from 'vitest'
import { textWidth } from '../../../src/cli/command/output.ts'
import type { DoorState } from '../../../src/cli/console/console-door.ts'
import { type Panel, panelLines } from '../../../src/cli/console/panel-lines.ts'
import { Screen } from '../../../src/cli/console/run-console.tsx'
import { screenLines, type View } from '../../../src/cli/console/screen-lines.ts'
import type { Outcome } from '../../../src/core/rules/door/outcome.ts'

// Ink reads CI when it is loaded. With it, Ink draws only the last frame.
vi.hoisted(() => vi.stubEnv('CI', 'false'))

const now = new Date('2026-03-01T20:14:07.000Z')

const accepted: Outcome = {
  payload: 'ABC',
  externalRef: '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
  result: 'accepted',
  reasonCode: 'valid',
  message: 'Valid.',
  verified: 'online',
  scanId: '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e11',
  passId: '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e12',
  externalPassId: 'T-1',
  label: 'Ada Lovelace',
  templateName: 'Day ticket',
  door: null,
  group: { size: 5, used: 3, open: [{ passId: 'x', externalPassId: 'T-3', label: 'Eve' }] },
  readAt: now.toISOString(),
  scannedAt: now.toISOString(),
  priorScanCount: 0,
  lastAcceptedAt: null,
  candidates: [],
  conflict: null,
}
const candidate = {
  passId: accepted.passId!,
  label: 'Zoë 山田',
  externalPassId: 'T-2',
  templateName: null,
  standing: 'void',
}
const duplicate: Outcome = {
  ...accepted,
  result: 'duplicate',
  reasonCode: 'already_scanned',
  message: 'Already used on 1 Mar 2026 at 19:02:11 UTC, North gate.',
  label: '山田太郎 and a very long name that no narrow screen can ever hold in one line',
}
const outcomes: Outcome[] = [
  accepted,
  duplicate,
  { ...accepted, result: 'ambiguous', reasonCode: 'multiple_matches', candidates: [candidate] },
  { ...accepted, result: 'same_scan' },
  { ...accepted, result: 'reversal', reasonCode: null },
  { ...accepted, result: 'error', reasonCode: null, label: null, message: 'No answer.\u001B[2J\nAt all.' },
  { ...duplicate, verified: 'offline', scanId: null },
  { ...accepted, verified: 'offline', conflict: 'revoked' },
]

const panels: Panel[] = [
  null,
  { kind: 'search' },
  { kind: 'override', field: 'validityDate' },
  { kind: 'undo', scan: duplicate },
  { kind: 'quit', unevaluated: ['A-1', 'A\u001B[2J-2', 'A-3'] },
  { kind: 'choose', title: 'Found', candidates: Array.from({ length: 20 }, () => candidate), selected: 13, of: null },
  { kind: 'group', label: 'Ada\u001B[2J', open: accepted.group!.open },
  { kind: 'entered', title: '2 of 2 let in', outcomes: [accepted, duplicate], first: 0 },
]

function view(decision: Outcome | null, panel: Panel, isOffline: boolean): View {
  const connection = { offlineSince: isOffline ? now : null, rejection: null }
  const lists = { list: { generatedAt: new Date('2026-03-01T20:02:00.000Z'), size: 1234 }, rejection: null }
  return {
    place: { workspaceId: '', workspaceName: 'Fair', projectName: 'Summer' },
    gate: 'North',
    door: {
      connection: connection as DoorState['connection'],
      lists: lists as DoorState['lists'],
      overrides: { scanContextKey: 'day-1', validityDate: null },
      movement: null,
      decision,
      isSlow: false,
      counters: { last: outcomes, accepted: 1412, turnedAway: 9, left: 0, recent: [now.getTime()] },
      waiting: 3,
      unevaluated: ['A-1', 'A-2', 'A-3'],
      pending: 37,
      conflicts: 1,
      notice: null,
    },
    panel,
    isLocked: false,
    typed: '',
    now,
  }
}

/** Returns the lines of the screen as Ink draws them. ink-testing-library itself always has 100 columns. */
function frame(shown: View, columns: number, rows: number): string[] {
  const { lastFrame, unmount } = render(<Screen view={shown} columns={columns} rows={rows} color />)
  unmount()
  return stripVTControlCharacters(lastFrame()!).split('\n')
}

test.each([
  [80, 24],
  [40, 15],
  [30, 9],
  [200, 60],
])('on %i columns and %i rows every screen is one line less, and no line is too long', (columns, rows) => {
  for (const decision of [null, ...outcomes]) {
    for (const panel of panels) {
      for (const isOffline of [false, true]) {
        const lines = screenLines(view(decision, panel, isOffline), { columns, rows })
        expect(lines).toHaveLength(rows - 1)
        for (const line of lines) {
          const text = line.map((span) => span.text).join('')
          expect(textWidth(text), text).toBeLessThanOrEqual(columns)
          expect(text).toBe(stripVTControlCharacters(text))
        }
      }
    }
  }
})

test.each([30, 36, 40, 64, 80])('on %i columns the help is not cut off', (columns) => {
  const help = screenLines(view(null, null, false), { columns, rows: 12 }).at(-1)!
  expect(help.map(({ text }) => text).join('')).toMatch(/F2 .*F8 lock[^…]*$/)
})

test('an accepted entry over the capacity shows that the zone is full, also on a low screen', () => {
  const zone = { id: 'hall', name: 'Hall', inside: 101, capacity: 100 }
  const entry: Outcome = { ...accepted, zoneId: zone.id, direction: 'in', zone }
  for (const rows of [24, 12]) {
    const of = (decision: Outcome) => frame(view(decision, null, false), 80, rows).join('\n')
    expect(of(entry)).toContain('Zone full: 101 of 100 inside')
    expect(of({ ...entry, zone: { ...zone, inside: 100 } })).not.toContain('Zone full')
    expect(of({ ...entry, direction: 'out' })).not.toContain('Zone full')
  }
})

test('a slow decision replaces the previous one with a progress text', () => {
  const shown = view(null, null, false)
  const lines = frame({ ...shown, door: { ...shown.door, isSlow: true } }, 80, 24).join('\n')
  expect(lines).toContain('Checking …')
  expect(lines).not.toContain('Scan a pass')
})

test('a low screen shows the input and the selected person below the decision', () => {
  const low = { columns: 40, rows: 12 }
  const of = (panel: Panel, typed: string) =>
    screenLines({ ...view(accepted, panel, false), typed }, low).map((line) => line.map(({ text }) => text).join(''))
  const search = of({ kind: 'search' }, 'Love').join('\n')
  for (const text of ['ACCEPTED', 'Ada Lovelace', 'Search by name', '› Love', 'Esc back'])
    expect(search).toContain(text)
  const choose: Panel = { kind: 'choose', title: 'Found', candidates: [candidate, candidate], selected: 1, of: null }
  expect(of(choose, '').join('\n')).toContain('› 2 Zoë')
})

const questions: Panel[] = [
  { kind: 'search' },
  { kind: 'override', field: 'validityDate' },
  { kind: 'override', field: 'scanContextKey' },
  { kind: 'group', label: 'Ada Lovelace', open: accepted.group!.open },
]

test.each(questions)('the prompt of $kind names the key to go back, even on a narrow screen', (panel) => {
  expect(
    frame(view(accepted, panel, false), 40, 15)
      .join(' ')
      .replaceAll(/ +/g, ' '),
  ).toContain('· Esc back ')
})

test.each([
  ['80 columns', 80, 24, false],
  ['40 columns', 40, 15, false],
  ['40 columns, offline', 40, 15, true],
])('shows an already used pass on %s', (_, columns, rows, isOffline) => {
  vi.stubEnv('TZ', 'UTC')
  expect(frame(view(duplicate, null, isOffline), columns, rows).map((line) => line.trimEnd())).toMatchSnapshot()
})

test('shows a decision with a sign and a word', () => {
  const words = outcomes.map((outcome) => frame(view(outcome, null, false), 40, 15)[1]!.trim())
  expect(words).toEqual([
    '✔ ACCEPTED',
    '✘ ALREADY USED',
    '? WHICH ONE?',
    '= SAME SCAN',
    '↶ UNDONE',
    '! NOT CHECKED',
    '✘ ALREADY USED (OFFLINE)',
    '✔ ACCEPTED (OFFLINE)',
  ])
})

test('the decision on an admitted person fades, so that the next person cannot use it', () => {
  const backgrounds = (shown: View) =>
    screenLines(shown, { columns: 80, rows: 24 }).flatMap((line) => line.flatMap((span) => span.background ?? []))
  const fresh = view(accepted, null, false)
  expect(new Set(backgrounds(fresh))).toEqual(new Set(['green']))
  expect(backgrounds({ ...fresh, now: new Date(now.getTime() + 10_000) })).toEqual([])
})

const withDoor: Outcome = {
  ...accepted,
  door: {
    fields: [
      { label: 'Seat', value: 'A-17' },
      { label: 'Requests', value: `vegan${', no nuts'.repeat(40)}\u001B[2J` },
    ],
    notice: 'Hand out the speaker badge',
  },
}

test.each([
  [80, 24],
  [40, 15],
  [30, 12],
])('%i columns and %i rows show the decision, and instructions only for admitted holders', (columns, rows) => {
  const shown = (outcome: Outcome) => frame(view(outcome, null, false), columns, rows).join('\n')
  expect(frame(view(withDoor, null, false), columns, rows)).toHaveLength(rows - 1)
  expect(shown(withDoor)).toMatch(/▶ Hand out the/)
  expect(shown(withDoor)).toContain('Seat: A-17')
  const denied = shown({ ...duplicate, door: withDoor.door })
  expect(denied).not.toContain('Hand out')
  expect(denied).toContain('Already used')
  expect(shown({ ...withDoor, direction: 'out' })).not.toContain('▶')
})

test('a screen of 40x20 omits the last scans before name, notice, and fields', () => {
  const label = 'Alexandra Konstantinopoulos-Featherstonehaugh of Lower Slaughter'
  const notice = 'Check the photo ID of everybody in this group, then hand out the gold wristband'
  const fields = [
    { label: 'Tier', value: 'Gold with backstage access' },
    { label: 'Allergies', value: 'peanuts, sesame, shellfish, celery' },
  ]
  const outcome = { ...accepted, label, door: { notice, fields } }
  for (const isOffline of [false, true]) {
    const text = frame(view(outcome, null, isOffline), 40, 20).map((line) => line.trim())
    const upper = text.slice(0, -4).join(' ')
    for (const whole of [label, notice, 'Tier: Gold with backstage access', 'sesame, shellfish, celery'])
      expect(upper).toContain(whole)
    expect(text).toHaveLength(19)
  }
  expect(frame(view(accepted, null, false), 40, 20).join('\n')).toContain('20:14')
})

test('marks the members of a group that a typed number admits, and none if it is too large', () => {
  const open = ['Bea', 'Cleo', 'Dora'].map((label) => ({ passId: label, externalPassId: label, label }))
  const marked = (typed: string) =>
    panelLines({ kind: 'group', label: 'Ada', open }, typed, { width: 80, height: 10 })
      .flat()
      .filter(({ inverse }) => inverse)
      .map(({ text }) => text.trim())
  expect(marked('2')).toEqual(['1 Bea · Bea', '2 Cleo · Cleo'])
  for (const typed of ['', '4', 'a code']) expect(marked(typed)).toEqual([])
})

test('shows how many of a long group are below the edge of the screen', () => {
  const open = Array.from({ length: 8 }, (_, n) => ({ passId: `${n}`, externalPassId: `T-${n}`, label: `Guest ${n}` }))
  const shown = (height: number) =>
    panelLines({ kind: 'group', label: 'Ada', open }, '', { width: 80, height }).map(([span]) => span!.text.trim())
  expect(shown(11).slice(3)).toEqual(open.map(({ label }, n) => `${n + 1} ${label} · T-${n}`))
  expect(shown(7).slice(3)).toEqual(['1 Guest 0 · T-0', '2 Guest 1 · T-1', '3 Guest 2 · T-2', '… and 5 more'])
})

test('shows the key that lets in others of a group on a narrow screen', () => {
  const text = frame(view(accepted, null, false), 40, 20)
    .join(' ')
    .replaceAll(/ +/g, ' ')
  expect(text).toContain('3 of 5 of the group let in · F5 lets more in')
})

test('shows how many of a group are inside the zone of a scan', () => {
  const ada = { passId: '1', externalPassId: 'T-1', label: 'Ada' }
  const group = { ...accepted.group!, inside: [ada] }
  expect(frame(view({ ...accepted, group }, null, false), 80, 24).join('\n')).toContain('1 of 5 of the group inside')
})

test('lists the admitted people of a group with their instructions', () => {
  const of = (label: string, notice: string) => ({
    ...accepted,
    label,
    door: { notice, fields: [{ label: 'Allergies', value: `of ${label}` }] },
  })
  const outcomes = [
    of('Ada', 'Wristband'),
    of('Bea', 'Check the ID'),
    { ...of('Cleo', 'Badge'), result: 'denied' as const },
  ]
  const shown = (first: number, rows: number) =>
    frame(view(accepted, { kind: 'entered', title: '2 of 3 let in', outcomes, first }, false), 80, rows).join('\n')
  for (const text of ['2 of 3 let in', '▶ Wristband', '▶ Check the ID', 'Allergies: of Ada', 'Allergies: of Bea'])
    expect(shown(0, 24)).toContain(text)
  expect(shown(0, 24)).not.toContain('Badge')
  expect(shown(0, 12)).toContain('↑↓ more')
  expect(shown(1, 12)).toContain('▶ Check the ID')
})

function zoneView(outcome: Outcome | null, direction: 'in' | 'out', inside: number, capacity: number | null): View {
  const shown = view(outcome && { ...outcome, direction, zoneId: 'z' }, null, false)
  const zone = { id: 'z', name: 'Hall', inside, capacity, whenFull: 'deny' as const, resetAt: null, at: '' }
  return { ...shown, door: { ...shown.door, movement: { direction, zone } } }
}

test.each([
  [80, 24],
  [40, 15],
  [30, 9],
])('%i columns and %i rows show the direction, and how full the zone is', (columns, rows) => {
  const text = (shown: View) => frame(shown, columns, rows).join('\n')
  const offline: Outcome = { ...duplicate, verified: 'offline', scanId: null }
  for (const shown of [zoneView(offline, 'in', 4_812, 5_000), zoneView(null, 'out', 5_000, 5_000)]) {
    expect(frame(shown, columns, rows)).toHaveLength(rows - 1)
  }
  expect(text(zoneView(null, 'in', 10, null))).toMatch(/ ▶ IN · 10 inside · Hall/)
  expect(text(zoneView(null, 'out', 399, 500))).toMatch(/ ◀ OUT · 399 \/ 500 inside(?! · ▲)/)
  expect(text(zoneView(null, 'in', 400, 500))).toContain('400 / 500 inside · ▲')
  expect(text(zoneView(null, 'in', 500, 500))).toContain('500 / 500 inside · ■')
  // The mark of an offline decision and the direction are in the first line, which a low screen does not cut off.
  expect(text(zoneView(offline, 'in', 4_812, 5_000))).toMatch(/(ALREADY USED|A L R E A D Y {3}U S E D) +▶ IN +\(OFF/)
})
