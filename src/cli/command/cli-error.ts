import { createReadStream, type ReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'

export interface CliErrorOptions {
  code?: string
  /** The exit code; 1 (failure) by default. */
  exitCode?: number
  /** The next step for the user, as one sentence. */
  hint?: string
  details?: Record<string, unknown>
  cause?: unknown
}

/** The exit code of a command that compares files with the server, if they differ. */
export const DIFFERENT = 3

/** An error that the user can fix; printed without a stack trace. */
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

export class UsageError extends CliError {
  override readonly name = 'UsageError'

  constructor(message: string, options: Pick<CliErrorOptions, 'hint' | 'details'> = {}) {
    super(message, { ...options, code: 'USAGE', exitCode: 2 })
  }
}

export class InterruptedError extends CliError {
  override readonly name = 'InterruptedError'

  constructor(message: string, options: Pick<CliErrorOptions, 'hint' | 'details'> = {}) {
    super(message, { ...options, code: 'INTERRUPTED', exitCode: 130 })
  }
}

/** Adds the path to errors of file operations, because Node omits the path of a folder. */
export async function withName<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Error) Object.assign(error, { path })
    throw error
  }
}

export function readNamed(path: string): Promise<Buffer> {
  return withName(path, () => readFile(path))
}

export function writeNamed(path: string, content: string | Uint8Array): Promise<void> {
  return withName(path, () => writeFile(path, content))
}

export function streamNamed(path: string, options: { highWaterMark?: number } = {}): ReadStream {
  return createReadStream(path, options).once('error', (error) => Object.assign(error, { path }))
}
