import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadStream } from 'node:tty'
import { type IPty, spawn } from '@lydell/node-pty'
import { onTestFinished } from 'vitest'
import { configHome } from '../../support/config-home.ts'
import type { CleanUp } from '../../support/databases.ts'
import { TextScreen } from '../../support/screen.ts'
import { program } from './program.ts'
import type { TestServer } from './server.ts'

export interface Terminal {
  readonly screen: TextScreen
  /** Sends the text in one piece, like a scanner. */
  type(text: string): void
  resize(columns: number, rows: number): void
  /** Resolves when the screen shows the text. Fails with the screen after the timeout. */
  shows(what: string | RegExp): Promise<void>
  kill(signal: string): void
  /** Resolves to the exit code. */
  ended: Promise<number>
}

export interface TerminalOptions {
  columns?: number
  rows?: number
  env?: Record<string, string>
  cwd?: string
  /** Set it if several tests use the program. */
  cleanUp?: CleanUp
}

/** The environment of an interactive user, without CI variables and with colors. */
const own = { PATH: process.env.PATH!, TERM: 'xterm-256color', LANG: 'C.UTF-8', XDG_CONFIG_HOME: configHome }

/** Runs a command of the built program on a real terminal. */
export function openTerminal(
  args: string[],
  server: Pick<TestServer, 'url' | 'token'>,
  { columns = 80, rows = 24, env = {}, cwd, cleanUp = onTestFinished }: TerminalOptions = {},
): Terminal {
  const child = spawn(process.execPath, [program, ...args], {
    cols: columns,
    rows,
    ...(cwd !== undefined && { cwd }),
    env: { ...own, PASSES_URL: server.url, PASSES_TOKEN: server.token, ...env },
  })
  keepUnreadOutput(child)
  const screen = new TextScreen(columns, rows)
  child.onData((text) => screen.write(text))
  let isRunning = true
  const ended = new Promise<number>((resolve) => {
    child.onExit(({ exitCode, signal }) => {
      isRunning = false
      resolve(signal ? 128 + signal : exitCode)
    })
  })
  cleanUp(() => {
    if (isRunning) child.kill('SIGKILL')
  })
  return {
    screen,
    type: (text) => child.write(text),
    resize(newColumns, newRows) {
      screen.resize(newColumns, newRows)
      child.resize(newColumns, newRows)
    },
    async shows(what) {
      const patience = AbortSignal.timeout(120_000)
      const isShown = () => (typeof what === 'string' ? screen.text().includes(what) : what.test(screen.text()))
      while (!isShown()) {
        if (patience.aborted) throw new Error(`The screen never showed ${what}:\n${screen.text()}`)
        await sleep(10)
      }
    },
    kill: (signal) => child.kill(signal),
    ended,
  }
}

/**
 * Stops node-pty from destroying the terminal 200 ms after the program exits, which would lose output that a busy test
 * has not read by then. The terminal still closes by itself, with EIO, when all of its output is read.
 */
function keepUnreadOutput(child: IPty): void {
  const { _socket: socket } = child as unknown as { _socket: ReadStream }
  const destroy = socket.destroy.bind(socket)
  socket.destroy = (error) => (error || socket.readableEnded ? destroy(error) : socket)
}
