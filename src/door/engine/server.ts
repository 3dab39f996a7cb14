import type { Door, DoorClaim } from '../../core/contract/doors.ts'
import type { OfflineScan, SnapshotItem } from '../../core/contract/scanner.ts'
import type { ScanCreate, ScanStatsByGate } from '../../core/contract/scans.ts'
import type { Direction, ScanItem, ScanResponse } from '../../core/contract/schemas/scan-shapes.ts'
import type { Zone } from '../../core/contract/zones.ts'
import type { DoorLanguage } from '../../core/rules/redemption/scan-message.ts'
import { admittedAt } from '../../core/rules/zones/admitted.ts'
import type { DoorClock } from './clock.ts'
import type { ClaimFailure, GateCount, GateFailure } from './engine.ts'
import type { EngineEnvironment, EngineSettings } from './environment.ts'
import type { EngineStore, Identity } from './store/engine-store.ts'

export type Reply<T> =
  | { kind: 'answer'; value: T }
  /** No usable response arrived in time: it is unknown whether the request had an effect. */
  | { kind: 'timeout' }
  | { kind: 'rejection'; status: number; code: string; message: string; reason?: string | undefined }

/** A page of a snapshot, or of the changes since a snapshot. */
export interface SnapshotPage {
  id: string
  generatedAt: string
  items: SnapshotItem[]
  zones?: Zone[]
  removed?: string[]
  nextCursor: string | null
  hasMore: boolean
}

export interface DoorServer {
  /** Returns the milliseconds since the server last answered a request with the token of this door. */
  quietMs(): number
  claim(body: { code: string; name: string }): Promise<Reply<DoorClaim>>
  /** Reads this door from the server. The engine also probes the connection with this request. */
  self(signal: AbortSignal): Promise<Reply<Door | undefined>>
  updateDoor(doorId: string, body: DoorUpdate, signal?: AbortSignal): Promise<Reply<Door>>
  zone(zoneId: string, signal: AbortSignal): Promise<Reply<Zone>>
  adjustZone(zoneId: string, body: object, signal: AbortSignal): Promise<Reply<Zone>>
  scan(body: ScanCreate): Promise<Reply<ScanResponse>>
  reverse(scanId: string, body: object, signal: AbortSignal): Promise<Reply<ScanResponse>>
  report(body: { snapshotId: string; scans: OfflineScan[] }, signal: AbortSignal): Promise<Reply<ReportResponse>>
  snapshot(query: Record<string, string>, signal: AbortSignal): Promise<Reply<SnapshotPage>>
  /** Returns the number of people admitted at each gate since a time; `undefined` if it is not available. */
  gates(projectId: string, since: Date): Promise<GateCount[] | undefined>
}

interface DoorUpdate {
  gate?: string
  zoneId?: string | null
  direction?: Direction
}

interface ReportResponse {
  results: { externalRef: string; scan: ScanItem; conflict: ScanItem['reason'] }[]
}

/** The services of an engine. The store and the identity can change, so call their functions for each use. */
export interface EngineContext {
  environment: EngineEnvironment
  server: DoorServer
  clock: DoorClock
  store: () => EngineStore
  /** Returns the identity of this door; `undefined` if this phone is not a door. */
  identity: () => Identity | undefined
}

interface DoorServerOptions {
  settings: Pick<EngineSettings, 'scanMs' | 'probeMs'>
  fetch: typeof fetch
  /** The base URL of the server, without a trailing slash. */
  baseUrl: string
  /** The version of this page, sent as X-Door-Version. */
  version: string
  /** The clock, which learns from the Date header of each response. */
  clock: DoorClock
  monotonicMs: () => number
  /** Returns the token of this door; `undefined` if this phone is not a door yet. */
  token: () => string | undefined
  /** The number of entries to upload, sent as X-Door-Pending. */
  pending: () => number
  /** The locale and time zone of messages. */
  language: () => Pick<DoorLanguage, 'locale' | 'zone'>
  onUnauthorized: (token: string) => void
  /** Receives whether a response has the format that this page expects. */
  onUnderstood: (isUnderstood: boolean) => void
}

/** The timeout of background requests, in milliseconds. */
const BACKGROUND_MS = 20_000

