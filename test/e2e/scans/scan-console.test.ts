import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ScanItem } from '../../../src/core/contract/schemas/scan-shapes.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { isLong, times } from '../../support/long.ts'
import { issueWithCodes, ledger, tallyOf } from '../support/door.ts'
import { type HeldProxy, startHeldProxy } from '../support/held-proxy.ts'
import { run } from '../support/program.ts'
import { openTerminal, type Terminal, type TerminalOptions } from '../support/pty.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const F2 = '\u001BOQ'
const F3 = '\u001BOR'
const F4 = '\u001BOS'
const F6 = '\u001B[17~'
const F8 = '\u001B[19~'
const F9 = '\u001B[20~'
const ESCAPE = '\u001B'
const DOWN = '\u001B[B'
const CTRL_C = '\u0003'

const GREEN = '42'
const RED = '41'
const YELLOW = '43'
const INVERSE = '7'

/** Matches a text that follows an escape sequence for its style on the same line. */
function filledWith(look: string, text: string): RegExp {
  return new RegExp(`\\u001B\\[${look}m[^\\n]*${text}`)
}

/** A search by name finds the last two passes. */
const codes = [...Array.from({ length: 10 }, (_, n) => `PASS-${n}`), 'PASS-19', 'PASS-190', 'KEY-1']
const typed = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)

async function typeByScanner(terminal: Terminal, text: string): Promise<void> {
  for (const character of text) {
    terminal.type(character)
    await sleep(1)
  }
}

const speeds: [string, string[], (terminal: Terminal, codes: string[]) => Promise<void>][] = [
  ['in one piece', typed('WHOLE', times(24, 500)), async (terminal, given) => terminal.type(`${given.join('\r')}\r`)],
  [
    'at a millisecond a character',
    typed('SLOW', times(16, 500)),
    async (terminal, given) => typeByScanner(terminal, `${given.join('\r')}\r`),
  ],
  [
    'back to back',
    typed('FAST', times(24, 500)),
    async (terminal, given) => {
      for (const code of given) terminal.type(`${code}\r`)
    },
  ],
]

/** Returns the counters of a console. */
function counted({ screen }: Terminal) {
  const [, accepted, turnedAway] = /✔ ([\d,]+) accepted · ✘ ([\d,]+) turned away/.exec(screen.text()) ?? []
  const numberOf = (text = '') => Number(text.replaceAll(',', ''))
  return { accepted: numberOf(accepted), turnedAway: numberOf(turnedAway) }
}

