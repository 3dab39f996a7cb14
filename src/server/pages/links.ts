import type { H3Event, HTTPResponse } from 'h3'
import { ApiError } from '../../core/errors.ts'
import { effectiveStatus, isInstallable } from '../../core/rules/pass/pass-status.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import { isPassing, isRefused } from '../../wallets/google/api/api-error.ts'
import type { WalletPass } from '../../wallets/wallet.ts'
import type { Services } from '../context.ts'
import { correlationIdOf } from '../http/middleware/observe.ts'
import { type Issuing, renderOr } from '../wallet-sync/issuing.ts'
import { viewsOf } from './card/preview.ts'
import { pageResponse } from './html.ts'
import { linkPage } from './link-page.ts'
import { devicePlatform, isInAppBrowser } from './visitors.ts'

/**
 * Opens a hosted link: the signed package for apple, a redirect to the save URL for google, and for the smart link
 * whichever the visitor's device takes, or a page that offers both.
 * @throws Problem LINK_INVALID, LINK_REVOKED, with the reason in its details
 */
export async function openLink(event: H3Event, services: Services): Promise<Response | HTTPResponse> {
  const now = services.clock()
  const check = services.links.verify(event.context.params?.token ?? '', now)
  if (!check.ok) throw new ApiError('LINK_INVALID', { details: { reason: check.reason } })
  const { kind, workspaceId, passId, generation } = check.link
  const linked = await services.store.passes.findLinked(workspaceId, passId)
  if (!linked) throw new ApiError('LINK_INVALID', { details: { reason: 'unknown' } })
  const { pass, areLinksClosed } = linked
  if (areLinksClosed) throw new ApiError('LINK_REVOKED', { details: { reason: 'suspended' } })
  if (pass.linkGeneration !== generation) throw new ApiError('LINK_REVOKED', { details: { reason: 'revoked' } })
  const current = await issueIfQueued(pass, services, event, now)
  if (!isInstallable(effectiveStatus(current, now))) {
    throw new ApiError('LINK_REVOKED', { details: { reason: effectiveStatus(current, now).toLowerCase() } })
  }
  if (kind === 'smart') return openSmart(event, current, services, now)
  return kind === 'apple' ? openApple(event, current, services, now) : openGoogle(current, services, now)
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

/** Phones are sent on at once, unless the query `?choose` asks for the page or an app shows it that cannot add passes. */
async function openSmart(event: H3Event, pass: StoredPass, services: Services, at: Date): Promise<Response> {
  const { links, wallets, issuing } = services
  const userAgent = event.req.headers.get('user-agent')
  const device = devicePlatform({ userAgent, platformHint: event.req.headers.get('sec-ch-ua-platform') })
  const isInApp = isInAppBrowser(userAgent)
  const isSentOn = !isInApp && !event.url.searchParams.has('choose')
  const vary = { vary: 'User-Agent, Sec-CH-UA-Platform' }
  if (device !== 'undetermined' && wallets[device] && isSentOn) {
    const location = links.urlFor(device, pass, at)
    return new Response(null, { status: 302, headers: { location, 'cache-control': 'no-store', ...vary } })
  }
  const rendered = await render(pass, issuing)
  const platforms = wallets.all.map(({ platform }) => platform)
  const views = viewsOf(rendered, wallets, at)
  const page = linkPage({ pass, rendered, ...views, platforms, device, isInApp, sendsOn: isSentOn, links, at })
  return pageResponse(page, { headers: vary })
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
