import { basename, relative } from 'node:path'
import { shellQuote } from '../../core/shell-quote.ts'

/** Returns the name that this program was called by: `passes`, or `node bin/run.js` if it is not installed. */
export function programName(argv: readonly string[] = process.argv): string {
  const script = argv[1] ?? 'passes'
  return basename(script) === 'passes' ? 'passes' : `node ${shellQuote(relative(process.cwd(), script) || script)}`
}

/**
 * Returns the command line that repeats this call, quoted for a shell, without the given flags. The value of
 * `--token` becomes a placeholder.
 */
export function commandLine(options: { without?: readonly string[]; argv?: readonly string[] } = {}): string {
  const argv = options.argv ?? process.argv
  const words = argv.slice(2).filter((word) => !options.without?.includes(word))
  return [programName(argv), ...withoutToken(words).map(shellQuote)].join(' ')
}

/**
 * Replaces tokens by a placeholder, because CI logs keep the output. Keeps the flag, because the command would
 * otherwise use the token of a profile, perhaps of another workspace.
 */
function withoutToken(words: string[]): string[] {
  return words.map((word, at) => {
    if (words[at - 1] === '--token') return 'TOKEN'
    return word.startsWith('--token=') ? '--token=TOKEN' : word
  })
}

export function startNewLine(): void {
  if (process.stderr.isTTY) process.stderr.write('\n')
}

/**
 * Listens for Ctrl-C until the result is disposed. The first Ctrl-C aborts the signal and calls `stop`. The second
 * Ctrl-C calls `end` and ends the process.
 */
export function onInterrupt(stop?: () => void, end?: () => void): Disposable & { signal: AbortSignal } {
  const controller = new AbortController()
  const listener = () => {
    if (controller.signal.aborted) {
      end?.()
      return process.exit(130)
    }
    controller.abort()
    stop?.()
  }
  process.on('SIGINT', listener)
  return { signal: controller.signal, [Symbol.dispose]: () => process.off('SIGINT', listener) }
}

/** The events, apart from Ctrl-C, that end the work normally. */
interface StopOptions {
  /** The time limit, in seconds; none by default. */
  seconds?: number | undefined
  /** Whether SIGTERM, as container managers send it, ends the work normally. By default it ends the process. */
  bySigterm?: true
}

/**
 * Runs work until it finishes or until Ctrl-C, which sets exit code 130. Ignores errors that the work throws after it
 * was stopped.
 */
export async function untilStopped(
  work: (stop: AbortSignal) => Promise<unknown>,
  { seconds, bySigterm }: StopOptions = {},
): Promise<undefined> {
  const stop = new AbortController()
  const end = () => stop.abort()
  const timer = seconds && setTimeout(end, seconds * 1000)
  if (bySigterm) process.once('SIGTERM', end)
  using _interrupt = onInterrupt(() => {
    process.exitCode = 130
    startNewLine()
    end()
  })
  try {
    await work(stop.signal)
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    clearTimeout(timer)
    process.off('SIGTERM', end)
  }
}
