import { z } from 'zod'
import { CliError } from '../command/cli-error.ts'
import { type Answer, call } from './http.ts'
import type { AppleAccount } from './phone-store.ts'

export interface PassSecret {
  serialNumber: string
  authenticationToken: string
}

export interface ServedPass extends PassSecret {
  webServiceURL: string
  passTypeIdentifier: string
}

export type PassKitAccount = Omit<AppleAccount, 'directory'>

interface PassKitRequest {
  what: string
  method: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  /** The path below the webServiceURL. */
  path: string
  headers: Record<string, string>
  json?: object
  /** The response statuses that PassKit defines for the request. */
  known: readonly number[]
}

export function requestsOf(passTypeIdentifier: string) {
  const type = encodeURIComponent(passTypeIdentifier)
  const registrations = (deviceId: string) => `/v1/devices/${encodeURIComponent(deviceId)}/registrations/${type}`
  const registration = (deviceId: string, pass: PassSecret) => ({
    path: `${registrations(deviceId)}/${encodeURIComponent(pass.serialNumber)}`,
    headers: authorization(pass),
  })
  return {
    /** Registers for pushes. 201 means that the registration is new. */
    register: (deviceId: string, pushToken: string, pass: PassSecret): PassKitRequest => ({
      what: 'register for the pass',
      method: 'POST',
      ...registration(deviceId, pass),
      json: { pushToken },
      known: [200, 201],
    }),
    /** Unregisters a pass. 401 means that the service no longer has the pass, and counts as unregistered. */
    unregister: (deviceId: string, pass: PassSecret): PassKitRequest => ({
      what: 'unregister from the pass',
      method: 'DELETE',
      ...registration(deviceId, pass),
      known: [200, 401],
    }),
    /** Lists changes since a tag. 204 means none; otherwise `readChanged` parses the body. */
    listChanged: (deviceId: string, tag: string | null): PassKitRequest => ({
      what: 'list changed passes',
      method: 'GET',
      path: registrations(deviceId) + (tag === null ? '' : `?passesUpdatedSince=${encodeURIComponent(tag)}`),
      headers: {},
      known: [200, 204],
    }),
    /**
     * Fetches the package. `since` is an earlier `Last-Modified` header. 304 means that the package has not changed
     * since then, and 401 that the service no longer has the pass.
     */
    fetch: (pass: PassSecret, since: string | null): PassKitRequest => ({
      what: 'fetch the pass',
      method: 'GET',
      path: `/v1/passes/${type}/${encodeURIComponent(pass.serialNumber)}`,
      headers: { ...authorization(pass), ...(since !== null && { 'if-modified-since': since }) },
      known: [200, 304, 401],
    }),
  }
}

function authorization({ authenticationToken }: PassSecret): Record<string, string> {
  return { authorization: `ApplePass ${authenticationToken}` }
}

const Changed = z.object({
  serialNumbers: z.array(z.string()),
  // Reject a number, which would silently stop the updates of a real phone.
  lastUpdated: z.string(),
})
type Changed = z.output<typeof Changed>

/** @throws CliError WEB_SERVICE_FAILED if the body has an invalid format */
function readChanged(json: unknown): Changed {
  const changed = Changed.safeParse(json).data
  if (changed) return changed
  throw new CliError('The web service lists changed passes in an invalid format', {
    code: 'WEB_SERVICE_FAILED',
  })
}

export type FetchResult =
  | { outcome: 'changed'; archive: Buffer; lastModified: string }
  | { outcome: 'unchanged' }
  | { outcome: 'refused'; reason: string }

// The requests of a phone to its web service. All throw CliError CONNECTION_FAILED or WEB_SERVICE_FAILED.

/** Registers for pushes of a pass. Resolves to whether the registration is new. */
export async function register(account: PassKitAccount, pass: PassSecret): Promise<boolean> {
  const { webServiceURL, passTypeIdentifier, deviceId, pushToken } = account
  const request = requestsOf(passTypeIdentifier).register(deviceId, pushToken, pass)
  return (await exchange(webServiceURL, request)).status === 201
}

/** Unregisters a pass. A pass that the service no longer has counts as unregistered. */
export async function unregister(account: PassKitAccount, pass: PassSecret): Promise<void> {
  const { webServiceURL, passTypeIdentifier, deviceId } = account
  await exchange(webServiceURL, requestsOf(passTypeIdentifier).unregister(deviceId, pass))
}

/** Returns the passes that changed since the account's tag; `undefined` if there are none. */
export async function listChanged(account: PassKitAccount): Promise<Changed | undefined> {
  const { webServiceURL, passTypeIdentifier, deviceId, updatedSince } = account
  const { status, json } = await exchange(
    webServiceURL,
    requestsOf(passTypeIdentifier).listChanged(deviceId, updatedSince),
  )
  return status === 204 ? undefined : readChanged(json)
}

export async function fetchPass(pass: ServedPass, lastModified: string | null): Promise<FetchResult> {
  const { webServiceURL, passTypeIdentifier, serialNumber } = pass
  const answer = await exchange(webServiceURL, requestsOf(passTypeIdentifier).fetch(pass, lastModified))
  if (answer.status === 304) return { outcome: 'unchanged' }
  if (answer.status === 401) return { outcome: 'refused', reason: `Unauthorized to fetch pass ${serialNumber}` }
  const modified = answer.header('last-modified')
  if (modified === undefined || Number.isNaN(Date.parse(modified))) {
    return { outcome: 'refused', reason: `The response with the pass ${serialNumber} has no Last-Modified header` }
  }
  return { outcome: 'changed', archive: answer.bytes, lastModified: modified }
}

export async function postLog(
  { webServiceURL, passTypeIdentifier }: Pick<PassKitAccount, 'webServiceURL' | 'passTypeIdentifier'>,
  message: string,
): Promise<void> {
  const log = `[${new Date().toISOString()}] Web service error for ${passTypeIdentifier}: ${message}`
  const request = { method: 'POST', path: '/v1/log', headers: {}, json: { logs: [log] } } as const
  await exchange(webServiceURL, { what: 'send a log message', ...request, known: [200] })
}

/**
 * Sends a request of a phone.
 * @throws CliError CONNECTION_FAILED, or WEB_SERVICE_FAILED for a status that is not in `known`
 */
export async function exchange(webServiceURL: string, request: PassKitRequest): Promise<Answer> {
  const { what, method, path, headers, json, known } = request
  const answer = await call(webServiceURL + path, { method, headers, json })
  if (known.includes(answer.status)) return answer
  const details = { status: answer.status, correlationId: answer.header('x-correlation-id') ?? null }
  throw new CliError(`The web service did not let the phone ${what}: it responded with ${answer.status}`, {
    code: 'WEB_SERVICE_FAILED',
    details,
  })
}
