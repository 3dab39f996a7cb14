import { Console } from 'node:console'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { Config, execute, type Interfaces, settings } from '@oclif/core'
import { execa } from 'execa'
import { configHome } from '../../support/config-home.ts'
import type { TestServer } from './server.ts'

/** The built program, as a user runs it. */
export const program = new URL('../../../bin/run.js', import.meta.url).pathname

// bin/run.js sets this too.
settings.enableAutoTranspile = false

export interface RunOptions {
  cwd?: string
  /** Replaces variables of the tests, and the address and token of the server. `undefined` removes a variable. */
  env?: Record<string, string | undefined>
  /** Whether stderr is a terminal. */
  isInteractive?: boolean
  /** The content of stdin. */
  input?: string | Uint8Array
}

export interface Run {
  exitCode: number
  /** The text on stdout without the last line break. */
  stdout: string
  stderr: string
}

/**
 * Runs a command of the built program to its end, in this process, because a separate one costs fifty times as much. Use
 * spawnProgram() for behavior of a process, such as signals, closed pipes, and whether it ends on its own.
 */
export function run(args: string[], server?: Pick<TestServer, 'url' | 'token'>, options: RunOptions = {}) {
  const result = latest.then(() => runHere(args, { ...options, env: options.env ?? environmentFor(server) }))
  latest = result.catch(() => undefined)
  return result
}

/** A command that runs in this process until it is stopped. */
export interface Hosted {
  /** The output until it was ready. */
  text: string
  /** Stops the command like Ctrl-C does. Resolves to the exit code. */
  stop(): Promise<number>
}

/**
 * Starts a command that keeps running, such as serve, in this process, and waits until it prints that it is ready.
 * After that, the command sees the environment of the tests.
 */
export function hostProgram(args: string[], ready: RegExp, options: RunOptions): Promise<Hosted> {
  const result = latest.then(() => startHere(args, ready, options))
  latest = result.catch(() => undefined)
  return result
}

/** Runs the program as a separate process, which tests can kill, unlike `run()`. */
export function spawnProgram(args: string[], server?: Pick<TestServer, 'url' | 'token'>, options: object = {}) {
  return execa('node', [program, ...args], { env: environmentFor(server), reject: false, ...options })
}

function environmentFor(server?: Pick<TestServer, 'url' | 'token'>): Record<string, string> {
  return { ...(server && { PASSES_URL: server.url, PASSES_TOKEN: server.token }), XDG_CONFIG_HOME: configHome }
}

/** Commands change state of the process, so run one at a time. */
let latest: Promise<unknown> = Promise.resolve()

/** Runs work with the variables, while no command changes the environment. */
export function withEnvironment<T>(env: RunOptions['env'], work: () => Promise<T>): Promise<T> {
  const result = latest.then(async () => {
    const back = setEnvironment(env)
    return work().finally(back)
  })
  latest = result.catch(() => undefined)
  return result
}

/** Thrown by process.exit(), so that no later code runs, as in a process that ends. */
class Exit extends Error {}

/** The commands of the program, loaded once for this process. The environment is read for each run. */
let plugins: Promise<{ config: Config; commands: Map<string, Interfaces.Plugin['commands']> }> | undefined

/** Loads the program with new command objects for each run, because help changes the commands that it lists. */
async function loadProgram(): Promise<Config> {
  plugins ??= Config.load({ root: program }).then((config) => ({
    config,
    commands: new Map(config.getPluginsList().map(({ name, commands }) => [name, commands])),
  }))
  const { config, commands } = await plugins
  for (const plugin of config.getPluginsList()) {
    plugin.commands = commands.get(plugin.name)!.map((command) => ({ ...command }))
  }
  return config
}

async function startHere(args: string[], ready: RegExp, options: RunOptions): Promise<Hosted> {
  const listeners = () =>
    (['SIGINT', 'SIGTERM'] as const).flatMap((on) => process.listeners(on).map((run) => ({ on, run })))
  const before = new Set(listeners().map(({ run }) => run))
  let text = ''
  let isOver = false
  let onReady: () => void = () => undefined
  const becomesReady = new Promise<void>((resolve) => {
    onReady = resolve
  })
  const running = runHere(args, options, {
    onOutput(chunk) {
      text += chunk
      if (ready.test(text)) onReady()
    },
    isReady: becomesReady,
  }).finally(() => {
    isOver = true
    onReady()
  })
  await becomesReady
  if (isOver) throw new Error(`${args.join(' ')} did not start: ${(await running).stderr || text}`)
  return {
    text,
    async stop() {
      // Remove the listeners of the command, so that signals still end this process.
      const own = listeners().filter(({ run }) => !before.has(run))
      for (const { on, run } of own) process.off(on, run)
      // Restore the exit code of this process after the end of the command. The rest of its state was restored when the
      // command was ready.
      const back = setExitCode()
      for (const { on, run } of own) if (on === 'SIGINT') run('SIGINT')
      return running.then(({ exitCode }) => exitCode).finally(back)
    },
  }
}

