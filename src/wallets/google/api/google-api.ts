import { z } from 'zod'
import type { GoogleKind } from '../../../core/contract/schemas/definition.ts'
import { REQUESTS_PER_SECOND } from '../../../core/contract/schemas/platform.ts'
import { Uuid } from '../../../core/ids.ts'
import { isJsonObject, parseJson } from '../../../core/json.ts'
import type { GoogleRole } from '../fields.ts'
import type { GoogleSigner } from '../google-identity.ts'
import { type Overrides, withCleared } from '../objects.ts'
import { type GoogleResource, parseAs } from '../resource.ts'
import { GoogleApiError, type GoogleErrorKind, isRejected } from './api-error.ts'
import { type HttpOptions, type HttpRequest, send } from './http.ts'
import { createPacing, type Urgency } from './pacing.ts'
import { createAccessTokens } from './token.ts'

export interface GoogleMessage {
  id: string
  header: string
  body: string
  /** The translations of the header, in Google's format. */
  localizedHeader?: object
  localizedBody?: object
}

export type GoogleStoredMessage = Record<string, unknown>

/** The Google Wallet REST API. Calls through `bulk` have a lower priority: they wait until no other call is waiting. */
export interface GoogleApi extends GoogleCalls {
  readonly bulk: GoogleCalls
}

/** Every method throws GoogleApiError. All except addMessage can be repeated. */
export interface GoogleCalls {
  /** Creates or replaces a class. A replaced class loses the messages of broadcasts, unless `keepsMessages` is set. */
  upsertClass(kind: GoogleKind, resource: GoogleResource, options?: { keepsMessages?: boolean }): Promise<void>
  insertClass(kind: GoogleKind, resource: GoogleResource): Promise<void>
  /**
   * Creates an object, or changes it if it exists. Throws `missing` if the class does not exist, and `invalid` if the
   * object has another kind. Clears the keys of previous overrides (`retired`) that the object no longer has.
   */
  upsertObject(kind: GoogleKind, object: GoogleResource, retired?: Overrides[]): Promise<void>
  /** Does the same as `upsertObject`, but with fewer requests if the object already exists. */
  updateObject(kind: GoogleKind, object: GoogleResource, retired?: Overrides[]): Promise<void>
  /**
   * Updates and expires an object that no longer belongs to its pass. If Google rejects the update, only expires the
   * object. Ignores a missing object.
   */
  expireObject(kind: GoogleKind, object: GoogleResource, retired?: Overrides[]): Promise<void>
  /** Adds a message that notifies users. Google rejects the fourth message in 24 hours with `quota`. */
  addMessage(kind: GoogleKind, id: string, message: GoogleMessage, role?: GoogleRole): Promise<void>
  /** Replaces only the messages of an object or a class. */
  setMessages(kind: GoogleKind, id: string, messages: GoogleStoredMessage[], role?: GoogleRole): Promise<void>
  /** Returns the class, or the object with its state in upper case. Throws `missing` if it does not exist. */
  getObject(kind: GoogleKind, id: string, role?: GoogleRole): Promise<GoogleResource>
}

export interface GoogleEndpoints {
  api: string
  token: string
}

const googleEndpoints: GoogleEndpoints = {
  api: 'https://walletobjects.googleapis.com/walletobjects/v1',
  token: 'https://oauth2.googleapis.com/token',
}

export interface GoogleApiOptions extends HttpOptions {
  identity: GoogleSigner
  endpoints?: GoogleEndpoints
  requestsPerSecond?: number
}

