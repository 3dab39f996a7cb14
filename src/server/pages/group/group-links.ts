import { type H3Event, HTTPResponse, onDispose } from 'h3'
import { byPlatform } from '../../../core/contract/schemas/platform.ts'
import { ApiError } from '../../../core/errors.ts'
import { Uuid } from '../../../core/ids.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import { inLanguage } from '../../../core/rules/template/definition-languages.ts'
import { mapInSlices } from '../../../core/slices.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import { type GooglePlace, placeOf } from '../../../wallets/google/resource.ts'
import type { Services } from '../../context.ts'
import type { Link } from '../../link-signing.ts'
import { notConfigured, toFailedLink } from '../../platforms/delivery.ts'
import { ensureAtGoogle } from '../../platforms/google-delivery.ts'
import { renderOr } from '../../wallet-sync/issuing.ts'
import { drawAhead } from '../card/symbols.ts'
import { pageResponse } from '../html.ts'
import { issuerFacts } from '../issuer-facts.ts'
import { sharedPage } from '../link/link-page.ts'
import { kindOfPass, shareTitle } from '../link/link-parts.ts'
import { issueQueued } from '../link/linked-passes.ts'
import { isCrawler, isInAppBrowser, LINK_VARY, phoneOf } from '../link/visitors.ts'
import { pageLanguage } from '../words.ts'
import { type GroupPageFacts, groupPage, type ShownPass } from './group-page.ts'

/** The number of passes per page, which is two bundles. */
const PASSES_A_PAGE = 20

/** The maximum number of passes that iPhones accept in one bundle. */
const PASSES_A_BUNDLE = 10

/** The maximum number of passes in a save link. If their names at Google are long, a link fits fewer. */
const PASSES_A_SAVE = 5

export type GroupServices = Services & {
  /** Debits the client address. A bundle counts as a request for each of its packages. */
  limitAddress: (event: H3Event, cost: number) => void
}

/**
 * Opens the link of a group. Shows the page of its installable passes, starting at the pass in `?from=`. With
 * `?bundle=`, sends as many packages as an iPhone accepts in one file. With `?save=`, redirects to a Google save link
 * with as many passes as it can contain. The value of each parameter is the first pass instead of a number, so that no
 * pass is skipped if another one leaves the group in between. If the packages of a bundle are too large for one file,
 * redirects to the page with smaller bundles of `?each=` passes.
 * @throws ApiError LINK_INVALID, LINK_REVOKED
 */
export async function openGroup(
  event: H3Event,
  services: GroupServices,
  { workspaceId, passId: groupId, generation }: Link,
  at: Date,
): Promise<Response | HTTPResponse> {
  const { store } = services
  const state = await store.groups.findLinkState(workspaceId, groupId)
  if (!state) throw new ApiError('LINK_INVALID', { details: { reason: 'unknown' } })
  if (state.areLinksClosed) throw new ApiError('LINK_REVOKED', { details: { reason: 'suspended' } })
  if (state.generation !== generation) throw new ApiError('LINK_REVOKED', { details: { reason: 'revoked' } })

  const query = event.url.searchParams
  const list = async (from: string | undefined, limit: number) => {
    const passes = await store.groups.listInstallable(workspaceId, groupId, { from, limit }, at)
    if (passes.length > 0) return passes
    throw new ApiError('LINK_REVOKED', { details: { reason: 'void' } })
  }
  const each = query.has('each') ? countIn(query, 'each', PASSES_A_BUNDLE) : PASSES_A_BUNDLE
  if (query.has('bundle')) return openBundle(await list(idIn(query, 'bundle'), each), services, event, at)
  if (query.has('save')) {
    return openSave(await list(idIn(query, 'save'), PASSES_A_SAVE), services, event, at)
  }
  const passes = await list(query.has('from') ? idIn(query, 'from') : undefined, PASSES_A_PAGE + 1)
  return showGroup(passes, each, services, event, at)
}

/** @throws ApiError LINK_INVALID if the parameter is not a UUID */
function idIn(query: URLSearchParams, name: string): string {
  const { data: id } = Uuid.safeParse(query.get(name))
  if (id === undefined) throw new ApiError('LINK_INVALID', { details: { reason: 'malformed' } })
  return id
}

/** @throws ApiError LINK_INVALID if the parameter is not a number from 1 to `largest` */
function countIn(query: URLSearchParams, name: string, largest: number): number {
  const count = Number(query.get(name))
  if (Number.isInteger(count) && count >= 1 && count <= largest) return count
  throw new ApiError('LINK_INVALID', { details: { reason: 'malformed' } })
}

