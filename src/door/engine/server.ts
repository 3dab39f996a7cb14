import type { Door, DoorClaim } from '../../core/contract/scans/doors.ts'
import type { OfflineResults, OfflineScan, Snapshot } from '../../core/contract/scans/scanner.ts'
import type { ScanCreate, ScanStatsByGate } from '../../core/contract/scans/scans.ts'
import type { Zone } from '../../core/contract/scans/zones.ts'
import type { ScanResponse } from '../../core/contract/schemas/scan-shapes.ts'
import { admittedAt } from '../../core/rules/zones/admitted.ts'
import type { DoorClock } from './clock.ts'
import type { Connection } from './connection.ts'
import type { ClaimFailure, DoorMovement, DoorProperties, GateCount, GateFailure } from './engine.ts'
import type { EngineEnvironment } from './environment.ts'
import type { Identity, StoreSummary } from './store/engine-store.ts'
import type { EngineStore } from './store/table-store.ts'

export type Reply<T> =
  | { kind: 'answer'; value: T }
  /** No usable response arrived in time: it is unknown whether the request had an effect. */
  | { kind: 'timeout' }
  | { kind: 'rejection'; status: number; code: string; message: string; reason?: string | undefined }

export type DoorServer = ReturnType<typeof createDoorServer>

/** The services of an engine. The store and the identity can change, so call their functions for each use. */
export interface EngineContext {
  environment: EngineEnvironment
  server: DoorServer
  clock: DoorClock
  store: () => EngineStore
  /** Returns the identity of this door; `undefined` if this phone is not a door. */
  identity: () => Identity | undefined
  connection: () => Connection | undefined
  /** Returns the stored data, as of the last refresh. */
  stored: () => StoreSummary
  /** Reads the stored data again in the background. */
  refresh: () => void
  /** Runs work between two scans. @throws if the engine was stopped before */
  between: <T>(work: () => Promise<T>) => Promise<T>
  /** Called after data was stored. */
  onStored: () => void
  /** Returns the result of work that stores data. If storage is full, reports this problem and returns `otherwise`. */
  unlessFull: <T>(work: () => Promise<T>, otherwise: T) => Promise<T>
  /** Runs work that stores data. Returns false, and reports the problem, if storage is full. */
  tryToStore: (work: () => Promise<void>) => Promise<boolean>
}

interface DoorServerOptions {
  /** The clock, which learns from the Date header of each response. */
  clock: DoorClock
  /** Returns the token of this door; `undefined` if this phone is not a door yet. */
  token: () => string | undefined
  /** The number of entries to upload, sent as X-Door-Pending. */
  pending: () => number
  onUnauthorized: (token: string) => void
  /** Receives whether a response has the format that this page expects. */
  onUnderstood: (isUnderstood: boolean) => void
}

/** The timeout of background requests, in milliseconds. */
const BACKGROUND_MS = 20_000

type DoorUpdate = Partial<Pick<Door, 'gate' | 'direction'>> & { zoneId?: string | null }

interface Request {
  path: string
  /** The body; by default, the request is a GET. */
  body?: object
  /** The method; by default, POST with a body. */
  method?: 'PATCH'
  timeoutMs?: number
  signal?: AbortSignal | undefined
  /** Whether the response has the expected format. An older server has another format, or does not know the path. */
  fits: (body: Record<string, unknown>) => boolean
}

