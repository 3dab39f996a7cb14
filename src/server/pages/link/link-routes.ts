import type { H3Event, HTTPResponse } from 'h3'
import { ApiError } from '../../../core/errors.ts'
import { appointmentOf, calendarFile } from '../../../core/rules/display/calendar.ts'
import { effectiveStatus, isInstallable } from '../../../core/rules/pass/pass-status.ts'
import { inLanguage } from '../../../core/rules/template/definition-languages.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Services } from '../../context.ts'
import { acceptsGzip, compress } from '../../http/negotiation.ts'
import type { Link } from '../../link-signing.ts'
import { deliveries } from '../../platforms/deliveries.ts'
import { render } from '../../platforms/delivery.ts'
import { answerFile, publicFile } from '../assets.ts'
import { viewsOf } from '../card/card-preview.ts'
import { barcodesOf } from '../card/poster.ts'
import { drawAhead } from '../card/symbols.ts'
import { type GroupServices, openGroup } from '../group/group-links.ts'
import { type Page, pageResponse } from '../html.ts'
import { type IssuerFacts, issuerFacts } from '../issuer-facts.ts'
import { pageLanguage } from '../words.ts'
import { addressOfPage, linkPage, sharedPage } from './link-page.ts'
import { LinkEnded } from './link-problem-page.ts'
import { issueQueued } from './linked-passes.ts'
import { isCrawler, isInAppBrowser, isOfPhone, LINK_VARY, phoneOf } from './visitors.ts'

type LinkOpenServices = GroupServices & Pick<Services, 'clock' | 'linkOpens'>

/**
 * Opens a hosted link. The link of a platform responds with a file or a redirect that adds the pass to the wallet. A
 * smart link redirects a phone to the link of its platform, or shows a page that offers all platforms. Programs that
 * preview links get a page without the pass.
 * @throws ApiError LINK_INVALID or LINK_REVOKED, with the reason in its details
 */
export async function openLink(event: H3Event, services: LinkOpenServices): Promise<Response | HTTPResponse> {
  const now = services.clock()
  const link = verifiedLink(event, services, now)
  if (link.kind === 'group') return openGroup(event, services, link, now)
  const { kind } = link
  const { pass, isPreviewed } = await followLink(link, event, services, now)
  if (isPreviewed) return showShared(event, pass, services)
  if (kind === 'smart') return openSmart(event, pass, services, now)
  const response = await deliveries[kind].open(pass, event.req, services, now)
  if (event.req.method === 'GET') services.linkOpens.note(pass, kind, now)
  return response
}

/** Responds with the calendar entry of a pass. @throws the errors of `openLink`; NOT_FOUND if the pass has no time */
export async function openCalendar(event: H3Event, services: Services): Promise<Response | HTTPResponse> {
  const now = services.clock()
  const { pass, isPreviewed } = await followLink(verifiedLink(event, services, now), event, services, now)
  if (isPreviewed) return showShared(event, pass, services)
  const { languages } = await findIssuer(pass, services)
  const { ofTexts } = pageLanguage(event.req.headers, languages)
  const { card } = await render(pass, services.issuing, ofTexts)
  const appointment = appointmentOf(card)
  if (!appointment) throw new ApiError('NOT_FOUND', { message: 'This pass has no date or time for a calendar entry.' })
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
  /** A pass that can be added to a wallet now. If a program previews the link, the pass may still be queued. */
  pass: StoredPass
  isPreviewed: boolean
}

/** @throws ApiError LINK_INVALID */
function verifiedLink(event: H3Event, { links }: Services, now: Date): Link {
  const check = links.verify(event.context.params?.token ?? '', now)
  if (!check.ok) throw new ApiError('LINK_INVALID', { details: { reason: check.reason } })
  return check.link
}

