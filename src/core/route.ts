import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'

/** Scopes of an access token: what it may do. */
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
/** A right that a token may have. */
export type Scope = (typeof scopes)[number]

/** Whose a token may be: only an owner's may manage webhooks, import passes and invite doors. */
export const roles = ['owner', 'member'] as const
/** Whose a token is. */
export type Role = (typeof roles)[number]

/** The HTTP methods of the contract. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A body that is a file rather than JSON. */
export interface RawBody {
  contentTypes: readonly string[]
  maxBytes: number
}

/** What a JSON body may hold, in bytes, where its route says nothing else. */
const MAX_BODY_BYTES = 1024 * 1024

/** For bodies of many rows: a hundred passes with 64 KiB of variables each. */
export const LARGE_BODY_BYTES = 8 * 1024 * 1024

/** One endpoint, stated once: the server mounts it, the client calls it, /openapi.json prints it, the tests fuzz it. */
export interface Route {
  method: Method
  /** Parameters stand in braces: /v1/passes/{id}. */
  path: `/${string}`
  /** What the token must hold; null where any valid token will do. */
  scope: Scope | null
  /** Set where the scope alone is not enough. */
  role?: 'owner'
  /** Whether the token of a door can call it, also in spite of `role`. The handler limits what a door sees and changes. */
  forDoors?: true
  /** True where no token is needed, nor looked at: limited by client address. */
  isPublic?: true
  /** True where sending the same request again has no further effect; reads and deletes always are. */
  idempotent?: true
  summary: string
  description?: string
  params?: z.ZodObject
  query?: z.ZodObject
  /** Headers that the endpoint reads beside those of every request, in lower case. */
  headers?: z.ZodObject
  /** A JSON body. */
  body?: z.ZodType
  /** What it may hold, in bytes; 1 MiB by default. */
  maxBodyBytes?: number
  rawBody?: RawBody
  /** True where an answer is read from very many rows, although the route is no list: it takes its turn as lists do. */
  readsMuch?: true
  /** Whether a definition is read and rendered: a workspace has few such requests at work at a time, and the others wait. */
  rendersDefinition?: true
  /** True where answers are large: they go out as gzip to whoever takes it. */
  compressed?: true
  /** Types of files that the endpoint may answer instead of JSON. */
  files?: readonly string[]
  /** True where a success is a stream of server-sent events, which goes on until one side ends it: its shape is that of each. */
  eventStream?: true
  /** The shape of each success answer by status; null where there is no content. */
  responses: { readonly [status: number]: z.ZodType | null }
  /** True where the body of an error has no errorCode: the recording of scans. */
  errorsWithoutCode?: true
  /** Codes beyond those that every endpoint of its kind may answer. */
  errors?: readonly ErrorCode[]
}

/** Declares an endpoint, and keeps its exact type for handlers and client. */
export function route<const R extends Route>(definition: R): R {
  return definition
}

/** What a request of the route may send as its body, in bytes. */
export function maxBodyBytesOf({ rawBody, maxBodyBytes = MAX_BODY_BYTES }: Route): number {
  return rawBody?.maxBytes ?? maxBodyBytes
}

type OutputOf<T> = T extends z.ZodType ? z.output<T> : undefined
type InputOf<T> = T extends z.ZodType ? z.input<T> : undefined

/** What a handler is given: parsed, bounded and typed. */
export interface RouteInput<R extends Route> {
  params: OutputOf<R['params']>
  query: OutputOf<R['query']>
  headers: OutputOf<R['headers']>
  body: R extends { rawBody: RawBody } ? Uint8Array : OutputOf<R['body']>
}

/** What is sent to a client that follows a stream: the events of one moment; none where only time has passed. */
export type StreamedEvents = readonly {
  id: string
  /** JSON on one line; undefined where the id alone is told, to go on after. */
  data?: string
}[]

/** Begins to stream, until the signal ends it. */
export type OpenStream = (ended: AbortSignal) => AsyncIterable<StreamedEvents>

/** What a handler answers: one of the statuses of its route with the body that belongs to it. */
export type RouteReply<R extends Route> = {
  [S in keyof R['responses'] & number]: {
    status: S
    body: R extends { eventStream: true }
      ? OpenStream
      : OutputOf<R['responses'][S]> | (R extends { files: readonly string[] } ? Uint8Array : never)
    headers?: Record<string, string>
  }
}[keyof R['responses'] & number]

/** What a caller gives, before defaults are filled in. */
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

/** What a caller gets: the body of whichever success status came; of a stream, each event. */
export type RouteResult<R extends Route> = R extends { eventStream: true }
  ? OutputOf<R['responses'][200]>
  : RouteReply<R>['body']
