import { z } from 'zod'
import type { GoogleKind } from '../../../core/contract/definition.ts'
import { REQUESTS_PER_SECOND } from '../../../core/contract/platform.ts'
import { Uuid } from '../../../core/ids.ts'
import type { GoogleRole } from '../fields.ts'
import type { GoogleSigner } from '../identity.ts'
import { type Overrides, withCleared } from '../objects.ts'
import { type GoogleResource, parseAs } from '../resource.ts'
import { GoogleApiError, type GoogleErrorKind, isRefused } from './api-error.ts'
import { type HttpOptions, type HttpRequest, send } from './http.ts'
import { createPacing, type Urgency } from './pacing.ts'
import { createAccessTokens } from './token.ts'

/** A message on an object or a class, which phones that hold it show. */
export interface GoogleMessage {
  /** Distinct within its object or class. */
  id: string
  header: string
  body: string
  /** What it says in other languages, as Google takes it. */
  localizedHeader?: object
  localizedBody?: object
}

/** A message as an object holds it: whatever else it has is kept. */
export type GoogleStoredMessage = Record<string, unknown>

/** The Google Wallet REST interface: calls that somebody waits for, and in `bulk` those that let the others go first. */
export interface GoogleApi extends GoogleCalls {
  readonly bulk: GoogleCalls
}

/** Every method throws GoogleApiError; all but addMessage may be repeated at will. */
export interface GoogleCalls {
  /** Makes the class, or replaces the one that is there; messages of broadcasts go with it unless they are kept. */
  upsertClass(kind: GoogleKind, resource: GoogleResource, options?: { keepsMessages?: boolean }): Promise<void>
  /** Makes the class where there is none. */
  insertClass(kind: GoogleKind, resource: GoogleResource): Promise<void>
  /**
   * Makes the object, or changes the one that is there; `missing` where its class is, `invalid` where that is of another kind. For an
   * object that may be new.
   * `retired` are overrides of before: what the object no longer has of them is taken away.
   */
  upsertObject(kind: GoogleKind, object: GoogleResource, retired?: Overrides[]): Promise<void>
  /** The same in the other order: for an object that should be there. */
  updateObject(kind: GoogleKind, object: GoogleResource, retired?: Overrides[]): Promise<void>
  /**
   * Marks an object as expired that no longer stands for its pass, and shows in it what it is given; where Google would not
   * take that, it expires as it is. One that is gone needs nothing.
   */
  expireObject(kind: GoogleKind, object: GoogleResource, retired?: Overrides[]): Promise<void>
  /**
   * Shows the message on the pass, or on all of a class, and on the screens of phones. The fourth within 24 hours is refused as
   * `quota`.
   * @param role of what has the id: an object by default
   */
  addMessage(kind: GoogleKind, id: string, message: GoogleMessage, role?: GoogleRole): Promise<void>
  /** Replaces the messages of an object or a class and leaves everything else. */
  setMessages(kind: GoogleKind, id: string, messages: GoogleStoredMessage[], role?: GoogleRole): Promise<void>
  /** The object with its state in capitals, or the class; `missing` where there is none. */
  getObject(kind: GoogleKind, id: string, role?: GoogleRole): Promise<GoogleResource>
}

/** Read anew for each request: emulators move when another process takes over. */
export interface GoogleEndpoints {
  /** Base of the REST interface, version included, without a slash at the end. */
  api: string
  /** Where access tokens are had. */
  token: string
}

const googleEndpoints: GoogleEndpoints = {
  api: 'https://walletobjects.googleapis.com/walletobjects/v1',
  token: 'https://oauth2.googleapis.com/token',
}

/** Who calls Google, where, and how often. */
export interface GoogleApiOptions extends HttpOptions {
  identity: GoogleSigner
  endpoints?: GoogleEndpoints
  /** That of `REQUESTS_PER_SECOND` by default. */
  requestsPerSecond?: number
}

