import { type Command, Flags, type Interfaces } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import type { Page } from '../../core/contract/common.ts'
import { listFlags, listPages } from '../arguments/list-flags.ts'
import { ClientCommand } from '../command/client-command.ts'
import { confirm } from '../command/prompt.ts'
import type { ListShape } from '../list/shape.ts'

/** Commands of a topic by verb. The build writes a module for each one, where oclif looks for it. */
export type ResourceCommands = Record<string, typeof ClientCommand>

/** The parsed input of a command. */
export interface Input<A extends Interfaces.ArgInput, F extends Interfaces.FlagInput> {
  args: Interfaces.InferredArgs<A>
  flags: Interfaces.InferredFlags<F>
}

interface Help<A extends Interfaces.ArgInput, F extends Interfaces.FlagInput> {
  summary: string
  description?: string
  aliases?: string[]
  /** Calls without the name of the program: `project get ID`. At least two. */
  examples: (string | { description: string; command: string })[]
  args?: A
  flags?: F
}

/** A command that calls the API and prints the result. */
export interface CallSpec<A extends Interfaces.ArgInput, F extends Interfaces.FlagInput, R> extends Help<A, F> {
  /** Calls the server. `ask` prompts before a destructive call and adds the flag --yes. */
  call(client: Client, input: Input<A, F> & { ask(question: string): Promise<void> }): Promise<R>
  /** Whether `call` asks. */
  asks?: true
  /** Formats the result for people. */
  print(result: R, input: Input<A, F>): string
  /** Returns a line for stderr, after the result. */
  note?(result: R): string
}

const yesFlag = { yes: Flags.boolean({ summary: 'Skip the confirmation prompt.' }) }

/** Creates a command that calls the API and prints the result. */
export function callCommand<A extends Interfaces.ArgInput, F extends Interfaces.FlagInput, R>(
  spec: CallSpec<A, F, R>,
): typeof ClientCommand {
  class CallCommand extends ClientCommand {
    static override flags = { ...spec.flags, ...(spec.asks ? yesFlag : {}) }

    async run() {
      const { args, flags } = await this.parse(CallCommand)
      const input = { args, flags } as unknown as Input<A, F>
      const ask = (question: string) => confirm(question, { yes: flags.yes ?? false, noInput: flags['no-input'] })
      const result = await spec.call(this.connect(flags), { ...input, ask })
      this.log(spec.print(result, input))
      if (spec.note) this.note(spec.note(result))
      return result
    }
  }
  return withHelp(CallCommand, spec)
}

type List<T> = (call: { query: object }) => Promise<Page<T>>

/** A command that lists pages of records. */
export interface ListSpec<T, A extends Interfaces.ArgInput, F extends Interfaces.FlagInput> extends Help<A, F> {
  /** Returns the list to page through. */
  list(client: Client, input: Input<A, F>): List<T> | Promise<List<T>>
  /** Returns the filters. */
  query?(flags: Interfaces.InferredFlags<F>): object
  shape: ListShape<T>
  noun: [singular: string, plural: string]
  /** The command that creates the first one. */
  next: string
}

/** Creates a command that lists pages of records. */
export function listCommand<T, A extends Interfaces.ArgInput, F extends Interfaces.FlagInput>(
  spec: ListSpec<T, A, F>,
): typeof ClientCommand {
  class ListCommand extends ClientCommand {
    static override flags = { ...spec.flags, ...listFlags }

    async run() {
      const { args, flags } = await this.parse(ListCommand)
      const input = { args, flags } as unknown as Input<A, F>
      const list = await spec.list(this.connect(flags), input)
      const query = spec.query?.(input.flags) ?? {}
      return this.showList({
        pages: listPages(list, query, flags),
        shape: spec.shape,
        flags,
        noun: spec.noun,
        empty: `Next: passes ${spec.next}`,
        query,
      })
    }
  }
  return withHelp(ListCommand, spec)
}

function withHelp<A extends Interfaces.ArgInput, F extends Interfaces.FlagInput>(
  command: typeof ClientCommand,
  { summary, description, aliases = [], examples, args }: Help<A, F>,
): typeof ClientCommand {
  command.summary = summary
  if (description !== undefined) command.description = description
  command.aliases = aliases
  command.examples = examples.map(exampleOf)
  if (args) command.args = args
  return command
}

function exampleOf(example: string | { description: string; command: string }): Command.Example {
  const call = (text: string) => `<%= config.bin %> ${text}`
  return typeof example === 'string' ? call(example) : { ...example, command: call(example.command) }
}
