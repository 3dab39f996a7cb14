import { z } from 'zod'

/** The shared grammar of list endpoints (spec 4.1): parameters arrive as one text, or as several when repeated. */

const MAX_OFFSET = Number.MAX_SAFE_INTEGER

/** A whole-number parameter; clients may pass a number. */
export function integerParam(min: number, max: number) {
  return z
    .union(
      [
        z.number(),
        z
          .string()
          .regex(/^\d{1,16}$/, 'Must be a whole number')
          .transform(Number),
      ],
      {
        error: 'Must be a whole number',
      },
    )
    .pipe(z.int().min(min).max(max))
}

/** A repeatable parameter: its values are alternatives. */
export function anyOf<T extends z.ZodType>(item: T) {
  return z
    .preprocess((value) => (value === undefined || Array.isArray(value) ? value : [value]), z.array(item))
    .meta({
      repeatable: true,
    }) as z.ZodType<z.output<T>[], z.input<T> | z.input<T>[]>
}

export function listQuery<const S extends readonly [string, ...string[]], F extends z.ZodRawShape>(
  sortBy: S,
  filters: F,
) {
  return z.strictObject({
    limit: integerParam(1, 100).default(20),
    cursor: z.string().min(1).max(512).optional(),
    offset: integerParam(0, MAX_OFFSET).optional().meta({ deprecated: true }),
    sortBy: z.enum(sortBy).default(sortBy[0] as S[number]),
    sortDir: z.enum(['asc', 'desc']).default('desc'),
    ...filters,
  })
}
