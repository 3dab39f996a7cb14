import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { GoogleKind } from '../../../core/contract/schemas/definition.ts'
import { isJsonObject } from '../../../core/json.ts'
import { type Faults, slowDown, switchFaults } from '../faults.ts'
import { createChannels, type LocalCall, type LocalReply, serveLocally } from '../local-server.ts'
import { type Callbacks, createCallbacks, KEYS_MAX_AGE_SECONDS } from './google-callbacks.ts'
import { createRest, rejection } from './google-rest.ts'
import {
  asAnswered,
  type GoogleStore,
  googleKinds,
  openGoogleStore,
  type Resource,
  type StoredResource,
} from './google-store.ts'
import { createAccessTokens, type FindAccount, findSigner, type ServiceAccount } from './google-token.ts'

const Named = z.looseObject({ id: z.string(), classId: z.string().optional() })
const Claims = z.object({
  iss: z.string(),
  aud: z.literal('google'),
  typ: z.literal('savetowallet'),
  payload: z.record(z.string(), z.array(Named)),
})
const SaveBody = z.object({ jwt: z.string(), device: z.string().min(1) })
const RemoveBody = z.object({ kind: z.enum(googleKinds), objectId: z.string(), device: z.string().min(1) })

export interface SandboxGoogleOptions {
  /** The email address of the service account that can call the API. `publicKey` is the account's public key. */
  clientEmail: string
  publicKey: KeyObject | string
  issuerId: string
  others?: () => ServiceAccount[]
  callbackUrl: string
  faults: Faults
  /** The file that stores classes, objects, and the holders of objects. Without a file, a restart loses them. */
  stateFile?: string
  clock?: () => Date
}

export interface SandboxGoogleServer {
  /** The base URL for phones: `{url}/save`, `/remove`, `/objects/{kind}/{id}`, `/devices/{device}/changes`. */
  url: string
  tokenUrl: string
  /** The base URL of the REST API, including the version. */
  apiUrl: string
  /** The URL of the root keys of callbacks. */
  keysUrl: string
  close(): Promise<void>
}

/** Starts the token endpoint, the REST API, signed callbacks, and the interface for phones. */
export async function startSandboxGoogle(options: SandboxGoogleOptions): Promise<SandboxGoogleServer> {
  const { clientEmail, issuerId, callbackUrl, faults, stateFile, clock = () => new Date() } = options
  const publicKey = typeof options.publicKey === 'string' ? createPublicKey(options.publicKey) : options.publicKey
  const own = { clientEmail, publicKey, issuerId }
  const find: FindAccount = (fits) => (fits(own) ? own : options.others?.().find(fits))
  const store = openGoogleStore(stateFile)
  const channels = createChannels()
  const tokens = createAccessTokens(find, clock)
  const callbacks = createCallbacks({ callbackUrl, rootKey: store.rootKey, clock })
  const rest = createRest({ store, faults, clock, onChange: notifyPhones })
  const phones = createPhones(find, { store, rest, callbacks })

  function notifyPhones({ kind, role, resource }: StoredResource): void {
    const objects = role === 'Class' ? store.listOfClass(kind, resource.id) : [store.find(kind, role, resource.id)!]
    const devices = new Set(objects.flatMap((object) => object.devices))
    for (const device of devices) channels.send(device, { changed: resource.id })
  }

  async function answerRest(call: LocalCall): Promise<LocalReply> {
    await slowDown(faults, 'google-slow')
    if (faults.has('google-429')) return rejection(429, 'rateLimitExceeded', 'Too many requests.')
    if (faults.has('google-500')) return rejection(500, 'backendError', 'Internal error.')
    if (faults.has('google-503')) return rejection(503, 'backendError', 'The service is currently unavailable.')
    const account = tokens.accountOf(call.headers.authorization)
    if (!account) {
      return rejection(401, 'authError', 'Request had invalid authentication credentials.')
    }
    if (faults.has('google-400') && call.method !== 'GET') return rejection(400, 'invalid', 'Invalid value.')
    if (faults.has('google-locations') && isJsonObject(call.json) && Array.isArray(call.json.merchantLocations)) {
      return rejection(400, 'invalid', 'Issuer not allowlisted for Merchant Locations. Please contact support.')
    }
    return rest.answer(call, account.issuerId)
  }

  const server = await serveLocally((call) => {
    const { method, path, json, response } = call
    if (path.startsWith('/walletobjects/')) return answerRest(call)
    const [, kind, id] = /^\/objects\/([^/]+)\/([^/]+)$/.exec(path) ?? []
    if (method === 'GET' && kind && id) return phones.read(kind, decodeURIComponent(id))
    const [, device] = /^\/devices\/([^/]+)\/changes$/.exec(path) ?? []
    if (method === 'GET' && device) return channels.listen(decodeURIComponent(device), response) as undefined
    switch (`${method} ${path}`) {
      case 'POST /token':
        return tokens.answer(call)
      case 'GET /issuer/keys':
        return {
          status: 200,
          json: callbacks.keys(),
          headers: { 'cache-control': `public, max-age=${KEYS_MAX_AGE_SECONDS}` },
        }
      case 'POST /save':
        return phones.save(json)
      case 'POST /remove':
        return phones.remove(json)
      case 'POST /faults':
        return switchFaults(faults, json)
      default:
        return { status: 404, json: { error: 'Not found.' } }
    }
  })

  return {
    url: server.url,
    tokenUrl: `${server.url}/token`,
    apiUrl: `${server.url}/walletobjects/v1`,
    keysUrl: `${server.url}/issuer/keys`,
    async close() {
      await server.close()
      await callbacks.close()
      store.close()
    },
  }
}

