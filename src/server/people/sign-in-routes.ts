import { randomBytes } from 'node:crypto'
import type { H3, H3Event } from 'h3'
import { ApiError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { tokenDigest } from '../../core/rules/crypto/token.ts'
import type { OidcConfig } from '../config.ts'
import type { Services } from '../context.ts'
import { type AuthenticateOptions, type CallerOptions, identifyCaller } from '../http/middleware/authenticate.ts'
import { clearCookie, readCookie, SESSION_COOKIE, SIGN_IN_COOKIE, setCookie } from '../http/middleware/cookies.ts'
import { correlationIdOf } from '../http/middleware/observe.ts'
import { requireCsrfToken, SESSION_MS } from '../http/middleware/sessions.ts'
import { decodeUtf8, readBody, requireContentType } from '../http/request-body.ts'
import { type Page, pageResponse } from '../pages/html.ts'
import { deskPath } from '../pages/scripted-pages.ts'
import { english, pageLanguage } from '../pages/words.ts'
import { commandLineUrl, exchangeCode, openDevice, readCommandLine } from './command-line.ts'
import { passHistory } from './pass-history.ts'
import { CLOCK_TOLERANCE_SECONDS, createProvider, LOGOUT_SECONDS, type Provider } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import { qrCode } from './qr-code.ts'
import { sealValue } from './sealed-values.ts'
import {
  endSessions,
  logoutTokenOf,
  openSignIn,
  type PendingSignIn,
  returnView,
  SIGN_IN_SECONDS,
  signIn,
} from './sign-in.ts'
import { type SignInProblem, signInProblemPage, workspacesPage } from './sign-in-pages.ts'

const MAX_BODY_BYTES = 16 * 1024

/** The time for which a used logout token is stored: its maximum age, plus the tolerated clock difference twice. */
const LOGOUT_TOKEN_MS = (LOGOUT_SECONDS + 2 * CLOCK_TOLERANCE_SECONDS) * 1000

export interface PeopleOptions {
  services: Pick<Services, 'store' | 'clock' | 'log'>
  config: OidcConfig
  keys: ServerKeys
  publicUrl: string
}

/** The sign-in of people through the OpenID Connect provider. */
export type People = ReturnType<typeof createPeople>

interface SignInContext extends PeopleOptions, CallerOptions {
  provider: Provider
}

export function redirectUriOf(publicUrl: string): string {
  return `${publicUrl}${deskPath}/callback`
}

export function createPeople(options: PeopleOptions) {
  const provider = createProvider(options.config, redirectUriOf(options.publicUrl))
  return {
    issuer: options.config.issuer.href,
    pageRoutes: [passHistory, qrCode],
    mount(app: H3, limits: CallerOptions): void {
      const context: SignInContext = { ...limits, ...options, provider }
      const limited = (handle: typeof completeSignIn) => (event: H3Event) => {
        limits.limitAddress(event)
        return handle(event, context)
      }
      app.get(`${deskPath}/login`, (event) => beginSignIn(event, context))
      app.get(`${deskPath}/callback`, limited(completeSignIn))
      app.post(`${deskPath}/token`, limited(issueToken))
      app.post(`${deskPath}/device`, limited(beginDevice))
      app.post(`${deskPath}/device/token`, limited(completeDevice))
      app.get(`${deskPath}/session`, (event) => showSession(event, context))
      app.post(`${deskPath}/logout`, (event) => signOut(event, context))
      app.post(`${deskPath}/backchannel-logout`, (event) => endByProvider(event, context))
    },
    close: provider.close,
  }
}

/** Redirects to the provider, and keeps the secrets of the sign-in in a cookie. */
async function beginSignIn(event: H3Event, context: SignInContext): Promise<Response> {
  const { searchParams } = event.url
  const workspace = searchParams.get('workspace')
  const commandLine = readCommandLine(searchParams)
  const pending: PendingSignIn = {
    state: randomText(),
    nonce: randomText(),
    codeVerifier: randomText(),
    view: returnView(searchParams.get('return')),
    startedAt: context.services.clock().getTime(),
    ...(workspace !== null && { workspace: workspace.slice(0, 255) }),
    ...(commandLine && { commandLine }),
  }
  try {
    const location = await context.provider.signInUrl(pending)
    return redirect(location.href, [
      setCookie(SIGN_IN_COOKIE, sealValue(pending, 'sign-in', context.keys), SIGN_IN_SECONDS),
    ])
  } catch (error) {
    return failedPage(event, error, context)
  }
}

/** Completes a sign-in after the redirect of the provider. The secrets of the sign-in work once. */
async function completeSignIn(event: H3Event, context: SignInContext): Promise<Response> {
  const { services, config, keys, publicUrl, provider } = context
  const at = services.clock()
  const { headers } = event.req
  const pending = openSignIn(readCookie(headers, SIGN_IN_COOKIE), keys, at)
  if (!pending) return problemPage(event, 'expired')
  try {
    const claims = await provider.exchange(event.url.search, pending)
    const result = await signIn(services.store, claims, {
      config,
      workspace: pending.workspace,
      formerSecret: readCookie(headers, SESSION_COOKIE),
      isCommandLine: pending.commandLine !== undefined,
      correlationId: correlationIdOf(event),
      at,
    })
    if ('session' in result && pending.commandLine) {
      const location = commandLineUrl(pending.commandLine, result.session.secret, keys, at)
      return redirect(location, [clearCookie(SIGN_IN_COOKIE)])
    }
    if ('session' in result) {
      const session = setCookie(SESSION_COOKIE, result.session.secret, SESSION_MS / 1000)
      return redirect(`${publicUrl}${deskPath}${pending.view}`, [session, clearCookie(SIGN_IN_COOKIE)])
    }
    if ('choices' in result) {
      return page(workspacesPage(result.choices, queryOf(pending), pageLanguage(headers)), 200)
    }
    return problemPage(event, result.problem, 'email' in result ? result.email : undefined)
  } catch (error) {
    return failedPage(event, error, context)
  }
}

/** Returns the parameters that begin the same sign-in again. */
function queryOf({ view, commandLine }: PendingSignIn): Record<string, string> {
  return { ...(view && { return: view }), ...(commandLine && { ...commandLine, port: String(commandLine.port) }) }
}

/** Returns the token of a session to the command line that began the sign-in. */
async function issueToken(event: H3Event, { services, keys }: SignInContext): Promise<Response> {
  return json({ token: exchangeCode(await readJson(event), keys, services.clock()) })
}

/** Begins a sign-in on another device. Responds with 404 if the provider does not support it. */
async function beginDevice(event: H3Event, context: SignInContext): Promise<Response> {
  const body = await readJson(event)
  const { workspace } = (parseJson(body) ?? {}) as { workspace?: unknown }
  const begun = await onSignIn(event, context, (provider) => provider.beginDevice())
  if (!begun) throw new ApiError('NOT_FOUND', { message: 'The provider does not support sign-in on another device.' })
  const { deviceCode, ...shown } = begun
  const named = typeof workspace === 'string' ? workspace.slice(0, 255) : undefined
  return json({ ...shown, handle: sealValue({ deviceCode, workspace: named }, 'device', context.keys) })
}

/** Returns 202 until the person has signed in, and then the token of a session. */
async function completeDevice(event: H3Event, context: SignInContext): Promise<Response> {
  const { services, config, keys } = context
  const { deviceCode, workspace } = openDevice(await readJson(event), keys)
  const claims = await onSignIn(event, context, (provider) => provider.pollDevice(deviceCode))
  if ('mustSlowDown' in claims) return json({ token: null, mustSlowDown: claims.mustSlowDown }, [], 202)
  const result = await signIn(services.store, claims, {
    config,
    workspace,
    formerSecret: undefined,
    isCommandLine: true,
    correlationId: correlationIdOf(event),
    at: services.clock(),
  })
  if ('session' in result) return json({ token: result.session.secret })
  if ('choices' in result) {
    const message = `You have roles in several workspaces: ${result.choices.join(', ')}. Choose one with --workspace.`
    throw new ApiError('CONFLICT', { message, details: { workspaces: result.choices } })
  }
  const { signIn: words } = english.words
  throw new ApiError('FORBIDDEN', {
    message: 'email' in result ? words.noRole.replace('{email}', result.email) : words.unverified,
  })
}

/** The errors that end a sign-in on another device (RFC 8628, section 3.5). Entra ID has its own name for a denial. */
const deviceErrors: Record<string, string> = {
  access_denied: 'The sign-in was denied at the provider.',
  authorization_declined: 'The sign-in was denied at the provider.',
  expired_token: 'The code has expired.',
}

/** Runs work with the provider, and converts a ProviderError to an ApiError. */
async function onSignIn<T>(
  event: H3Event,
  { services, provider }: SignInContext,
  work: (provider: Provider) => Promise<T>,
): Promise<T> {
  try {
    return await work(provider)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    logFailure(event, error, services)
    if (error.failure === 'unavailable') throw new ApiError('SERVICE_UNAVAILABLE', { headers: { 'retry-after': '10' } })
    const message = deviceErrors[error.reason] ?? `The provider rejected the sign-in: ${error.reason}.`
    throw new ApiError('FORBIDDEN', { message })
  }
}

async function readJson(event: H3Event): Promise<string> {
  requireContentType(event, ['application/json'])
  return decodeUtf8(await readBody(event, MAX_BODY_BYTES))
}

async function identifyPerson(event: H3Event, context: SignInContext, at: Date, options?: AuthenticateOptions) {
  const { session, ...caller } = await identifyCaller(event, context, at, options)
  if (!session) throw new ApiError('NOT_FOUND', { message: 'An access token has no session. Sign in instead.' })
  return { ...caller, session }
}

/** Returns the person and the roles of the session, and the CSRF token that requests with changes need. */
async function showSession(event: H3Event, context: SignInContext): Promise<Response> {
  const caller = await identifyPerson(event, context, context.services.clock())
  const { grants, csrfToken } = caller.session
  const workspace = { id: caller.workspaceId, name: caller.workspace.name }
  return json({ email: caller.name, workspace, roles: grants, csrfToken, expiresAt: caller.expiresAt!.toISOString() })
}

/**
 * Ends the session of a browser, even in a suspended or expired workspace. The response contains the address at which
 * the person also signs out of the provider.
 */
async function signOut(event: H3Event, context: SignInContext): Promise<Response> {
  const { services, publicUrl, provider } = context
  const at = services.clock()
  const caller = await identifyPerson(event, context, at, { acceptsClosed: true })
  requireCsrfToken(caller, event.req)
  const { id } = caller.session
  await services.store.transaction(async (tx) =>
    endSessions(tx, await tx.sessions.end(caller.workspaceId, id), { correlationId: correlationIdOf(event), at }),
  )
  const providerLogoutUrl = await provider.signOutUrl(`${publicUrl}${deskPath}`)
  return json({ providerLogoutUrl }, [clearCookie(SESSION_COOKIE)])
}

/**
 * Ends the sessions that a signed logout token of the provider names (OpenID Connect Back-Channel Logout 1.0). Only
 * rejected tokens count toward the limit of the address, so that the provider can end the sessions of many people at
 * once.
 */
async function endByProvider(event: H3Event, context: SignInContext): Promise<Response> {
  const { services, config, provider, limitAddress } = context
  requireContentType(event, ['application/x-www-form-urlencoded'])
  const token = logoutTokenOf(decodeUtf8(await readBody(event, MAX_BODY_BYTES)))
  const at = services.clock()
  const correlationId = correlationIdOf(event)
  try {
    const { tokenId, ...named } = await provider.verifyLogout(token)
    const ended = await services.store.transaction(async (tx) => {
      // Ignore a repeated logout token. Otherwise, the token would end sessions that began after its first use.
      if (!(await tx.sessions.useLogoutToken(tokenDigest(tokenId), LOGOUT_TOKEN_MS, at))) return []
      const sessions = await tx.sessions.endOfPerson(config.issuer.href, named)
      await endSessions(tx, sessions, { correlationId, at })
      return sessions
    })
    services.log.info({ correlationId, sessions: ended.length }, 'the provider ended sessions')
    return json({})
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    limitAddress(event)
    services.log.warn({ correlationId, reason: error.reason }, 'rejected a back-channel logout')
    if (error.failure === 'unavailable') throw new ApiError('SERVICE_UNAVAILABLE', { headers: { 'retry-after': '10' } })
    throw new ApiError('INVALID_INPUT', { message: 'The logout token is not valid.' })
  }
}

const statusOf: Record<SignInProblem, number> = {
  unavailable: 503,
  unverified: 403,
  noRole: 403,
  expired: 400,
  denied: 403,
}

function failedPage(event: H3Event, error: unknown, { services }: SignInContext): Response {
  if (!(error instanceof ProviderError)) throw error
  logFailure(event, error, services)
  return problemPage(event, error.failure === 'rejected' ? 'expired' : error.failure)
}

function logFailure(event: H3Event, { failure, reason }: ProviderError, { log }: PeopleOptions['services']): void {
  log.warn({ correlationId: correlationIdOf(event), failure, reason }, 'a sign-in failed')
}

function problemPage(event: H3Event, problem: SignInProblem, email?: string): Response {
  return page(signInProblemPage(problem, pageLanguage(event.req.headers), email), statusOf[problem])
}

/** Returns a page, and clears the cookie of the sign-in. */
function page(content: Page, status: number): Response {
  const response = pageResponse(content, { status })
  response.headers.append('set-cookie', clearCookie(SIGN_IN_COOKIE))
  return response
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return new Response(null, { status: 303, headers })
}

function json(body: unknown, cookies: readonly string[] = [], status = 200): Response {
  const response = Response.json(body, { status, headers: { 'cache-control': 'no-store' } })
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  return response
}

function randomText(): string {
  return randomBytes(32).toString('base64url')
}
