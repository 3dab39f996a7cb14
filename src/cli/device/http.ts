import { request } from 'undici'
import { CliError } from '../command/errors.ts'

export interface Call {
  method?: 'GET' | 'POST' | 'DELETE'
  headers?: Record<string, string>
  json?: unknown
  signal?: AbortSignal
}

export interface Answer {
  status: number
  header(name: string): string | undefined
  bytes: Buffer
  /** The body as JSON; undefined where it is none. */
  json: unknown
}

const MAX_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 15_000

/**
 * One exchange, as phones have it with servers: redirects are left to the caller.
 * @throws CliError CONNECTION_FAILED
 */
export async function call(url: string, { method = 'GET', headers = {}, json, signal }: Call = {}): Promise<Answer> {
  try {
    const answer = await request(url, {
      method,
      headers: { ...headers, ...(json !== undefined && { 'content-type': 'application/json' }) },
      body: json === undefined ? null : JSON.stringify(json),
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      ...(signal && { signal }),
    })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_BYTES) throw new Error('the answer is too large')
      chunks.push(chunk)
    }
    const bytes = Buffer.concat(chunks)
    const header = (name: string) => {
      const value = answer.headers[name]
      return Array.isArray(value) ? value[0] : value
    }
    return { status: answer.statusCode, header, bytes, json: parseJson(bytes) }
  } catch (cause) {
    throw connectionFailed(url, cause)
  }
}

/**
 * Calls back at once when the connection stands, and then whenever the other side sends something; ends with it.
 * @throws CliError CONNECTION_FAILED
 */
export async function listen(url: string, signal: AbortSignal, onPush: () => Promise<void>): Promise<void> {
  const body = await openStream(url, signal)
  await onPush()
  const chunks = body[Symbol.asyncIterator]()
  while (true) {
    const next = await chunks.next().catch((cause: unknown) => {
      throw connectionFailed(url, cause)
    })
    if (next.done) return
    await onPush()
  }
}

async function openStream(url: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
  const { statusCode, body } = await request(url, { signal, headersTimeout: TIMEOUT_MS, bodyTimeout: 0 }).catch(
    (cause: unknown) => {
      throw connectionFailed(url, cause)
    },
  )
  if (statusCode === 200) return body
  await body.dump()
  throw connectionFailed(url, new Error(`it answered ${statusCode}`))
}

function connectionFailed(url: string, cause: unknown): CliError {
  const reason = cause instanceof Error ? cause.message || ('code' in cause ? String(cause.code) : cause.name) : cause
  return new CliError(`No connection to ${new URL(url).origin}: ${reason}`, { code: 'CONNECTION_FAILED', cause })
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
