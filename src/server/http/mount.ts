import { type H3, type H3Event, HTTPResponse } from 'h3'
import type { z } from 'zod'
import { contract } from '../../core/contract/contract.ts'
import { ApiError, type Issue, parseAs, validationError } from '../../core/errors.ts'
import { maxBodyBytesOf, type OpenStream, type Route, type RouteInput, type RouteReply } from '../../core/route.ts'
import { STATEMENT_LIMIT_MS } from '../../storage/db/database.ts'
import { isTooSlow } from '../../storage/db/database-errors.ts'
import { FairGate } from '../../storage/db/fair-gate.ts'
import { PUBLIC } from '../../storage/store.ts'
import { isLarge, type Leave, LIST_BYTES } from '../admission/event-loop-scheduler.ts'
import { type BodyRoom, createBodyRoom, createInFlight, type InFlight } from '../admission/in-flight.ts'
import type { PublicContext, RequestContext, Services } from '../context.ts'
import type { Cursors, RequestedList } from './cursors.ts'
import { EVENT_STREAM_HEADERS, eventStream, MAX_STREAMS } from './event-stream.ts'
import { authorize, type CallerOptions, identifyCaller } from './middleware/authenticate.ts'
import { correlationIdOf } from './middleware/observe.ts'
import { requireCsrfToken } from './middleware/sessions.ts'
import { acceptsGzip, compress, EncodedBody } from './negotiation.ts'
import { describeParameterIssue, type QueryParameters, readParameters } from './query-parameters.ts'
import {
  decodeUtf8,
  describeBodyIssue,
  parseJsonBody,
  type Reserve,
  readBody,
  requireContentType,
} from './request-body.ts'
import { CompleteResponse, Reply } from './responses.ts'

/**
 * The handler of an operation of the contract. It gets the parsed request and its context. It returns the body, or a
 * `Reply` with headers or with a status other than the route's lowest. It throws an ApiError for errors of the client.
 */
export type Handler<R extends Route> = (
  input: RouteInput<R>,
  context: R extends { isPublic: true } ? PublicContext : RequestContext,
) =>
  | Promise<Result<RouteReply<R>> | (R extends { compressed: true } ? Encoded<RouteReply<R>> : never)>
  | (R extends { responses: { 204: null } } ? Promise<void> : never)

type Result<R> = R extends { status: infer Status extends number; body: infer Body }
  ? Body | Reply<Status, Body>
  : never

/** A list page as compressed JSON. Its cursor must already be sealed. */
type Encoded<R> = R extends { body: infer Body } ? EncodedBody<Body> : never

/** One handler for each operation of a resource. A missing or mismatched handler does not compile. */
export type Handlers<Operations extends Record<string, Route>> = {
  [Operation in keyof Operations]: Handler<Operations[Operation]>
}

export type AllHandlers = { [Resource in keyof typeof contract]: Handlers<(typeof contract)[Resource]> }

/** A route that the API description omits, with its handler. */
export interface PageRoute<R extends Route = Route> {
  route: R
  handler: Handler<R>
}

export interface MountOptions extends CallerOptions {
  services: Services
  handlers: AllHandlers
  pageRoutes?: readonly PageRoute[] | undefined
  cursors: Cursors
  /**
   * Counts a request against the limit of its token. The key is the token ID. For a door, the key is the project and
   * the party is the door, because the doors of a project share a limit.
   */
  limitToken: (key: string, party?: string) => Promise<void>
}

/** The limits per workspace in this process. */
interface Bounds {
  inFlight: InFlight
  /** Open event streams, which do not count as requests in flight, because they are open for hours without work. */
  streams: InFlight
  bodyRoom: BodyRoom
  /** Requests that render definitions. Each can take megabytes of memory. */
  renders: FairGate
}

/**
 * The maximum number of concurrent renders, in total and per workspace, and the maximum waiting time of further
 * requests.
 */
const RENDERS = 4
const RENDERS_OF_WORKSPACE = 2
const RENDER_WAIT_MS = 30_000

export function mountContract(app: H3, options: MountOptions): void {
  const bounded: MountOptions & Bounds = {
    ...options,
    inFlight: createInFlight(),
    streams: createInFlight({ limit: 'eventStreams', noun: 'streams of events' }),
    bodyRoom: createBodyRoom(),
    renders: new FairGate({ places: RENDERS, share: RENDERS_OF_WORKSPACE }),
  }
  const mount = (route: Route, handler: Handler<Route>) =>
    app.on(route.method, toPattern(route.path), (event) => {
      event.context.route = route
      return (route.isPublic ? servePublic : serve)(event, route, handler, bounded)
    })
  for (const [resource, operations] of Object.entries(contract)) {
    const handlers = options.handlers[resource as keyof AllHandlers] as unknown as Record<string, Handler<Route>>
    for (const [operation, route] of Object.entries(operations) as [string, Route][]) mount(route, handlers[operation]!)
  }
  for (const { route, handler } of options.pageRoutes ?? []) mount(route, handler)
}

