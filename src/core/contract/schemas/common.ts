import { z } from 'zod'
import { codePointLength, EARLIEST_MOMENT, isWellFormedText, LATEST_MOMENT } from '../../bounds.ts'
import { errorTable, type ErrorCode as KnownErrorCode } from '../../errors.ts'
import { Uuid } from '../../ids.ts'
import { isJsonObject } from '../../json.ts'
import type { Method, Route } from '../../route.ts'
import { passStatuses } from '../../rules/pass/pass-status.ts'

type ParameterOf<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParameterOf<Rest> : never

/** The schema of the parameters of a path. Each parameter is an ID or a name. */
type ParametersOf<Path> = [ParameterOf<Path>] extends [never]
  ? unknown
  : { params: z.ZodObject<Record<ParameterOf<Path>, typeof Uuid>, z.core.$strict> }

/** The access to routes with which the leads of doors prepare doors and zones. */
export const forLeads = { scope: 'scans:write', role: 'owner', forDoorLeads: true } as const

/**
 * Declares an endpoint, with an exact type for handlers and the client. Path parameters are in braces: /v1/passes/{id}.
 * @param names the schemas of the path parameters that are not IDs
 */
export function route<
  const M extends Method,
  const P extends Route['path'],
  const R extends Omit<Route, 'method' | 'path' | 'params'>,
>(method: M, path: P, definition: R, names: Record<string, z.ZodType<string>> = {}) {
  const segments = path.split('/')
  const parameters = segments.flatMap((segment, n) => {
    if (!segment.startsWith('{')) return []
    const name = segment.slice(1, -1)
    return [[name, names[name] ?? Uuid.describe(`The ID of the ${singular(segments[n - 1]!)}.`)] as const]
  })
  const params = parameters.length > 0 && { params: z.strictObject(Object.fromEntries(parameters)) }
  return { method, path, ...params, ...definition } as R & { method: M; path: P } & ParametersOf<P>
}

/** Returns the singular of a path segment, such as "template version" for template-versions. */
function singular(resources: string): string {
  const noun = resources.endsWith('ies') ? `${resources.slice(0, -3)}y` : resources.replace(/(?<=ss)es$|s$/, '')
  return noun.replaceAll('-', ' ')
}

/** Reports an issue of a value from a check of its schema. The path starts at the value. */
export function addIssue(context: z.RefinementCtx, path: (string | number)[], message: string): void {
  context.addIssue({ code: 'custom', path, message })
}

/**
 * Returns the schema of a text. The bounds are in code points, as in JSON Schema (zod's `max` counts UTF-16 units). The
 * schema rejects NUL and lone surrogates, because databases do not store them unchanged.
 */
export function text(min: number, max: number) {
  return z
    .string()
    .superRefine((value, context) => {
      const length = value.length > max * 2 ? value.length : codePointLength(value)
      if (length < min) addIssue(context, [], min === 1 ? 'Must not be empty' : `Must have at least ${min} characters`)
      if (length > max) addIssue(context, [], `Must have at most ${max} characters`)
      if (!isWellFormedText(value)) addIssue(context, [], 'Must be well-formed text without NUL')
    })
    .meta({ type: 'string', ...(min > 0 && { minLength: min }), maxLength: max })
}

/** Rejects the key `__proto__` in an object with arbitrary keys. Otherwise, zod would silently drop this key. */
export function withoutProto<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((written: z.input<Schema>, context) => {
    if (isJsonObject(written) && Object.hasOwn(written, '__proto__'))
      addIssue(context, ['__proto__'], 'Is not allowed as a name: use another name')
    return written
  }, schema)
}

/** The patterns of a time and an offset. They have no anchors, so that larger patterns can contain them. */
const time = '(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?'
const offset = '(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)'

/** The patterns of the parts of a date-time, without anchors. */
export const dateTimeParts = { date: z.regexes.date.source.slice(1, -1), time, offset }

/** The pattern of an ISO 8601 date-time with Z or an offset. Seconds are optional (zod's pattern requires them). */
export const timestampPattern = `${z.regexes.date.source.slice(0, -1)}T${time}${offset}$`

/** A time in requests. The JSON Schema has no `format`, because the format `date-time` requires seconds. */
export const Timestamp = z
  .string()
  .regex(
    new RegExp(timestampPattern),
    'Must be an ISO 8601 date-time with Z or an offset, such as 2027-05-31T19:30:00Z',
  )
  .refine((value) => !(Date.parse(value) < EARLIEST_MOMENT), 'Must not be before the year 0 in UTC')
  .refine((value) => !(Date.parse(value) >= LATEST_MOMENT), 'Must be before the year 10000 in UTC')

/** A time in responses: ISO 8601 in UTC, ending in Z. */
export const UtcTimestamp = z.iso.datetime()

/** A calendar date without a time zone, such as 2026-12-31. */
export const CalendarDate = z.iso.date({ message: 'Must be a date such as 2026-12-31' })

/** A non-negative integer in responses. */
export const Count = z.int().min(0)

/** An integer of at least 1. */
export const PositiveInt = z.int().min(1)

/** The page schema by item schema. Cached, so that /openapi.json has only one page schema for each item. */
const pages = new WeakMap<z.ZodType, z.ZodType>()

/** Returns the schema of a list page. */
export function pageOf<T extends z.ZodType>(item: T): ReturnType<typeof createPage<T>> {
  const page = (pages.get(item) ?? createPage(item)) as ReturnType<typeof createPage<T>>
  pages.set(item, page)
  return page
}

function createPage<T extends z.ZodType>(item: T) {
  return z.strictObject({
    items: z.array(item),
    total: Count,
    limit: Count,
    offset: Count,
    nextCursor: z.string().nullable(),
    hasMore: z.boolean(),
  })
}

/** One page of a list, with the total number of items on all pages. */
export interface Page<T> {
  items: T[]
  total: number
  limit: number
  offset: number
  nextCursor: string | null
  hasMore: boolean
}

/** The status of a pass. */
export const PassStatus = z.enum(passStatuses)
export type PassStatus = z.output<typeof PassStatus>

/** The error codes of the API. */
export const ErrorCode = z.enum(Object.keys(errorTable) as [KnownErrorCode, ...KnownErrorCode[]])
export type ErrorCode = z.output<typeof ErrorCode>

/** The body of every error response. */
export const ErrorBody = z.strictObject({
  errorCode: ErrorCode,
  message: z.string(),
  correlationId: z.string(),
  details: z.record(z.string(), z.unknown()),
})
export type ErrorBody = z.output<typeof ErrorBody>

/** The error body without a code. Only the endpoint that records scans returns it. */
export const ErrorBodyWithoutCode = ErrorBody.omit({ errorCode: true })
export type ErrorBodyWithoutCode = z.output<typeof ErrorBodyWithoutCode>

/** The bucket lengths of figures over time. */
export const bucketUnits = ['hour', 'day', 'week', 'month'] as const

/** A bucket length. */
export type BucketUnit = (typeof bucketUnits)[number]

/** The maximum number of buckets in a response. */
export const MAX_BUCKETS = 1_000
