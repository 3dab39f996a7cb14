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
 * Whether a scope is for webhooks. Webhooks receive the events of the whole workspace, so a token or role that is
 * limited to projects cannot have such a scope.
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

/** The limit for bodies with many rows: 100 passes with 64 KiB of variables each. */
export const LARGE_BODY_BYTES = 8 * 1024 * 1024

/** An endpoint, declared once for the server, the client, /openapi.json, and the tests. */
export interface Route {
  method: Method
  /** The path, with parameters in braces: /v1/passes/{id}. */
  path: `/${string}`
  /** The required scope, or `null` if any valid token is accepted. */
  scope: Scope | null
  /** The role that the token needs in addition to the scope. If omitted, the scope is sufficient. */
  role?: 'owner'
  /**
   * Whether the token of a door can call the endpoint, even if `role` is set. The handler limits what a door can read
   * and change.
   */
  forDoors?: true
  /** Whether a person with the role door-lead can call the endpoint, even if `role` is set. */
  forDoorLeads?: true
  /** Whether no token is required or read. Requests are limited by client address. */
  isPublic?: true
  /** Whether repeating the request has no further effect. Reads and deletes are always idempotent. */
  idempotent?: true
  summary: string
  description?: string
  params?: z.ZodObject
  query?: z.ZodObject
  /** Headers that the endpoint reads in addition to the common ones, in lower case. */
  headers?: z.ZodObject
  body?: z.ZodType
  /** The limit of the body, in bytes; 1 MiB by default. */
  maxBodyBytes?: number
  rawBody?: RawBody
  /** Whether to schedule the endpoint like a list, because it reads many rows. */
  readsMuch?: true
  /**
   * Whether the endpoint reads and renders a definition. A workspace runs few such requests concurrently, and further
   * ones wait.
   */
  rendersDefinition?: true
  /** Whether responses are large, and therefore compressed with gzip if the client accepts it. */
  compressed?: true
  /** The types of files that the endpoint can return instead of JSON. */
  files?: readonly string[]
  /** Whether a success is a stream of server-sent events. The response schema describes each event. */
  eventStream?: true
  /** The schema of each success response by status, or `null` without content. */
  responses: { readonly [status: number]: z.ZodType | null }
  /** Whether error bodies lack `errorCode`, as for the endpoint that records scans. */
  errorsWithoutCode?: true
  /** The codes that the endpoint can return in addition to the common codes. */
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

/** The events that a stream sends together. Empty for a keep-alive. */
export type StreamedEvents = readonly {
  id: string
  /** The data: JSON on one line, or `undefined` to send only the ID, from which the client can resume. */
  data?: string
}[]

/** Starts a stream that runs until the signal is aborted. */
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

/** The input of a caller, before defaults are applied. */
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

/** The result of a call: the body of any success status. For a stream, each event. */
export type RouteResult<R extends Route> = R extends { eventStream: true }
  ? OutputOf<R['responses'][200]>
  : RouteReply<R>['body']
