import { request } from 'undici'
import { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import { readBounded } from '../../core/read-bounded.ts'
import { CliError } from '../command/cli-error.ts'

export interface Call {
  method?: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  headers?: Record<string, string>
  json?: unknown
  signal?: AbortSignal
}

export interface Answer {
  status: number
  header(name: string): string | undefined
  bytes: Buffer
  /** The body as JSON; `undefined` if it is not JSON. */
  json: unknown
}

const MAX_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 15_000

/** Sends a request. Follows no redirects. @throws CliError CONNECTION_FAILED */
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
    const bytes = await readBounded(answer.body, MAX_BYTES)
    if (!bytes) throw new Error('the response is too large')
    const header = (name: string) => {
      const value = answer.headers[name]
      return Array.isArray(value) ? value[0] : value
    }
    return { status: answer.statusCode, header, bytes, json: parseJson(bytes.toString()) }
  } catch (cause) {
    throw connectionFailed(url, cause)
  }
}

/**
 * Calls `onPush` when the connection opens, and then for each message; resolves when the connection ends.
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
  throw connectionFailed(url, new Error(`it responded with ${statusCode}`))
}

function connectionFailed(url: string, cause: unknown): CliError {
  const message = `No connection to ${new URL(url).origin}: ${reasonOf(cause)}`
  return new CliError(message, { code: 'CONNECTION_FAILED', cause })
}

/** Returns the message of a network error. If the message is empty, as in an `AggregateError`, returns the code. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.message || ('code' in cause ? String(cause.code) : cause.name)
}

const userAgents = {
  apple:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  google:
    'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Mobile Safari/537.36',
}

const SAVE_PREFIX = 'https://pay.google.com/gp/v/save/'
const PKPASS = 'application/vnd.apple.pkpass'
const MAX_REDIRECTS = 5

/** Opens a hosted link as Safari on an iPhone would; resolves to the package and its `Last-Modified` header. */
export async function downloadPass(link: string): Promise<{ archive: Buffer; lastModified: string | null }> {
  const { answer } = await open(link, 'apple')
  if (answer?.header('content-type')?.startsWith(PKPASS)) {
    return { archive: answer.bytes, lastModified: answer.header('last-modified') ?? null }
  }
  throw new CliError('The link opened a page, not a pass', { hint: 'use the apple or the smart link of the pass.' })
}

/** Opens a hosted link as Chrome on Android would; resolves to the JWT without calling Google. */
export async function findSaveJwt(link: string): Promise<string> {
  const { location } = await open(link, 'google')
  if (location?.startsWith(SAVE_PREFIX)) return location.slice(SAVE_PREFIX.length)
  throw new CliError('The link did not lead to a save link of Google', {
    hint: 'use the google or the smart link of the pass.',
  })
}

/** Follows redirects until a final response or a Google Wallet link. */
async function open(link: string, platform: keyof typeof userAgents): Promise<{ answer?: Answer; location?: string }> {
  const headers = {
    'user-agent': userAgents[platform],
    // Do not list `text/html`. Otherwise, the sandbox would respond with a page for browsers.
    accept: '*/*',
    ...(platform === 'google' && { 'sec-ch-ua-platform': '"Android"' }),
  }
  let url = link
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const answer = await call(url, { headers })
    const location = answer.header('location')
    if (answer.status < 300) return { answer }
    if (answer.status >= 400 || !location) throw rejection(answer)
    url = new URL(location, url).href
    if (url.startsWith(SAVE_PREFIX)) return { location: url }
  }
  throw new CliError(`${link} redirects endlessly`)
}

const rejections: Record<number, [code: string, reason: string]> = {
  404: ['LINK_INVALID', 'The link is not valid'],
  410: ['LINK_REVOKED', 'The link was revoked, or its pass is no longer valid'],
}

function rejection({ status, header }: Answer): CliError {
  const [code, reason] = rejections[status] ?? ['FAILED', `The link responded with ${status}`]
  return new CliError(reason, {
    code,
    details: { status, retryAfter: header('retry-after') ?? null, correlationId: header('x-correlation-id') ?? null },
  })
}

/** The response of /sandbox: the addresses at which phones reach the emulators. */
const Directory = z.object({
  apple: z.object({ control: z.url(), rootPem: z.string() }).nullable(),
  google: z.object({ url: z.url() }).nullable(),
})
export type Directory = z.output<typeof Directory>

/** Returns the address of /sandbox on the server that created a hosted link. */
export function directoryOf(link: string): string {
  const url = new URL(link)
  const [, base] = /^(.*)\/l\/[^/]+$/.exec(url.pathname) ?? []
  if (base === undefined) {
    throw new CliError(`${link} is not a hosted link`, {
      hint: 'to see the links of a pass, run "passes pass get ID".',
    })
  }
  return `${url.origin}${base}/sandbox`
}

/**
 * Returns the emulator of a platform.
 * @throws CliError if the platform is not sandboxed, because virtual phones cannot reach the real platform
 */
export async function readDirectory<P extends keyof Directory>(
  directory: string,
  platform: P,
): Promise<NonNullable<Directory[P]>> {
  const answer = await call(directory)
  const found = Directory.safeParse(answer.json).data?.[platform]
  if (answer.status === 200 && found) return found
  throw new CliError(`${new URL(directory).origin} does not run ${platform} in the sandbox`, {
    code: 'NOT_SANDBOXED',
    hint: 'virtual phones need a server without credentials for the platform. With this server, use a real phone.',
  })
}
