import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { CallOptions, Client } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/client-errors.ts'
import { newId } from '../../core/ids.ts'
import { identifierDigest } from '../../core/rules/crypto/scan-code.ts'
import type { Station } from '../../core/rules/door/outcome.ts'
import { doorEnglish } from '../../core/rules/redemption/scan-message.ts'
import type { DoorMovement } from '../../door/engine/engine.ts'
import type { EngineEnvironment } from '../../door/engine/environment.ts'
import { TableStore } from '../../door/engine/store/table-store.ts'
import { makePrivateFolder } from '../../files/private-file.ts'
import { localZone } from '../command/output.ts'
import { isProcessRunning } from '../command/own-program.ts'
import { openSqliteTables, withFileLock } from './offline/sqlite-tables.ts'
import { rejectionText } from './outcome.ts'

export interface ConsoleEnvironment {
  client: Client
  /** The folder of the door's database. */
  folder: string
  /** The project, device, and gate that each scan reports. */
  station: Station
  /** The zone and direction of the first scans; `undefined` to scan without a zone. */
  movement?: DoorMovement | undefined
  /** Whether the server has just responded. Otherwise the console starts offline. */
  isReached: boolean
  clock: () => Date
  /** The time, in milliseconds, within which a second reading of a code belongs to the same scan. 0 for pipes. */
  sameScanMs: number
}

/** The heartbeat interval. An idle console notices an outage within the interval plus the timeout: less than 3 s. */
const BEAT_MS = 1_000
const BEAT_TIMEOUT_MS = 1_800

export function consoleEnvironment(options: ConsoleEnvironment): EngineEnvironment {
  const { client, folder, station, movement, isReached, clock, sameScanMs } = options
  const { projectId = '', deviceId = '' } = station
  const gate = station.context.gate ?? ''
  const door = { id: deviceId, name: deviceId, gate, projectId, projectName: null, ...(movement && { movement }) }
  return {
    settings: {
      scanMs: TIMEOUT_MS,
      probeMs: BEAT_TIMEOUT_MS,
      pollMs: BEAT_MS,
      sameScanMs,
      isReached,
      storesMovement: false,
      station: () => station,
      rejectionText,
    },
    // The token is a placeholder, because the client adds the access token.
    identity: { token: 'console', door },
    async openStore() {
      makePrivateFolder(folder)
      return new TableStore(await openSqliteTables(join(folder, 'door.db')))
    },
    fetch: (input, init) => send(client, String(input), init!),
    baseUrl: '',
    version: 'console',
    language: () => ({ ...doorEnglish, zone: localZone() }),
    wallMs: () => clock().getTime(),
    monotonicMs: () => performance.now(),
    // Add no random delay to requests, because few consoles use a server at the same time.
    random: () => 0,
    newReference: newId,
    digest: async (payload) => identifierDigest(payload).toString('hex'),
    runner: [hostname(), process.pid, randomUUID()].join(' '),
    findRunning: async () => isRunning,
    async withLock(name, work) {
      // Create the folder again if it was removed. Otherwise, the console would stay offline.
      makePrivateFolder(folder)
      return withFileLock(join(folder, `${name}.lock`), work)
    },
    marker: { get: () => null, set: () => undefined },
    isVisible: () => true,
    onWake: () => () => undefined,
    persist: async () => null,
  }
}

/**
 * Returns whether a console still runs. Also `true` for a console on another machine, which cannot be checked, or if
 * another program has the process ID.
 */
function isRunning(runner: string): boolean {
  const [host, pid] = runner.split(' ')
  if (host !== hostname()) return true
  // If the runner has the process ID of this process, its console has ended: in a container, a new process can get the
  // ID of an earlier process.
  return Number(pid) !== process.pid && isProcessRunning(Number(pid))
}

/** Sends a request of the engine. The client retries the request, and rejects responses of other services. */
async function send(client: Client, path: string, init: RequestInit): Promise<Response> {
  const { method, headers, body, signal } = init
  const request = {
    method: method!,
    path,
    headers: headers as Record<string, string>,
    ...(body && { body: Buffer.from(body as string) }),
  }
  try {
    const response = await client.request(request, { signal: signal!, idempotent: true })
    return responseOf(response.status, response.body, response.headers)
  } catch (error) {
    if (error instanceof ConnectionError) throw new TypeError(error.message)
    if (!(error instanceof ApiError)) throw error
    const { status, code, message, details, correlationId } = error
    const text = JSON.stringify({ errorCode: code, message, details })
    return responseOf(status, text, { 'x-correlation-id': correlationId })
  }
}

function responseOf(status: number, body: Uint8Array | string, headers: Record<string, unknown>): Response {
  const kept = ['x-correlation-id', 'date'].filter((name) => headers[name] !== undefined)
  return new Response(body as BodyInit, {
    status,
    headers: kept.map((name): [string, string] => [name, String(headers[name])]),
  })
}

/** The result of a call that a person at the door waits for. */
export type Reply<T> =
  | { kind: 'answer'; value: T }
  /**
   * No usable response: a timeout, a connection error, the status 429 or 5xx, or a response that is not from a passes
   * server.
   */
  | { kind: 'timeout' }
  | { kind: 'rejection'; error: ApiError }

/** The timeout of interactive calls, in milliseconds. */
export const TIMEOUT_MS = 3_000

/** Calls the server with a timeout. The call must be idempotent: it is retried after a connection error. */
export async function ask<T>(call: (options: CallOptions) => Promise<T>): Promise<Reply<T>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    return { kind: 'answer', value: await call({ signal, idempotent: true }) }
  } catch (error) {
    if (error instanceof ApiError && error.status < 500 && error.status !== 429) return { kind: 'rejection', error }
    if (signal.aborted || error instanceof ApiError || error instanceof ConnectionError) return { kind: 'timeout' }
    throw error
  }
}
