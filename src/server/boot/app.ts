import { H3, type H3Event, onDispose } from 'h3'
import { contract } from '../../core/contract/contract.ts'
import { platforms } from '../../core/contract/schemas/platform.ts'
import { ApiError, SetupError, validationError } from '../../core/errors.ts'
import { groupBy } from '../../core/group-by.ts'
import type { Route } from '../../core/route.ts'
import { PUBLIC } from '../../storage/store.ts'
import { createJoinLimits, type JoinLimits } from '../admission/join-limits.ts'
import { type AddressLimit, type Limits, rejectSlowly } from '../admission/rate-limit.ts'
import { handlers } from '../api/handlers.ts'
import type { Services } from '../context.ts'
import { addressKey, clientAddress } from '../http/client-address.ts'
import { createCors } from '../http/cors.ts'
import type { Cursors } from '../http/cursors.ts'
import { createAuthenticate } from '../http/middleware/authenticate.ts'
import { callerOf, correlationIdOf, createObserve, routeOf } from '../http/middleware/observe.ts'
import { withSessions } from '../http/middleware/sessions.ts'
import { mountContract } from '../http/mount.ts'
import type { Readiness } from '../http/readiness.ts'
import { completeHeaders } from '../http/responses.ts'
import { createSecurityLog, type SecurityLog, securityEventOf } from '../http/security-log.ts'
import { APPLE_PREFIX } from '../inbound/apple-service.ts'
import { showJoin, submitJoin } from '../join/join-routes.ts'
import { calendarPath } from '../pages/link/link-page.ts'
import { openCalendar, openLink } from '../pages/link/link-routes.ts'
import { mountPublic } from '../pages/public.ts'
import type { People } from '../people/sign-in-routes.ts'
import { deliveries } from '../platforms/deliveries.ts'
import { respondWithError, toApiError } from './error-response.ts'
import type { Providers } from './providers.ts'

export interface AppOptions {
  services: Services
  /** The emulators. Tests that need only the API omit them. */
  providers?: Pick<Providers, 'sandbox'>
  readiness: Readiness
  cursors: Cursors
  limits: Limits
  /** The limits on join-page submissions. Default: `createJoinLimits()`. */
  joinLimits?: JoinLimits
  trustedProxies: number
  /** Additional paths of the PassKit web service, for imported passes. They have no trailing slash. */
  applePrefixes?: readonly string[]
  /** The origins whose pages can call the API; none by default. */
  corsOrigins?: readonly string[] | undefined
  /** The sign-in of people. If omitted, people cannot sign in, and cookies are ignored. */
  people?: People | undefined
  security?: SecurityLog
}

const linkPath = '/l/:token'
const joinPath = '/join/:slug'

/** The path at which virtual phones look up the addresses of the emulators. */
const sandboxPath = '/sandbox'

