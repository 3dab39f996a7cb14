import { type H3Event, HTTPResponse } from 'h3'
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

type WithIsoTimes<Row> = {
  [Name in keyof Row]: Row[Name] extends Date ? string : Row[Name] extends Date | null ? string | null : Row[Name]
}

export function withIsoTimes<Row extends object>(row: Row): WithIsoTimes<Row> {
  const shown = Object.entries(row).map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value])
  return Object.fromEntries(shown)
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
