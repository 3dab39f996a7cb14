import { z } from 'zod'
import { CliError } from '../command/errors.ts'
import { type Answer, call } from './http.ts'

/** What a phone shows the web service of a pass. */
export interface PassSecret {
  serialNumber: string
  authenticationToken: string
}

/** A pass where it is fetched. */
export interface ServedPass extends PassSecret {
  webServiceURL: string
  passTypeIdentifier: string
}

/** How a web service knows a phone that holds passes of one type. */
export interface PassKitAccount {
  webServiceURL: string
  passTypeIdentifier: string
  /** PassKit's deviceLibraryIdentifier. */
  deviceId: string
  pushToken: string
  /** The tag of the last list of changed serials; null before the first. */
  updatedSince: string | null
}

/** A request of a phone, whatever carries it. */
export interface PassKitRequest {
  /** What the service lets a phone do, in words. */
  what: string
  method: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  /** Below the webServiceURL. */
  path: string
  headers: Record<string, string>
  json?: object
  /** Statuses that say something to a phone. */
  known: readonly number[]
}

/** What phones ask of the PassKit web service for passes of a type. */
export function requestsOf(passTypeIdentifier: string) {
  const type = encodeURIComponent(passTypeIdentifier)
  const registrations = (deviceId: string) => `/v1/devices/${encodeURIComponent(deviceId)}/registrations/${type}`
  const registration = (deviceId: string, pass: PassSecret) => ({
    path: `${registrations(deviceId)}/${encodeURIComponent(pass.serialNumber)}`,
    headers: authorization(pass),
  })
  return {
    /** Tells the service where pushes for the pass go: 201 where it did not know the phone. */
    register: (deviceId: string, pushToken: string, pass: PassSecret): PassKitRequest => ({
      what: 'register for the pass',
      method: 'POST',
      ...registration(deviceId, pass),
      json: { pushToken },
      known: [200, 201],
    }),
    /** 401: a pass that the service does not know any more counts as unregistered. */
    unregister: (deviceId: string, pass: PassSecret): PassKitRequest => ({
      what: 'unregister from the pass',
      method: 'DELETE',
      ...registration(deviceId, pass),
      known: [200, 401],
    }),
    /** What changed since a tag: 204 where nothing did, else what readChanged reads. */
    listChanged: (deviceId: string, tag: string | null): PassKitRequest => ({
      what: 'list changed passes',
      method: 'GET',
      path: registrations(deviceId) + (tag === null ? '' : `?passesUpdatedSince=${encodeURIComponent(tag)}`),
      headers: {},
      known: [200, 204],
    }),
    /** The package, unless it is of that HTTP date: 304 then, and 401 where the service does not know the pass any more. */
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
  // A number here stops the updates of a phone without a word.
  lastUpdated: z.string(),
})
/** The passes that changed, and the tag to ask with the next time. */
export type Changed = z.output<typeof Changed>

/** What came with 200 of listChanged. @throws CliError WEB_SERVICE_FAILED */
export function readChanged(json: unknown): Changed {
  const changed = Changed.safeParse(json).data
  if (changed) return changed
  throw new CliError('The web service lists changed passes in a form that no phone reads', {
    code: 'WEB_SERVICE_FAILED',
  })
}

/** An answer that PassKit does not know: WEB_SERVICE_FAILED. */
export function unexpected({ what }: Pick<PassKitRequest, 'what'>, status: number, correlationId: unknown): CliError {
  return new CliError(`The web service did not let the phone ${what}: it answered ${status}`, {
    code: 'WEB_SERVICE_FAILED',
    details: { status, correlationId: correlationId ?? null },
  })
}

/** What came of asking the web service for a pass: a package, the news that there is none newer, or why there is none. */
export type FetchResult =
  | { outcome: 'changed'; archive: Buffer; lastModified: string }
  | { outcome: 'unchanged' }
  | { outcome: 'refused'; reason: string }

// Calls of phones that make one at a time. All throw CliError: CONNECTION_FAILED, or WEB_SERVICE_FAILED.

/** Tells the service where pushes for the pass go. */
export async function register(account: PassKitAccount, pass: PassSecret): Promise<void> {
  const { webServiceURL, passTypeIdentifier, deviceId, pushToken } = account
  await exchange(webServiceURL, requestsOf(passTypeIdentifier).register(deviceId, pushToken, pass))
}

/** A pass that the service does not know any more counts as unregistered. */
export async function unregister(account: PassKitAccount, pass: PassSecret): Promise<void> {
  const { webServiceURL, passTypeIdentifier, deviceId } = account
  await exchange(webServiceURL, requestsOf(passTypeIdentifier).unregister(deviceId, pass))
}

/** The passes that changed since the account's tag; undefined where none did. */
export async function listChanged(account: PassKitAccount): Promise<Changed | undefined> {
  const { webServiceURL, passTypeIdentifier, deviceId, updatedSince } = account
  const { status, json } = await exchange(
    webServiceURL,
    requestsOf(passTypeIdentifier).listChanged(deviceId, updatedSince),
  )
  return status === 204 ? undefined : readChanged(json)
}

/** The pass as it now stands, unless it is what the phone has. */
export async function fetchPass(pass: ServedPass, lastModified: string | null): Promise<FetchResult> {
  const { webServiceURL, passTypeIdentifier, serialNumber } = pass
  const answer = await exchange(webServiceURL, requestsOf(passTypeIdentifier).fetch(pass, lastModified))
  if (answer.status === 304) return { outcome: 'unchanged' }
  if (answer.status === 401) return { outcome: 'refused', reason: `Unauthorized to fetch pass ${serialNumber}` }
  const modified = answer.header('last-modified')
  if (modified === undefined || Number.isNaN(Date.parse(modified))) {
    return { outcome: 'refused', reason: `The pass ${serialNumber} came without a Last-Modified` }
  }
  return { outcome: 'changed', archive: answer.bytes, lastModified: modified }
}

/** Phones complain to the service, and to nobody else. */
export async function postLog(
  { webServiceURL, passTypeIdentifier }: Pick<PassKitAccount, 'webServiceURL' | 'passTypeIdentifier'>,
  message: string,
): Promise<void> {
  const log = `[${new Date().toISOString()}] Web service error for ${passTypeIdentifier}: ${message}`
  const request = { method: 'POST', path: '/v1/log', headers: {}, json: { logs: [log] } } as const
  await exchange(webServiceURL, { what: 'complain', ...request, known: [200] })
}

async function exchange(webServiceURL: string, request: PassKitRequest): Promise<Answer> {
  const { method, path, headers, json, known } = request
  const answer = await call(webServiceURL + path, { method, headers, json })
  if (known.includes(answer.status)) return answer
  throw unexpected(request, answer.status, answer.header('x-correlation-id'))
}
