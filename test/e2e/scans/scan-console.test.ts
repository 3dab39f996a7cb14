import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import { issueWithCodes, ledger, tallyOf } from '../support/door.ts'
import { run } from '../support/program.ts'
import { openTerminal, type Terminal, type TerminalOptions } from '../support/pty.ts'
import { type ServerProcess, startServer } from '../support/server.ts'

const F2 = '\u001BOQ'
const F3 = '\u001BOR'
const F4 = '\u001BOS'
const F8 = '\u001B[19~'
const DOWN = '\u001B[B'
const CTRL_C = '\u0003'

const GREEN = '42'
const RED = '41'
const INVERSE = '7'

/** A text behind an escape sequence that sets its look, on the same line. */
function filledWith(look: string, text: string): RegExp {
  return new RegExp(`\\u001B\\[${look}m[^\\n]*${text}`)
}

const codes = Array.from({ length: times(200, 500) }, (_, n) => `PASS-${n}`)

describe('the door console on a real terminal', () => {
  const cleanUp = cleanUpAfterAll()
  let server: ServerProcess

  beforeAll(async () => {
    server = await startServer({ cleanUp })
    await issueWithCodes(server.client, codes)
  })

  /** A console of a machine of its own. */
  async function openConsole(args: string[] = [], options: TerminalOptions = {}): Promise<Terminal> {
    const terminal = openTerminal(['scan', '--no-input', ...args], server, {
      ...options,
      env: { XDG_STATE_HOME: temporaryFolder(), ...options.env },
    })
    await terminal.shows('Scan a pass')
    return terminal
  }

  /** As slowly as a person. Each character is seen before the next is typed: on a busy machine two would come as one. */
  async function typeByHand(terminal: Terminal, text: string): Promise<void> {
    for (const [at, character] of [...text].entries()) {
      terminal.type(character)
      if (character !== '\r') await terminal.shows(text.slice(0, at + 1).trimEnd())
      await sleep(60)
    }
  }

  const speeds: [string, string[], (terminal: Terminal, codes: string[]) => Promise<void>][] = [
    ['in one piece', codes, async (terminal) => terminal.type(`${codes.join('\r')}\r`)],
    [
      'at a millisecond a character',
      codes.slice(0, times(100, 500)),
      async (terminal, given) => {
        for (const character of `${given.join('\r')}\r`) {
          terminal.type(character)
          await sleep(1)
        }
      },
    ],
    [
      'back to back',
      codes,
      async (terminal) => {
        for (const code of codes) terminal.type(`${code}\r`)
      },
    ],
  ]

  test.each(speeds)('of hundreds of payloads typed %s none is lost and none merged', async (speed, given, type) => {
    const terminal = await openConsole(['--context', speed])
    await type(terminal, given)
    await terminal.shows(`✔ ${given.length} accepted`)
    const items = await ledger(server.client, { scanContextKey: [speed] })
    expect(tallyOf(items.map((item) => item.externalPassId))).toEqual(tallyOf(given))
    expect(tallyOf(items.map((item) => item.result))).toEqual({ accepted: given.length })
    terminal.type(CTRL_C)
    expect(await terminal.ended).toBe(130)
  })

  test('it says who may come in, and of a pass that was used when and where', async () => {
    const gate = await openConsole(['--context', 'used', '--gate', 'North gate'])
    gate.type('PASS-1\r')
    await gate.shows('A C C E P T E D')
    expect(gate.screen.text()).toMatch(/Guest PASS-1\n.*Day ticket/)
    const other = await openConsole(['--context', 'used', '--gate', 'South gate'])
    other.type('PASS-1\r')
    await other.shows('A L R E A D Y   U S E D')
    expect(other.screen.text()).toMatch(/Already used on .* at \d\d:\d\d:\d\d, North gate/)
    other.type('NOBODY\r')
    await other.shows('U N K N O W N')
    expect(other.screen.text()).toContain('✘ 2 turned away')
  })

  test('the same code at once is the same scan; the bell rings once for yes and three times for no', async () => {
    const terminal = await openConsole(['--context', 'same'])
    // Until the first is judged, what the others are stays in sight.
    server.signal('SIGSTOP')
    terminal.type('PASS-2\rPASS-2\rPASS-2\r')
    await terminal.shows('S A M E   S C A N').finally(() => server.signal('SIGCONT'))
    await terminal.shows('✔ 1 accepted · ✘ 0 turned away')
    expect(terminal.screen.bells).toBe(1)
    terminal.type('NOBODY\r')
    await terminal.shows('U N K N O W N')
    await expect.poll(() => terminal.screen.bells).toBe(4)
    expect(await ledger(server.client, { scanContextKey: ['same'] })).toHaveLength(2)
  })

  test('F3 takes the last scan back when it is pressed twice, and the pass may come in again', async () => {
    const terminal = await openConsole(['--context', 'undo', '--mute'])
    terminal.type('PASS-3\r')
    await terminal.shows('✔ 1 accepted')
    terminal.type(F3)
    await terminal.shows('Undo the scan of Guest PASS-3?')
    terminal.type(F3)
    await terminal.shows('U N D O N E')
    terminal.type('PASS-3\r')
    await terminal.shows('A C C E P T E D')
    const items = await ledger(server.client, { scanContextKey: ['undo'] })
    expect(items.filter((item) => item.result === 'accepted')).toHaveLength(2)
    expect(terminal.screen.bells).toBe(0)
  })

  test('F2 finds a pass by name; a scan that comes in between is a scan all the same', async () => {
    const terminal = await openConsole(['--context', 'search'])
    terminal.type(F2)
    await terminal.shows('Search by name')
    terminal.type('PASS-4\r')
    await terminal.shows('Guest PASS-4')
    terminal.type(F2)
    await terminal.shows('Search by name')
    await typeByHand(terminal, 'guest pass-19\r')
    await terminal.shows('Found for guest pass-19')
    terminal.type(DOWN)
    await terminal.shows('› 2')
    terminal.type('\r')
    await terminal.shows('✔ 2 accepted')
    expect(await ledger(server.client, { scanContextKey: ['search'] })).toHaveLength(2)
  })

  test('F4 arms a context and a date, which stay in sight; F8 leaves scans alone', async () => {
    const terminal = await openConsole()
    terminal.type(F4)
    await terminal.shows('Scan context')
    await typeByHand(terminal, 'day-9\r')
    await terminal.shows('CONTEXT day-9')
    terminal.type(F4)
    await terminal.shows('Scan context')
    terminal.type(F4)
    await terminal.shows('Judge as of')
    await typeByHand(terminal, '2026-05-01\r')
    await terminal.shows('AS OF 2026-05-01 · CONTEXT day-9')
    terminal.type(F8)
    await terminal.shows('LOCKED · AS OF')
    terminal.type(`${F4}PASS-5\r`)
    await terminal.shows('A C C E P T E D')
    const [item] = await ledger(server.client, { scanContextKey: ['day-9'] })
    expect(item).toMatchObject({ externalPassId: 'PASS-5', metadata: { validateAsOf: '2026-05-01' } })
    expect(terminal.screen.text()).toContain('LOCKED · AS OF 2026-05-01 · CONTEXT day-9')
  })

  test('a screen that becomes narrow, low and wide again always shows everything in its place', async () => {
    const terminal = await openConsole(['--context', 'resize'])
    terminal.type('PASS-6\r')
    await terminal.shows('A C C E P T E D')
    for (const [columns, rows] of [
      [40, 15],
      [120, 40],
      [40, 10],
      [80, 24],
    ] as const) {
      terminal.resize(columns, rows)
      const word = columns < 60 ? /^ ✔ ACCEPTED$/m : /A C C E P T E D$/m
      await terminal.shows(word)
      // What is drawn anew comes in pieces.
      await eventually(() => {
        const lines = terminal.screen.lines()
        expect(lines[0]).toMatch(/^ ● online +default · \S+$/)
        expect(lines.at(-2)).toMatch(columns < 64 ? /^ F2 find/ : /^ F2 search/)
        expect(lines.at(-1)).toBe('')
        expect(lines.filter((line) => line.includes('● online'))).toHaveLength(1)
      })
    }
  })

  // The table of what asks for colours stands with the settings: some of them on a terminal show that the console obeys it.
  const coloured: [string, Record<string, string>][] = [
    ['of a build machine', { CI: 'true' }],
    ['of sixteen colours', { TERM: 'linux' }],
    ['of 256 colours', {}],
    ['that FORCE_COLOR names', { NO_COLOR: '1', FORCE_COLOR: '1' }],
  ]
  test.each(coloured.slice(0, times(2, 4)))('yes is green and no is red on a terminal %s', async (name, env) => {
    const terminal = await openConsole(['--context', name], { env })
    terminal.type('PASS-7\r')
    await terminal.shows('A C C E P T E D')
    expect(terminal.screen.raw).toMatch(filledWith(GREEN, 'A C C E P T E D'))
    expect(terminal.screen.raw).not.toMatch(filledWith(RED, ''))
    terminal.type('nobody\r')
    await terminal.shows('U N K N O W N')
    expect(terminal.screen.raw).toMatch(filledWith(RED, 'U N K N O W N'))
  })

  const colourless: [string, string[], Record<string, string>][] = [
    ['NO_COLOR', [], { NO_COLOR: '1' }],
    ['the flag', ['--no-color'], {}],
    ['FORCE_COLOR=0', [], { FORCE_COLOR: '0' }],
  ]
  test.each(colourless.slice(0, times(2, 3)))(
    '%s takes the colour and leaves sign and word, which stand out',
    async (name, args, env) => {
      const terminal = await openConsole(['--context', name, ...args], { env })
      terminal.type('PASS-7\r')
      await terminal.shows('A C C E P T E D')
      expect(terminal.screen.raw).not.toMatch(/\[(3|4|9|10)[0-7](;\d+)*m/)
      expect(terminal.screen.raw).toMatch(filledWith(INVERSE, 'A C C E P T E D'))
    },
  )

  test('TERM=dumb is no terminal to draw on, and it says how to go on', async () => {
    const terminal = openTerminal(['scan'], server, { env: { TERM: 'dumb' }, columns: 200 })
    await terminal.shows('--stdin')
    expect(await terminal.ended).toBe(2)
  })

  test('where there is no terminal it says how to go on', async () => {
    const { exitCode, stderr } = await run(['scan'], server, { input: 'PASS-1\n' })
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--stdin')])
  })
})