export function createGoogleApi(options: GoogleApiOptions): GoogleApi {
  const { identity, endpoints = googleEndpoints, requestsPerSecond = REQUESTS_PER_SECOND, ...http } = options
  const pacing = createPacing(requestsPerSecond)
  const tokens = createAccessTokens({
    identity,
    get url() {
      return endpoints.token
    },
    ...http,
  })

  async function call(urgency: Urgency, method: HttpRequest['method'], path: string, body?: object): Promise<string> {
    const token = await tokens.get()
    const attempt = async (withToken: string) => {
      await pacing.turn(urgency)
      return sendWith(withToken, method, path, body)
    }
    try {
      return await attempt(token)
    } catch (error) {
      if (!(error instanceof GoogleApiError && error.status === 401)) throw error
      // Retry with a new token, because the old token can have been revoked before its expiry.
      tokens.forget(token)
      return attempt(await tokens.get())
    }
  }

  async function sendWith(token: string, method: HttpRequest['method'], path: string, body?: object): Promise<string> {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const { text } = await send(
      { method, url: endpoints.api + path, headers, body: body && JSON.stringify(body) },
      http,
    )
    // A proxy can respond with a page. Without this check, a write that Google never received would count as done.
    if (isJsonObject(parseJson(text))) return text
    throw notAnObject()
  }

  function calls(urgency: Urgency): GoogleCalls {
    /**
     * Sends a write request. If Google asks for a pause, pauses all writes. Does not pause if the quota of messages is
     * exceeded, because only one object is affected.
     */
    async function write(method: HttpRequest['method'], path: string, body: object): Promise<void> {
      try {
        await call(urgency, method, path, body)
      } catch (error) {
        if (error instanceof GoogleApiError && asksForPause(error)) pacing.pause(error.retryAfterSeconds ?? 1)
        throw error
      }
    }

    async function getResource(kind: GoogleKind, id: string, role: GoogleRole): Promise<GoogleResource> {
      const resource = parseAs(Resource, await call(urgency, 'GET', pathOf(kind, id, role)))
      if (resource) return resource
      throw notAnObject()
    }

    const insertClass = (kind: GoogleKind, resource: GoogleResource) => write('POST', `/${kind}Class`, resource)
    const patchObject = (kind: GoogleKind, object: GoogleResource, retired: Overrides[]) =>
      write('PATCH', pathOf(kind, object.id, 'Object'), withCleared(kind, object, retired))
    const expireObject = (kind: GoogleKind, object: GoogleResource, retired: Overrides[] = []) => {
      const expiry = { id: object.id, state: 'EXPIRED' }
      const shown = heal(patchObject(kind, { ...object, ...expiry }, retired), 'invalid', () =>
        write('PATCH', pathOf(kind, object.id, 'Object'), expiry),
      )
      return heal(shown, 'missing', async () => undefined)
    }
    const upsertObject = (kind: GoogleKind, object: GoogleResource, retired: Overrides[] = []) =>
      heal(write('POST', `/${kind}Object`, object), 'conflict', async () => {
        try {
          await patchObject(kind, object, retired)
        } catch (error) {
          if (isMissing(error) && (await isOtherKind(kind, object.id))) throw otherKind(kind, object.id)
          throw error
        }
      })
    /**
     * Whether the object exists with another kind. Call it after a PATCH that did not find the object. Google returns
     * the same error if the class is missing, but then a GET finds the object with the given kind.
     */
    const isOtherKind = (kind: GoogleKind, id: string) =>
      getResource(kind, id, 'Object').then(
        () => false,
        (error: unknown) => isMissing(error),
      )

    return {
      insertClass: (kind, resource) => heal(insertClass(kind, resource), 'conflict', async () => undefined),

      upsertClass: (kind, resource, { keepsMessages = false } = {}) =>
        heal(insertClass(kind, resource), 'conflict', async () => {
          const kept = keepsMessages ? messagesOfBroadcasts(await getResource(kind, resource.id, 'Class')) : []
          const whole = kept.length > 0 ? { ...resource, messages: kept } : resource
          await write('PUT', pathOf(kind, resource.id, 'Class'), whole)
        }),

      upsertObject,

      expireObject,

      updateObject: (kind, object, retired = []) =>
        heal(patchObject(kind, object, retired), 'missing', () => upsertObject(kind, object, retired)),

      async addMessage(kind, id, message, role = 'Object') {
        const path = `${pathOf(kind, id, role)}/addMessage`
        await call(urgency, 'POST', path, { message: { ...message, messageType: 'TEXT_AND_NOTIFY' } })
      },

      setMessages: (kind, id, messages, role = 'Object') =>
        // Request a new review of a class, because Google must approve each change.
        write('PATCH', pathOf(kind, id, role), {
          messages,
          ...(role === 'Class' && kind !== 'generic' && { reviewStatus: 'UNDER_REVIEW' }),
        }),

      getObject: (kind, id, role = 'Object') => getResource(kind, id, role),
    }
  }

  return { ...calls('urgent'), bulk: calls('bulk') }
}