export function createApp(options: AppOptions): H3 {
  const { services, providers, readiness, cursors, limits, trustedProxies, applePrefixes = [], people } = options
  const { security = createSecurityLog(services.log), joinLimits = createJoinLimits() } = options
  const addressOf = (event: H3Event) => clientAddress(event, trustedProxies)
  const observe = createObserve(services, addressOf)
  const cors = createCors(options.corsOrigins)
  const publicServices = { ...services, store: services.store.forRequests(PUBLIC) }
  const app = new H3({
    silent: true,
    onRequest: (event) => {
      observe.onRequest(event)
      cors.onRequest(event)
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
  const limitBy = (name: AddressLimit) => (event: H3Event, cost?: number) =>
    limits.byAddress[name](addressKey(addressOf(event)), cost)
  const limitSlowlyBy = (name: AddressLimit) => {
    const limit = rejectSlowly(limits.byAddress[name])
    return (event: H3Event) => limit(addressKey(addressOf(event)))
  }
  const limitAddress = limitBy('address')
  const limitFiles = limitBy('files')
  const limitWallets = limitBy('wallets')
  const rejectPath = (event: H3Event) => {
    limitAddress(event)
    throw new ApiError('NOT_FOUND', { message: 'Route not found; see /openapi.json.' })
  }

  app.use((event) => {
    const response = cors.respondToPreflight(event)
    // A preflight counts toward the limit of files, because it has no token and costs as little as a file.
    if (response) limitFiles(event)
    return response
  })
  app.use(
    limitPublic(
      { health: limitBy('health'), wallets: limitSlowlyBy('wallets'), files: limitSlowlyBy('files') },
      [...platforms.map((platform) => `/${platform}`), ...applePrefixes],
      (event) => limits.publicGate.enter(addressKey(addressOf(event))),
    ),
  )
  const byToken = createAuthenticate(services.store, services.log)
  const authenticate = people ? withSessions(byToken, { ...services, issuer: people.issuer }) : byToken
  people?.mount(app, { authenticate, limitAddress })
  mountContract(app, {
    services,
    handlers,
    pageRoutes: people?.pageRoutes,
    cursors,
    authenticate,
    limitToken: rejectSlowly(limits.token),
    limitAddress,
  })
  app.get(linkPath, async (event) => {
    limitAddress(event)
    return openLink(event, { ...publicServices, limitAddress })
  })
  app.get(linkPath + calendarPath, async (event) => {
    limitAddress(event)
    return openCalendar(event, publicServices)
  })
  const joinServices = { ...publicServices, joinLimits, addressOf }
  app.get(joinPath, (event) => showJoin(event, joinServices))
  app.post(joinPath, (event) => submitJoin(event, joinServices))
  mountPublic(app, { services: publicServices, readiness, limitFiles, hasSignIn: people !== undefined })
  requireFree(app, applePrefixes)
  // All requests of phones count against the limit `wallets`. Only rejected requests also count against the limit
  // `address`, which is too low for the bursts of phones.
  const phoneLimits = { rejected: limitAddress, removals: limits.removals, lists: limitWallets }
  for (const platform of platforms) deliveries[platform].mount?.(app, publicServices, phoneLimits, applePrefixes)
  if (providers?.sandbox) app.get(sandboxPath, () => Response.json(providers.sandbox))
  answerHead(app)
  rejectOtherMethods(app, limitAddress)
  // Reject paths that end with a slash. Otherwise, the router would treat /v1/passes/ as /v1/passes.
  app.use((event) => {
    if (event.url.pathname.length > 1 && event.url.pathname.endsWith('/')) rejectPath(event)
  })
  app.all('/**', rejectPath)
  return app
}

/**
 * Rejects a request with several Host headers, because Node uses the first, and a proxy could use another (RFC 9112,
 * 3.2). Node itself rejects HTTP/1.1 requests without a Host header.
 */
function requireOneHost(event: H3Event): void {
  const sent = event.runtime?.node?.req.rawHeaders ?? []
  if (sent.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length > 1) {
    throw validationError([{ path: ['host'], message: 'Must be sent once' }])
  }
}

/**
 * Applies limits to requests to routes that need no token: a rate per address, and a maximum number in flight. Without
 * these limits, such requests could use up the capacity for clients with a token. New routes outside the contract are
 * limited by default.
 */
function limitPublic(
  limits: Record<'health' | 'wallets' | 'files', (event: H3Event) => void | Promise<void>>,
  walletPaths: readonly string[],
  enter: (event: H3Event) => Promise<() => void>,
): (event: H3Event, next: () => unknown) => unknown {
  return (event, next) => (needsToken(event.url.pathname) ? next() : enterPublic(event, next))

  async function enterPublic(event: H3Event, next: () => unknown): Promise<unknown> {
    const { pathname } = event.url
    // A health check must not wait in `enter`, because a load balancer removes a server that does not respond.
    if (pathname === '/healthz' || pathname === '/readyz') {
      await limits.health(event)
      return next()
    }
    if (walletPaths.some((path) => pathname.startsWith(`${path}/`))) await limits.wallets(event)
    else await limits.files(event)
    const leave = await enter(event)
    const deadline = setTimeout(() => event.runtime?.node?.res?.destroy(), PUBLIC_ANSWER_MS).unref()
    onDispose(event, () => {
      clearTimeout(deadline)
      leave()
    })
    return next()
  }
}

/** The time after which a response is cut off. It is enough to receive the largest image at 350 kbit/s. */
const PUBLIC_ANSWER_MS = 120_000

const publicPaths = new Set<string>(
  Object.values(contract).flatMap((operations) =>
    Object.values(operations as Record<string, Route>).flatMap(({ isPublic, path }) => (isPublic ? path : [])),
  ),
)

function needsToken(pathname: string): boolean {
  return pathname.startsWith('/v1/') && !publicPaths.has(pathname)
}

/** If a rejection can be part of an attack, writes it to the security log with the address of the client. */
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

/** A path such as `/old` or `/old/passes`, in which no character needs URL encoding. */
const PREFIX = /^(?:\/[\w~-][\w.~-]*){1,8}$/

/** The first parts of paths that this service uses, even if this process does not serve these paths. */
const RESERVED = [...platforms, sandboxPath.slice(1)]

/** @throws SetupError if a prefix is not a valid path, or other routes use its first part */
function requireFree(app: H3, prefixes: readonly string[]): void {
  const taken = new Set([...RESERVED, ...app['~routes'].map(({ route }) => route?.split('/')[1])])
  for (const prefix of prefixes) {
    const where = `--apple-prefix ${prefix}`
    if (prefix.length > 200 || !PREFIX.test(prefix)) {
      throw new SetupError(
        `${where} is not a path such as /old or /wallet/passes: use the path of the old webServiceURL. If that ` +
          `URL has no path, let the proxy in front forward /v1 of the old host to ${APPLE_PREFIX}/v1`,
      )
    }
    const [, first] = prefix.split('/')
    if (!taken.has(first)) continue
    throw new SetupError(
      `${where}: this server has other routes under /${first}. Let the proxy in front forward that path of the old host to ` +
        `${APPLE_PREFIX} instead`,
    )
  }
}

/** Adds HEAD to all GET routes. Load balancers and mail readers send HEAD (RFC 9110, 9.1). Node omits the body. */
function answerHead(app: H3): void {
  const reading = app['~routes'].filter(({ method }) => method === 'GET')
  for (const { route, handler } of reading) app.head(route!, handler)
}

/** Rejects unsupported methods of an existing path with 405. By default, h3 responds with 404. */
function rejectOtherMethods(app: H3, limitAddress: (event: H3Event) => void): void {
  for (const [path, routes] of groupBy(app['~routes'], ({ route }) => route!)) {
    const allow = routes.map(({ method }) => method).join(', ')
    app.all(path, (event) => {
      limitAddress(event)
      throw new ApiError('NOT_FOUND', {
        status: 405,
        message: `This route supports only ${allow}.`,
        headers: { allow },
      })
    })
  }
}
