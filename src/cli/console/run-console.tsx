import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { Box, render, Text } from 'ink'
import { createDoor, type DoorOptions } from './console-door.ts'
import { createControls } from './controls.ts'
import { createInputReader } from './input.ts'
import type { Line, Span } from './lines.ts'
import type { Place } from './offline/door-folder.ts'
import type { Bell } from './outcome.ts'
import { type ScreenSize, screenLines, type View } from './screen-lines.ts'

export interface ConsoleOptions extends Omit<DoorOptions, 'onOutcome' | 'onChange' | 'sameScanMs'> {
  place: Place
  /** Whether color is available; otherwise backgrounds are drawn inverse. */
  color: boolean
  /** Creates the bell; an error of its command becomes a notice. */
  bell: (onProblem: (message: string) => void) => Bell
}

/** The work that is not finished when the console ends. */
export interface Leftover {
  unevaluated: readonly string[]
  /** The number of decisions that are not uploaded yet. */
  pending: number
}

const SAME_SCAN_MS = 3_000
const DRAW_MS = 20
const TICK_MS = 1_000
const SETTLE_MS = 50
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Switches to the alternate screen, so that a resize leaves no traces and the shell's content is restored. */
const ENTER_SCREEN = '\u001B[?1049h\u001B[2J\u001B[H'
const LEAVE_SCREEN = '\u001B[?1049l'
const CLEAR = '\u001B[2J\u001B[H'

export async function runConsole(options: ConsoleOptions): Promise<Leftover> {
  const { stdin, stdout } = process
  const { clock, place, color } = options
  const reader = createInputReader((input) => {
    // When the console is ending, ignore scans, but still handle keys such as Ctrl-C.
    if (!ended.signal.aborted || input.kind === 'key') controls.handle(input)
  })
  const bell = options.bell((message) => door.notify(message))
  let isDrawing = false
  const door = await createDoor({
    ...options,
    sameScanMs: SAME_SCAN_MS,
    onOutcome(outcome) {
      controls.evaluated(outcome)
      bell(outcome)
    },
    onChange: draw,
  })
  const ended = new AbortController()
  const controls = createControls({
    door,
    clearInput: () => reader.clear(),
    onInterrupt: interrupt,
    onChange: draw,
  })

  function screen() {
    const { panel, isLocked } = controls
    const { gate } = options.station.context
    const view = { place, gate: gate ?? null, door: door.state, panel, isLocked, typed: reader.typed, now: clock() }
    return <Screen view={view} columns={stdout.columns} rows={stdout.rows} color={color} />
  }

  /** Ends the console after the current scan. A second call ends the console immediately. */
  function interrupt(): void {
    if (ended.signal.aborted) {
      leave()
      process.exit(130)
    }
    ended.abort()
  }

  function leave(): void {
    ink.unmount()
    stdin.setRawMode(false)
    stdin.pause()
    stdout.write(LEAVE_SCREEN)
  }

  /** Draws the screen once for all changes within 20 ms. */
  function draw(): void {
    if (isDrawing) return
    isDrawing = true
    setTimeout(() => {
      isDrawing = false
      ink.rerender(screen())
    }, DRAW_MS)
  }

  function read(chunk: string): void {
    reader.push(chunk, waitedMs())
    draw()
  }

  function settle(): void {
    reader.settle(waitedMs())
  }

  /** Clears the screen before Ink handles the resize, because Ink's previous output has the old size. */
  function resize(): void {
    stdout.write(CLEAR)
    ink.rerender(screen())
  }

  stdout.write(ENTER_SCREEN)
  const ink = render(screen(), { exitOnCtrlC: false })
  stdout.prependListener('resize', resize)
  stdin.setEncoding('utf8')
  stdin.setRawMode(true)
  stdin.on('data', read)
  stdin.resume()
  const timers = [setInterval(draw, TICK_MS), setInterval(settle, SETTLE_MS)]
  for (const name of SIGNALS) process.on(name, interrupt)
  try {
    await once(ended.signal, 'abort')
    door.notify('Stopping when the scan in flight is evaluated. Ctrl-C again stops immediately.')
    const unevaluated = await door.stop()
    return { unevaluated, pending: door.state.pending }
  } finally {
    for (const name of SIGNALS) process.off(name, interrupt)
    for (const timer of timers) clearInterval(timer)
    stdin.off('data', read)
    stdout.off('resize', resize)
    leave()
  }
}

/** Returns the total time spent waiting for input. Time spent drawing must not count as a gap between characters. */
function waitedMs(): number {
  return performance.eventLoopUtilization().idle
}

export interface ScreenProps extends ScreenSize {
  view: View
  color: boolean
}

export function Screen({ view, columns, rows, color }: ScreenProps) {
  return (
    <Box flexDirection="column">
      {screenLines(view, { columns, rows }).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place on the screen
        <LineText key={index} line={line} color={color} />
      ))}
    </Box>
  )
}

function LineText({ line, color }: { line: Line; color: boolean }) {
  return (
    <Text wrap="truncate">
      {line.map((span, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line never move
        <SpanText key={index} span={span} color={color} />
      ))}
    </Text>
  )
}

function SpanText({ span, color }: { span: Span; color: boolean }) {
  const { text, color: foreground, background, bold = false, dim = false, inverse = false } = span
  return (
    <Text
      {...(color && foreground && { color: foreground })}
      {...(color && background && { backgroundColor: background })}
      bold={bold}
      dimColor={dim}
      // Without color, backgrounds are not visible, so draw them inverse.
      inverse={inverse || (!color && background !== undefined)}
    >
      {text}
    </Text>
  )
}
