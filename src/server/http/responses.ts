import { type H3Event, HTTPResponse } from 'h3'
import type { z } from 'zod'
import type { Page } from '../../core/contract/schemas/common.ts'
import type { ListPage } from '../../storage/db/list-query.ts'
import { corsHeaders } from './cors.ts'
import { correlationIdOf } from './middleware/observe.ts'

/** A handler's result with headers, or with a status other than the default (the lowest in the route's `responses`). */
export class Reply<Status extends number, Body> {
  readonly status: Status
  readonly body: Body
  readonly headers: Record<string, string>

  constructor(status: Status, body: Body, headers: Record<string, string> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export function toPage<Row, Item>({ rows, ...page }: ListPage<Row>, show: (row: Row) => Item): Page<Item> {
  return { items: rows.map((row) => show(row)), ...page }
}

/** The row of a body: it has the fields of the body, with a Date or an ISO 8601 text for each time. */
type RowOf<Body> = { [Name in keyof Body]: Body[Name] | (string extends Body[Name] ? Date : never) }

/**
 * Returns the fields of a row that a schema of the contract has, in the order of the schema, with times as texts. To copy
 * a row with many fields takes 20 µs, so passes and scans list their fields instead.
 */
export function toBody<Schema extends z.ZodObject>(schema: Schema, row: RowOf<z.output<Schema>>): z.output<Schema> {
  const values = row as Record<string, unknown>
  const body: Record<string, unknown> = {}
  for (const name of Object.keys(schema.shape)) {
    const value = values[name]
    body[name] = value instanceof Date ? value.toISOString() : value
  }
  return body as z.output<Schema>
}

/**
 * A response that gives all of its headers, including the common headers, to Node directly. Otherwise, h3 would convert
 * the headers to `Headers`, copy them, and sort them, which takes a tenth of the time of a GET.
 */
export class CompleteResponse extends HTTPResponse {
  private readonly complete: Record<string, string>

  constructor(
    event: H3Event,
    body: string | Uint8Array<ArrayBuffer>,
    { status, headers }: { status: number; headers: Record<string, string> },
  ) {
    super(body, { status })
    this.complete = { ...headers, ...commonHeaders(event, headers.vary) }
    event.context.isComplete = true
  }

  override get headers(): Headers {
    return this.complete as unknown as Headers
  }
}

/** Adds the common headers to a response, unless it is a `CompleteResponse`, which already has them. */
export function completeHeaders(response: Response, event: H3Event): void {
  if (event.context.isComplete) return
  const { headers } = response
  const common = commonHeaders(event, headers.get('vary') ?? undefined)
  for (const [name, value] of Object.entries(common)) headers.set(name, value)
}

function commonHeaders(event: H3Event, vary: string | undefined): Record<string, string> {
  const cors = corsHeaders(event)
  return {
    'x-correlation-id': correlationIdOf(event),
    'x-content-type-options': 'nosniff',
    ...(cors && { ...cors, vary: vary === undefined ? 'Origin' : `${vary}, Origin` }),
  }
}
