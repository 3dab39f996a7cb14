import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { isPipe } from '../../files/private-file.ts'
import { CliError, InterruptedError, UsageError } from './cli-error.ts'

export interface PromptOptions {
  noInput: boolean
}

export function canAsk({ noInput }: PromptOptions): boolean {
  return !noInput && process.stdin.isTTY === true && process.stderr.isTTY === true
}

/**
 * Asks for confirmation of a dangerous action; `yes` skips the prompt.
 * @throws UsageError if prompts are not possible, CliError if the user declines
 */
export async function confirm(question: string, options: PromptOptions & { yes: boolean }): Promise<void> {
  if (options.yes) return
  if (!canAsk(options))
    throw new UsageError(`${question} Cannot ask: prompts are disabled, or there is no terminal`, {
      hint: 'add --yes to confirm.',
    })
  const answer = await ask(`${question} [y/N] `, { hidden: false })
  if (!/^y(es)?$/i.test(answer)) throw new CliError('Nothing was changed.', { code: 'DECLINED' })
}

export function askText(question: string): Promise<string> {
  return ask(question, { hidden: false })
}

export async function askSecret(question: string): Promise<string> {
  const answer = await ask(question, { hidden: true })
  process.stderr.write('\n')
  return answer
}

export async function readStdin(): Promise<string> {
  return (await readStdinBytes()).toString('utf8').trim()
}

/** Whether an input can be read only once: stdin as `-`, or a pipe. */
export function isReadOnce(file: string): boolean {
  return file === '-' || isPipe(file)
}

export function readStdinBytes(): Promise<Buffer> {
  return buffer(process.stdin)
}

async function ask(question: string, { hidden }: { hidden: boolean }): Promise<string> {
  const muted = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: process.stdin, output: hidden ? muted : process.stderr, terminal: true })
  const stopped = new AbortController()
  prompt.once('SIGINT', () => stopped.abort())
  prompt.once('close', () => stopped.abort())
  // Write the question only after echo is off. Otherwise, a secret that is typed immediately would be shown.
  if (hidden) process.stderr.write(question)
  try {
    return (await prompt.question(hidden ? '' : question, { signal: stopped.signal })).trim()
  } catch (error) {
    if (stopped.signal.aborted) throw new InterruptedError('Stopped.')
    throw error
  } finally {
    prompt.close()
  }
}

export interface Choice<T> {
  name: string
  value: T
}

export async function choose<T>(message: string, choices: readonly Choice<T>[]): Promise<T> {
  const { default: search } = await import('@inquirer/search')
  const source = (typed = '') => {
    const words = typed.toLowerCase().split(/\s+/)
    return choices.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
  }
  try {
    return await search<T>({ message, source, pageSize: 10 }, { output: process.stderr })
  } catch (error) {
    if (error instanceof Error && error.name === 'ExitPromptError') throw new InterruptedError('Stopped.')
    throw error
  }
}
