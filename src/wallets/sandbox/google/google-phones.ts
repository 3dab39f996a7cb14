import { z } from 'zod'
import type { LocalReply } from '../local-server.ts'
import type { Callbacks } from './google-callbacks.ts'
import type { createRest } from './google-rest.ts'
import {
  asAnswered,
  type GoogleStore,
  googleKinds,
  type Resource,
  type SandboxKind,
  type StoredResource,
} from './google-store.ts'
import { type FindAccount, findSigner } from './google-token.ts'

/** A pass as a phone sees it. `version` increases with every change of the object or its class. */
export interface PhoneView {
  kind: SandboxKind
  object: Resource
  class: Resource
  version: number
}

export interface PhonesOptions {
  find: FindAccount
  store: GoogleStore
  rest: ReturnType<typeof createRest>
  callbacks: Callbacks
}

const Named = z.looseObject({ id: z.string(), classId: z.string().optional() })
const Claims = z.object({
  iss: z.string(),
  aud: z.literal('google'),
  typ: z.literal('savetowallet'),
  payload: z.record(z.string(), z.array(Named)),
})
const SaveBody = z.object({ jwt: z.string(), device: z.string().min(1) })
const RemoveBody = z.object({ kind: z.enum(googleKinds), objectId: z.string(), device: z.string().min(1) })

export function createPhones({ find, store, rest, callbacks }: PhonesOptions) {
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
    // Keep existing resources: a link never changes a class or an object.
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
      if (!signed || !claims) return wrong(400, 'The JWT is not one that saves a pass.')
      const contents = contentsOf(claims.payload)
      if (contents.length === 0) return wrong(400, 'The JWT must hold objects, and of each kind at most one class.')
      const replies = contents.map((content) => saveOne(content, request.device, signed.account.issuerId))
      // A phone shows the first saved pass on top of the others.
      return replies.find(({ status }) => status !== 200) ?? replies[0]!
    },

    /** `POST /remove {kind, objectId, device}` */
    remove(body: unknown): LocalReply {
      const request = RemoveBody.safeParse(body).data
      const stored = request && store.find(request.kind, 'Object', request.objectId)
      if (!stored?.devices.includes(request?.device ?? '')) return wrong(404, 'The phone holds no such object.')
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
  kind: SandboxKind
  object: z.output<typeof Named>
  ofClass: z.output<typeof Named> | undefined
}

/** Returns the objects of a link with their class; none if the link has anything else. */
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

/** Whether an object has content. A reference has only its ID and its class. */
function isWhole(object: z.output<typeof Named>): boolean {
  return Object.keys(object).some((key) => key !== 'id' && key !== 'classId')
}

function wrong(status: number, error: string): LocalReply {
  return { status, json: { error } }
}