export const MAX_MESSAGES = 10

export function messagesOf({ messages }: GoogleResource): GoogleStoredMessage[] {
  return Array.isArray(messages) ? messages : []
}

/** Returns the messages that broadcasts sent to a class, as plain text, so that phones do not show them again. */
function messagesOfBroadcasts(resource: GoogleResource): GoogleStoredMessage[] {
  const sent = messagesOf(resource).filter(({ id }) => Uuid.safeParse(id).success)
  return sent.map((known) => ({ ...known, messageType: 'TEXT' }))
}

function pathOf(kind: GoogleKind, id: string, role: GoogleRole): string {
  return `/${kind}${role}/${encodeURIComponent(id)}`
}

/** An object or a class. Its state is converted to upper case, because older objects have a state in lower case. */
const Resource = z.looseObject({ id: z.string(), state: z.string().toUpperCase().optional() })

/**
 * Whether Google asked for a pause. An error without a status comes from this server instead, which rejects a request
 * that would wait too long.
 */
function asksForPause({ kind, status }: GoogleApiError): boolean {
  return status === 503 || (status !== null && kind === 'quota')
}

const isMissing = (error: unknown) => error instanceof GoogleApiError && error.kind === 'missing'

function notAnObject(): GoogleApiError {
  return new GoogleApiError({ kind: 'unavailable', message: 'Google responded with something other than an object.' })
}

function otherKind(kind: GoogleKind, id: string): GoogleApiError {
  const message =
    `Google has ${id} as an object of another kind than ${kind}, and objects cannot change their kind. Publish a version of the template ` +
    'with the google.kind that the object has, and upgrade its passes.'
  return new GoogleApiError({ kind: 'invalid', message })
}

function heal(attempt: Promise<void>, kind: GoogleErrorKind, otherwise: () => Promise<void>): Promise<void> {
  return attempt.catch((error: unknown) => {
    if (error instanceof GoogleApiError && error.kind === kind) return otherwise()
    throw error
  })
}

/** Stores which issuers must not send locations. Google accepts locations only from issuers on its allowlist. */
export interface LocationRejections {
  isRejected(issuerId: string): Promise<boolean>
  insert(issuerId: string, message: string): Promise<void>
}

/** After Google has rejected the `merchantLocations` of an issuer, omits them from classes and objects. */
export function withAllowedLocations(api: GoogleApi, rejections: LocationRejections): GoogleApi {
  async function send(resource: GoogleResource, attempt: (sent: GoogleResource) => Promise<void>): Promise<void> {
    if (resource.merchantLocations === undefined) return attempt(resource)
    const { merchantLocations: _, ...rest } = resource
    const [issuerId = ''] = resource.id.split('.')
    if (await rejections.isRejected(issuerId)) return attempt(rest)
    try {
      await attempt(resource)
    } catch (error) {
      if (!isLocationRejection(error)) throw error
      await rejections.insert(issuerId, error.message)
      await attempt(rest)
    }
  }

  const guarded = (calls: GoogleCalls): GoogleCalls => ({
    ...calls,
    insertClass: (kind, resource) => send(resource, (sent) => calls.insertClass(kind, sent)),
    upsertClass: (kind, resource, options) => send(resource, (sent) => calls.upsertClass(kind, sent, options)),
    upsertObject: (kind, object, retired) => send(object, (sent) => calls.upsertObject(kind, sent, retired)),
    updateObject: (kind, object, retired) => send(object, (sent) => calls.updateObject(kind, sent, retired)),
    expireObject: (kind, object, retired) => send(object, (sent) => calls.expireObject(kind, sent, retired)),
  })
  return { ...guarded(api), bulk: guarded(api.bulk) }
}

/**
 * Whether Google rejected locations. Instead of an error code, the only sign is the text "Issuer not allowlisted for
 * Merchant Locations. Please contact support."
 */
export function isLocationRejection(error: unknown): error is GoogleApiError {
  return isRejected(error) && /merchant ?locations/i.test(error.message) && /allow-?list/i.test(error.message)
}
