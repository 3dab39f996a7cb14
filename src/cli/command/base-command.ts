import { Command, Errors, Flags } from '@oclif/core'
import type { Page } from '../../core/contract/common.ts'
import type { ShownList } from '../list/show-list.ts'
import { databasePasswordsIn } from '../settings/server-flags.ts'
import { canColor, isSet } from '../settings/settings.ts'
import { describeFailure, type Failure, failureJson, formatFailure } from './failure.ts'

/**
 * What every command shares: --json (exactly one JSON value on stdout: what `run` returns), errors that say what to
 * do next, and exit codes: 0 done, 1 it failed, 2 wrong usage, 130 stopped by Ctrl-C. Results for people go through
 * `log`, which is silent under --json; everything else goes through `note`, to stderr.
 */
export abstract class BaseCommand extends Command {
  static override enableJsonFlag = true
  static override baseFlags = {
    'no-color': Flags.boolean({ summary: 'Write no colour, as with NO_COLOR or TERM=dumb.', helpGroup: 'GLOBAL' }),
    'no-input': Flags.boolean({ summary: 'Never ask; fail where a question would be.', helpGroup: 'GLOBAL' }),
  }

  /** A line for people beside the result: always on stderr. */
  protected note(message: string): void {
    process.stderr.write(`${message}\n`)
  }

  /** Writes a list the way its flags say; resolves to what --json prints. */
  protected async showList<T>(list: Omit<ShownList<T>, 'json' | 'width' | 'note'>): Promise<Page<T> | undefined> {
    const { showList } = await import('../list/show-list.ts')
    const note = (message: string) => this.note(message)
    return showList({ ...list, json: this.jsonEnabled(), width: terminalWidth(), note })
  }

  protected override async init(): Promise<void> {
    await super.init()
    // Before oclif's own listener, which throws out of the blue.
    process.stdout.prependListener('error', endWithoutStdout)
    for (const name of databasePasswordsIn(this.argv)) {
      const variable = this.ctor.flags[name]?.env
      if (variable === undefined) continue
      this.note(`Warning: others on this machine can read the password of --${name}. Give the address as ${variable}.`)
    }
  }

  protected get flagNames(): string[] {
    return Object.keys({ ...this.ctor.baseFlags, ...this.ctor.flags })
  }

  protected describe(error: unknown): Failure {
    return describeFailure(error, { flags: this.flagNames })
  }

  protected override async catch(error: Error): Promise<void> {
    if (error instanceof Errors.ExitError) throw error
    // Flags that could not be parsed are an answer to the caller; oclif would warn that nobody parsed them.
    this.parsed = true
    const described = this.describe(error)
    const failure = { ...described, reasons: [...described.reasons, ...this.#sourcesOf(described.message)] }
    process.exitCode = failure.exitCode
    // On one line, since it may come after the lines of a stream.
    if (this.jsonEnabled()) process.stdout.write(`${JSON.stringify(failureJson(failure))}\n`)
    else this.note(formatFailure(failure, { color: canColor(process.stderr) && !this.argv.includes('--no-color') }))
  }

  /** A flag that a message names may have come from a variable: nobody looks for it there by himself. */
  #sourcesOf(message: string): string[] {
    // Without what follows the name, as in --port: and --role=boss
    const named = message
      .split(' ')
      .map((word) => ['=', ':', '.', ','].reduce((rest, end) => rest.split(end)[0]!, word))
    const isTyped = (flag: string) => this.argv.some((word) => word === flag || word.startsWith(`${flag}=`))
    return Object.entries(this.ctor.flags ?? {}).flatMap(([name, { env }]) => {
      const flag = `--${name}`
      return env && isSet(env) && named.includes(flag) && !isTyped(flag) ? [`${flag} came from ${env}.`] : []
    })
  }

  /** What oclif warns of, such as a flag under a name of before, stands as every other warning. */
  override warn(input: string | Error): string | Error {
    this.note(`Warning: ${typeof input === 'string' ? input : input.message}`)
    return input
  }

  /** oclif would colour it; scripts want JSON and nothing else. */
  override logJson(value: unknown): void {
    // A command that printed its one value early returns nothing.
    if (value === undefined) return
    process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`)
  }
}

/** Nobody reads any more, as behind `| head`: no error. Whatever else, such as a full disk, is one. */
function endWithoutStdout(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  const why = error.code === 'ENOSPC' ? 'no space is left' : error.message
  process.stderr.write(`Error: stdout cannot be written: ${why}\n`)
  process.exit(1)
}

/** Columns of the terminal behind stdout; undefined where it is a pipe or a file, or does not say. */
export function terminalWidth(): number | undefined {
  return (process.stdout.isTTY && process.stdout.columns) || undefined
}
