import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { H3Event } from 'h3'
import { ApiError, type Issue, listIssues, validationError } from '../../core/errors.ts'
import { endOfString, findLossyNumbers } from '../../core/rules/lists/json-numbers.ts'

/** Reserves memory for a number of bytes of a body. Throws if there is not enough memory. */
export type Reserve = (bytes: number) => void

/**
 * Reads the body of a request. Returns an empty buffer for a request without a body.
 * @param reserve called with the Content-Length before the body is read, and with further bytes if the body is longer
 * @throws ApiError INVALID_INPUT (413) for more than maxBytes, INVALID_FORMAT if the body ends early
 */
export async function readBody(event: H3Event, maxBytes: number, reserve: Reserve = () => undefined): Promise<Buffer> {
  const { method, headers } = event.req
  if (method === 'GET' || method === 'HEAD') return Buffer.alloc(0)
  let reserved = Number(headers.get('content-length') ?? 0)
  if (reserved > maxBytes) throw tooLarge()
  if (reserved > 0) reserve(reserved)
  const chunks: Uint8Array[] = []
  let size = 0
  const take = (chunk: Uint8Array) => {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    if (size > reserved) {
      reserve(size - reserved)
      reserved = size
    }
    chunks.push(chunk)
  }
  // Read Node's stream. A web stream around it would take as much time as the rest of a small request. Requests that do
  // not come from a socket have only a web stream.
  const incoming = event.runtime?.node?.req ?? (event.req.body && Readable.fromWeb(event.req.body as ReadableStream))
  if (incoming) await readIncoming(incoming as Readable, take)
  return Buffer.concat(chunks, size)
}

/** Passes the chunks of a body to `take`. If `take` throws, stops reading, so that the error is sent immediately. */
function readIncoming(incoming: Readable, take: (chunk: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onData = (chunk: Uint8Array) => {
      try {
        take(chunk)
      } catch (error) {
        incoming.pause()
        settle(() => reject(error))
      }
    }
    const onEnd = () => settle(resolve)
    const onBroken = (cause?: unknown) => settle(() => reject(brokenBody(cause)))
    const settle = (how: () => void) => {
      incoming.off('data', onData).off('end', onEnd).off('close', onBroken)
      how()
    }
    // Do not remove this listener. Otherwise, a connection that breaks later would end the process.
    incoming.once('error', onBroken)
    if (incoming.destroyed) return onBroken(incoming.errored)
    incoming.on('data', onData).once('end', onEnd).once('close', onBroken)
  })
}

/**
 * Returns the error for a body that is too large. The response closes the connection, because the client cannot send
 * another request after the unread body.
 */
function tooLarge(): ApiError {
  return new ApiError('INVALID_INPUT', {
    status: 413,
    message: 'The body is too large.',
    headers: { connection: 'close' },
  })
}

function brokenBody(cause: unknown): ApiError {
  return new ApiError('INVALID_FORMAT', { message: 'The body is incomplete. Send the request again.', cause })
}

/** @throws ApiError INVALID_FORMAT for invalid UTF-8, which would otherwise be stored as replacement characters */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new ApiError('INVALID_FORMAT', {
      message: 'The body is not UTF-8: encode it as UTF-8 and send it again.',
      cause,
    })
  }
}

/** The maximum nesting of JSON. No legitimate body is nested deeper, and deep nesting can overflow the stack. */
const MAX_DEPTH = 64

/**
 * The maximum number of names and values in a body: ten times the number in the largest legitimate batch. A limit on
 * the size is not enough, because many small values cost a hundred times as much as one text of the same size.
 */
const MAX_VALUES = 200_000

const [QUOTE, COMMA, COLON] = [...'",:'].map((char) => char.charCodeAt(0))
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [...'[]{}'].map((char) => char.charCodeAt(0))

/**
 * Checks the nesting and the number of values of JSON. Call it before JSON is parsed: 8 MiB of brackets and commas
 * would take seconds to parse. Does not check that the JSON is well-formed.
 * @throws ApiError INVALID_FORMAT above MAX_DEPTH or MAX_VALUES
 */
export function requireSaneJson(json: string): void {
  let [depth, values] = [0, 0]
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(json, at) - 1
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth += 1
      values += 1
      if (depth > MAX_DEPTH) throw invalidJson(`is nested deeper than ${MAX_DEPTH} levels`)
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1
    else if (code === COMMA || code === COLON) values += 1
    if (values > MAX_VALUES)
      throw invalidJson(`contains more than ${MAX_VALUES} names and values: send fewer in one request`)
  }
}

function invalidJson(what: string): ApiError {
  return new ApiError('INVALID_FORMAT', { message: `The body ${what}.` })
}

/** @throws ApiError INVALID_INPUT (415) if a body is not of an accepted type, not in UTF-8, or compressed */
export function requireContentType({ req }: H3Event, accepted: readonly string[]): void {
  const [type = '', ...parameters] = (req.headers.get('content-type') ?? '').split(';').map((part) => part.trim())
  if (!accepted.includes(type.toLowerCase())) {
    throw unsupported(`The body must be ${accepted.join(' or ')}, but its Content-Type is ${type || 'missing'}.`)
  }
  const charset = parameters.map((parameter) => /^charset="?([^"]*)"?$/i.exec(parameter)?.[1]).find(Boolean)
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw unsupported(`The body must be in UTF-8, but its charset is ${charset}.`)
  }
  const coding = req.headers.get('content-encoding')?.trim() ?? ''
  if (coding !== '' && coding.toLowerCase() !== 'identity') {
    throw unsupported(`The body must not be encoded, but its Content-Encoding is ${coding}.`, {
      'accept-encoding': 'identity',
    })
  }
}

function unsupported(message: string, headers: Record<string, string> = {}): ApiError {
  return new ApiError('INVALID_INPUT', { status: 415, message, headers })
}

/** Reads a JSON body; undefined for invalid JSON. @throws ApiError INVALID_INPUT (413) for more than maxBytes */
export async function readJson(event: H3Event, maxBytes: number): Promise<unknown> {
  const bytes = await readBody(event, maxBytes)
  try {
    return JSON.parse(decodeUtf8(bytes))
  } catch {
    return undefined
  }
}

/**
 * Parses a JSON body.
 * @throws ApiError INVALID_FORMAT for malformed JSON, VALIDATION_ERROR for numbers that lose digits when parsed
 */
export function parseJsonBody(json: string): unknown {
  requireSaneJson(json)
  const value = parseJson(json)
  const lossy = listIssues(findLossyNumbers(json))
  if (lossy.length > 0) throw validationError(lossy)
  return value
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new ApiError('INVALID_FORMAT', { message: `The body is not well-formed JSON: ${(error as Error).message}` })
  }
}

/** Returns an issue of the whole body with a message that names the body: "The body is required". */
export function describeBodyIssue(issue: Issue): Issue {
  if (issue.path.length > 0) return issue
  return { ...issue, message: `The body ${issue.message[0]!.toLowerCase()}${issue.message.slice(1)}` }
}
