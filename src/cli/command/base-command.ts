import { Command, Errors, Flags } from '@oclif/core'
import type { Page } from '../../core/contract/schemas/common.ts'
import type { PictureOptions } from '../card-picture.ts'
import type { Output, PagedList, ShownList } from '../list/show-list.ts'
import { canColor, colorDepth, isSet } from '../settings/settings.ts'
import { describeFailure, type Failure, failureJson, formatFailure } from './failure.ts'

/**
 * Base class of all commands. Adds `--json` (exactly one JSON value on stdout: the return value of `run`), errors
 * with hints, and exit codes: 0 success, 1 failure, 2 wrong usage, 130 stopped by Ctrl-C.
 * Write results for people with `log`, which is silent under `--json`, and everything else with `note`, to stderr.
 */
export abstract class BaseCommand extends Command {
  static override enableJsonFlag = true
  static override baseFlags = {
    'no-color': Flags.boolean({ summary: 'Disable colors, as NO_COLOR and TERM=dumb do.', helpGroup: 'GLOBAL' }),
    'no-input': Flags.boolean({ summary: 'Disable prompts: fail if an answer is needed.', helpGroup: 'GLOBAL' }),
  }

  note(message: string): void {
    process.stderr.write(`${message}\n`)
  }

  protected async showList<T>(list: Omit<ShownList<T>, keyof Output>): Promise<Page<T> | undefined> {
    const { showList } = await import('../list/show-list.ts')
    return showList({ ...list, ...this.#output })
  }

  protected async showPages<T, Shown = T>(list: Omit<PagedList<T, Shown>, keyof Output>) {
    const { showPages } = await import('../list/show-list.ts')
    return showPages({ ...list, ...this.#output })
  }

  get #output(): Output {
    return { json: this.jsonEnabled(), width: terminalWidth(), note: (message) => this.note(message) }
  }

  protected override async init(): Promise<void> {
    await super.init()
    // Run this listener first. Otherwise, oclif's own listener would throw an uncaught error.
    process.stdout.prependListener('error', endWithoutStdout)
    for (const name of databasePasswordsIn(this.argv)) {
      const variable = this.ctor.flags[name]?.env
      if (variable === undefined) continue
      this.note(
        `Warning: other users of this machine can read the password of --${name}. Give the address as ${variable}.`,
      )
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
    // Mark the flags as parsed. Otherwise, oclif would add a warning to the usage error.
    this.parsed = true
    const described = this.describe(error)
    const failure = { ...described, reasons: [...described.reasons, ...this.#sourcesOf(described.message)] }
    process.exitCode = failure.exitCode
    // Print the failure as one line, because it can follow NDJSON lines, which readers parse one by one.
    if (this.jsonEnabled()) process.stdout.write(`${JSON.stringify(failureJson(failure))}\n`)
    else this.note(formatFailure(failure, { color: canColor(process.stderr) && !this.argv.includes('--no-color') }))
  }

  /** Returns a line for each flag that a message names, if the flag's value came from an environment variable. */
  #sourcesOf(message: string): string[] {
    // Strip the punctuation and value after a flag, as in `--port:` and `--role=boss`. Otherwise, no name would match.
    const named = message
      .split(' ')
      .map((word) => ['=', ':', '.', ','].reduce((rest, end) => rest.split(end)[0]!, word))
    const isTyped = (flag: string) => this.argv.some((word) => word === flag || word.startsWith(`${flag}=`))
    return Object.entries(this.ctor.flags ?? {}).flatMap(([name, { env }]) => {
      const flag = `--${name}`
      return env && isSet(env) && named.includes(flag) && !isTyped(flag) ? [`${flag} came from ${env}.`] : []
    })
  }

  /** Prints oclif's warnings, such as for a deprecated flag name, in the format of other warnings. */
  override warn(input: string | Error): string | Error {
    this.note(`Warning: ${typeof input === 'string' ? input : input.message}`)
    return input
  }

  /** Prints JSON without the colors that oclif would add. */
  override logJson(value: unknown): void {
    // Print nothing for a command that returns nothing, because such a command has already printed its value.
    if (value === undefined) return
    process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`)
  }
}

/** All flags that take a database address. */
const addresses = ['database', 'from', 'to']

/** Returns the flags whose database address contains a password, which the process list then shows. */
export function databasePasswordsIn(argv: readonly string[]): string[] {
  return addresses.filter((name) => {
    const given = argv.flatMap((argument, n) => {
      if (argument === `--${name}`) return argv[n + 1] ?? []
      return argument.startsWith(`--${name}=`) ? argument.slice(name.length + 3) : []
    })
    return given.some((address) => /^postgres(ql)?:\/\/([^/?#@]*:[^/?#@]+@|.*[?&]password=[^&])/.test(address))
  })
}

/**
 * Ignores EPIPE, which means that the reader closed the pipe, as `| head` does. Other errors, such as a full disk,
 * still fail.
 */
function endWithoutStdout(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  const why = error.code === 'ENOSPC' ? 'no space is left' : error.message
  process.stderr.write(`Error: stdout cannot be written: ${why}\n`)
  process.exit(1)
}

export function terminalWidth(): number | undefined {
  return (process.stdout.isTTY && process.stdout.columns) || undefined
}

export function drawing(flags: { 'no-color'?: boolean }): PictureOptions {
  return { colorDepth: flags['no-color'] ? 1 : colorDepth(process.stdout), width: terminalWidth() }
}
