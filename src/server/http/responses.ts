import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'
import { type H3Event, HTTPResponse } from 'h3'
import type { Page } from '../../core/contract/common.ts'
import type { ListPage } from '../../storage/db/list-query.ts'
import { correlationIdOf } from './middleware/observe.ts'

/** A response of a handler whose status is not the first success of its route, or that has headers. */
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

/** Returns the body of a list. */
export function toPage<Row, Item>({ rows, ...page }: ListPage<Row>, show: (row: Row) => Item): Page<Item> {
  return { items: rows.map((row) => show(row)), ...page }
}

type WithIsoTimes<Row> = {
  [Name in keyof Row]: Row[Name] extends Date ? string : Row[Name] extends Date | null ? string | null : Row[Name]
}

/** Returns a row with its times as the API writes them. */
export function withIsoTimes<Row extends object>(row: Row): WithIsoTimes<Row> {
  const shown = Object.entries(row).map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value])
  return Object.fromEntries(shown)
}

/**
 * A response with all of its headers, which are passed to Node directly. h3 would convert them to `Headers`, copy them
 * to add the common ones, and sort them, which is a tenth of the cost of a GET.
 */
export class CompleteResponse extends HTTPResponse {
  private readonly complete: Record<string, string>

  constructor(
    event: H3Event,
    body: string | Uint8Array<ArrayBuffer>,
    { status, headers }: { status: number; headers: Record<string, string> },
  ) {
    super(body, { status })
    this.complete = { ...headers, ...commonHeaders(event) }
    event.context.isComplete = true
  }

  override get headers(): Headers {
    return this.complete as unknown as Headers
  }
}

/** Adds the common headers to any other response. */
export function completeHeaders(response: Response, event: H3Event): void {
  if (event.context.isComplete) return
  for (const [name, value] of Object.entries(commonHeaders(event))) response.headers.set(name, value)
}

function commonHeaders(event: H3Event): Record<string, string> {
  return { 'x-correlation-id': correlationIdOf(event), 'x-content-type-options': 'nosniff' }
}

/** Whether If-None-Match contains one of these tags, given without quotes, by weak comparison (RFC 9110, 13.1.2). */
export function namesTag(condition: string, tags: string[]): boolean {
  return condition.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tags.some((known) => tag === `"${known}"`)
  })
}

const run = promisify(gzip)
const undo = promisify(gunzip)

/** Compresses off the main thread, with the fastest level: JSON becomes much smaller at any level. */
export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await run(text, { level: constants.Z_BEST_SPEED }))
}

/** A JSON body that is serialized and compressed once for many responses. */
export class EncodedBody<Body> {
  /** The shape of the JSON, for the compiler only. */
  declare readonly shape: Body
  readonly gzip: Buffer

  constructor(gzip: Buffer) {
    this.gzip = gzip
  }

  /** Returns the uncompressed body, for a client that does not accept gzip. */
  async plain(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await undo(this.gzip))
  }
}

/** Serializes a body once for many responses. */
export async function encodeBody<Body>(body: Body): Promise<EncodedBody<Body>> {
  return new EncodedBody(Buffer.from(await compress(JSON.stringify(body))))
}

const encodings = ['br', 'gzip'] as const

/**
 * Returns the supported encodings that the client accepts (RFC 9110, 12.5.3), the smaller first. A weight of 0 excludes
 * one.
 */
export function acceptedEncodings(headers: Headers): (typeof encodings)[number][] {
  const weights = new Map<string, number>()
  for (const item of (headers.get('accept-encoding') ?? '').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return encodings.filter((coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0)
}

/** Whether a client accepts gzip, with a weight above 0. */
export function acceptsGzip(headers: Headers): boolean {
  return acceptedEncodings(headers).includes('gzip')
}
