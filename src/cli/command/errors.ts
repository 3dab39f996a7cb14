import { createReadStream, type ReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** What an error says beside its message. */
export interface CliErrorOptions {
  /** A short name for scripts, shown in the JSON form. */
  code?: string
  /** 1 by default: it failed. */
  exitCode?: number
  /** What to do next, in a sentence. */
  hint?: string
  details?: Record<string, unknown>
  cause?: unknown
}

/** Exit code: differences were found, or are left. */
export const DIFFERENT = 3

/** Something that the person at the keyboard can mend; shown without a stack. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly code: string
  readonly exitCode: number
  readonly hint: string | undefined
  readonly details: Record<string, unknown>

  constructor(message: string, options: CliErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.code = options.code ?? 'FAILED'
    this.exitCode = options.exitCode ?? 1
    this.hint = options.hint
    this.details = options.details ?? {}
  }
}

/** The command was called in a way that cannot work: exit code 2. */
export class UsageError extends CliError {
  override readonly name = 'UsageError'

  constructor(message: string, options: Pick<CliErrorOptions, 'hint' | 'details'> = {}) {
    super(message, { ...options, code: 'USAGE', exitCode: 2 })
  }
}

/** Ctrl-C: exit code 130. */
export class InterruptedError extends CliError {
  override readonly name = 'InterruptedError'

  constructor(message: string, options: Pick<CliErrorOptions, 'hint' | 'details'> = {}) {
    super(message, { ...options, code: 'INTERRUPTED', exitCode: 130 })
  }
}

/** Works with a file that the user named: Node's own error leaves the name out where a folder stands there. */
export async function withName<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Error) Object.assign(error, { path })
    throw error
  }
}

/** Reads a file; an error names it. */
export function readNamed(path: string): Promise<Buffer> {
  return withName(path, () => readFile(path))
}

/** The same as a stream. */
export function streamNamed(path: string, options: { highWaterMark?: number } = {}): ReadStream {
  return createReadStream(path, options).once('error', (error) => Object.assign(error, { path }))
}
