import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import type { Outcome } from '../../core/rules/sending/retries.ts'

export type Outbound = ReturnType<typeof createOutbound>

export interface OutboundOptions {
  /** Whether plain http and hosts of the private network are allowed, for development. */
  allowInsecure: boolean
  /** Resolves a name to all of its addresses. Default: DNS. */
  resolve?: (hostname: string) => Promise<string[]>
  /** Whether an address is allowed. Default: addresses of the public internet. */
  isPublic?: (address: string) => boolean
  timeoutMs?: number
}

const TIMEOUT_MS = 15_000
const CONNECT_TIMEOUT_MS = 3_000

/** The maximum size of a response. The content is ignored, but read, so that the connection can be used again. */
const MAX_RESPONSE_BYTES = 64 * 1024

const NOT_PUBLIC = 'The address is not public.'

/** Sends requests to addresses that customers configure, and never to a host that only this server can reach. */
export function createOutbound(options: OutboundOptions) {
  const { allowInsecure, timeoutMs = TIMEOUT_MS } = options
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    // Resolve, check, and connect in one step. Otherwise, the name could resolve to another address after the check.
    ...(!allowInsecure && { lookup: guardedLookup(options) }),
  })
  const agent = new Agent({
    connect: (target, callback) =>
      connect(target, (...result) => {
        if (result[1]) limitResponses(result[1])
        callback(...result)
      }),
  })
  return {
    /** Returns the error of an address, if any. Host names are resolved and checked only with each request. */
    rejection(text: string): string | undefined {
      const checked = checkAddress(text, allowInsecure)
      return typeof checked === 'string' ? checked : undefined
    },
    /** Sends once. Never throws: errors are part of the outcome. */
    async post(text: string, body: string, headers: Record<string, string>): Promise<Outcome> {
      const url = checkAddress(text, allowInsecure)
      if (typeof url === 'string') return { responseCode: null, error: url }
      const sent = { 'content-type': 'application/json', 'user-agent': 'passes-webhooks', ...headers }
      try {
        const request = { url, body, headers: sent }
        return outcomeOf(await exchange(agent, request, timeoutMs))
      } catch (error) {
        const isLate = error instanceof LateResponseError
        return { responseCode: null, error: isLate ? `No response within ${timeoutMs / 1000} s.` : describe(error) }
      }
    },
    close: () => agent.destroy(),
  }
}

/**
 * Closes a connection if more than `MAX_RESPONSE_BYTES` arrive after a request. Counts the bytes of the connection,
 * because endless interim responses or an endless chunk extension are not part of a body.
 */
function limitResponses(socket: Socket): void {
  let [written, readBefore, read] = [0, 0, 0]
  socket.on('readable', () => {
    if (socket.bytesWritten !== written) [written, readBefore] = [socket.bytesWritten, read]
    read = socket.bytesRead
    if (read - readBefore > MAX_RESPONSE_BYTES) {
      socket.destroy(Object.assign(new Error('too long'), { code: 'ERR_RESPONSE_TOO_LONG' }))
    }
  })
}

function outcomeOf(statusCode: number): Outcome {
  const isTaken = statusCode >= 200 && statusCode < 300
  return { responseCode: statusCode, error: isTaken ? null : `Responded with ${statusCode}.` }
}

/**
 * Returns the parsed address, or its error. IP literals need no lookup, so they are checked here, after `URL` has
 * normalized decimal and octal notation.
 */
function checkAddress(text: string, allowInsecure: boolean): URL | string {
  if (!URL.canParse(text)) return 'Must be a valid address.'
  const url = new URL(text)
  const { protocol, hostname, username, password, hash } = url
  if (username !== '' || password !== '') return 'Must not contain credentials.'
  if (hash !== '') return 'Must not contain a fragment.'
  if (allowInsecure) return /^https?:$/.test(protocol) ? url : 'Must start with https: or http:.'
  if (protocol !== 'https:') return 'Must start with https:.'
  const literal = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(literal) !== 0) return isPublicAddress(literal) ? url : NOT_PUBLIC
  return /(^|\.)localhost\.?$/.test(hostname) ? NOT_PUBLIC : url
}

class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError'
}

