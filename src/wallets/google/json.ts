import type { z } from 'zod'

/** What the text says, as the schema reads it; undefined where it is no JSON or does not fit. */
export function parseJson<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // What others send may be anything; every caller has an answer for that.
    return undefined
  }
  return schema.safeParse(value).data
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