/**
 * The object and the class of a pass, as a phone receives them. `version` increases with every change of the object or
 * its class.
 */
export interface PhoneView {
  kind: GoogleKind
  object: Resource
  class: Resource
  version: number
}

function createPhones(
  find: FindAccount,
  { store, rest, callbacks }: { store: GoogleStore; rest: ReturnType<typeof createRest>; callbacks: Callbacks },
) {
  function viewOf(stored: StoredResource): PhoneView {
    const ofClass = store.find(stored.kind, 'Class', String(stored.resource.classId))!
    return {
      kind: stored.kind,
      object: { ...asAnswered(stored.resource), hasUsers: stored.devices.length > 0 },
      class: asAnswered(ofClass.resource),
      version: Math.max(stored.version, ofClass.version),
    }
  }

  function setDevices(stored: StoredResource, devices: string[], eventType: 'save' | 'del'): StoredResource {
    const { resource } = stored
    callbacks.post({ classId: String(resource.classId), objectId: resource.id, eventType })
    return store.put({ ...stored, devices })
  }

  function saveOne({ kind, object, ofClass }: Content, device: string, issuerId: string): LocalReply {
    // Create only missing resources: a save link does not change an existing class or object.
    const made = [
      ofClass && !store.find(kind, 'Class', ofClass.id) && rest.insert(issuerId, kind, 'Class', ofClass),
      isWhole(object) && !store.find(kind, 'Object', object.id) && rest.insert(issuerId, kind, 'Object', object),
    ]
    const rejected = made.find((reply) => reply && reply.status !== 200)
    if (rejected) return rejected
    const stored = object.id.startsWith(`${issuerId}.`) ? store.find(kind, 'Object', object.id) : undefined
    if (!stored) return wrong(404, `The object ${object.id} does not exist.`)
    if (stored.devices.includes(device)) return { status: 200, json: viewOf(stored) }
    return { status: 200, json: viewOf(setDevices(stored, [...stored.devices, device], 'save')) }
  }

  return {
    /** `POST /save {jwt, device}` */
    save(body: unknown): LocalReply {
      const request = SaveBody.safeParse(body).data
      if (!request) return wrong(400, 'The body must be {"jwt": "…", "device": "…"}.')
      const signed = findSigner(request.jwt, find)
      const claims = Claims.safeParse(signed?.claims).data
      if (!signed || !claims) return wrong(400, 'The JWT is not a save link.')
      const contents = contentsOf(claims.payload)
      if (contents.length === 0) return wrong(400, 'The JWT must contain objects, and at most one class of each kind.')
      const replies = contents.map((content) => saveOne(content, request.device, signed.account.issuerId))
      // Respond with the first rejection. If there is none, respond with the first object, because a phone shows it on
      // top of the other objects.
      return replies.find(({ status }) => status !== 200) ?? replies[0]!
    },

    /** `POST /remove {kind, objectId, device}` */
    remove(body: unknown): LocalReply {
      const request = RemoveBody.safeParse(body).data
      const stored = request && store.find(request.kind, 'Object', request.objectId)
      if (!stored?.devices.includes(request?.device ?? '')) return wrong(404, 'The phone does not have this object.')
      const left = stored.devices.filter((device) => device !== request?.device)
      setDevices(stored, left, 'del')
      return { status: 204 }
    },

    /** `GET /objects/{kind}/{id}` */
    read(kindName: string, id: string): LocalReply {
      const kind = googleKinds.find((known) => known === kindName)
      const stored = kind && store.find(kind, 'Object', id)
      return stored ? { status: 200, json: viewOf(stored) } : wrong(404, 'Object not found.')
    },
  }
}

interface Content {
  kind: GoogleKind
  object: z.output<typeof Named>
  ofClass: z.output<typeof Named> | undefined
}

/** Returns the objects of a save link with their classes. If the link contains anything else, returns an empty list. */
function contentsOf(payload: z.output<typeof Claims>['payload']): Content[] {
  const known = googleKinds.flatMap((kind) => [`${kind}Objects`, `${kind}Classes`])
  if (Object.keys(payload).some((key) => !known.includes(key))) return []
  if (googleKinds.some((kind) => payload[`${kind}Classes`] && !payload[`${kind}Objects`])) return []
  return googleKinds.flatMap((kind) => {
    const { [`${kind}Objects`]: objects = [], [`${kind}Classes`]: classes = [] } = payload
    if (classes.length > 1) return []
    return objects.map((object) => ({ kind, object, ofClass: classes[0] }))
  })
}

function isWhole(object: z.output<typeof Named>): boolean {
  return Object.keys(object).some((key) => key !== 'id' && key !== 'classId')
}

function wrong(status: number, error: string): LocalReply {
  return { status, json: { error } }
}
