import type { Command, Interfaces } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import { listFlags, skipFlag, styleFlags } from '../arguments/list-flags.ts'
import { onePage, type PagedList, type ShownList } from '../list/show-list.ts'
import { BaseCommand } from './base-command.ts'
import { ClientCommand } from './client-command.ts'
import { confirm } from './prompt.ts'

/** Commands by id, such as `webhook:get`. The build writes each command to the module in which oclif looks for it. */
export type ResourceCommands = Record<string, typeof BaseCommand>

type Arguments = Interfaces.ArgInput
type FlagInputs = Interfaces.FlagInput

export interface Input<A extends Arguments, F extends FlagInputs> {
  args: Interfaces.InferredArgs<A>
  flags: Interfaces.InferredFlags<F> & { 'no-color'?: boolean; 'no-input'?: boolean }
  isJson: boolean
  /** Prompts before a destructive action, unless `--yes` is set. */
  ask(question: string): Promise<void>
  /** Writes to stdout, unless `--json` is set. */
  log(text: string): void
  note(message: string): void
}

interface Help<A extends Arguments, F extends FlagInputs> {
  summary: string
  description?: string
  aliases?: string[]
  /** At least two example calls. The name of the program is added to a call without `<%=`. */
  examples: (string | { description: string; command: string })[]
  args?: A
  flags?: F
  /** Whether the command has the flag `--yes`, which skips the prompt of `ask`. */
  asks?: true
  /** Whether the command has `--json`; true by default. */
  hasJson?: boolean
}

interface Printed<A extends Arguments, F extends FlagInputs, R> extends Help<A, F> {
  /** Returns the value of `--json`; by default the result. */
  value?(result: R): unknown
  /** Formats the result for people. If this function is missing or returns undefined, nothing is printed. */
  print?(result: R, input: Input<A, F>): string | undefined | Promise<string>
  note?(result: R, input: Input<A, F>): string | undefined
}

export interface CallSpec<A extends Arguments, F extends FlagInputs, R> extends Printed<A, F, R> {
  /** Checks the flags before the first request. */
  check?(flags: Interfaces.InferredFlags<F>): void
  call(client: Client, input: Input<A, F>): Promise<R>
}

export function callCommand<A extends Arguments, F extends FlagInputs, R>(spec: CallSpec<A, F, R>): typeof BaseCommand {
  class CallCommand extends ClientCommand {
    protected override checkFlags(flags: object): void {
      spec.check?.(flags as Interfaces.InferredFlags<F>)
    }

    async run() {
      const { args, flags } = await this.parse(CallCommand)
      const input = inputOf<A, F>(this, args, flags)
      return show(this, spec, await spec.call(this.connect(flags), input), input)
    }
  }
  return withHelp(CallCommand, spec)
}

/** A command that works on this machine or on a database, without a server. */
export interface LocalSpec<A extends Arguments, F extends FlagInputs, R> extends Printed<A, F, R> {
  run(input: Input<A, F>): R | Promise<R>
}

export function localCommand<A extends Arguments, F extends FlagInputs, R>(
  spec: LocalSpec<A, F, R>,
): typeof BaseCommand {
  class LocalCommand extends BaseCommand {
    async run() {
      const { args, flags } = await this.parse(LocalCommand)
      const input = inputOf<A, F>(this, args, flags)
      return show(this, spec, await spec.run(input), input)
    }
  }
  return withHelp(LocalCommand, spec)
}

export interface ListSpec<T, A extends Arguments, F extends FlagInputs>
  extends Help<A, F>,
    Pick<ShownList<T>, 'shape' | 'noun' | 'empty'> {
  list(client: Client, input: Input<A, F>): PagedList<T>['list'] | Promise<PagedList<T>['list']>
  query?(flags: Interfaces.InferredFlags<F>): object
}

