import { z } from 'zod'
import { parseAs } from '../../errors.ts'
import { addIssue } from './common.ts'
import { foldWindow } from './list-parameters.ts'
import { checkPassFilters, createdWindow, passFilters } from './pass-list-query.ts'

const Parsed = z.strictObject(passFilters).superRefine(checkPassFilters)

/** The values of a filter. An empty list is rejected: it could mean either no pass or every pass. */
const Values = z.union([z.string(), z.array(z.string()).min(1)], { error: 'Must be a string or a list of strings' })

type Name = keyof typeof passFilters

const values = Object.fromEntries(
  Object.entries(passFilters).map(([name, { description = '' }]) => [name, Values.optional().describe(description)]),
)

/**
 * A filter of passes in a request body. Its keys are the filters of GET /v1/passes, except status, and the values
 * follow the same rules. A list of values matches passes with any of these values.
 */
export const PassFilter = z
  .strictObject(values as Record<Name, z.ZodOptional<typeof Values>>)
  .superRefine((filter, context) => {
    const parsed = parseAs(Parsed, filter)
    if ('value' in parsed) return
    for (const { path, message } of parsed.issues) {
      const [name, ...place] = path as [Name, ...(string | number)[]]
      // A single value was parsed as a list. Omit its index from the path, because the request has no list.
      addIssue(context, [name, ...(Array.isArray(filter[name]) ? place : [])], message)
    }
  })
export type PassFilter = z.output<typeof PassFilter>

/** Parses a valid filter into query conditions. Requests and database records contain the unparsed filter. */
export function parsePassFilter(filter: PassFilter) {
  return foldWindow(Parsed.parse(filter), createdWindow, 'created')
}