/** A command that keeps running. The state of the process is restored when it is ready. */
interface Staying {
  onOutput(text: string): void
  isReady: Promise<void>
}

async function runHere(
  args: string[],
  { cwd, env, isInteractive, input }: RunOptions,
  staying?: Staying,
): Promise<Run> {
  let exitCode: number | undefined
  const hasEnded = () => exitCode !== undefined
  const stdout = collector(hasEnded, staying?.onOutput)
  const stderr = collector(hasEnded, staying?.onOutput)
  if (isInteractive) Object.assign(stderr.stream, { isTTY: true })
  const exit = (code?: number) => {
    exitCode ??= Number(code ?? process.exitCode ?? 0)
    throw new Exit()
  }
  const putBack: PutBack[] = []
  const back = () => {
    for (const one of putBack.splice(0).reverse()) one()
  }
  void staying?.isReady.then(back)
  try {
    putBack.push(setEnvironment(env))
    putBack.push(setWorkingFolder(cwd))
    putBack.push(setExitCode())
    putBack.push(replace(process, 'argv', [process.execPath, program, ...args]))
    putBack.push(replace(process, 'exit', exit))
    putBack.push(replace(process, 'stdin', stdinWith(input)))
    putBack.push(replace(process, 'stdout', stdout.stream))
    putBack.push(replace(process, 'stderr', stderr.stream))
    putBack.push(replace(globalThis, 'console', new Console({ stdout: stdout.stream, stderr: stderr.stream })))
    // Capture warnings separately, because Node.js writes them to stderr directly, not through process.stderr.
    putBack.push(onWarning(({ name, message }) => stderr.stream.write(`${name}: ${message}\n`)))
    await execute({ loadOptions: await loadProgram() })
    // Wait for output that is deferred to the next turn, such as warnings.
    await new Promise(setImmediate)
    exitCode ??= Number(process.exitCode ?? 0)
  } catch (error) {
    if (!(error instanceof Exit)) throw error
  } finally {
    back()
  }
  return { exitCode: exitCode!, stdout: stdout.text(), stderr: stderr.text() }
}

/** Returns a stream that is not a terminal, and the text that was written to it. */
function collector(hasEnded: () => boolean, onOutput?: (text: string) => void) {
  const chunks: Buffer[] = []
  const stream = new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      if (!hasEnded()) chunks.push(chunk)
      onOutput?.(chunk.toString())
      done()
    },
  })
  return {
    stream,
    text: () =>
      Buffer.concat(chunks)
        .toString()
        .replace(/\r?\n$/, ''),
  }
}

/** Returns stdin. Without input it stays open, as for a process whose stdin is never written. */
function stdinWith(input: RunOptions['input']): Readable {
  const stdin = new PassThrough()
  if (input !== undefined) stdin.end(input)
  return stdin
}

/** Restores state of this process that was changed. */
type PutBack = () => void

function replace<T extends object>(owner: T, name: keyof T, value: unknown): PutBack {
  const before = Object.getOwnPropertyDescriptor(owner, name)!
  Object.defineProperty(owner, name, { value, configurable: true, enumerable: true, writable: true })
  return () => Object.defineProperty(owner, name, before)
}

function setEnvironment(given: RunOptions['env'] = {}): PutBack {
  const before = { ...process.env }
  const become = (wanted: NodeJS.ProcessEnv) => {
    for (const name of Object.keys(process.env)) if (wanted[name] === undefined) delete process.env[name]
    for (const [name, value] of Object.entries(wanted)) {
      if (value !== undefined && process.env[name] !== value) process.env[name] = value
    }
  }
  become({ ...before, ...given })
  return () => become(before)
}

function setWorkingFolder(folder: string | undefined): PutBack {
  const before = process.cwd()
  if (folder !== undefined) process.chdir(folder)
  return () => process.chdir(before)
}

function setExitCode(): PutBack {
  const before = process.exitCode
  process.exitCode = undefined
  return () => {
    process.exitCode = before
  }
}

function onWarning(tell: (warning: Error) => void): PutBack {
  process.on('warning', tell)
  return () => process.off('warning', tell)
}
