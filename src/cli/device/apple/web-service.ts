import { z } from 'zod'
import { CliError } from '../../command/errors.ts'
import { type Answer, call } from '../http.ts'
import type { AppleAccount } from '../state.ts'
import type { PassJson } from './pass-json.ts'

/** The PassKit web service, as a phone calls it. All throw CliError where it does not answer as it should. */

const Changed = z.object({
  serialNumbers: z.array(z.string()),
  // A number here stops the updates of a phone without a word.
  lastUpdated: z.string(),
})

export type FetchResult =
  | { outcome: 'changed'; archive: Buffer; lastModified: string }
  | { outcome: 'unchanged' }
  | { outcome: 'refused'; reason: string }

/** Tells the service where pushes for the pass go. */
export async function register(account: AppleAccount, pass: PassJson): Promise<void> {
  const answer = await call(registrationUrl(account, pass.serialNumber), {
    method: 'POST',
    headers: authorization(pass),
    json: { pushToken: account.pushToken },
  })
  if (answer.status !== 201 && answer.status !== 200) throw unexpected('register for the pass', answer)
}

/** A pass that the service does not know any more counts as unregistered. */
export async function unregister(account: AppleAccount, pass: PassJson): Promise<void> {
  const url = registrationUrl(account, pass.serialNumber)
  const answer = await call(url, { method: 'DELETE', headers: authorization(pass) })
  if (answer.status !== 200 && answer.status !== 401) throw unexpected('unregister from the pass', answer)
}

/** The passes that changed since the account's tag; undefined where none did. */
export async function listChanged(account: AppleAccount): Promise<z.output<typeof Changed> | undefined> {
  const query = account.updatedSince === null ? '' : `?passesUpdatedSince=${encodeURIComponent(account.updatedSince)}`
  const answer = await call(`${registrationUrl(account)}${query}`)
  if (answer.status === 204) return undefined
  const changed = Changed.safeParse(answer.json)
  if (answer.status !== 200 || !changed.success) throw unexpected('list changed passes', answer)
  return changed.data
}

/** The pass as it now stands, unless it is what the phone has. */
export async function fetchPass(pass: PassJson, lastModified: string | null): Promise<FetchResult> {
  const { webServiceURL, passTypeIdentifier, serialNumber } = pass
  const answer = await call(`${webServiceURL}/v1/passes/${encodePath(passTypeIdentifier, serialNumber)}`, {
    headers: { ...authorization(pass), ...(lastModified !== null && { 'if-modified-since': lastModified }) },
  })
  if (answer.status === 304) return { outcome: 'unchanged' }
  if (answer.status === 401) return { outcome: 'refused', reason: `Unauthorized to fetch pass ${serialNumber}` }
  if (answer.status !== 200) throw unexpected('fetch the pass', answer)
  const modified = answer.header('last-modified')
  if (modified === undefined || Number.isNaN(Date.parse(modified))) {
    return { outcome: 'refused', reason: `The pass ${serialNumber} came without a Last-Modified` }
  }
  return { outcome: 'changed', archive: answer.bytes, lastModified: modified }
}

/** Phones complain to the service, and to nobody else. */
export async function complain(account: AppleAccount, message: string): Promise<void> {
  const log = `[${new Date().toISOString()}] Web service error for ${account.passTypeIdentifier}: ${message}`
  const answer = await call(`${account.webServiceURL}/v1/log`, { method: 'POST', json: { logs: [log] } })
  if (answer.status !== 200) throw unexpected('complain', answer)
}

function registrationUrl({ webServiceURL, deviceId, passTypeIdentifier }: AppleAccount, serial?: string): string {
  const path = encodePath(passTypeIdentifier, ...(serial === undefined ? [] : [serial]))
  return `${webServiceURL}/v1/devices/${encodeURIComponent(deviceId)}/registrations/${path}`
}

function encodePath(...parts: string[]): string {
  return parts.map(encodeURIComponent).join('/')
}

function authorization({ authenticationToken }: PassJson): Record<string, string> {
  return { authorization: `ApplePass ${authenticationToken}` }
}

function unexpected(what: string, { status, header }: Answer): CliError {
  return new CliError(`The web service did not let the phone ${what}: it answered ${status}`, {
    code: 'WEB_SERVICE_FAILED',
    details: { status, correlationId: header('x-correlation-id') ?? null },
  })
}
