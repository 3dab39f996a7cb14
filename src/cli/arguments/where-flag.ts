import { Flags } from '@oclif/core'
import { passFilterNames } from '../../core/rules/lists/pass-filters.ts'
import { UsageError } from '../command/cli-error.ts'
import { repeatable } from './list-flags.ts'

type Name = (typeof passFilterNames)[number]

/** The filters of `--where`, by name. The values of one filter are alternatives. */
export type Where = Partial<Record<Name, string[]>>

/** Filters passes by the query parameters of GET /v1/passes. The server validates the values. */
export const whereFlag = Flags.string({
  summary: 'Only passes that match, such as variable=tier:gold or installed=true. Repeatable.',
  description:
    `Filters: ${passFilterNames.join(', ')}. Different filters must all match; repeated values of one filter are ` +
    'alternatives.',
  ...repeatable,
})

const STATUS_HINT =
  'in a list, use --status; a broadcast always reaches the issued passes, and an upgrade all passes that are not void.'

/**
 * Parses the values of `--where`; `undefined` if there are none. Each is `filter=value`, split at the first `=`.
 * @throws UsageError
 */
export function parseWhere(given: string[] | undefined): Where | undefined {
  if (!given) return undefined
  const where: Where = {}
  for (const one of given) {
    const [, text, value] = /^([^=]+)=(.*)$/s.exec(one) ?? []
    if (text === undefined) throw new UsageError(`--where ${one} must be filter=value, such as --where installed=true`)
    const name = passFilterNames.find((known) => known === text.trim())
    if (!name) {
      throw new UsageError(`--where ${one}: ${text.trim()} is not a filter`, {
        hint: text.trim() === 'status' ? STATUS_HINT : `the filters are ${passFilterNames.join(', ')}.`,
      })
    }
    where[name] = [...(where[name] ?? []), value!]
  }
  return where
}
