import { H3, type H3Event } from 'h3'
import { Problem } from '../core/errors.ts'
import type { Route } from '../core/route.ts'
import { mountAppleService } from './apple-service/apple-service.ts'
import { addressKey, clientAddress } from './client-address.ts'
import type { Services } from './context.ts'
import type { Cursors } from './cursors.ts'
import { countRefusal } from './metrics/count.ts'
import { createAuthenticate } from './middleware/authenticate.ts'
import { correlationIdOf } from './middleware/correlation.ts'
import { createObserve } from './middleware/observe.ts'
import { logProblem, problemResponse, toProblem } from './middleware/problems.ts'
import type { Limit, Limits } from './middleware/rate-limit.ts'
import { mountContract } from './mount.ts'
import { mountGoogleCallbacks } from './pages/google-callbacks.ts'
import { pageResponse } from './pages/html.ts'
import { linkProblemPage } from './pages/link-problem-page.ts'
import { openLink } from './pages/links.ts'
import { mountPublic } from './pages/public.ts'
import type { Providers } from './providers.ts'
import type { Readiness } from './readiness.ts'
import { handlers } from './resources/handlers.ts'

export interface AppOptions {
  services: Services
  /** What the stand-ins and callbacks need; none of it in tests of the interface alone. */
  providers?: Pick<Providers, 'callbacks' | 'sandbox'>
  readiness: Readiness
  cursors: Cursors
  limits: Limits
  trustedProxies: number
}

const linkPath = '/l/:token'

/** Tells virtual phones where the stand-ins are. */
const sandboxPath = '/sandbox'

/** The whole HTTP side of the server. */
export function createApp({ services, providers, readiness, cursors, limits, trustedProxies }: AppOptions): H3 {
  const observe = createObserve(services)
  const app = new H3({
    silent: true,
    onRequest: observe.onRequest,
    onError: (error, event) => answerProblem(toProblem(error), event, services),
    onResponse: (response, event) => {
      if (!response.headers.has('x-correlation-id')) {
        response.headers.set('x-correlation-id', correlationIdOf(event))
      }
      response.headers.set('x-content-type-options', 'nosniff')
      observe.onResponse(response, event)
    },
  })
  const { rateLimited } = services.metrics
  const limitByAddress = counted(limits.address, () => rateLimited.inc({ limit: 'address' }))
  const limitAddress = (event: H3Event) => limitByAddress(addressKey(clientAddress(event, trustedProxies)))

  mountContract(app, {
    services,
    handlers,
    cursors,
    authenticate: createAuthenticate(services.store, services.log),
    limitToken: counted(limits.token, () => rateLimited.inc({ limit: 'token' })),
    limitAddress,
  })
  app.get(linkPath, async (event) => {
    limitAddress(event)
    return openLink(event, services)
  })
  mountPublic(app, services, readiness)
  // Phones come in bursts: only what is refused counts against an address.
  mountAppleService(app, services, limitAddress)
  if (providers?.callbacks) mountGoogleCallbacks(app, services, providers.callbacks, limitAddress)
  if (providers?.sandbox) app.get(sandboxPath, () => Response.json(providers.sandbox))
  answerHead(app)
  refuseOtherMethods(app)
  // The router would take /v1/passes/ for /v1/passes: a path whose last part is empty names nothing.
  app.use((event) => {
    if (event.url.pathname.length > 1 && event.url.pathname.endsWith('/')) throw noRoute()
  })
  app.all('/**', () => {
    throw noRoute()
  })
  return app
}

/** Tells of each refusal. */
function counted(limit: Limit, onRefusal: () => void): Limit {
  return (key) => {
    try {
      limit(key)
    } catch (error) {
      onRefusal()
      throw error
    }
  }
}

function noRoute(): Problem {
  return new Problem('NOT_FOUND', { message: 'There is no such route; see /openapi.json.' })
}

/** HEAD is answered wherever GET is (RFC 9110, 9.1): balancers and mail readers ask so. Node leaves the body out. */
function answerHead(app: H3): void {
  const reading = app['~routes'].filter(({ method }) => method === 'GET')
  for (const { route, handler } of reading) app.head(route!, handler)
}

/** A path that exists, asked with a method that it does not take (a bare 404 in h3). */
function refuseOtherMethods(app: H3): void {
  const allowed = new Map<string, string[]>()
  for (const { route, method } of app['~routes']) allowed.set(route!, [...(allowed.get(route!) ?? []), method!])
  for (const [path, methods] of allowed) {
    const allow = methods.join(', ')
    app.all(path, () => {
      throw new Problem('NOT_FOUND', { status: 405, message: `This route takes ${allow} only.`, headers: { allow } })
    })
  }
}

function answerProblem(problem: Problem, event: H3Event, { log, metrics }: Services): Response {
  countRefusal(metrics, problem)
  const correlationId = correlationIdOf(event)
  logProblem(log, problem, {
    correlationId,
    method: event.req.method,
    path: event.url.pathname.replace(/^\/l\/.*/, '/l/…'),
  })
  if (!isOpenedLink(event)) {
    const route = event.context.route as Route | undefined
    return problemResponse(problem, correlationId, { withoutCode: route?.errorsWithoutCode ?? false })
  }
  const response = wantsJson(event)
    ? problemResponse(problem, correlationId, { withoutCode: false })
    : pageResponse(linkProblemPage(problem, correlationId), { status: problem.status, headers: problem.headers })
  response.headers.set('vary', 'Accept')
  return response
}

/** Whoever opens a link in a browser reads a page whatever goes wrong. */
function isOpenedLink({ req, url }: H3Event): boolean {
  return ['GET', 'HEAD'].includes(req.method) && url.pathname.startsWith('/l/')
}

function wantsJson({ req }: H3Event): boolean {
  return (req.headers.get('accept') ?? '').toLowerCase().includes('application/json')
}
