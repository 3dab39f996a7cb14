import { z } from 'zod'
import type { GoogleKind } from '../../core/contract/definition.ts'
import { GoogleApiError, type GoogleErrorKind } from './api-error.ts'
import { type HttpOptions, type HttpRequest, send } from './http.ts'
import type { GoogleIdentity } from './identity.ts'
import { parseJson } from './json.ts'
import { withCleared } from './managed-keys.ts'
import { createPacing } from './pacing.ts'
import type { GoogleResource } from './resource.ts'
import { createAccessTokens } from './token.ts'

export interface GoogleMessage {
  /** Distinct within its object. */
  id: string
  header: string
  body: string
}

/** A message as an object holds it: whatever else it has is kept. */
export type GoogleStoredMessage = Record<string, unknown>

/** The Google Wallet REST interface. Every method throws GoogleApiError; all but addMessage may be repeated at will. */
export interface GoogleApi {
  /** Makes the class, or replaces the one that is there. */
  upsertClass(kind: GoogleKind, resource: GoogleResource): Promise<void>
  /** Makes the object, or changes the one that is there; `missing` where its class is. For an object that may be new. */
  upsertObject(kind: GoogleKind, object: GoogleResource): Promise<void>
  /** The same in the other order: for an object that should be there. */
  updateObject(kind: GoogleKind, object: GoogleResource): Promise<void>
  /** Shows the message on the pass and on the phone's screen. The fourth within 24 hours is refused as `quota`. */
  addMessage(kind: GoogleKind, objectId: string, message: GoogleMessage): Promise<void>
  /** Replaces the messages of an object and leaves everything else. */
  setMessages(kind: GoogleKind, objectId: string, messages: GoogleStoredMessage[]): Promise<void>
  /** The object with its state in capitals; `missing` where there is none. */
  getObject(kind: GoogleKind, objectId: string): Promise<GoogleResource>
}

export interface GoogleEndpoints {
  /** Base of the REST interface, version included, without a slash at the end. */
  api: string
  /** Where access tokens are had. */
  token: string
}

export const googleEndpoints: GoogleEndpoints = {
  api: 'https://walletobjects.googleapis.com/walletobjects/v1',
  token: 'https://oauth2.googleapis.com/token',
}

export interface GoogleApiOptions extends HttpOptions {
  identity: GoogleIdentity
  endpoints?: GoogleEndpoints
  /** Google takes about 20 from an issuer; 18 by default. */
  requestsPerSecond?: number
}

const REQUESTS_PER_SECOND = 18

export function createGoogleApi(options: GoogleApiOptions): GoogleApi {
  const { identity, endpoints = googleEndpoints, requestsPerSecond = REQUESTS_PER_SECOND, ...http } = options
  const pacing = createPacing(requestsPerSecond)
  const tokens = createAccessTokens({ identity, url: endpoints.token, ...http })

  async function call(method: HttpRequest['method'], path: string, body?: object): Promise<string> {
    const token = await tokens.get()
    try {
      return await sendWith(token, method, path, body)
    } catch (error) {
      if (!(error instanceof GoogleApiError && error.status === 401)) throw error
      // A token may be revoked before its time: a fresh one tells.
      tokens.forget(token)
      return sendWith(await tokens.get(), method, path, body)
    }
  }

  async function sendWith(token: string, method: HttpRequest['method'], path: string, body?: object): Promise<string> {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    await pacing.turn()
    const { text } = await send(
      { method, url: endpoints.api + path, headers, body: body && JSON.stringify(body) },
      http,
    )
    return text
  }

  /** When Google wants fewer writes, all of them wait; a quota on messages is a matter of one object only. */
  async function write(method: HttpRequest['method'], path: string, body: object): Promise<void> {
    try {
      await call(method, path, body)
    } catch (error) {
      if (error instanceof GoogleApiError && asksForPause(error)) pacing.pause(error.retryAfterSeconds ?? 1)
      throw error
    }
  }

  const patchObject = (kind: GoogleKind, object: GoogleResource) =>
    write('PATCH', `/${kind}Object/${encodeURIComponent(object.id)}`, withCleared(kind, object))
  const upsertObject = (kind: GoogleKind, object: GoogleResource) =>
    heal(write('POST', `/${kind}Object`, object), 'conflict', () => patchObject(kind, object))

  return {
    upsertClass: (kind, resource) =>
      heal(write('POST', `/${kind}Class`, resource), 'conflict', () =>
        write('PUT', `/${kind}Class/${encodeURIComponent(resource.id)}`, resource),
      ),

    upsertObject,

    updateObject: (kind, object) => heal(patchObject(kind, object), 'missing', () => upsertObject(kind, object)),

    async addMessage(kind, objectId, message) {
      const path = `/${kind}Object/${encodeURIComponent(objectId)}/addMessage`
      await call('POST', path, { message: { ...message, messageType: 'TEXT_AND_NOTIFY' } })
    },

    setMessages: (kind, objectId, messages) =>
      write('PATCH', `/${kind}Object/${encodeURIComponent(objectId)}`, { messages }),

    async getObject(kind, objectId) {
      const object = parseJson(Resource, await call('GET', `/${kind}Object/${encodeURIComponent(objectId)}`))
      if (object) return object
      throw new GoogleApiError({ kind: 'unavailable', message: 'Google answered with something other than an object.' })
    },
  }
}

/** Older objects name their states in lower case. */
const Resource = z.looseObject({ id: z.string(), state: z.string().toUpperCase().optional() })

/** Google itself has asked for it; a request that was refused for waiting too long has no status. */
function asksForPause({ kind, status }: GoogleApiError): boolean {
  return status === 503 || (status !== null && kind === 'quota')
}

function heal(attempt: Promise<void>, kind: GoogleErrorKind, otherwise: () => Promise<void>): Promise<void> {
  return attempt.catch((error: unknown) => {
    if (error instanceof GoogleApiError && error.kind === kind) return otherwise()
    throw error
  })
}
