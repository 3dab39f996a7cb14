import type { z } from 'zod'
import { type Issue, listIssues } from './errors.ts'

/** A value as it is taken, or everything that keeps it from being taken. */
export type Parsed<T> = { value: T } | { issues: Issue[] }

/** Parses a value. Every problem is told at once, in words that say what is wanted; each unknown key stands by itself. */
export function parseAs<T extends z.ZodType>(schema: T, value: unknown, unknownKey = 'property'): Parsed<z.output<T>> {
  const result = schema.safeParse(value, { error: describeIssue })
  return result.success ? { value: result.data } : { issues: listIssues(toIssues(result.error, unknownKey)) }
}

/** For what a schema has no words of its own. */
function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined) return 'Is required'
  if (issue.code === 'invalid_type') return `Must be ${TYPES[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') {
    const [only, ...others] = issue.values
    return others.length === 0 ? `Must be ${JSON.stringify(only)}` : `Must be one of ${issue.values.join(', ')}`
  }
  if (issue.code === 'too_small') return describeBound(issue.origin, `at least ${issue.minimum}`)
  if (issue.code === 'too_big') return describeBound(issue.origin, `at most ${issue.maximum}`)
  if (issue.code === 'invalid_format') return `Must be of the format ${issue.pattern ?? issue.format}`
  if (issue.code === 'invalid_union') return describeUnion(issue.errors)
  return 'Is not as the description of the interface has it'
}

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** What is counted where a size is bounded. */
const UNITS: Record<string, string> = { string: 'characters', array: 'items' }

function describeBound(origin: string, bound: string): string {
  if (origin in UNITS && bound === 'at least 1') return 'Must not be empty'
  return origin in UNITS ? `Must have ${bound} ${UNITS[origin]}` : `Must be ${bound}`
}

function describeUnion(members: z.core.$ZodIssue[][]): string {
  const wanted = new Set(members.flatMap(([first]) => first?.message ?? []))
  return [...wanted].join(', or ').replaceAll(', or Must', ', or must')
}

function* toIssues(error: z.ZodError, unknownKey: string): Generator<Issue> {
  for (const issue of error.issues) {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) yield { path: [...path, key], message: `Unknown ${unknownKey}` }
    } else yield { path, message: issue.message }
  }
}