interface Request {
  method?: 'GET' | 'POST' | 'PATCH'
  path: string
  body?: object
  timeoutMs?: number
  signal?: AbortSignal
  /** Whether the response has the expected format. An older server has another format, or does not know the path. */
  fits: (body: Record<string, unknown>) => boolean
}

/** Creates the requests of a door. Each has a timeout, and each is safe to repeat. */
export function createDoorServer(options: DoorServerOptions): DoorServer {
  let answeredAt = Number.NEGATIVE_INFINITY

  async function ask<T>({
    method = 'GET',
    path,
    body,
    timeoutMs = options.settings.scanMs,
    signal,
    fits,
  }: Request): Promise<Reply<T>> {
    const token = options.token()
    const { locale, zone } = options.language()
    const given = abortAfter(timeoutMs, signal)
    const sentAt = options.clock.wallMs()
    const askedAt = options.monotonicMs()
    try {
      const sent = options.fetch(`${options.baseUrl}${path}`, {
        method,
        signal: given.signal,
        cache: 'no-store',
        credentials: 'omit',
        headers: {
          'accept-language': locale,
          ...(zone !== undefined && { 'x-time-zone': zone }),
          'x-door-version': options.version,
          'x-door-pending': String(options.pending()),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      })
      const response = await given.within(sent)
      // A response without a correlation ID is not from the server. It can be the login page of a network.
      if (!response.headers.has('x-correlation-id')) return { kind: 'timeout' }
      options.clock.observe(response.headers.get('date'), sentAt, options.clock.wallMs())
      const answer = await given.within(response.json().catch(nothingIfNoJson))
      // Also learn the server's time from `recordedAt` of a scan, which is more precise than the Date header.
      // Otherwise, an exit right after an entry could get an earlier time.
      const scanned = answer as Partial<ScanResponse>
      if (scanned.scan?.recordedAt && !scanned.idempotentReplay) {
        options.clock.observe(scanned.scan.recordedAt, sentAt, options.clock.wallMs(), 1)
      }
      const reply = classify<T>(response.status, answer, { token, fits })
      if (reply.kind === 'answer' && token !== undefined && token === options.token()) answeredAt = askedAt
      return reply
    } catch (error) {
      if (error instanceof TypeError || given.signal.aborted) return { kind: 'timeout' }
      throw error
    } finally {
      given.end()
    }
  }

  function classify<T>(
    status: number,
    answer: Record<string, unknown>,
    { token, fits }: { token: string | undefined } & Pick<Request, 'fits'>,
  ): Reply<T> {
    const { errorCode = '', message = `The server responded with ${status}` } = answer
    if (status >= 500 || status === 429) return { kind: 'timeout' }
    if (status === 401 && token !== undefined) options.onUnauthorized(token)
    if (status >= 400) {
      const { reason } = (answer.details ?? {}) as { reason?: string }
      return { kind: 'rejection', status, code: String(errorCode), message: String(message), reason }
    }
    options.onUnderstood(fits(answer))
    return fits(answer) ? { kind: 'answer', value: answer as T } : { kind: 'timeout' }
  }

  const isList = ({ items }: Record<string, unknown>) => Array.isArray(items)
  const isZone = ({ inside }: Record<string, unknown>) => typeof inside === 'number'
  const isScan = ({ result, scan }: Record<string, unknown>) => typeof result === 'string' && typeof scan === 'object'
  return {
    quietMs: () => options.monotonicMs() - answeredAt,
    claim: (body) =>
      ask({ method: 'POST', path: '/v1/doors/claim', body, timeoutMs: BACKGROUND_MS, fits: ({ token }) => !!token }),
    async self(signal) {
      const timeoutMs = options.settings.probeMs
      const reply = await ask<{ items: Door[] }>({ path: '/v1/doors?limit=1', signal, timeoutMs, fits: isList })
      // A 404 means that the server does not know doors, so it is too old for this page.
      if (reply.kind === 'rejection' && reply.status === 404) {
        options.onUnderstood(false)
        return { kind: 'timeout' }
      }
      return reply.kind === 'answer' ? { kind: 'answer', value: reply.value.items[0] } : reply
    },
    updateDoor: (doorId, body, signal) =>
      ask({
        method: 'PATCH',
        path: `/v1/doors/${doorId}`,
        body,
        ...(signal && { signal }),
        fits: (door) => typeof door.gate === 'string',
      }),
    zone: (zoneId, signal) =>
      ask({ path: `/v1/zones/${zoneId}`, signal, timeoutMs: options.settings.probeMs, fits: isZone }),
    adjustZone: (zoneId, body, signal) =>
      ask({
        method: 'POST',
        path: `/v1/zones/${zoneId}/adjust`,
        body,
        signal,
        timeoutMs: BACKGROUND_MS,
        fits: isZone,
      }),
    scan: (body) => ask({ method: 'POST', path: '/v1/scans', body, fits: isScan }),
    reverse: (scanId, body, signal) =>
      ask({ method: 'POST', path: `/v1/scans/${scanId}/reverse`, body, signal, fits: isScan }),
    report: (body, signal) =>
      ask({
        method: 'POST',
        path: '/v1/scans/offline',
        body,
        signal,
        timeoutMs: BACKGROUND_MS,
        fits: ({ results }) => Array.isArray(results),
      }),
    snapshot: (query, signal) =>
      ask({
        path: `/v1/scanner/snapshot?${new URLSearchParams(query)}`,
        signal,
        timeoutMs: BACKGROUND_MS,
        fits: isList,
      }),
    async gates(projectId, since) {
      const query = new URLSearchParams({ projectId, groupBy: 'gate', from: since.toISOString() })
      const reply = await ask<ScanStatsByGate>({ path: `/v1/scans/stats?${query}`, fits: isList })
      if (reply.kind !== 'answer') return undefined
      return reply.value.items
        .map((figures) => ({ gate: figures.gate, accepted: admittedAt(figures) }))
        .filter(({ accepted }) => accepted > 0)
    },
  }
}

export function identityOf({ door, token }: DoorClaim): Identity {
  const { id, name, gate, projectId, projectName } = door
  const movement = movementOf(door)
  return { token, door: { id, name, gate, projectId, projectName, ...(movement && { movement }) } }
}

export function movementOf({ zoneId, direction = 'in' }: Pick<Door, 'zoneId' | 'direction'>) {
  return zoneId === undefined ? undefined : { zoneId, direction }
}

type FailedReply = Exclude<Reply<unknown>, { kind: 'answer' }>

export function gateFailure(reply: FailedReply): GateFailure {
  if (reply.kind === 'timeout') return { code: 'no_answer' }
  return { code: 'refused', message: reply.message }
}

export function claimFailure(reply: FailedReply, isTooOld: boolean): ClaimFailure {
  if (isTooOld) return { code: 'server_too_old' }
  if (reply.kind === 'timeout' || reply.status !== 404) return gateFailure(reply)
  const { reason } = reply
  return { code: reason === 'used_up' || reason === 'ended' ? reason : 'unknown_code' }
}

/**
 * Returns an empty object for invalid JSON, which does not come from this server. Rethrows other errors, such as an
 * interrupted body, which counts as a timeout.
 */
function nothingIfNoJson(error: unknown): Record<string, unknown> {
  if (error instanceof SyntaxError) return {}
  throw error
}

interface Given {
  signal: AbortSignal
  /** Rejects after the timeout, even if the network does not react to the abort. */
  within<T>(work: Promise<T>): Promise<T>
  end(): void
}

/** Aborts after a timeout or with another signal. Replaces AbortSignal.any, which older phones do not have. */
function abortAfter(ms: number, other: AbortSignal | undefined): Given {
  const controller = new AbortController()
  let rejectTimedOut: () => void = () => undefined
  const over = new Promise<never>((_, reject) => {
    rejectTimedOut = () => reject(new DOMException('Given up', 'AbortError'))
  })
  over.catch(() => undefined)
  const abort = () => {
    rejectTimedOut()
    controller.abort()
  }
  const timer = setTimeout(abort, ms)
  if (other?.aborted) abort()
  other?.addEventListener('abort', abort)
  return {
    signal: controller.signal,
    within: (work) => Promise.race([work, over]),
    end() {
      clearTimeout(timer)
      other?.removeEventListener('abort', abort)
    },
  }
}