async function serve(
  event: H3Event,
  route: Route,
  handler: Handler<Route>,
  options: MountOptions & Bounds,
): Promise<HTTPResponse> {
  const { services, inFlight, bodyRoom, renders } = options
  const { headers } = event.req
  const now = services.clock()
  const caller = await identifyCaller(event, options, now)
  const doorId = caller.door ? caller.id : undefined
  await options.limitToken(doorId === undefined ? caller.id : caller.projectIds!.join(), doorId)
  requireCsrfToken(caller, event.req)
  const token = authorize(caller, route)
  services.doorActivity.note(token, headers, now)
  const { workspaceId } = token
  const leave = inFlight.enter(workspaceId, token.workspace.limits.requestsInFlight, doorId)
  const place = bodyRoom.enter(workspaceId, doorId)
  let leaveEventLoop: Leave | undefined
  let leaveRenders: Leave | undefined
  try {
    const bytes = await readBytes(event, route, place.reserve)
    // Do not schedule a door's request for the list of doors as a list: the response contains only the door itself, and
    // each door sends this request every few seconds.
    const isSelf = token.door !== null && route === contract.doors.list
    const cost = isScheduledAsList(route) && !isSelf ? Math.max(LIST_BYTES, bytes.length) : bytes.length
    // The handler of images enters the scheduler itself, because it must leave the scheduler before the decoder process
    // runs.
    if (!route.rawBody) leaveEventLoop = await services.eventLoop.enterRequest(workspaceId, cost)
    // Take a render slot after the wait for the scheduler. Otherwise, the slot would be unused during this wait, which
    // delays renders of other workspaces.
    if (route.rendersDefinition) {
      const party = { name: workspaceId, work: 'requests' } as const
      await renders.enter(party, RENDER_WAIT_MS)
      leaveRenders = () => renders.leave(party)
    }
    const input = parseInput(event, route, bytes)
    const correlationId = correlationIdOf(event)
    const scope = token.projectIds ?? undefined
    const store = services.store.forRequests(workspaceId, { isLarge: isLarge(bytes.length), scope })
    const list = { workspaceId, route, params: input.params, projectIds: token.projectIds }
    const sealCursor = (cursor: string) => options.cursors.seal(cursor, list)
    const context = { services, store, workspaceId, token, correlationId, now, headers, inFlight, sealCursor }
    const plain = withPlainCursor(input, list, options.cursors) as RouteInput<Route>
    const result: unknown = await handler(plain, context).catch((error: unknown) => {
      throw isTooSlow(error) ? tooSlow(input, error) : error
    })
    if (route.eventStream) return startStream(event, route, result as OpenStream, workspaceId, options)
    return await toResponse(withSealedCursor(toReply(result, route), list, options.cursors), route, event)
  } finally {
    leaveEventLoop?.()
    leaveRenders?.()
    place.leave()
    leave()
  }
}

/** Serves a route that needs no token. The request counts toward the limit of its address, not of a workspace. */
async function servePublic(
  event: H3Event,
  route: Route,
  handler: Handler<Route>,
  { services, limitAddress, bodyRoom }: MountOptions & Bounds,
): Promise<HTTPResponse> {
  limitAddress(event)
  const place = bodyRoom.enter(PUBLIC)
  try {
    const input = parseInput(event, route, await readBytes(event, route, place.reserve))
    const { headers } = event.req
    const store = services.store.forRequests(PUBLIC)
    const context: PublicContext = {
      services,
      store,
      correlationId: correlationIdOf(event),
      now: services.clock(),
      headers,
    }
    const result = await handler(input as RouteInput<Route>, context as RequestContext)
    return await toResponse(toReply(result, route), route, event)
  } finally {
    place.leave()
  }
}

/** Starts a stream. The request then ends, so that an open stream counts only toward the limit of streams. */
function startStream(
  event: H3Event,
  route: Route,
  open: OpenStream,
  workspaceId: string,
  { services, streams, authenticate }: MountOptions & Bounds,
): HTTPResponse {
  const { stopping, clock, log } = services
  if (stopping.aborted) {
    throw new ApiError('SERVICE_UNAVAILABLE', {
      message: 'The server is stopping. Retry later.',
      headers: { 'retry-after': '1' },
    })
  }
  const onEnd = streams.enter(workspaceId, MAX_STREAMS)
  if (event.req.method === 'HEAD') {
    onEnd()
    return new HTTPResponse(null, { headers: EVENT_STREAM_HEADERS })
  }
  const { headers } = event.req
  const requireAllowed = async () => authorize(await authenticate(headers, clock()), route)
  return eventStream(open, { stopping, log, onEnd, requireAllowed })
}

/**
 * Whether a route is scheduled as a list: it returns a page or a time series of counts, renders a definition, or has
 * `readsMuch`.
 */
const isScheduledAsList = ({ query, readsMuch, rendersDefinition }: Route) =>
  readsMuch === true ||
  rendersDefinition === true ||
  (query !== undefined && ('cursor' in query.shape || 'by' in query.shape))

const NO_FILTERS = new Set(['limit', 'cursor', 'offset', 'sortBy', 'sortDir', 'groupBy', 'dryRun'])