async function showGroup(
  passes: StoredPass[],
  each: number,
  services: Services,
  event: H3Event,
  at: Date,
): Promise<Response> {
  const { definitions, issuing, wallets, links, badges } = services
  const [first, ...others] = passes.slice(0, PASSES_A_PAGE) as [StoredPass, ...StoredPass[]]
  const definition = await definitions.find(first.workspaceId, first.templateVersionId)
  const language = pageLanguage(event.req.headers, definition!.languages)
  const issuer = issuerFacts(definition!, first)
  const platforms = wallets.all.map(({ platform }) => platform)
  const userAgent = event.req.headers.get('user-agent')
  const headers = { vary: LINK_VARY }
  if (isCrawler(userAgent)) {
    return pageResponse(sharedPage({ issuer, platforms, publicUrl: links.publicUrl, language }), { headers })
  }
  const { ofTexts } = language
  // Render in slices, because 20 large cards take 20 ms or more.
  const shown = await mapInSlices([first, ...others], async (pass): Promise<ShownPass> => {
    // Skip the message, which would take a query per pass. The page shows only the front.
    const { card } = await renderOr(() => issuing.renderForApple({ ...pass, message: null }, ofTexts), toFailedLink)
    const { languages } = (await definitions.find(pass.workspaceId, pass.templateVersionId))!
    const kind = kindOfPass(card.description, { template: pass.templateName, languages })
    return { pass, card, kind, address: `${links.urlFor('smart', pass, at)}?choose` }
  })
  const facts = issuerFacts(inLanguage(definition!, language.ofTexts), first)
  const own = addressOf(services, event)
  const phone = phoneOf({ userAgent, platformHint: event.req.headers.get('sec-ch-ua-platform') })
  if (phone === 'undetermined') await drawAhead([{ format: 'qr', message: own }])
  const page = groupPage({
    title: shareTitle({ ...facts, template: kindOfPass(facts.description, facts) }),
    shown,
    next: passes[PASSES_A_PAGE]?.id,
    isFirst: !event.url.searchParams.has('from'),
    issuer,
    platforms,
    badges,
    publicUrl: links.publicUrl,
    language,
    phone,
    isInApp: isInAppBrowser(userAgent),
    firsts: await firstsOf(shown, each, services),
    each: each === PASSES_A_BUNDLE ? undefined : each,
    sandboxed: wallets.sandboxed,
    own,
  })
  return pageResponse(page, { headers })
}

async function openBundle(
  passes: StoredPass[],
  services: GroupServices,
  event: H3Event,
  at: Date,
): Promise<HTTPResponse> {
  const { packages } = services
  if (!packages) throw notConfigured()
  const current = await issued(passes, services, event, at)
  services.limitAddress(event, current.length - 1)
  const { file, taken, leave } = await renderOr(() => packages.bundle(current, at), toFailedLink)
  onDispose(event, leave)
  if (taken < current.length) {
    const location = `${addressOf(services, event)}?from=${current[0]!.id}&each=${taken}`
    return new HTTPResponse(null, { status: 302, headers: { location, 'cache-control': 'no-store' } })
  }
  const headers = {
    'content-type': 'application/vnd.apple.pkpasses',
    'content-disposition': 'attachment; filename="passes.pkpasses"',
    'content-length': String(file.length),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }
  const body =
    event.req.method === 'HEAD' ? null : new Uint8Array(file.buffer as ArrayBuffer, file.byteOffset, file.length)
  return new HTTPResponse(body, { headers })
}

async function openSave(passes: StoredPass[], services: Services, event: H3Event, at: Date): Promise<Response> {
  const issuable = await issued(passes, services, event, at)
  const first = issuable[0]!
  const { google } = await services.identities.walletsOf(first)
  if (!google) throw notConfigured()
  // A link is signed for one issuer, so passes of another issuer get a separate link.
  const ofOther = issuable.findIndex(({ googleIdentityId }) => googleIdentityId !== first.googleIdentityId)
  const current = ofOther < 0 ? issuable : issuable.slice(0, ofOther)
  const count = google.countFitting(await Promise.all(current.map((pass) => placeIn(pass, services))))
  const places = await Promise.all(current.slice(0, count).map((pass) => ensureAtGoogle(pass, services, at)))
  const location = await google.saveUrl(places, at)
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return new Response(null, { status: 302, headers })
}

function addressOf({ links }: Services, event: H3Event): string {
  return `${links.publicUrl}/l/${event.context.params?.token}`
}

/** Returns, by platform, the indexes of the passes at which the buttons start. */
async function firstsOf(shown: ShownPass[], each: number, { identities }: Services): Promise<GroupPageFacts['firsts']> {
  const apple = shown.flatMap((_, n) => (n % each === 0 ? [n] : []))
  const ofGoogle: number[] = []
  for (let n = 0; n < shown.length; ) {
    const { pass } = shown[n]!
    const { google } = await identities.walletsOf(pass)
    if (!google) break
    const next = shown.slice(n, n + PASSES_A_SAVE)
    const ofOther = next.findIndex((one) => one.pass.googleIdentityId !== pass.googleIdentityId)
    const together = ofOther < 0 ? next : next.slice(0, ofOther)
    ofGoogle.push(n)
    n += google.countFitting(together.map((one) => likelyPlace(one.pass, one.card)))
  }
  return { ...byPlatform(() => []), apple, google: ofGoogle }
}

async function placeIn(pass: StoredPass, { issuing }: Services): Promise<GooglePlace> {
  const { card } = await renderOr(() => issuing.renderForApple({ ...pass, message: null }), toFailedLink)
  return likelyPlace(pass, card)
}

/**
 * Returns an estimate of a pass's names at Google that is at least as long as the real names. The name of an existing
 * object can differ, but is not longer.
 */
function likelyPlace(
  { copyId: id, templateId, templateVersion, googleClassId, googleObjectId }: StoredPass,
  card: Card,
): GooglePlace {
  const known = {
    ...(googleClassId && { classDigest: '0'.repeat(32) }),
    ...(googleObjectId && { objectSuffix: googleObjectId }),
  }
  return placeOf({ id, templateId, templateVersion, card, ...known })
}

async function issued(passes: StoredPass[], services: Services, event: H3Event, at: Date): Promise<StoredPass[]> {
  const current = (await issueQueued(passes, services, event, at)).filter(({ status }) => status === 'ISSUED')
  if (current.length > 0) return current
  throw new ApiError('LINK_REVOKED', { details: { reason: 'failed' } })
}
