import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'

export const scopes = [
  'passes:read',
  'passes:write',
  'pass-notifications:read',
  'pass-notifications:write',
  'scans:read',
  'scans:write',
  'templates:read',
  'templates:write',
  'webhooks:read',
  'webhooks:write',
] as const
export type Scope = (typeof scopes)[number]

/**
 * Whether a scope is for webhooks. A token or role that is limited to projects cannot have such a scope, because
 * webhooks receive the events of the whole workspace.
 */
export const isWebhooksScope = (scope: Scope) => scope.startsWith('webhooks:')

/** The roles of tokens. Only an owner can manage webhooks, import passes, and invite doors. */
export const roles = ['owner', 'member'] as const
export type Role = (typeof roles)[number]

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface RawBody {
  contentTypes: readonly string[]
  maxBytes: number
}

const MAX_BODY_BYTES = 1024 * 1024

/** The body limit of endpoints that accept many passes. It is enough for 100 passes with 64 KiB of variables each. */
export const LARGE_BODY_BYTES = 8 * 1024 * 1024

/** The declaration of an endpoint, from which the server, the client, /openapi.json, and the tests derive. */
export interface Route {
  method: Method
  /** The path, with parameters in braces: /v1/passes/{id}. */
  path: `/${string}`
  /** The required scope, or `null` if any valid token is accepted. */
  scope: Scope | null
  /** The role that the token must have in addition to the scope. If omitted, any role is accepted. */
  role?: 'owner'
  /** Whether a door can call the endpoint, even if `role` is set. The handler must limit what the door can access. */
  forDoors?: true
  /** Whether a person with the role door-lead can call the endpoint, even if `role` is set. */
  forDoorLeads?: true
  /** Whether the endpoint ignores tokens. The rate limit then applies per client address. */
  isPublic?: true
  /** Whether repeating the request has no further effect. Reads and deletes are always idempotent. */
  idempotent?: true
  summary: string
  description?: string
  params?: z.ZodObject
  query?: z.ZodObject
  /** The headers that the endpoint reads in addition to the common headers. Names are in lower case. */
  headers?: z.ZodObject
  body?: z.ZodType
  /** The limit of the body, in bytes; 1 MiB by default. */
  maxBodyBytes?: number
  rawBody?: RawBody
  /** Whether to schedule the endpoint like a list. Set if the endpoint reads many rows. */
  readsMuch?: true
  /** Whether the endpoint renders a definition. A workspace can run only a few such requests at the same time. */
  rendersDefinition?: true
  /** Whether to compress responses with gzip if the client accepts it. Set if responses are large. */
  compressed?: true
  /** The content types of files that the endpoint can return instead of JSON. */
  files?: readonly string[]
  /** Whether a success response is a stream of server-sent events. The response schema describes one event. */
  eventStream?: true
  /** The schema of the response body by success status, or `null` for a response without content. */
  responses: { readonly [status: number]: z.ZodType | null }
  /** Whether error bodies have no `errorCode`. Set for the endpoint that records scans. */
  errorsWithoutCode?: true
  /** The error codes that the endpoint can return in addition to the common error codes. */
  errors?: readonly ErrorCode[]
}

export function maxBodyBytesOf({ rawBody, maxBodyBytes = MAX_BODY_BYTES }: Route): number {
  return rawBody?.maxBytes ?? maxBodyBytes
}

type OutputOf<T> = T extends z.ZodType ? z.output<T> : undefined
type InputOf<T> = T extends z.ZodType ? z.input<T> : undefined

/** The parsed and validated input of a handler. */
export interface RouteInput<R extends Route> {
  params: OutputOf<R['params']>
  query: OutputOf<R['query']>
  headers: OutputOf<R['headers']>
  body: R extends { rawBody: RawBody } ? Uint8Array : OutputOf<R['body']>
}

/** The events that an event stream sends together. Empty for a heartbeat. */
export type StreamedEvents = readonly {
  id: string
  /** The data of the event: JSON on one line. If undefined, only the ID is sent, for the client to resume from. */
  data?: string
}[]

/** Starts an event stream that runs until the signal is aborted. */
export type OpenStream = (ended: AbortSignal) => AsyncIterable<StreamedEvents>

export type RouteReply<R extends Route> = {
  [S in keyof R['responses'] & number]: {
    status: S
    body: R extends { eventStream: true }
      ? OpenStream
      : OutputOf<R['responses'][S]> | (R extends { files: readonly string[] } ? Uint8Array : never)
    headers?: Record<string, string>
  }
}[keyof R['responses'] & number]

/** The input of a call from a client, before defaults are applied. */
export type RouteCall<R extends Route> = (R extends { params: z.ZodType }
  ? { params: InputOf<R['params']> }
  : unknown) &
  (R extends { query: z.ZodType } ? { query?: InputOf<R['query']> } : unknown) &
  (R extends { headers: z.ZodType } ? { headers?: InputOf<R['headers']> } : unknown) &
  (R extends { rawBody: RawBody }
    ? { body: Uint8Array; contentType: string }
    : R extends { body: z.ZodType }
      ? undefined extends InputOf<R['body']>
        ? { body?: InputOf<R['body']> }
        : { body: InputOf<R['body']> }
      : unknown)

/** The result of a call from a client: the body of a success response or, for an event stream, an event. */
export type RouteResult<R extends Route> = R extends { eventStream: true }
  ? OutputOf<R['responses'][200]>
  : RouteReply<R>['body']