function tooSlow({ query, body }: Pick<Input, 'query' | 'body'>, cause: unknown): ApiError {
  const given = { ...(query as object), ...(body as { filter?: object } | undefined)?.filter }
  const filters = Object.keys(given).filter((name) => !NO_FILTERS.has(name))
  const narrow =
    filters.length > 0
      ? `Narrow the request: give fewer or longer values of ${filters.join(', ')}, or add another filter.`
      : 'Add filters to narrow the request.'
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: `The database needed more than ${STATEMENT_LIMIT_MS / 1000} seconds. ${narrow}`,
    details: { filters },
    headers: { 'retry-after': '10' },
    cause,
  })
}

type Input = Record<'params' | 'query' | 'headers' | 'body', unknown>

function withPlainCursor(input: Input, list: RequestedList, cursors: Cursors): Input {
  const query = input.query as { cursor?: string } | undefined
  if (query?.cursor === undefined) return input
  return { ...input, query: { ...query, cursor: cursors.unseal(query.cursor, list) } }
}

type AnyReply = Reply<number, unknown>

function toReply(result: unknown, { responses }: Route): AnyReply {
  // The default is the lowest status of the route, which is the first key: JavaScript orders numeric keys.
  return result instanceof Reply ? result : new Reply(Number(Object.keys(responses)[0]), result)
}

function withSealedCursor(reply: AnyReply, list: RequestedList, cursors: Cursors): AnyReply {
  const page = reply.body as { nextCursor?: string | null } | undefined
  if (!page?.nextCursor) return reply
  return { ...reply, body: { ...page, nextCursor: cursors.seal(page.nextCursor, list) } }
}

/** Returns the response as h3's HTTPResponse, because a Response would wrap the body in a stream. */
async function toResponse(reply: AnyReply, route: Route, event: H3Event): Promise<HTTPResponse> {
  const { status, body } = reply
  if (body === undefined) return new HTTPResponse(null, reply)
  if (body instanceof Uint8Array) {
    const headers = { 'cache-control': 'no-store', ...reply.headers }
    return new CompleteResponse(event, new Uint8Array(body), { status, headers })
  }
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', ...reply.headers }
  if (!route.compressed) return new CompleteResponse(event, JSON.stringify(body), { status, headers })
  const isCompressed = acceptsGzip(event.req.headers)
  return new CompleteResponse(event, await written(body, isCompressed), {
    status,
    headers: { ...headers, vary: 'Accept-Encoding', ...(isCompressed && { 'content-encoding': 'gzip' }) },
  })
}

async function written(body: unknown, isCompressed: boolean) {
  if (body instanceof EncodedBody) return isCompressed ? new Uint8Array(body.gzip) : body.plain()
  const json = JSON.stringify(body)
  return isCompressed ? compress(json) : json
}

/** @throws ApiError VALIDATION_ERROR with all issues of the path, query, headers, and body */
function parseInput(event: H3Event, route: Route, bytes: Buffer): Input {
  const issues: Issue[] = []
  const parse = (
    schema: z.ZodType | undefined,
    value: unknown,
    unknownKey: string,
    asSent = (issue: Issue): Issue => issue,
  ): unknown => {
    if (!schema) return undefined
    const parsed = parseAs(schema, value, unknownKey)
    if ('value' in parsed) return parsed.value
    for (const issue of parsed.issues) issues.push(asSent(issue))
  }
  const body = route.rawBody ? bytes : parseBody(event, route, bytes)
  const params = parse(route.params, event.context.params ?? {}, 'parameter')
  const given = queryOf(event, route)
  const query = parse(route.query, given, 'parameter', (issue) => describeParameterIssue(issue, given, route.query!))
  const headers = route.headers && parse(route.headers, Object.fromEntries(event.req.headers), 'header')
  const parsed = route.rawBody ? body : parse(route.body, body, 'property', describeBodyIssue)
  if (issues.length > 0) throw validationError(issues)
  return { params, query, headers, body: parsed }
}

/** @throws ApiError VALIDATION_ERROR if there are parameters, but the route has no query schema */
function queryOf(event: H3Event, route: Route): QueryParameters {
  if (event.url.search === '') return {}
  const query = readParameters(event.url)
  const [unexpected] = Object.keys(query)
  if (!route.query && unexpected !== undefined)
    throw validationError([{ path: [unexpected], message: 'Unknown parameter' }])
  return query
}

/** Reads the body. Call it before the request enters the scheduler, because clients can send slowly. */
function readBytes(event: H3Event, route: Route, reserve: Reserve): Promise<Buffer> {
  if (route.rawBody) requireContentType(event, route.rawBody.contentTypes)
  return readBody(event, maxBodyBytesOf(route), reserve)
}

function parseBody(event: H3Event, route: Route, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!route.body) {
    // Some clients send an empty JSON object with every request.
    if (/^\s*\{\s*\}\s*$/.test(decodeUtf8(bytes))) return undefined
    throw validationError([{ path: [], message: 'This endpoint accepts no body' }])
  }
  requireContentType(event, ['application/json'])
  return parseJsonBody(decodeUtf8(bytes))
}

function toPattern(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}