describe('the door console on a real terminal', () => {
  const cleanUp = cleanUpAfterAll()
  let server: TestServer
  /** Between the north gate and the server. */
  let proxy: HeldProxy
  /** Two consoles that stay open for all tests, each with its own passes. Starting another takes 1.5 s of CPU. */
  let north: Terminal
  let south: Terminal

  beforeAll(async () => {
    server = await hostServer({ cleanUp })
    proxy = await startHeldProxy(server.url, 'POST /v1/scans', cleanUp)
    void proxy.answer(Number.POSITIVE_INFINITY)
    await issueWithCodes(server.client, [...codes, ...speeds.flatMap(([, given]) => given)])
    // Without these variables, Ink draws nothing in CI, and no colors.
    north = await openConsole(['--gate', 'North gate'], { env: { CI: 'true', PASSES_URL: proxy.url }, cleanUp })
    south = await openConsole(['--gate', 'South gate', '--mute', '--no-color'], { cleanUp })
  })

  beforeEach(async () => {
    for (const terminal of [north, south]) await terminal.shows('● online')
  })

  /** Opens a console with its own state, as on another machine. */
  async function openConsole(args: string[] = [], options: TerminalOptions = {}): Promise<Terminal> {
    const terminal = openTerminal(['scan', '--no-input', ...args], server, {
      ...options,
      env: { XDG_STATE_HOME: temporaryFolder(options.cleanUp), ...options.env },
    })
    await terminal.shows('Scan a pass')
    return terminal
  }

  /** Scans a valid pass, and waits until the terminal shows that it is accepted. */
  async function letIn(terminal: Terminal, code: string): Promise<void> {
    terminal.type(`${code}\r`)
    await terminal.shows(new RegExp(`A C C E P T E D[^]*Guest ${code}\\b`))
  }

  async function scansOf(isWanted: (externalPassId: string) => boolean): Promise<ScanItem[]> {
    return (await ledger(server.client)).filter((item) => isWanted(item.externalPassId ?? ''))
  }

  /**
   * Types as slowly as a person. Waits for each character on the screen, and then longer than the longest gap of a scan,
   * because the console does not count the time in which it waits for the CPU. Waits longest before a scan, from which
   * only this gap separates the typed characters.
   */
  async function typeByHand(terminal: Terminal, text: string): Promise<void> {
    for (const [at, character] of [...text].entries()) {
      terminal.type(character)
      if (character !== '\r') await terminal.shows(`› ${text.slice(0, at + 1).trimEnd()}`)
      await sleep(at === text.length - 1 && character !== '\r' ? 1_500 : 400)
    }
  }

  test.each(speeds)('loses and merges no payload of many that are typed %s', async (_, given, type) => {
    const before = counted(north)
    await type(north, given)
    await eventually(() => expect(counted(north)).toEqual({ ...before, accepted: before.accepted + given.length }))
    const prefix = given[0]!.split('-')[0]!
    // On a busy machine, the console may have decided offline. The server gets the scans shortly after.
    await eventually(
      async () => {
        const items = await scansOf((externalPassId) => externalPassId.startsWith(`${prefix}-`))
        expect(tallyOf(items.map((item) => item.externalPassId))).toEqual(tallyOf(given))
        expect(tallyOf(items.map((item) => item.result))).toEqual({ accepted: given.length })
      },
      { interval: 250 },
    )
  })

  test('an accepted scan is green and a rejected one red', async () => {
    await letIn(north, 'PASS-7')
    expect(north.screen.raw).toMatch(filledWith(GREEN, 'A C C E P T E D'))
    expect(north.screen.raw).not.toMatch(filledWith(RED, ''))
    north.type('nobody\r')
    await north.shows('U N K N O W N')
    expect(north.screen.raw).toMatch(filledWith(RED, 'U N K N O W N'))
  })

  test('shows who is admitted, and when and where a pass was used', async () => {
    await letIn(north, 'PASS-1')
    expect(north.screen.text()).toMatch(/Guest PASS-1\n.*Day ticket/)
    south.type('PASS-1\r')
    await south.shows('A L R E A D Y   U S E D')
    expect(south.screen.text()).toMatch(/Already used on .* at \d\d:\d\d:\d\d \S+, North gate/)
    south.type('NOBODY\r')
    await south.shows('U N K N O W N')
    expect(south.screen.text()).toContain('✘ 2 turned away')
  })

  test('the same code at once is the same scan; the bell rings once for yes and three times for no', async () => {
    const before = { ...counted(north), bells: north.screen.bells }
    // The screen keeps showing that the other scans are the same scan until the first one is evaluated.
    void proxy.answer(0)
    north.type('PASS-2\rPASS-2\rPASS-2\r')
    await north.shows('S A M E   S C A N').finally(proxy.release)
    await eventually(() =>
      expect(counted(north)).toEqual({ accepted: before.accepted + 1, turnedAway: before.turnedAway }),
    )
    expect(north.screen.bells).toBe(before.bells + 1)
    north.type('NOBODY\r')
    await north.shows('U N K N O W N')
    await eventually(() => expect(north.screen.bells).toBe(before.bells + 4))
    expect(await scansOf((externalPassId) => externalPassId === 'PASS-2')).toHaveLength(1)
  })

  test('F3, pressed twice, reverses the last scan, and the pass is accepted again', async () => {
    await letIn(south, 'PASS-3')
    south.type(F3)
    await south.shows('Undo the scan of Guest PASS-3?')
    south.type(F3)
    await south.shows('U N D O N E')
    await letIn(south, 'PASS-3')
    const items = await scansOf((externalPassId) => externalPassId === 'PASS-3')
    expect(items.filter((item) => item.result === 'accepted')).toHaveLength(2)
    expect(south.screen.bells).toBe(0)
  })

  test('F2 finds a pass by name, and a scan in between is recorded', async () => {
    const before = counted(north)
    north.type(F2)
    await north.shows('Search by name')
    await letIn(north, 'PASS-4')
    await typeByHand(north, 'pass-19\r')
    await north.shows('Found for pass-19')
    // The second match. None of the matches was admitted yet.
    north.type(DOWN)
    await north.shows('› 2')
    north.type('\r')
    await eventually(() => expect(counted(north)).toEqual({ ...before, accepted: before.accepted + 2 }))
  })

  test('a key before a scan does not change it, also in an open panel', async () => {
    const code = 'KEY-1'
    const before = counted(south)
    await typeByHand(south, 'x')
    south.type(`${code}\r`)
    await south.shows(new RegExp(`A C C E P T E D[^]*Guest ${code}\\b`))
    for (const [key, title, unknown] of [
      [F4, 'Scan context', `${code}-1`],
      [F2, 'Search by name', `${code}-2`],
    ] as const) {
      south.type(key)
      await south.shows(title)
      await typeByHand(south, 'd')
      south.type(`${unknown}\r`)
      await south.shows(new RegExp(`U N K N O W N[^]* ${unknown}\n[^]*› d`))
      south.type(ESCAPE)
      await eventually(() => expect(south.screen.text()).not.toContain(title))
    }
    expect(counted(south)).toEqual({ accepted: before.accepted + 1, turnedAway: before.turnedAway + 2 })
    expect(south.screen.text()).not.toContain('CONTEXT')
  })

  test('F4 sets a context and a date, which stay visible; F8 does not affect scans; NO_COLOR disables colors', async () => {
    const terminal = await openConsole([], { env: { NO_COLOR: '1' } })
    terminal.type(F4)
    await terminal.shows('Scan context')
    await typeByHand(terminal, 'd9\r')
    await terminal.shows('CONTEXT d9')
    terminal.type(F4)
    await terminal.shows('Scan context')
    terminal.type(F4)
    await terminal.shows('Evaluate as of')
    await typeByHand(terminal, '2026-05-01\r')
    await terminal.shows('AS OF 2026-05-01 · CONTEXT d9')
    terminal.type(F8)
    await terminal.shows('LOCKED · AS OF')
    terminal.type(`${F4}PASS-5\r`)
    await terminal.shows('A C C E P T E D')
    const [item] = await ledger(server.client, { scanContextKey: ['d9'] })
    expect(item).toMatchObject({ externalPassId: 'PASS-5', metadata: { validateAsOf: '2026-05-01' } })
    expect(terminal.screen.text()).toContain('LOCKED · AS OF 2026-05-01 · CONTEXT d9')
    expectNoColour(terminal, 'PASS-5')
    terminal.type(CTRL_C)
    expect(await terminal.ended).toBe(130)
  })

  test('counts people in and out of a zone, and shows how full it is', async () => {
    const { client } = server
    const { id: projectId } = await client.projects.create({ body: { name: 'Zones' } })
    const { id: zoneId } = await client.zones.create({
      body: { projectId, name: 'Hall', capacity: 5, whenFull: 'deny' },
    })
    await issueWithCodes(client, ['ZONE-1', 'ZONE-2', 'ZONE-3'], projectId)
    const adjust = (delta: number) =>
      client.zones.adjust({ params: { id: zoneId }, body: { delta, reason: 'Counted', externalRef: String(delta) } })
    const terminal = await openConsole(['--zone', 'Hall'])
    await terminal.shows('▶ IN · 0 / 5 inside · Hall')
    terminal.type('ZONE-1\r')
    await terminal.shows(/A C C E P T E D {3}▶ IN[\s\S]*Guest ZONE-1/)
    await terminal.shows('▶ IN · 1 / 5 inside · Hall')
    // Neither the key alone, nor a scan or an Enter after it, switches the direction.
    terminal.type(F6)
    await terminal.shows('Switch to ◀ OUT?')
    terminal.type('\r')
    terminal.type('ZONE-2\r')
    await terminal.shows(/A C C E P T E D {3}▶ IN[\s\S]*Guest ZONE-2/)
    await adjust(2)
    await terminal.shows('▶ IN · 4 / 5 inside · ▲ NEARLY FULL')
    expect(terminal.screen.raw).toMatch(filledWith(YELLOW, ' ▶ IN'))
    await adjust(1)
    await terminal.shows('▶ IN · 5 / 5 inside · ■ FULL')
    expect(terminal.screen.raw).toMatch(filledWith(RED, ' ▶ IN'))
    terminal.type('ZONE-3\r')
    await terminal.shows(/Z O N E {3}F U L L {3}▶ IN/)
    terminal.type(F6)
    await terminal.shows('Switch to ◀ OUT?')
    terminal.type(F9)
    await terminal.shows('◀ OUT · 5 / 5 inside')
    terminal.type('ZONE-1\r')
    await terminal.shows(/L E F T {3}◀ OUT[\s\S]*Guest ZONE-1/)
    await terminal.shows('◀ OUT · 4 / 5 inside')
    terminal.resize(40, 12)
    await terminal.shows(/^ ◀ OUT · 4 \/ 5 inside · ▲ NEARLY FULL$/m)
    await terminal.shows(/^ ✔ LEFT ◀ OUT$/m)
    const piped = await run(['scan', '--stdin', '--zone', 'Hall', '--direction', 'out'], server, {
      input: 'ZONE-2\n',
      env: { PASSES_URL: server.url, PASSES_TOKEN: server.token, XDG_STATE_HOME: temporaryFolder() },
    })
    expect(JSON.parse(piped.stdout)).toMatchObject({
      ...{ result: 'accepted', verified: 'online', zoneId, direction: 'out' },
      zone: { id: zoneId, name: 'Hall', inside: 3, capacity: 5 },
    })
    expect((await scansOf((id) => id === 'ZONE-1')).map(({ direction }) => direction)).toEqual(['in', 'out'])
  })

  test('a resized screen shows everything at its position', async () => {
    await letIn(north, 'PASS-6')
    for (const [columns, rows] of [
      [40, 15],
      [120, 40],
      [40, 10],
      [80, 24],
    ] as const) {
      north.resize(columns, rows)
      const word = columns < 60 ? /^ ✔ ACCEPTED( \(OFFLINE\))?$/m : /A C C E P T E D( {3}\(OFFLINE\))?$/m
      await north.shows(word)
      // The console redraws in several steps.
      await eventually(() => {
        const lines = north.screen.lines()
        expect(lines[0]).toMatch(/^ ● online +(North gate · )?default · \S+$/)
        expect(lines.at(-2)).toMatch(columns < 64 ? /^ F2 find/ : /^ F2 search/)
        expect(lines.at(-1)).toBe('')
        expect(lines.filter((line) => line.includes('● online'))).toHaveLength(1)
      })
    }
  })

  // The tests of the settings check the table of color variables. A few of them on a terminal show that the console
  // uses it.
  const coloured: [string, Record<string, string>][] = [
    ['of sixteen colours', { TERM: 'linux' }],
    ['of 256 colours', {}],
    ['that FORCE_COLOR names', { NO_COLOR: '1', FORCE_COLOR: '1' }],
  ]
  test.runIf(isLong).each(coloured)('a terminal %s shows colors', async (name, env) => {
    const terminal = await openConsole(['--context', name], { env })
    await letIn(terminal, 'PASS-7')
    expect(terminal.screen.raw).toMatch(filledWith(GREEN, 'A C C E P T E D'))
  })

  test.runIf(isLong)('FORCE_COLOR=0 disables colors', async () => {
    const terminal = await openConsole(['--context', 'colorless'], { env: { FORCE_COLOR: '0' } })
    await letIn(terminal, 'PASS-8')
    expectNoColour(terminal, 'PASS-8')
  })

  test('the flag disables colors, too; sign and word stay visible', async () => {
    await letIn(south, 'PASS-9')
    expectNoColour(south, 'PASS-9')
  })

  function expectNoColour({ screen }: Terminal, code: string): void {
    expect(screen.text()).toContain(`Guest ${code}`)
    expect(screen.raw).not.toMatch(/\[(3|4|9|10)[0-7](;\d+)*m/)
    expect(screen.raw).toMatch(filledWith(INVERSE, 'A C C E P T E D'))
  }

  test('TERM=dumb cannot draw the screen, and the message names the alternative', async () => {
    const terminal = openTerminal(['scan'], server, { env: { TERM: 'dumb' }, columns: 200 })
    await terminal.shows('--stdin')
    expect(await terminal.ended).toBe(2)
  })

  test('without a terminal, the message names the alternative', async () => {
    const { exitCode, stderr } = await run(['scan'], server, { input: 'PASS-1\n' })
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--stdin')])
  })
})
