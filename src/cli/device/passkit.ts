import { z } from 'zod'
import { CliError } from '../command/cli-error.ts'
import { type Answer, type Call, call } from './http.ts'
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

// The requests of a phone to its web service. All throw CliError CONNECTION_FAILED or WEB_SERVICE_FAILED.

/** Registers for pushes of a pass. Resolves to whether the registration is new. */
export async function register(account: PassKitAccount, pass: PassSecret): Promise<boolean> {
  const { webServiceURL, pushToken } = account
  const { status } = await exchange(webServiceURL, registrationOf(account, pass), {
    what: 'register for the pass',
    method: 'POST',
    headers: authorization(pass),
    json: { pushToken },
    known: [200, 201],
  })
  return status === 201
}

/** Unregisters a pass. A pass that the service no longer has (401) counts as unregistered. */
export async function unregister(account: PassKitAccount, pass: PassSecret): Promise<void> {
  await exchange(account.webServiceURL, registrationOf(account, pass), {
    what: 'unregister from the pass',
    method: 'DELETE',
    headers: authorization(pass),
    known: [200, 401],
  })
}

const Changed = z.object({
  serialNumbers: z.array(z.string()),
  // Reject a number, which would silently stop the updates of a real phone.
  lastUpdated: z.string(),
})

/** Returns the passes that changed since the account's tag; `undefined` if there are none (204). */
export async function listChanged(account: PassKitAccount): Promise<z.output<typeof Changed> | undefined> {
  const { webServiceURL, updatedSince } = account
  const query = updatedSince === null ? '' : `?passesUpdatedSince=${encodeURIComponent(updatedSince)}`
  const { status, json } = await exchange(webServiceURL, registrationsOf(account) + query, {
    what: 'list changed passes',
    known: [200, 204],
  })
  if (status === 204) return undefined
  const changed = Changed.safeParse(json).data
  if (changed) return changed
  throw new CliError('The web service lists changed passes in an invalid format', { code: 'WEB_SERVICE_FAILED' })
}

/**
 * Requests the package of a pass. `since` is an earlier `Last-Modified` header. 304 means that the package has not
 * changed since then, and 401 that the service no longer has the pass.
 */
export function requestPass(
  { webServiceURL, passTypeIdentifier, ...pass }: ServedPass,
  since: string | null,
  method: 'GET' | 'HEAD' = 'GET',
): Promise<Answer> {
  const path = `/v1/passes/${encodeURIComponent(passTypeIdentifier)}/${encodeURIComponent(pass.serialNumber)}`
  return exchange(webServiceURL, path, {
    what: 'fetch the pass',
    method,
    headers: { ...authorization(pass), ...(since !== null && { 'if-modified-since': since }) },
    known: [200, 304, 401],
  })
}

export type FetchResult =
  | { outcome: 'changed'; archive: Buffer; lastModified: string }
  | { outcome: 'unchanged' }
  | { outcome: 'refused'; reason: string }

export async function fetchPass(pass: ServedPass, since: string | null): Promise<FetchResult> {
  const { serialNumber } = pass
  const answer = await requestPass(pass, since)
  if (answer.status === 304) return { outcome: 'unchanged' }
  if (answer.status === 401) return { outcome: 'refused', reason: `Unauthorized to fetch pass ${serialNumber}` }
  const lastModified = answer.header('last-modified')
  if (lastModified === undefined || Number.isNaN(Date.parse(lastModified))) {
    return { outcome: 'refused', reason: `The response with the pass ${serialNumber} has no Last-Modified header` }
  }
  return { outcome: 'changed', archive: answer.bytes, lastModified }
}

export async function postLog(
  { webServiceURL, passTypeIdentifier }: Pick<PassKitAccount, 'webServiceURL' | 'passTypeIdentifier'>,
  message: string,
): Promise<void> {
  const log = `[${new Date().toISOString()}] Web service error for ${passTypeIdentifier}: ${message}`
  const json = { logs: [log] }
  await exchange(webServiceURL, '/v1/log', { what: 'send a log message', method: 'POST', json, known: [200] })
}

function registrationsOf({ deviceId, passTypeIdentifier }: PassKitAccount): string {
  return `/v1/devices/${encodeURIComponent(deviceId)}/registrations/${encodeURIComponent(passTypeIdentifier)}`
}

function registrationOf(account: PassKitAccount, { serialNumber }: PassSecret): string {
  return `${registrationsOf(account)}/${encodeURIComponent(serialNumber)}`
}

function authorization({ authenticationToken }: PassSecret): Record<string, string> {
  return { authorization: `ApplePass ${authenticationToken}` }
}

interface PassKitRequest extends Call {
  what: string
  /** The response statuses that PassKit defines for the request. */
  known: readonly number[]
}

/** @param path the path below the webServiceURL */
async function exchange(webServiceURL: string, path: string, request: PassKitRequest): Promise<Answer> {
  const { what, known, ...message } = request
  const answer = await call(webServiceURL + path, message)
  if (known.includes(answer.status)) return answer
  const details = { status: answer.status, correlationId: answer.header('x-correlation-id') ?? null }
  throw new CliError(`The web service did not let the phone ${what}: it responded with ${answer.status}`, {
    code: 'WEB_SERVICE_FAILED',
    details,
  })
}