/** Creates the requests of a door. Each has a timeout, and each is safe to repeat. */
export function createDoorServer(
  environment: Pick<EngineEnvironment, 'settings' | 'fetch' | 'baseUrl' | 'version' | 'language' | 'monotonicMs'>,
  { clock, token: currentToken, pending, onUnauthorized, onUnderstood }: DoorServerOptions,
) {
  const { scanMs, probeMs } = environment.settings
  let answeredAt = Number.NEGATIVE_INFINITY

  async function ask<T>({ path, body, method, timeoutMs = scanMs, signal, fits }: Request): Promise<Reply<T>> {
    const token = currentToken()
    const { locale, zone } = environment.language()
    const given = abortAfter(timeoutMs, signal)
    const sentAt = clock.wallMs()
    const askedAt = environment.monotonicMs()
    try {
      const sent = environment.fetch(`${environment.baseUrl}${path}`, {
        method: method ?? (body ? 'POST' : 'GET'),
        signal: given.signal,
        cache: 'no-store',
        credentials: 'omit',
        headers: {
          'accept-language': locale,
          ...(zone !== undefined && { 'x-time-zone': zone }),
          'x-door-version': environment.version,
          'x-door-pending': String(pending()),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      })
      const response = await given.within(sent)
      // A response without a correlation ID is not from the server. It can be the login page of a network.
      if (!response.headers.has('x-correlation-id')) return { kind: 'timeout' }
      clock.observe(response.headers.get('date'), sentAt, clock.wallMs())
      const answer = await given.within(response.json().catch(nothingIfNoJson))
      // Also learn the server's time from `recordedAt` of a scan, which is more precise than the Date header.
      // Otherwise, an exit right after an entry could get an earlier time.
      const scanned = answer as Partial<ScanResponse>
      if (scanned.scan?.recordedAt && !scanned.idempotentReplay) {
        clock.observe(scanned.scan.recordedAt, sentAt, clock.wallMs(), 1)
      }
      const reply = classify<T>(response.status, answer, { token, fits })
      if (reply.kind === 'answer' && token !== undefined && token === currentToken()) answeredAt = askedAt
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
    if (status === 401 && token !== undefined) onUnauthorized(token)
    if (status >= 400) {
      const { reason } = (answer.details ?? {}) as { reason?: string }
      return { kind: 'rejection', status, code: String(errorCode), message: String(message), reason }
    }
    onUnderstood(fits(answer))
    return fits(answer) ? { kind: 'answer', value: answer as T } : { kind: 'timeout' }
  }

  const isList = ({ items }: Record<string, unknown>) => Array.isArray(items)
  const isZone = ({ inside }: Record<string, unknown>) => typeof inside === 'number'
  const isScan = ({ result, scan }: Record<string, unknown>) => typeof result === 'string' && typeof scan === 'object'
  return {
    /** Returns the milliseconds since the server last answered a request with the token of this door. */
    quietMs: () => environment.monotonicMs() - answeredAt,
    claim: (body: { code: string; name: string }) =>
      ask<DoorClaim>({ path: '/v1/doors/claim', body, timeoutMs: BACKGROUND_MS, fits: ({ token }) => !!token }),
    /** Reads this door from the server. The engine also probes the connection with this request. */
    async self(signal: AbortSignal): Promise<Reply<Door | undefined>> {
      const path = '/v1/doors?limit=1'
      const reply = await ask<{ items: Door[] }>({ path, signal, timeoutMs: probeMs, fits: isList })
      // A 404 means that the server does not know doors, so it is too old for this page.
      if (reply.kind === 'rejection' && reply.status === 404) {
        onUnderstood(false)
        return { kind: 'timeout' }
      }
      return reply.kind === 'answer' ? { kind: 'answer', value: reply.value.items[0] } : reply
    },
    updateDoor(doorId: string, body: DoorUpdate, signal?: AbortSignal) {
      const fits = ({ gate }: Record<string, unknown>) => typeof gate === 'string'
      return ask<Door>({ method: 'PATCH', path: `/v1/doors/${doorId}`, body, signal, fits })
    },
    zone: (zoneId: string, signal: AbortSignal) =>
      ask<Zone>({ path: `/v1/zones/${zoneId}`, signal, timeoutMs: probeMs, fits: isZone }),
    adjustZone: (zoneId: string, body: object, signal: AbortSignal) =>
      ask<Zone>({ path: `/v1/zones/${zoneId}/adjust`, body, signal, timeoutMs: BACKGROUND_MS, fits: isZone }),
    scan: (body: ScanCreate) => ask<ScanResponse>({ path: '/v1/scans', body, fits: isScan }),
    reverse: (scanId: string, body: object, signal: AbortSignal) =>
      ask<ScanResponse>({ path: `/v1/scans/${scanId}/reverse`, body, signal, fits: isScan }),
    report(body: { snapshotId: string; scans: OfflineScan[] }, signal: AbortSignal) {
      const fits = ({ results }: Record<string, unknown>) => Array.isArray(results)
      return ask<OfflineResults>({ path: '/v1/scans/offline', body, signal, timeoutMs: BACKGROUND_MS, fits })
    },
    /** Reads a page of a snapshot, or of the changes since a snapshot. */
    snapshot(query: Record<string, string>, signal: AbortSignal) {
      const path = `/v1/scanner/snapshot?${new URLSearchParams(query)}`
      return ask<Snapshot>({ path, signal, timeoutMs: BACKGROUND_MS, fits: isList })
    },
    /** Returns the number of people admitted at each gate since a time; `undefined` if it is not available. */
    async gates(projectId: string, since: Date): Promise<GateCount[] | undefined> {
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
  return { token, door: propertiesOf(door, movementOf(door)) }
}

export function propertiesOf(door: Door, movement: DoorMovement | undefined): DoorProperties {
  const { id, name, gate, projectId, projectName } = door
  return { id, name, gate, projectId, projectName, ...(movement && { movement }) }
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

/** Aborts after a timeout or with another signal. Replaces AbortSignal.any, which older phones do not have. */
function abortAfter(ms: number, other: AbortSignal | undefined) {
  const controller = new AbortController()
  const { signal } = controller
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  // Handle the rejection, because nothing waits for it between two steps of a request.
  aborted.catch(() => undefined)
  const abort = () => controller.abort()
  const timer = setTimeout(abort, ms)
  if (other?.aborted) abort()
  other?.addEventListener('abort', abort)
  return {
    signal,
    /** Rejects after the timeout, even if the network does not react to the abort. */
    within: <T>(work: Promise<T>): Promise<T> => Promise.race([work, aborted]),
    end() {
      clearTimeout(timer)
      other?.removeEventListener('abort', abort)
    },
  }
}
