import { generateKeyPairSync } from 'node:crypto'
import { GoogleKind } from '../../../core/contract/schemas/definition.ts'
import { isJsonObject } from '../../../core/json.ts'
import { checkFields } from '../../google/check-fields.ts'
import { type GoogleRole, typeOf } from '../../google/fields.ts'
import { openState } from '../local-server.ts'

export interface StoredResource {
  kind: GoogleKind
  role: GoogleRole
  resource: Resource
  /** The number of the last change of the resource. All resources share one sequence of numbers. */
  version: number
  /** Only for an object: the phones that hold it. */
  devices: string[]
  /** Only for an object: the times of its latest notifying messages, in milliseconds since 1970. */
  notifiedAt: number[]
}

type Entry = { put: StoredResource } | { rootKey: string }

export interface GoogleStore {
  /**
   * The root key of callbacks, PKCS #8 in PEM. Stays the same across restarts, because servers cache its public key.
   */
  readonly rootKey: string
  find(kind: GoogleKind, role: GoogleRole, id: string): StoredResource | undefined
  listOfClass(kind: GoogleKind, classId: string): StoredResource[]
  /** Stores a resource under its ID, with a new version. */
  put(entry: Omit<StoredResource, 'version'>): StoredResource
  close(): void
}

export function openGoogleStore(stateFile: string | undefined): GoogleStore {
  const resources = new Map<string, StoredResource>()
  let rootKey = ''
  let version = 0
  const journal = openState<Entry>(stateFile, (entries) => {
    for (const entry of entries) {
      if ('rootKey' in entry) rootKey = entry.rootKey
      else resources.set(keyOf(entry.put.kind, entry.put.role, entry.put.resource.id), entry.put)
    }
    version = Math.max(0, ...[...resources.values()].map((stored) => stored.version))
    rootKey ||= newRootKey()
    return [{ rootKey }, ...[...resources.values()].map((put) => ({ put }))]
  })

  return {
    rootKey,
    find: (kind, role, id) => resources.get(keyOf(kind, role, id)),
    listOfClass: (kind, classId) =>
      [...resources.values()].filter(
        (stored) => stored.kind === kind && stored.role === 'Object' && stored.resource.classId === classId,
      ),
    put(entry) {
      version += 1
      const put = { ...entry, version }
      journal.append({ put })
      resources.set(keyOf(put.kind, put.role, put.resource.id), put)
      return put
    },
    close: () => journal.close(),
  }
}

function keyOf(kind: GoogleKind, role: GoogleRole, id: string): string {
  return `${kind}${role} ${id}`
}

function newRootKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

export const googleKinds = GoogleKind.options

export type Resource = { id: string } & Record<string, unknown>

export const MAX_MESSAGES = 10

export type Decision =
  | { ok: true; resource: Resource }
  | { ok: false; reason: 'invalid' | 'forbidden'; message: string }

/**
 * Checks a complete resource as Google does. Requires a logo only if the callback URL is https, because only then can
 * Google fetch images from the server.
 */
export function checkResource(kind: GoogleKind, role: GoogleRole, body: unknown, issuerId: string): Decision {
  if (!isJsonObject(body)) return { ok: false, reason: 'invalid', message: 'The body is not a JSON object.' }
  const needsLogos = isJsonObject(body.callbackOptions) && /^https:/.test(String(body.callbackOptions.url))
  for (const { path, message } of checkFields(typeOf(kind, role), body, { needsLogos })) {
    return { ok: false, reason: 'invalid', message: `Invalid value for ${path.join('.')}: ${message}.` }
  }
  const resource = body as Resource
  if (!resource.id.startsWith(`${issuerId}.`)) {
    return { ok: false, reason: 'forbidden', message: `The issuer of ${resource.id} is not ${issuerId}.` }
  }
  return { ok: true, resource }
}

/** Merges a PATCH as Google does: objects key by key, other values as a whole, and `null` removes a key. */
export function mergePatch(base: Record<string, unknown>, patch: Record<string, unknown>): Record<string, unknown> {
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(patch)) {
    const current = merged.get(key)
    if (value === null) merged.delete(key)
    else merged.set(key, isJsonObject(value) ? mergePatch(isJsonObject(current) ? current : {}, value) : value)
  }
  return Object.fromEntries(merged)
}

export function asAnswered(resource: Resource): Resource {
  return {
    ...resource,
    ...(typeof resource.state === 'string' && { state: resource.state.toLowerCase() }),
    ...(resource.reviewStatus !== undefined && { reviewStatus: 'approved' }),
  }
}
