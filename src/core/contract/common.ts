import { z } from 'zod'
import { codePointLength, EARLIEST_MOMENT, isWellFormedText, LATEST_MOMENT } from '../bounds.ts'
import { errorTable, type ErrorCode as KnownErrorCode } from '../errors.ts'
import { isJsonObject } from '../json.ts'
import { passStatuses } from '../rules/pass/pass-status.ts'

/**
 * Text of a bounded length, counted in code points as JSON Schema does (zod's own max counts UTF-16 units). NUL and
 * lone surrogates are refused: no database stores them faithfully.
 */
export function text(min: number, max: number) {
  return z
    .string()
    .superRefine((value, context) => {
      const length = value.length > max * 2 ? value.length : codePointLength(value)
      if (length < min)
        context.addIssue({
          code: 'custom',
          message: min === 1 ? 'Must not be empty' : `Must have at least ${min} characters`,
        })
      if (length > max) context.addIssue({ code: 'custom', message: `Must have at most ${max} characters` })
      if (!isWellFormedText(value))
        context.addIssue({ code: 'custom', message: 'Must be well-formed text without NUL' })
    })
    .meta({ type: 'string', ...(min > 0 && { minLength: min }), maxLength: max })
}

/** Of an object whose names are free: refuses `__proto__`, which zod would leave out without a word. */
export function refusingProto<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((written: z.input<Schema>, context) => {
    if (isJsonObject(written) && Object.hasOwn(written, '__proto__'))
      context.addIssue({ code: 'custom', path: ['__proto__'], message: 'Nothing can be called so: take another name' })
    return written
  }, schema)
}

/** The parts of a date-time, without anchors: one without the other is what a composed text asks of a variable. */
const time = '(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?'
const offset = '(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)'

/** Sources of the patterns that a date-time is made of. */
export const dateTimeParts = { date: z.regexes.date.source.slice(1, -1), time, offset }

/** ISO 8601 date-time with Z or an offset, seconds optional (zod's own pattern insists on them). */
export const timestampPattern = `${z.regexes.date.source.slice(0, -1)}T${time}${offset}$`

/** A moment as the interface takes it. */
export const Timestamp = z
  .string()
  .regex(
    new RegExp(timestampPattern),
    'Must be an ISO 8601 date-time with Z or an offset, such as 2027-05-31T19:30:00Z',
  )
  .refine((value) => !(Date.parse(value) < EARLIEST_MOMENT), 'Must not be before the year 0 in UTC')
  .refine((value) => !(Date.parse(value) >= LATEST_MOMENT), 'Must be before the year 10000 in UTC')
  .meta({ format: 'date-time' })

/** A moment as the interface shows it: ISO 8601 in UTC, ending in Z. */
export const UtcTimestamp = z.iso.datetime()

/** A day of the calendar without a time zone, such as 2026-12-31. */
export const CalendarDate = z.iso.date({ message: 'Must be a date such as 2026-12-31' })

/** A whole number as responses hold it. */
export const Count = z.int().min(0)

/** A whole number from 1. */
export const PositiveInt = z.int().min(1)

/** The page envelope of every list endpoint. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.strictObject({
    items: z.array(item),
    total: Count,
    limit: Count,
    offset: Count,
    nextCursor: z.string().nullable(),
    hasMore: z.boolean(),
  })
}

/** One page of a list: its items, and how many there are in all. */
export interface Page<T> {
  items: T[]
  total: number
  limit: number
  offset: number
  nextCursor: string | null
  hasMore: boolean
}

/** What stands of a pass: see core/rules/pass/pass-status.ts. */
export const PassStatus = z.enum(passStatuses)
export type PassStatus = z.output<typeof PassStatus>

/** The codes of errors that the API answers with: see core/errors.ts. */
export const ErrorCode = z.enum(Object.keys(errorTable) as [KnownErrorCode, ...KnownErrorCode[]])
export type ErrorCode = z.output<typeof ErrorCode>

/** The body of every error answer. */
export const ErrorBody = z.strictObject({
  errorCode: ErrorCode,
  message: z.string(),
  correlationId: z.string(),
  details: z.record(z.string(), z.unknown()),
})
export type ErrorBody = z.output<typeof ErrorBody>

/** The same of the endpoint that records scans, which has no code. */
export const ErrorBodyWithoutCode = ErrorBody.omit({ errorCode: true })
export type ErrorBodyWithoutCode = z.output<typeof ErrorBodyWithoutCode>

/** The lengths of the buckets that figures over time come in. */
export const bucketUnits = ['hour', 'day', 'week', 'month'] as const

/** One of them. */
export type BucketUnit = (typeof bucketUnits)[number]

/** At most so many buckets are told at once. */
export const MAX_BUCKETS = 1_000
