import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { LocalReply } from '../local-server.ts'
import type { Callbacks } from './google-callbacks.ts'
import { asAnswered, googleKinds, type Resource, type SandboxKind } from './google-resources.ts'
import type { createRest } from './google-rest.ts'
import type { GoogleStore, StoredResource } from './google-store.ts'
import { verifyJwt } from './google-token.ts'

/** What a phone sees of one pass; `version` grows with every change of the object or its class. */
export interface PhoneView {
  kind: SandboxKind
  object: Resource
  class: Resource
  version: number
}

export interface PhonesOptions {
  account: { clientEmail: string; publicKey: KeyObject }
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

/** The side of Google Wallet that phones see: save the pass of a link, look at it, remove it. */
export function createPhones({ account, store, rest, callbacks }: PhonesOptions) {
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

  return {
    /** `POST /save {jwt, device}` */
    save(body: unknown): LocalReply {
      const request = SaveBody.safeParse(body).data
      if (!request) return wrong(400, 'The body must be {"jwt": "…", "device": "…"}.')
      const claims = Claims.safeParse(verifyJwt(request.jwt, account.publicKey)).data
      if (claims?.iss !== account.clientEmail) return wrong(400, 'The JWT is not one that saves a pass.')
      const content = contentOf(claims.payload)
      if (!content) return wrong(400, 'The JWT must hold one object, and at most one class of its kind.')
      const { kind, object, ofClass } = content
      // What exists stays as it is: a link never changes a class or an object.
      const made = [
        ofClass && !store.find(kind, 'Class', ofClass.id) && rest.insert(kind, 'Class', ofClass),
        isWhole(object) && !store.find(kind, 'Object', object.id) && rest.insert(kind, 'Object', object),
      ]
      const refused = made.find((reply) => reply && reply.status !== 200)
      if (refused) return refused
      const stored = store.find(kind, 'Object', object.id)
      if (!stored) return wrong(404, `The object ${object.id} does not exist.`)
      if (stored.devices.includes(request.device)) return { status: 200, json: viewOf(stored) }
      return { status: 200, json: viewOf(setDevices(stored, [...stored.devices, request.device], 'save')) }
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
    look(kindName: string, id: string): LocalReply {
      const kind = googleKinds.find((known) => known === kindName)
      const stored = kind && store.find(kind, 'Object', id)
      return stored ? { status: 200, json: viewOf(stored) } : wrong(404, 'There is no such object.')
    },
  }
}

/** The one object that a link saves, and its class where the link holds one. */
function contentOf(payload: z.output<typeof Claims>['payload']) {
  const kind = googleKinds.find((known) => payload[`${known}Objects`] !== undefined)
  if (!kind) return undefined
  const { [`${kind}Objects`]: objects = [], [`${kind}Classes`]: classes = [], ...others } = payload
  const [object] = objects
  if (!object || objects.length > 1 || classes.length > 1 || Object.keys(others).length > 0) return undefined
  return { kind, object, ofClass: classes[0] }
}

/** A reference names an object and its class and holds nothing else. */
function isWhole(object: z.output<typeof Named>): boolean {
  return Object.keys(object).some((key) => key !== 'id' && key !== 'classId')
}

function wrong(status: number, error: string): LocalReply {
  return { status, json: { error } }
}