/** The Google Wallet API with paced requests, retries and a breaker: see GoogleApi. */
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
      // A token may be revoked before its time: a fresh one tells.
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
    return text
  }

  function calls(urgency: Urgency): GoogleCalls {
    /** When Google wants fewer writes, all of them wait; a quota on messages is a matter of one object only. */
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
      const message = 'Google answered with something other than an object.'
      throw new GoogleApiError({ kind: 'unavailable', message })
    }

    const insertClass = (kind: GoogleKind, resource: GoogleResource) => write('POST', `/${kind}Class`, resource)
    const patchObject = (kind: GoogleKind, object: GoogleResource, retired: Overrides[]) =>
      write('PATCH', `/${kind}Object/${encodeURIComponent(object.id)}`, withCleared(kind, object, retired))
    const expireObject = (kind: GoogleKind, object: GoogleResource, retired: Overrides[] = []) => {
      const expiry = { id: object.id, state: 'EXPIRED' }
      const path = `/${kind}Object/${encodeURIComponent(object.id)}`
      const shown = heal(patchObject(kind, { ...object, ...expiry }, retired), 'invalid', () =>
        write('PATCH', path, expiry),
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
    /** Of an id that is taken: Google has each once among all kinds. Where it is of this kind its class is missing. */
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
          const own = Array.isArray(resource.messages) ? resource.messages : []
          const whole = kept.length > 0 ? { ...resource, messages: [...own, ...kept].slice(-MAX_MESSAGES) } : resource
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
        // A class that changes asks to be approved again.
        write('PATCH', pathOf(kind, id, role), {
          messages,
          ...(role === 'Class' && kind !== 'generic' && { reviewStatus: 'UNDER_REVIEW' }),
        }),

      getObject: (kind, id, role = 'Object') => getResource(kind, id, role),
    }
  }

  return { ...calls('urgent'), bulk: calls('bulk') }
}

/** Messages that Google keeps on an object or a class. */
export const MAX_MESSAGES = 10

/** Those that broadcasts sent to a class; as plain text, since they have notified already and cannot once more. */
function messagesOfBroadcasts({ messages }: GoogleResource): GoogleStoredMessage[] {
  const all: GoogleStoredMessage[] = Array.isArray(messages) ? messages : []
  return all.filter(({ id }) => Uuid.safeParse(id).success).map((known) => ({ ...known, messageType: 'TEXT' }))
}

function pathOf(kind: GoogleKind, id: string, role: GoogleRole): string {
  return `/${kind}${role}/${encodeURIComponent(id)}`
}

/** Older objects name their states in lower case. */
const Resource = z.looseObject({ id: z.string(), state: z.string().toUpperCase().optional() })

/** Google itself has asked for it; a request that was refused for waiting too long has no status. */
function asksForPause({ kind, status }: GoogleApiError): boolean {
  return status === 503 || (status !== null && kind === 'quota')
}

const isMissing = (error: unknown) => error instanceof GoogleApiError && error.kind === 'missing'

function otherKind(kind: GoogleKind, id: string): GoogleApiError {
  const message =
    `Google has ${id} as an object of another kind than ${kind}, and objects keep their kind. Publish a version of the template ` +
    'with the google.kind that the object has, and upgrade its passes.'
  return new GoogleApiError({ kind: 'invalid', message })
}

function heal(attempt: Promise<void>, kind: GoogleErrorKind, otherwise: () => Promise<void>): Promise<void> {
  return attempt.catch((error: unknown) => {
    if (error instanceof GoogleApiError && error.kind === kind) return otherwise()
    throw error
  })
}

/** Keeps of each issuer whether Google takes places of its passes: only from those on a list that Google keeps. */
export interface LocationRejections {
  isRefused(issuerId: string): Promise<boolean>
  insert(issuerId: string, message: string): Promise<void>
}

/**
 * The same calls, of which none fails because the issuer may not say where passes can be used: Google is asked once, and
 * from then on classes and objects of the issuer go out without `merchantLocations`.
 */
export function withAllowedLocations(api: GoogleApi, rejections: LocationRejections): GoogleApi {
  async function send(resource: GoogleResource, attempt: (sent: GoogleResource) => Promise<void>): Promise<void> {
    if (resource.merchantLocations === undefined) return attempt(resource)
    const { merchantLocations: _, ...rest } = resource
    const [issuerId = ''] = resource.id.split('.')
    if (await rejections.isRefused(issuerId)) return attempt(rest)
    try {
      await attempt(resource)
    } catch (error) {
      if (!refusesLocations(error)) throw error
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

/** Google has no code for it: "Issuer not allowlisted for Merchant Locations. Please contact support." is all it says. */
export function refusesLocations(error: unknown): error is GoogleApiError {
  return isRefused(error) && /merchant ?locations/i.test(error.message) && /allow-?list/i.test(error.message)
}
