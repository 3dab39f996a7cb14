import type { H3Event, HTTPResponse } from 'h3'
import { ApiError } from '../../core/errors.ts'
import { appointmentOf, calendarFile } from '../../core/rules/display/calendar.ts'
import { effectiveStatus, isInstallable } from '../../core/rules/pass/pass-status.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import { isPassing, isRefused } from '../../wallets/google/api/api-error.ts'
import type { Platform, WalletPass } from '../../wallets/wallet.ts'
import type { Services } from '../context.ts'
import { acceptsGzip, compress } from '../http/compress.ts'
import { correlationIdOf } from '../http/middleware/observe.ts'
import type { Link } from '../links.ts'
import { type Issuing, renderOr } from '../wallet-sync/issuing.ts'
import { answerFile, publicFile } from './assets.ts'
import { viewsOf } from './card/preview.ts'
import { type Page, pageResponse } from './html.ts'
import { type IssuerFacts, issuerFacts } from './issuer-facts.ts'
import { linkPage, sharedPage } from './link-page.ts'
import { LinkEnded } from './link-problem-page.ts'
import { devicePlatform, isCrawler, isInAppBrowser } from './visitors.ts'
import { pageLanguage } from './words.ts'

/**
 * Opens a hosted link: the signed package for apple, a redirect to the save URL for google, and for the smart link
 * whichever the visitor's device takes, or a page that offers both. Programs that look at links for a chat open none.
 * @throws Problem LINK_INVALID, LINK_REVOKED, with the reason in its details
 */
export async function openLink(event: H3Event, services: Services): Promise<Response | HTTPResponse> {
  const now = services.clock()
  const { kind, pass, isLookedAt } = await followLink(event, services, now)
  if (isLookedAt) return showShared(event, pass, services)
  if (kind === 'smart') return openSmart(event, pass, services, now)
  return kind === 'apple' ? openApple(event, pass, services, now) : openGoogle(pass, services, now)
}

/**
 * The calendar entry of the event or the trip of a pass, behind each of its hosted links.
 * @throws Problem as openLink; NOT_FOUND where the pass has no time
 */
export async function openCalendar(event: H3Event, services: Services): Promise<Response | HTTPResponse> {
  const now = services.clock()
  const { pass, isLookedAt } = await followLink(event, services, now)
  if (isLookedAt) return showShared(event, pass, services)
  const { card } = await render(pass, services.issuing)
  const appointment = appointmentOf(card)
  if (!appointment) throw new ApiError('NOT_FOUND', { message: 'This pass has no time for a calendar.' })
  const uid = `${pass.id}@${new URL(services.links.publicUrl).hostname}`
  const content = calendarFile(appointment, { uid, sequence: pass.revision, changedAt: pass.updatedAt })
  const headers = {
    'content-disposition': `attachment; filename="${pass.id}.ics"`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }
  const file = publicFile({
    contentType: 'text/calendar; charset=utf-8',
    cacheControl: 'private, no-cache',
    content,
    headers,
  })
  return answerFile(file, event.req.headers)
}

interface FollowedLink {
  kind: Link['kind']
  /** Can be added to a wallet now, unless a program only looks. */
  pass: StoredPass
  isLookedAt: boolean
}

async function followLink(event: H3Event, services: Services, now: Date): Promise<FollowedLink> {
  const check = services.links.verify(event.context.params?.token ?? '', now)
  if (!check.ok) throw new ApiError('LINK_INVALID', { details: { reason: check.reason } })
  const { kind, workspaceId, passId, generation } = check.link
  const linked = await services.store.passes.findLinked(workspaceId, passId)
  if (!linked) throw new ApiError('LINK_INVALID', { details: { reason: 'unknown' } })
  const { pass, areLinksClosed } = linked
  if (areLinksClosed) throw new ApiError('LINK_REVOKED', { details: { reason: 'suspended' } })
  if (pass.linkGeneration !== generation) throw new ApiError('LINK_REVOKED', { details: { reason: 'revoked' } })
  const isLookedAt = isCrawler(event.req.headers.get('user-agent'))
  const current = isLookedAt ? pass : await issueIfQueued(pass, services, event, now)
  const status = effectiveStatus(current, now)
  if (!isInstallable(status)) throw new LinkEnded(status, await findIssuer(pass, services))
  return { kind, pass: current, isLookedAt }
}

/** What is the same for every holder; read once a version. */
async function findIssuer(pass: StoredPass, { definitions }: Services): Promise<IssuerFacts> {
  const definition = await definitions.find(pass.workspaceId, pass.templateVersionId)
  return issuerFacts(definition!, pass)
}

async function showShared({ req }: H3Event, pass: StoredPass, services: Services): Promise<Response> {
  const { links, wallets } = services
  const platforms = wallets.all.map(({ platform }) => platform)
  const page = sharedPage({
    issuer: await findIssuer(pass, services),
    platforms,
    publicUrl: links.publicUrl,
    language: pageLanguage(req.headers),
  })
  return compressedPage(page, req.headers)
}

