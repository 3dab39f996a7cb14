import { H3, type H3Event, onDispose } from 'h3'
import { contract } from '../../core/contract/contract.ts'
import { ApiError, SetupError, validationError } from '../../core/errors.ts'
import { groupBy } from '../../core/group-by.ts'
import type { Route } from '../../core/route.ts'
import { PUBLIC } from '../../storage/store.ts'
import { handlers } from '../api/handlers.ts'
import type { Services } from '../context.ts'
import { addressKey, clientAddress } from '../http/client-address.ts'
import { completeHeaders } from '../http/complete-response.ts'
import type { Cursors } from '../http/cursors.ts'
import { createAuthenticate } from '../http/middleware/authenticate.ts'
import { callerOf, correlationIdOf, createObserve, routeOf } from '../http/middleware/observe.ts'
import { PUBLIC_ANSWER_MS } from '../http/middleware/public-gate.ts'
import { type AddressLimit, type Limit, type Limits, refuseSlowly } from '../http/middleware/rate-limit.ts'
import { mountContract } from '../http/mount.ts'
import type { Readiness } from '../http/readiness.ts'
import { createSecurityLog, type SecurityLog, securityEventOf } from '../http/security-log.ts'
import { APPLE_PREFIX, mountAppleService } from '../inbound/apple-service.ts'
import { mountGoogleCallbacks } from '../inbound/google-callbacks.ts'
import { calendarPath } from '../pages/link/link-page.ts'
import { openCalendar, openLink } from '../pages/link/links.ts'
import { mountPublic } from '../pages/public.ts'
import { respondWithError, toApiError } from './error-response.ts'
import type { Providers } from './providers.ts'

/** What the app is put together from. */
export interface AppOptions {
  services: Services
  /** What the emulators and callbacks need; none of it in tests of the interface alone. */
  providers?: Pick<Providers, 'callbacks' | 'sandbox'>
  readiness: Readiness
  cursors: Cursors
  limits: Limits
  trustedProxies: number
  /** Paths that phones of passes from other providers ask under, beside our own; each of `applePrefixesOf`. */
  applePrefixes?: readonly string[]
  /** One of its own by default. */
  security?: SecurityLog
}

const linkPath = '/l/:token'

/** Tells virtual phones where the emulators are. */
const sandboxPath = '/sandbox'

/** The whole HTTP side of the server. */
export function createApp(options: AppOptions): H3 {
  const { services, providers, readiness, cursors, limits, trustedProxies, applePrefixes = [] } = options
  const { security = createSecurityLog(services.log) } = options
  const addressOf = (event: H3Event) => clientAddress(event, trustedProxies)
  const observe = createObserve(services, addressOf)
  const publicServices = { ...services, store: services.store.forRequests(PUBLIC) }
  const app = new H3({
    silent: true,
    onRequest: (event) => {
      observe.onRequest(event)
      requireOneHost(event)
    },
    onError: (error, event) => {
      const problem = toApiError(error)
      noteRejection(security, problem, event, addressOf(event))
      return respondWithError(problem, event, services)
    },
    onResponse: (response, event) => {
      completeHeaders(response, event)
      observe.onResponse(response, event)
    },
  })
  const { rateLimited } = services.metrics
  const limitBy = (name: AddressLimit) => {
    const limit = counted(limits.byAddress[name], () => rateLimited.inc({ limit: 'address' }))
    return (event: H3Event, cost?: number) => limit(addressKey(addressOf(event)), cost)
  }
  const limitAddress = limitBy('address')
  const limitFiles = limitBy('files')
  const limitWallets = limitBy('wallets')

  app.use(
    limitPublic(
      { health: limitBy('health'), wallets: limitWallets, files: limitFiles },
      [APPLE_PREFIX, '/google', ...applePrefixes],
      (event) => limits.publicGate.enter(addressKey(addressOf(event))),
    ),
  )
  mountContract(app, {
    services,
    handlers,
    cursors,
    authenticate: createAuthenticate(services.store, services.log),
    limitToken: refuseSlowly(counted(limits.token, () => rateLimited.inc({ limit: 'token' }))),
    limitAddress,
  })
  app.get(linkPath, async (event) => {
    limitAddress(event)
    return openLink(event, publicServices)
  })
  app.get(linkPath + calendarPath, async (event) => {
    limitAddress(event)
    return openCalendar(event, publicServices)
  })
  mountPublic(app, { services: publicServices, readiness, limitFiles })
  requireFree(app, applePrefixes)
  // Phones come in bursts: beyond the limit of all wallets, only what is refused counts against an address.
  const phoneLimits = {
    refused: limitAddress,
    removals: counted(limits.removals, () => rateLimited.inc({ limit: 'removal' })),
    lists: limitWallets,
  }
  mountAppleService(app, publicServices, phoneLimits, [APPLE_PREFIX, ...applePrefixes])
  if (providers?.callbacks) mountGoogleCallbacks(app, publicServices, providers.callbacks, limitAddress)
  if (providers?.sandbox) app.get(sandboxPath, () => Response.json(providers.sandbox))
  answerHead(app)
  refuseOtherMethods(app)
  // The router would take /v1/passes/ for /v1/passes: a path whose last part is empty names nothing.
  app.use((event) => {
    if (event.url.pathname.length > 1 && event.url.pathname.endsWith('/')) throw noRoute()
  })
  app.all('/**', (event) => {
    limitAddress(event)
    throw noRoute()
  })
  return app
}

