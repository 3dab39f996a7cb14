import { Flags } from '@oclif/core'
import { UsageError } from '../command/errors.ts'

export const variableFlag = Flags.string({
  summary: 'A variable as name=value. Repeatable.',
  multiple: true,
  multipleNonGreedy: true,
  default: [],
})

/** name=value, split on the first equals sign. */
export function splitVariable(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--var ${text} must be name=value`)
  return [text.slice(0, at), text.slice(at + 1)]
}
