import { z } from 'zod'
import type { Issue } from '../../core/errors.ts'
import { groupBy } from '../../core/group-by.ts'

/** A repeated parameter has a list of values. */
export type QueryParameters = Record<string, string | string[]>

export function readParameters({ searchParams }: URL): QueryParameters {
  const byName = groupBy(searchParams, ([name]) => name)
  return Object.fromEntries(
    [...byName].map(([name, pairs]) => {
      const values = pairs.map(([, value]) => value)
      return [name, values.length > 1 ? values : values[0]!]
    }),
  )
}

/**
 * Returns an issue of a parameter under the name that the client sent. If the client sent a list in an unsupported
 * form, adds the supported form to the message.
 */
export function describeParameterIssue(
  { path: [first, ...place], message }: Issue,
  given: QueryParameters,
  query: z.ZodType,
): Issue {
  const name = String(first)
  const values = given[name] ?? []
  // Include the index in the path only if the client sent several values.
  const path = [name, ...(Array.isArray(values) ? place : [])]
  const wanted = repeatedInstead(name, [values].flat(), query)
  return { path, message: wanted ? `${message}. For several values, repeat the parameter: ${wanted}` : message }
}

/**
 * Returns the correct form (`status=…&status=…`) of a list that a client sent as `status[]=ISSUED` or
 * `status=ISSUED,VOID`; undefined for any other parameter.
 */
function repeatedInstead(name: string, values: string[], query: z.ZodType): string | undefined {
  const [, plain] = /^(.+)\[\d*\]$/.exec(name) ?? []
  if (plain !== undefined) return isRepeatable(query, plain) ? `${plain}=…&${plain}=…` : undefined
  return values.some((value) => value.includes(',')) && isRepeatable(query, name) ? `${name}=…&${name}=…` : undefined
}

function isRepeatable(query: z.ZodType, name: string): boolean {
  let schema: z.ZodType | undefined = query instanceof z.ZodObject ? query.shape[name] : undefined
  while (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) schema = schema.unwrap() as z.ZodType
  return schema?.meta()?.repeatable === true
}
