import { Args } from '@oclif/core'
import { Uuid } from '../../core/ids.ts'
import { UsageError } from '../command/errors.ts'

/** An argument that names a row by its id: idArg('template'). */
export function idArg(what: string) {
  return Args.string({ description: `Id of the ${what}.`, required: true, parse: idOf(what) })
}

/** Parses an argument or a flag that holds an id; whatever is none never reaches the server. */
export function idOf(what: string): (text: string) => Promise<string> {
  return async (text) => checkId(text, what)
}

/** @throws UsageError */
export function checkId(text: string, what: string, hint?: string): string {
  if (Uuid.safeParse(text).success) return text
  throw new UsageError(`${text} is not the id of a ${what}`, { ...(hint && { hint }) })
}
