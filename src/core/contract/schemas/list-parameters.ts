import { z } from 'zod'
import { sortDirections } from '../../rules/lists/sorts.ts'
import { addIssue, Timestamp } from './common.ts'

/** The shared parameters of list endpoints. If a request repeats a parameter, the value is a list of texts. */

const MAX_OFFSET = Number.MAX_SAFE_INTEGER

/** The pattern of a number with up to 16 digits. A later check rejects numbers above 9007199254740991. */
const DIGITS = '\\d{1,16}'

/** Returns the schema of an integer parameter, which is a text in a query, and a number in the client library. */
export function integerParam(minimum: number, maximum: number) {
  return (
    z
      .union(
        [
          z.number(),
          z
            .string()
            .regex(new RegExp(`^${DIGITS}$`), 'Must be a whole number')
            .transform(Number),
        ],
        {
          error: 'Must be a whole number',
        },
      )
      // Abort at an unsafe integer. Otherwise, the same number would also be reported as out of bounds.
      .pipe(z.int({ abort: true }).min(minimum).max(maximum))
      .meta({ describedAs: { type: 'integer', minimum, maximum } })
  )
}

/** The maximum number of values of a repeated parameter. The database compares each row with all values. */
export const MAX_ALTERNATIVES = 20

/** The maximum number of values of a substring filter, which costs more than other filters. */
export const MAX_SUBSTRINGS = 5

/** Returns the schema of a repeatable parameter. An item matches if it matches any of the values. */
function anyOf<T extends z.ZodType>(item: T, max: number) {
  return z
    .preprocess((value) => (value === undefined || Array.isArray(value) ? value : [value]), z.array(item).max(max))
    .meta({ repeatable: true }) as z.ZodType<z.output<T>[], z.input<T> | z.input<T>[]>
}

/** Returns the schema of an optional parameter with its description and an example. */
export function param<T extends z.ZodType>(schema: T, description: string, example: unknown) {
  return schema.optional().meta({ description, example })
}

/** Returns the schema of an optional, repeatable filter (see `anyOf`). */
export function filter<T extends z.ZodType>(item: T, description: string, example: unknown, max = MAX_ALTERNATIVES) {
  return param(anyOf(item, max), description, example)
}

/** The IDs in the examples of parameters. */
export const exampleIds = {
  project: '01985f0c-7a10-7000-8000-000000000001',
  template: '01985f0c-7a10-7000-8000-000000000007',
  pass: '01985f0c-7a10-7000-8000-000000000011',
} as const

const Cursor = z
  .string()
  .min(1)
  .max(512)
  .describe('The `nextCursor` of the previous page. Sort order and filters must be those of the previous page.')

/** Returns the query schema of a list: pagination, sort keys, and filters. */
export function listQuery<const S extends readonly [string, ...string[]], F extends z.ZodRawShape>(
  sortBy: S,
  filters: F,
) {
  return pageQuery({
    sortBy: z
      .enum(sortBy)
      .default(sortBy[0] as S[number])
      .meta({ description: 'The field to sort by.', example: sortBy.at(-1) }),
    sortDir: z
      .enum(sortDirections)
      .default('desc')
      .meta({ description: 'The sort direction. Null counts as the greatest value.', example: 'asc' }),
    ...filters,
  })
}

/** Returns the query schema of a list with a fixed order. */
export function pageQuery<F extends z.ZodRawShape>(filters: F) {
  return z.strictObject({
    limit: integerParam(1, 100)
      .default(20)
      .meta({ description: 'The maximum number of items in the page.', example: 50 }),
    cursor: Cursor.optional(),
    offset: integerParam(0, MAX_OFFSET).optional().meta({
      deprecated: true,
      description: 'The number of items to skip. Use `cursor` instead, because later pages with `offset` are slower.',
      example: 40,
    }),
    ...filters,
  })
}

/** A boolean parameter. */
export const booleanParam = z
  .union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], {
    error: 'Must be true or false',
  })
  .meta({ describedAs: { type: 'boolean' } })

/** Whether a request is a dry run: it returns the result, but stores and sends nothing. */
export const dryRunParam = booleanParam.default(false).meta({
  description: 'Whether to return the result without storing or sending anything.',
  example: true,
})

/** A number, or a bound such as gte:3 or lte:7. */
export const numericFilter = z
  .string()
  .regex(new RegExp(`^(?:gte:|lte:)?${DIGITS}$`), 'Must be a whole number, or a bound such as gte:3 or lte:7')
  .transform((text) => {
    const comparison = text.startsWith('gte:') ? '>=' : text.startsWith('lte:') ? '<=' : '='
    return { comparison, value: Number(text.replace(/^.te:/, '')) } as const
  })
  .refine(({ value }) => Number.isSafeInteger(value), `Must be at most ${Number.MAX_SAFE_INTEGER}`)

/**
 * Returns the query parameters of a time window. Each bound has two names, and is inclusive.
 * @param items a phrase for the matching items and their time, such as "passes created"
 */
export function windowParams<const N extends WindowNames>(names: N, items: string) {
  const [from, to, since, until] = names
  const [start, end] = ['2027-05-20T06:00:00Z', '2027-05-20T20:00:00+01:00']
  const same = (name: string) => `The same as \`${name}\`. Use only one of the two.`
  return {
    [from]: filter(Timestamp, `Matches ${items} at or after this time.`, start),
    [to]: filter(Timestamp, `Matches ${items} at or before this time.`, end),
    [since]: filter(Timestamp, same(from), start),
    [until]: filter(Timestamp, same(to), end),
  } as { [K in N[number]]: ReturnType<typeof filter<typeof Timestamp>> }
}

type WindowNames = readonly [from: string, to: string, since: string, until: string]

/** Rejects a time window's bound that is given under both of its names. */
export function checkWindow(names: WindowNames, query: Record<string, unknown>, context: z.RefinementCtx): void {
  const [from, to, since, until] = names
  for (const [name, other] of [
    [from, since],
    [to, until],
  ] as const) {
    if (query[name] !== undefined && query[other] !== undefined) {
      addIssue(context, [other], `Has the same meaning as ${name}: use only one of the two`)
    }
  }
}

/**
 * Returns a query with its time window as one property, which replaces the parameters of the bounds. If a bound is
 * repeated, the widest window applies.
 */
export function foldWindow<Q extends object, const N extends WindowNames, const W extends string>(
  query: Q,
  names: N,
  window: W,
) {
  const others = Object.entries(query).filter(([name]) => !names.includes(name))
  return {
    ...Object.fromEntries(others),
    [window]: windowOf(names, query as Record<string, unknown>),
  } as unknown as Omit<Q, N[number]> & { [K in W]: Window }
}

/** The inclusive bounds of a time window. An undefined bound is open. */
export interface Window {
  from?: Date
  to?: Date
}

function windowOf([from, to, since, until]: WindowNames, query: Record<string, unknown>): Window {
  const bound = (name: string, other: string, choose: (...times: number[]) => number) => {
    const values = (query[name] ?? query[other]) as string[] | undefined
    return values && new Date(choose(...values.map((value) => Date.parse(value))))
  }
  const start = bound(from, since, Math.min)
  const end = bound(to, until, Math.max)
  return { ...(start && { from: start }), ...(end && { to: end }) }
}

/** Rejects a query that has the parameter `name`, but not the parameter `qualified`. */
export function checkQualifier(
  name: string,
  qualified: string,
  query: Record<string, unknown>,
  context: z.RefinementCtx,
): void {
  if (query[name] !== undefined && query[qualified] === undefined) {
    addIssue(context, [name], `Requires the parameter ${qualified}`)
  }
}
