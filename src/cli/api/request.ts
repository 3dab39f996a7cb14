import type { RawAnswer, RawRequest } from '../../client/client.ts'
import { CliError, UsageError } from '../command/errors.ts'

export interface ApiFlags {
  /** A body as it is sent. */
  data: Uint8Array | undefined
  field: string[]
  header: string[]
}

/**
 * The request of `passes api`. Fields are parameters of a GET or DELETE, and the JSON body of anything else.
 * @throws UsageError for a path that leads elsewhere, or fields that cannot be read
 */
export function apiRequest(method: string, path: string, { data, field, header }: ApiFlags): RawRequest {
  // Behind the address of the server anything else could name another one, which would be sent the token.
  if (!/^\/[^/\\\s]/.test(path)) {
    throw new UsageError(`${path} is not a path of the API`, { hint: 'begin with a slash, as in /v1/projects.' })
  }
  const fields = field.map(splitNamed)
  const hasQuery = method === 'GET' || method === 'DELETE'
  if (hasQuery && data) throw new UsageError(`A ${method} has no body; parameters are given with -f name=value`)
  const body = data ?? (hasQuery || fields.length === 0 ? undefined : jsonBody(fields))
  return {
    method,
    path: hasQuery
      ? withParameters(
          path,
          fields.map(([name, value]) => [name, textOf(value)]),
        )
      : path,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...Object.fromEntries(header.map(splitHeader)),
    },
    ...(body && { body }),
  }
}

/** The same request for the page behind a cursor. */
export function atCursor(request: RawRequest, cursor: string): RawRequest {
  const url = new URL(request.path, 'http://server')
  url.searchParams.set('cursor', cursor)
  return { ...request, path: url.pathname + url.search }
}

/** @throws CliError where the answer is not a page of a list */
export function pageOf(answer: RawAnswer): { items: unknown[]; nextCursor: string | null } {
  const page = jsonOf(answer) as { items?: unknown; nextCursor?: unknown } | null | undefined
  if (!Array.isArray(page?.items) || (page.nextCursor !== null && typeof page.nextCursor !== 'string')) {
    throw new CliError('The answer is not a page of a list', { hint: 'leave out --paginate.' })
  }
  return { items: page.items, nextCursor: page.nextCursor }
}

/** The value of a JSON answer; undefined for a file, and where there is no content. */
export function jsonOf({ headers, body }: RawAnswer): unknown {
  if (!/^application\/(?:[\w.-]+\+)?json\b/.test(String(headers['content-type'] ?? ''))) return undefined
  return JSON.parse(Buffer.from(body).toString())
}

/** Status and headers as a server sends them, with a line break behind. */
export function headLines({ status, headers }: RawAnswer): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${[value].flat().join(', ')}`)
  return [`HTTP ${status}`, ...lines, '', ''].join('\n')
}

function withParameters(path: string, parameters: [string, string][]): string {
  const url = new URL(path, 'http://server')
  for (const [name, value] of parameters) url.searchParams.append(name, value)
  return url.pathname + url.search
}

/** A name that is given several times is an array. */
function jsonBody(fields: [string, unknown][]): Uint8Array {
  const values = new Map<string, unknown[]>()
  for (const [name, value] of fields) values.set(name, [...(values.get(name) ?? []), value])
  const entries = [...values].map(([name, all]) => [name, all.length > 1 ? all : all[0]])
  return Buffer.from(JSON.stringify(Object.fromEntries(entries)))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * A field of a request: `name=text`, or `name:=value` where the value is JSON.
 * @throws UsageError
 */
function splitNamed(text: string): [name: string, value: unknown] {
  const [, name, sign, value] = /^([^=:]+)(:?=)(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new UsageError(`-f ${text} must be name=value, or name:=JSON`)
  if (sign === '=') return [name, value]
  try {
    return [name, JSON.parse(value)]
  } catch {
    throw new UsageError(`-f ${text}: what stands behind := is not JSON`, { hint: `for text: -f ${name}=${value}` })
  }
}

/** @throws UsageError */
function splitHeader(text: string): [name: string, value: string] {
  const colon = text.indexOf(':')
  const name = text.slice(0, Math.max(0, colon))
  if (!/^[\w-]+$/.test(name)) throw new UsageError(`-H "${text}" must be "Name: value"`)
  return [name.toLowerCase(), text.slice(colon + 1).trim()]
}
