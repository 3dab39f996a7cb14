import { z } from 'zod'
import type { GoogleKind } from '../../../core/contract/schemas/definition.ts'
import { isJsonObject } from '../../../core/json.ts'
import type { GoogleRole } from '../../google/fields.ts'
import type { Faults } from '../faults.ts'
import type { LocalCall, LocalReply } from '../local-server.ts'
import {
  asAnswered,
  checkResource,
  type GoogleStore,
  googleKinds,
  MAX_MESSAGES,
  mergePatch,
  type Resource,
  type StoredResource,
} from './google-store.ts'

export interface RestOptions {
  store: GoogleStore
  faults: Faults
  clock: () => Date
  onChange: (changed: StoredResource) => void
}

const PATH = /^\/walletobjects\/v1\/([a-zA-Z]+)(Class|Object)(?:\/([^/]+))?(?:\/(addMessage))?$/
const NOTIFICATIONS_A_DAY = 3
const DAY_MS = 86_400_000

const Message = z.object({
  message: z.looseObject({
    id: z.string().optional(),
    header: z.string().min(1),
    body: z.string().min(1),
    messageType: z.enum(['TEXT', 'TEXT_AND_NOTIFY', 'EXPIRATION_NOTIFICATION']).default('TEXT'),
  }),
})

/** Creates the Wallet REST API, version 1. The caller checks the access token. */
export function createRest({ store, faults, clock, onChange }: RestOptions) {
  function write(entry: Omit<StoredResource, 'version'>): StoredResource {
    const stored = store.put(entry)
    onChange(stored)
    return stored
  }

  function lacksClass(kind: GoogleKind, role: GoogleRole, { classId }: Resource): LocalReply | undefined {
    if (role === 'Class' || store.find(kind, 'Class', String(classId))) return undefined
    return rejection(404, 'classNotFound', `The class ${classId} does not exist.`)
  }

  function insert(issuerId: string, kind: GoogleKind, role: GoogleRole, body: unknown): LocalReply {
    const check = checkResource(kind, role, body, issuerId)
    if (!check.ok) return toRejection(check)
    const { resource } = check
    // Reject an ID that exists with any kind, because IDs are unique across kinds.
    if (googleKinds.some((other) => store.find(other, role, resource.id)))
      return rejection(409, 'existingResource', `${resource.id} exists already.`)
    return lacksClass(kind, role, resource) ?? found(write({ kind, role, resource, devices: [], notifiedAt: [] }))
  }

  function replace(issuerId: string, stored: StoredResource, body: unknown): LocalReply {
    const check = checkResource(stored.kind, stored.role, body, issuerId)
    if (!check.ok) return toRejection(check)
    if (check.resource.id !== stored.resource.id) return rejection(400, 'invalid', 'The id cannot change.')
    const { resource } = check
    return lacksClass(stored.kind, stored.role, resource) ?? found(write({ ...stored, resource }))
  }

  function addMessage(stored: StoredResource, body: unknown): LocalReply {
    const parsed = Message.safeParse(body)
    if (!parsed.success) return rejection(400, 'invalid', 'message.header and message.body are required.')
    const { message } = parsed.data
    const messages = (stored.resource.messages ?? []) as Record<string, unknown>[]
    const others = messages.filter(({ id }) => message.id === undefined || id !== message.id)
    if (others.length >= MAX_MESSAGES) return rejection(400, 'invalid', `More than ${MAX_MESSAGES} messages.`)
    const now = clock().getTime()
    const isNew = others.length === messages.length
    const recent = stored.notifiedAt.filter((at) => at > now - DAY_MS)
    const notifies = message.messageType === 'TEXT_AND_NOTIFY' && isNew
    if (notifies && (recent.length >= NOTIFICATIONS_A_DAY || faults.has('google-quota'))) {
      return rejection(403, 'quotaExceeded', 'The quota of notifying messages for this object is used up.')
    }
    const resource: Resource = { ...stored.resource, messages: [...others, message] }
    const written = write({ ...stored, resource, notifiedAt: notifies ? [...recent, now] : recent })
    return { status: 200, json: { resource: asAnswered(written.resource) } }
  }

  return {
    insert,
    /** @param issuerId the issuer whose resources the caller can read and write */
    answer({ method, path, json }: LocalCall, issuerId: string): LocalReply {
      const [, kindName, roleName, encodedId, action] = PATH.exec(path) ?? []
      const kind = googleKinds.find((known) => known === kindName)
      if (!kind) return rejection(404, 'notFound', 'Method not found.')
      const role = roleName as GoogleRole
      if (encodedId === undefined) return method === 'POST' ? insert(issuerId, kind, role, json) : wrongMethod()
      const stored = store.find(kind, role, decodeURIComponent(encodedId))
      if (!stored) return rejection(404, 'resourceNotFound', `${encodedId} does not exist.`)
      if (action) return method === 'POST' ? addMessage(stored, json) : wrongMethod()
      if (method === 'GET') return found(stored)
      if (method === 'PUT') return replace(issuerId, stored, json)
      if (method !== 'PATCH') return wrongMethod()
      return isJsonObject(json)
        ? replace(issuerId, stored, mergePatch(stored.resource, json))
        : rejection(400, 'parseError', 'The body is not a JSON object.')
    },
  }
}

export function rejection(status: number, reason: string, message: string): LocalReply {
  const json = { error: { code: status, message, errors: [{ message, domain: 'walletobjects', reason }] } }
  return { status, json, headers: status === 429 || status === 503 ? { 'retry-after': '1' } : {} }
}

function found({ resource }: StoredResource): LocalReply {
  return { status: 200, json: asAnswered(resource) }
}

function toRejection(check: { reason: 'invalid' | 'forbidden'; message: string }): LocalReply {
  return check.reason === 'invalid'
    ? rejection(400, 'invalid', check.message)
    : rejection(403, 'permissionDenied', check.message)
}

function wrongMethod(): LocalReply {
  return rejection(405, 'httpMethodNotAllowed', 'The method is not allowed.')
}