/** Creates a lookup that rejects a name with any address that is not public: the connection can use each of them. */
function guardedLookup({ resolve = resolveName, isPublic = isPublicAddress }: OutboundOptions): LookupFunction {
  const check = async (hostname: string) => {
    const addresses = await resolve(hostname)
    if (!addresses.every(isPublic)) throw new ForbiddenAddressError(NOT_PUBLIC)
    return addresses.map((address) => ({ address, family: isIP(address) }))
  }
  return (hostname, options, callback) => {
    check(hostname).then(
      (found) => (options.all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }
}

/**
 * Queries DNS directly: while a name server does not respond, a lookup by the operating system would occupy one of the
 * few threads that the database also uses.
 */
async function resolveName(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: CONNECT_TIMEOUT_MS, tries: 1 })
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length > 0) return addresses
  throw (answers[0] as PromiseRejectedResult).reason
}

const problems: Record<string, string> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was reset.',
  UND_ERR_SOCKET: 'The connection was closed before a response arrived.',
  UND_ERR_CONNECT_TIMEOUT: `No connection within ${CONNECT_TIMEOUT_MS / 1000} s.`,
  ENOTFOUND: 'Host not found.',
  ENODATA: 'The host has no address.',
  ERR_RESPONSE_TOO_LONG: `More than ${MAX_RESPONSE_BYTES / 1024} KiB arrived without a complete response.`,
}

/** Describes an error without private addresses or data that the endpoint sent. */
function describe(error: unknown): string {
  if (error instanceof ForbiddenAddressError) return error.message
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  if (typeof code === 'string') return problems[code] ?? `The request failed: ${code}.`
  return cause instanceof Error ? describe(cause) : 'The request failed.'
}

/** Addresses in public ranges that are never allowed: Azure's WireServer, a service inside the cloud. */
const NEVER = new Set(['168.63.129.16'])

/** The global unicast addresses of IPv6. Other ranges that `ipaddr` calls unicast are not assigned. */
const GLOBAL_UNICAST = ipaddr.parse('2000::')

/**
 * Whether an address is on the public internet. False for addresses that embed an IPv4 address (mapped, NAT64, 6to4,
 * Teredo), because they can reach any host.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast' || NEVER.has(parsed.toString())) return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST, 3)
}

interface OutboundRequest {
  url: URL
  body: string
  headers: Record<string, string>
}

class LateResponseError extends Error {
  override readonly name = 'LateResponseError'
}

/**
 * Sends a POST request. Returns the status after the response was read or cut off, so that a body that is too long or
 * endless does not change the result.
 * @param timeoutMs the timeout of lookup, connecting, sending, and reading together
 * @throws LateResponseError, or an error of undici
 */
function exchange(agent: Dispatcher, request: OutboundRequest, timeoutMs: number): Promise<number> {
  const { url, body, headers } = request
  const target = { origin: url.origin, path: url.pathname + url.search }
  return new Promise((resolve, reject) => {
    agent.dispatch({ ...target, method: 'POST', body, headers }, new Exchange(timeoutMs, resolve, reject))
  })
}

/**
 * A request whose response body is discarded. Only the status is needed, but `request` of undici would create a stream
 * and an abort signal per response.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly resolve: (statusCode: number) => void
  private readonly reject: (error: Error) => void
  private readonly timer: NodeJS.Timeout
  private late: LateResponseError | undefined
  private request: Dispatcher.DispatchController | undefined
  private statusCode: number | undefined

  constructor(timeoutMs: number, resolve: (statusCode: number) => void, reject: (error: Error) => void) {
    this.resolve = resolve
    this.reject = reject
    this.timer = setTimeout(timeOut, timeoutMs, this)
  }

  /** Aborts the request. A request that has not begun is aborted when it begins. */
  timeOut(): void {
    this.late = new LateResponseError()
    this.onResponseError(this.request, this.late)
    this.request?.abort(this.late)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.request = controller
    if (this.late) controller.abort(this.late)
  }

  onResponseStart(_: unknown, statusCode: number): void {
    // Ignore interim responses (1xx).
    if (statusCode >= 200) this.statusCode = statusCode
  }

  onResponseEnd(): void {
    clearTimeout(this.timer)
    this.resolve(this.statusCode!)
  }

  onResponseError(_: unknown, error: Error): void {
    clearTimeout(this.timer)
    if (this.statusCode === undefined) this.reject(error)
    else this.resolve(this.statusCode)
  }
}

function timeOut(exchange: Exchange): void {
  exchange.timeOut()
}
