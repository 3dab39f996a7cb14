import { Args, Flags } from '@oclif/core'
import { Uuid } from '../../core/ids.ts'
import { UsageError } from '../command/errors.ts'
import { type NamedKind, named } from './named.ts'

/** An argument that names a row by its id: idArg('template'). */
export function idArg(what: string) {
  return Args.string({ description: `Id of the ${what}.`, required: true, parse: idOf(what) })
}

const wordings: Record<NamedKind, string> = {
  project: 'Name or id of the project',
  template: 'Key, name or id of the template',
  door: 'Name or id of the door',
  webhook: 'Address, description or id of the webhook',
  identity: 'Name or id of the identity',
}

/** An argument that names a row in any way: namedArg('template'). The command gets its id. */
export function namedArg(kind: NamedKind) {
  return named(kind, Args.string({ description: `${wordings[kind]}.`, required: true }))
}

/** The same where it may be left out. */
export function optionalNamedArg(kind: NamedKind) {
  return named(kind, Args.string({ description: `${wordings[kind]}.` }))
}

/** A flag that does; `what` goes on in the sentence that says what it is for. */
export function namedFlag(kind: NamedKind, what = '', options: Parameters<typeof named>[2] = {}) {
  return named(kind, Flags.string({ summary: `${wordings[kind]}${what}.` }), options)
}

/** The same where it must be given; on a terminal, where it is not, there is a list to choose from. */
export function requiredFlag(kind: NamedKind, what = '') {
  return named(kind, Flags.string({ summary: `${wordings[kind]}${what}.`, required: true }), { ask: {} })
}

/** Parses an argument or a flag that holds an id; whatever is none never reaches the server. */
export function idOf(what: string): (text: string) => Promise<string> {
  return async (text) => checkId(text, what)
}

/** @throws UsageError */
function checkId(text: string, what: string): string {
  if (Uuid.safeParse(text).success) return text
  throw new UsageError(`${text} is not the id of a ${what}`)
}