export function listCommand<T, A extends Arguments, F extends FlagInputs>(spec: ListSpec<T, A, F>): typeof BaseCommand {
  class ListCommand extends ClientCommand {
    static override flags = listFlags

    async run() {
      const { args, flags } = await this.parse(ListCommand)
      const input = inputOf<A, F>(this, args, flags)
      const list = await spec.list(this.connect(flags), input)
      return this.showPages({ ...spec, list, flags, query: spec.query?.(input.flags) ?? {} })
    }
  }
  return withHelp(ListCommand, { ...spec, flags: { ...spec.flags, ...listFlags } })
}

/** A command that lists all records on one page, from this machine or from a database. */
export interface ItemsSpec<T, A extends Arguments, F extends FlagInputs>
  extends Help<A, F>,
    Pick<ShownList<T>, 'shape' | 'noun' | 'empty'> {
  read(input: Input<A, F>): T[] | Promise<T[]>
}

export function itemsCommand<T, A extends Arguments, F extends FlagInputs>(
  spec: ItemsSpec<T, A, F>,
): typeof BaseCommand {
  class ItemsCommand extends BaseCommand {
    static override flags = styleFlags

    async run() {
      const { args, flags } = await this.parse(ItemsCommand)
      const items = await spec.read(inputOf<A, F>(this, args, flags))
      return (await this.showList({ ...spec, pages: onePage(items), flags }))?.items
    }
  }
  return withHelp(ItemsCommand, { ...spec, flags: { ...spec.flags, ...styleFlags } })
}

/**
 * Converts parsed input. The casts are safe, because `withHelp` gives the command exactly these inputs, which oclif's
 * types do not express.
 */
function inputOf<A extends Arguments, F extends FlagInputs>(
  command: BaseCommand,
  args: object,
  flags: { yes?: boolean; 'no-input'?: boolean },
): Input<A, F> {
  return {
    args: args as Input<A, F>['args'],
    flags: flags as Input<A, F>['flags'],
    isJson: command.jsonEnabled(),
    ask: (question) => confirm(question, { yes: flags.yes ?? false, noInput: flags['no-input'] ?? false }),
    log: (text) => command.log(text),
    note: (message) => command.note(message),
  }
}

async function show<A extends Arguments, F extends FlagInputs, R>(
  command: BaseCommand,
  spec: Printed<A, F, R>,
  result: R,
  input: Input<A, F>,
): Promise<unknown> {
  const text = await spec.print?.(result, input)
  if (text !== undefined) command.log(text)
  const note = spec.note?.(result, input)
  if (note !== undefined) command.note(note)
  return spec.value ? spec.value(result) : result
}

function withHelp(
  command: typeof BaseCommand,
  { summary, description, aliases = [], examples, args, flags, asks, hasJson = true }: Help<Arguments, FlagInputs>,
): typeof BaseCommand {
  const described = [description, asks && 'Asks for confirmation; without a terminal, --yes is required.'].filter(
    Boolean,
  )
  command.summary = summary
  if (described.length > 0) command.description = described.join(' ')
  command.aliases = aliases
  command.examples = examples.map(exampleOf)
  if (args) command.args = args
  command.enableJsonFlag = hasJson
  command.flags = { ...flags, ...(asks && { yes: skipFlag }) }
  return command
}

function exampleOf(example: string | { description: string; command: string }): Command.Example {
  const call = (text: string) => (text.includes('<%=') ? text : `<%= config.bin %> ${text}`)
  return typeof example === 'string' ? call(example) : { ...example, command: call(example.command) }
}

// IDs in examples. PROJECT is also used for doors and webhooks.
export const PROJECT = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'
export const TEMPLATE = '0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27'
export const PASS = '0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33'
export const MESSAGE = '0198c7a9-0d10-7f02-8c11-6a5d3f1b9e77'
export const SCAN = '0198c7a9-4c11-7e20-b1d7-2f3a4b5c6d7e'
export const DELIVERY = '0198c7a5-2b6e-7f0a-8c1d-94e3f5a6b7c8'
