import { Args, Flags } from '@oclif/core'
import { Uuid } from '../../core/ids.ts'
import { UsageError } from '../command/cli-error.ts'
import { type NamedKind, named } from './named.ts'

export function idArg(what: string) {
  return Args.string({ description: `ID of the ${what}.`, required: true, parse: idOf(what) })
}

const wordings: Record<NamedKind, string> = {
  project: 'Name or ID of the project',
  template: 'Key, name, or ID of the template',
  door: 'Name or ID of the door',
  webhook: 'Address, description, or ID of the webhook',
  identity: 'Name or ID of the identity',
}

/** Creates an argument that accepts any name of a row: namedArg('template'). The command receives the id. */
export function namedArg(kind: NamedKind) {
  return named(kind, Args.string({ description: `${wordings[kind]}.`, required: true }))
}

export function optionalNamedArg(kind: NamedKind) {
  return named(kind, Args.string({ description: `${wordings[kind]}.` }))
}

/** Creates a flag that accepts any name of a row. `what` completes the sentence of its summary. */
export function namedFlag(kind: NamedKind, what = '', options: Parameters<typeof named>[2] = {}) {
  return named(kind, Flags.string({ summary: `${wordings[kind]}${what}.` }), options)
}

/** Creates a required flag that accepts any name of a row. If it is missing on a terminal, the user chooses from a list. */
export function requiredFlag(kind: NamedKind, what = '') {
  return named(kind, Flags.string({ summary: `${wordings[kind]}${what}.`, required: true }), { ask: {} })
}

/** Returns a parser that rejects values that are not ids before they reach the server. */
export function idOf(what: string): (text: string) => Promise<string> {
  return async (text) => checkId(text, what)
}

function checkId(text: string, what: string): string {
  if (Uuid.safeParse(text).success) return text
  throw new UsageError(`${text} is not the ID of a ${what}`)
}