async function followLink(
  { workspaceId, passId, generation }: Link,
  event: H3Event,
  services: Services,
  now: Date,
): Promise<FollowedLink> {
  const linked = await services.store.passes.findLinked(workspaceId, passId)
  if (!linked) throw new ApiError('LINK_INVALID', { details: { reason: 'unknown' } })
  const { pass, areLinksClosed } = linked
  if (areLinksClosed) throw new ApiError('LINK_REVOKED', { details: { reason: 'suspended' } })
  if (pass.linkGeneration !== generation) throw new ApiError('LINK_REVOKED', { details: { reason: 'revoked' } })
  const isPreviewed = isCrawler(event.req.headers.get('user-agent'))
  const [current = pass] = isPreviewed ? [pass] : await issueQueued([pass], services, event, now)
  const status = effectiveStatus(current, now)
  if (!isInstallable(status)) throw new LinkEnded(status, await findIssuer(pass, services, event.req.headers))
  return { pass: current, isPreviewed }
}

/** Returns the facts that are the same for every holder, in the language of the `visitor` headers if given. */
async function findIssuer(pass: StoredPass, { definitions }: Services, visitor?: Headers): Promise<IssuerFacts> {
  const definition = (await definitions.find(pass.workspaceId, pass.templateVersionId))!
  if (!visitor) return issuerFacts(definition, pass)
  return issuerFacts(inLanguage(definition, pageLanguage(visitor, definition.languages).ofTexts), pass)
}

async function showShared({ req }: H3Event, pass: StoredPass, services: Services): Promise<Response> {
  const { links, wallets } = services
  const platforms = wallets.all.map(({ platform }) => platform)
  const issuer = await findIssuer(pass, services)
  const page = sharedPage({
    issuer,
    platforms,
    publicUrl: links.publicUrl,
    language: pageLanguage(req.headers, issuer.languages),
  })
  return compressedPage(page, req.headers)
}

/**
 * Redirects a phone to the link of its platform. Shows a page for `?choose`, computers, and in-app browsers, which add
 * no passes.
 */
async function openSmart(event: H3Event, pass: StoredPass, services: LinkOpenServices, at: Date): Promise<Response> {
  const { links, issuing, badges, identities } = services
  const wallets = await identities.walletsOf(pass)
  const { sandboxed } = wallets
  const userAgent = event.req.headers.get('user-agent')
  const phone = phoneOf({ userAgent, platformHint: event.req.headers.get('sec-ch-ua-platform') })
  const isInApp = isInAppBrowser(userAgent)
  const sendsOn = !isInApp && !event.url.searchParams.has('choose')
  const own = wallets.all.find(({ platform }) => isOfPhone(platform, phone))
  if (own && sendsOn) {
    const location = links.urlFor(own.platform, pass, at)
    return new Response(null, { status: 302, headers: { location, 'cache-control': 'no-store', vary: LINK_VARY } })
  }
  const issuer = await findIssuer(pass, services)
  const language = pageLanguage(event.req.headers, issuer.languages)
  const rendered = await render(pass, issuing, language.ofTexts)
  const platforms = wallets.all.map(({ platform }) => platform)
  const views = viewsOf(rendered, wallets, at, { spoken: language.tag })
  // Draw the codes that linkPage shows: the code of one card, and on a computer the QR code of the link.
  const shown = views.apple ? barcodesOf(views.apple, views.poster) : views.google ? [views.google.barcode] : []
  const address = { format: 'qr', message: addressOfPage({ links, pass, at }) } as const
  await drawAhead([...shown, ...(phone === 'undetermined' ? [address] : [])])
  if (event.req.method === 'GET') services.linkOpens.note(pass, 'other', at)
  const visitor = { phone, isInApp, sendsOn, language, at }
  const page = linkPage({ pass, rendered, issuer, ...views, platforms, sandboxed, badges, links, ...visitor })
  return compressedPage(page, event.req.headers)
}

async function compressedPage(page: Page, asked: Headers): Promise<Response> {
  if (!acceptsGzip(asked)) return pageResponse(page, { headers: { vary: LINK_VARY } })
  const headers = { vary: LINK_VARY, 'content-encoding': 'gzip' }
  return pageResponse({ ...page, html: await compress(page.html) }, { headers })
}
