import { basename, relative } from 'node:path'

/** How this program was called: `passes`, or `node bin/run.js` where it is not installed. */
export function programName(argv: readonly string[] = process.argv): string {
  const script = argv[1] ?? 'passes'
  return basename(script) === 'passes' ? 'passes' : `node ${quote(relative(process.cwd(), script) || script)}`
}

/** The command line that repeats this call, quoted for a shell, without some flags. The value of --token is a placeholder. */
export function commandLine(options: { without?: readonly string[]; argv?: readonly string[] } = {}): string {
  const argv = options.argv ?? process.argv
  const words = argv.slice(2).filter((word) => !options.without?.includes(word))
  return [programName(argv), ...withoutToken(words).map(quote)].join(' ')
}

/** Logs of CI keep what is printed. A placeholder stays: without the flag, a profile could supply another workspace's token. */
function withoutToken(words: string[]): string[] {
  return words.map((word, at) => {
    if (words[at - 1] === '--token') return 'TOKEN'
    return word.startsWith('--token=') ? '--token=TOKEN' : word
  })
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Starts a new line on a terminal, which shows ^C at the cursor. */
export function startNewLine(): void {
  if (process.stderr.isTTY) process.stderr.write('\n')
}

/**
 * Calls `stop` on the first Ctrl-C; the second one ends the process at once, after `end` had its last words. Returns what
 * takes the listener off.
 */
export function onInterrupt(stop: () => void, end?: () => void): () => void {
  let isFirst = true
  const listener = () => {
    if (isFirst) {
      isFirst = false
      return stop()
    }
    end?.()
    process.exit(130)
  }
  process.on('SIGINT', listener)
  return () => process.off('SIGINT', listener)
}

/** What ends work beside Ctrl-C; both count as its ordinary end. */
interface StopOptions {
  /** After so many; never by default. */
  seconds?: number | undefined
  /** By SIGTERM, as containers are stopped; without it that ends the process as ever. */
  bySigterm?: true
}

/** Work that goes on until Ctrl-C, which says so by exit code 130, or until it ends by itself. What is broken off is no error. */
export async function untilStopped(
  work: (stop: AbortSignal) => Promise<unknown>,
  { seconds, bySigterm }: StopOptions = {},
): Promise<undefined> {
  const stop = new AbortController()
  const end = () => stop.abort()
  const timer = seconds && setTimeout(end, seconds * 1000)
  if (bySigterm) process.once('SIGTERM', end)
  const release = onInterrupt(() => {
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
    release()
    process.off('SIGTERM', end)
  }
}