/**
 * Two hosts mean two things to two servers on the way: Node keeps the first and drops the others (RFC 9112, 3.2). That
 * HTTP/1.1 names one at all is seen to by Node.
 */
function requireOneHost(event: H3Event): void {
  const sent = event.runtime?.node?.req.rawHeaders ?? []
  if (sent.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length > 1) {
    throw validationError([{ path: ['host'], message: 'Must be sent once' }])
  }
}

/**
 * What stands before everything that needs no token, as most that is not of the contract: a limit for each address, and so
 * much at once that it takes nothing from who has one. A new route is limited because it is there.
 */
function limitPublic(
  limits: Record<'health' | 'wallets' | 'files', (event: H3Event) => void>,
  walletPaths: readonly string[],
  enter: (event: H3Event) => Promise<() => void>,
): (event: H3Event, next: () => unknown) => unknown {
  return (event, next) => (needsToken(event.url.pathname) ? next() : enterPublic(event, next))

  async function enterPublic(event: H3Event, next: () => unknown): Promise<unknown> {
    const { pathname } = event.url
    // A balancer that gets no answer takes the server for dead.
    if (pathname === '/healthz' || pathname === '/readyz') {
      limits.health(event)
      return next()
    }
    if (walletPaths.some((path) => pathname.startsWith(`${path}/`))) limits.wallets(event)
    else limits.files(event)
    const leave = await enter(event)
    const deadline = setTimeout(() => event.runtime?.node?.res?.destroy(), PUBLIC_ANSWER_MS).unref()
    onDispose(event, () => {
      clearTimeout(deadline)
      leave()
    })
    return next()
  }
}

const publicPaths = new Set<string>(
  Object.values(contract).flatMap((operations) =>
    Object.values(operations as Record<string, Route>).flatMap(({ isPublic, path }) => (isPublic ? path : [])),
  ),
)

function needsToken(pathname: string): boolean {
  return pathname.startsWith('/v1/') && !publicPaths.has(pathname)
}

/** Tells the operator of who was turned away, and from where. */
function noteRejection(security: SecurityLog, problem: ApiError, event: H3Event, address: string): void {
  const what = securityEventOf(problem)
  if (!what) return
  const { security: _, ...facts } = problem.forLog
  const { scope, role, reason, limit } = problem.details
  security.note(what, {
    address,
    code: problem.code,
    correlationId: correlationIdOf(event),
    method: event.req.method,
    route: routeOf(event),
    scope,
    role,
    reason,
    limit,
    ...facts,
    ...callerOf(event),
  })
}

/** Tells of each rejection. */
function counted(limit: Limit, onRejection: () => void): Limit {
  return (key, cost, party) => {
    try {
      limit(key, cost, party)
    } catch (error) {
      onRejection()
      throw error
    }
  }
}

function noRoute(): ApiError {
  return new ApiError('NOT_FOUND', { message: 'There is no such route; see /openapi.json.' })
}

/** A path is `/old` or `/old/passes`: parts that need no encoding. */
const PREFIX = /^(?:\/[\w~-][\w.~-]*){1,8}$/

/** What is ours, whether or not this process serves it. */
const RESERVED = ['apple', 'google', sandboxPath.slice(1)]

/** @throws SetupError for a prefix under which something else is served, or that is no path */
function requireFree(app: H3, prefixes: readonly string[]): void {
  const taken = new Set([...RESERVED, ...app['~routes'].map(({ route }) => route?.split('/')[1])])
  for (const prefix of prefixes) {
    const where = `--apple-prefix ${prefix}`
    if (prefix.length > 200 || !PREFIX.test(prefix)) {
      throw new SetupError(
        `${where} is not a path such as /old or /wallet/passes: what the old webServiceURL has behind its host. Where that is ` +
          `nothing, let the proxy in front pass /v1 of the old host on to ${APPLE_PREFIX}/v1`,
      )
    }
    const [, first] = prefix.split('/')
    if (!taken.has(first)) continue
    throw new SetupError(
      `${where}: this server has routes of its own under /${first}. Let the proxy in front pass that path of the old host on to ` +
        `${APPLE_PREFIX} instead`,
    )
  }
}

/** HEAD is answered wherever GET is (RFC 9110, 9.1): balancers and mail readers ask so. Node leaves the body out. */
function answerHead(app: H3): void {
  const reading = app['~routes'].filter(({ method }) => method === 'GET')
  for (const { route, handler } of reading) app.head(route!, handler)
}

/** A path that exists, asked with a method that it does not take (a bare 404 in h3). */
function refuseOtherMethods(app: H3): void {
  for (const [path, routes] of groupBy(app['~routes'], ({ route }) => route!)) {
    const allow = routes.map(({ method }) => method).join(', ')
    app.all(path, () => {
      throw new ApiError('NOT_FOUND', { status: 405, message: `This route takes ${allow} only.`, headers: { allow } })
    })
  }
}