async function openApple({ req }: H3Event, pass: StoredPass, services: Services, at: Date): Promise<HTTPResponse> {
  if (!services.packages) throw notConfigured()
  const { packages } = services
  const response = await renderOr(() => packages.answer(pass, req, at), toFailedLink)
  response.headers.set('content-disposition', `attachment; filename="${pass.id}.pkpass"`)
  response.headers.set('x-content-type-options', 'nosniff')
  response.headers.set('referrer-policy', 'no-referrer')
  return response
}

async function openGoogle(pass: StoredPass, { wallets, issuing, google }: Services, at: Date): Promise<Response> {
  if (!wallets.google || !google) throw notConfigured()
  // What cannot be rendered is no fault of Google.
  await render(pass, issuing)
  const place = await google.ensure(pass, at).catch((cause: unknown) => {
    throw whyNotAtGoogle(cause)
  })
  const location = await wallets.google.saveUrl(place, at)
  return new Response(null, {
    status: 302,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  })
}

/** What Google said stands on the pass for its issuer; the visitor only needs to know whether it may go by itself. */
function whyNotAtGoogle(cause: unknown): ApiError {
  if (isPassing(cause)) {
    const message = 'Google Wallet does not answer; try again in a moment.'
    return new ApiError('PROVIDER_UNAVAILABLE', { message, headers: { 'retry-after': '5' }, cause })
  }
  const permanent = isRefused(cause)
  const message = permanent
    ? 'Google Wallet refuses this pass until its issuer changes it.'
    : 'Google Wallet refuses this server; its operator has to act.'
  return new ApiError('GOOGLE_API_FAILED', { message, details: { permanent }, cause })
}

/**
 * Phones are sent on at once, unless the query `?choose` asks for the page or an app shows it that cannot add passes. In the
 * sandbox a browser stays too: no real phone takes the pass. Programs that take no page are sent on there as well.
 */
async function openSmart(event: H3Event, pass: StoredPass, services: Services, at: Date): Promise<Response> {
  const { links, wallets, issuing, badges } = services
  const { sandboxed } = wallets
  const userAgent = event.req.headers.get('user-agent')
  const device = devicePlatform({ userAgent, platformHint: event.req.headers.get('sec-ch-ua-platform') })
  const isInApp = isInAppBrowser(userAgent)
  const isSentOn = !isInApp && !event.url.searchParams.has('choose')
  const staysFor = (platform: Platform) => sandboxed.includes(platform) && takesPages(event.req.headers)
  if (device !== 'undetermined' && wallets[device] && isSentOn && !staysFor(device)) {
    const location = links.urlFor(device, pass, at)
    return new Response(null, { status: 302, headers: { location, 'cache-control': 'no-store', vary: VARY } })
  }
  const rendered = await render(pass, issuing)
  const platforms = wallets.all.map(({ platform }) => platform)
  const views = viewsOf(rendered, wallets, at)
  const issuer = await findIssuer(pass, services)
  const language = pageLanguage(event.req.headers)
  const sendsOn = isSentOn && !staysFor('apple')
  const facts = {
    pass,
    rendered,
    issuer,
    ...views,
    platforms,
    sandboxed,
    badges,
    device,
    isInApp,
    sendsOn,
    links,
    language,
    at,
  }
  return compressedPage(linkPage(facts), event.req.headers)
}

/** Of a page that no cache may store; what else it depends on needs no telling. */
const VARY = 'User-Agent, Sec-CH-UA-Platform'

/** As browsers say it when somebody opens a link, and programs do not. */
function takesPages(headers: Headers): boolean {
  return (headers.get('accept') ?? '').toLowerCase().includes('text/html')
}

async function compressedPage(page: Page, asked: Headers): Promise<Response> {
  if (!acceptsGzip(asked)) return pageResponse(page, { headers: { vary: VARY } })
  const headers = { vary: VARY, 'content-encoding': 'gzip' }
  return pageResponse({ ...page, html: await compress(page.html) }, { headers })
}

/** Whoever opens a link does not wait for the queue; the job that waits there finds its work done. */
async function issueIfQueued(pass: StoredPass, services: Services, event: H3Event, at: Date): Promise<StoredPass> {
  if (pass.status !== 'QUEUED' && pass.status !== 'ISSUING') return pass
  const { issuing, store } = services
  const correlationId = correlationIdOf(event)
  const outcomes = await issuing.prepare(pass.workspaceId, [pass.id], at)
  await store.transaction((tx) =>
    issuing.write(tx, pass.workspaceId, outcomes, { at, correlationIdOf: () => correlationId }),
  )
  return (await store.passes.find(pass.workspaceId, pass.id)) ?? pass
}

function render(pass: StoredPass, issuing: Issuing): Promise<WalletPass> {
  return renderOr(() => issuing.render(pass), toFailedLink)
}

function toFailedLink({ message }: ApiError): ApiError {
  return new ApiError('LINK_REVOKED', { message, details: { reason: 'failed' } })
}

function notConfigured(): ApiError {
  return new ApiError('LINK_INVALID', {
    message: 'This server no longer issues passes for this platform.',
    details: { reason: 'platform' },
  })
}
