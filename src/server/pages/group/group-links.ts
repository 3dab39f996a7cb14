import type { H3Event, HTTPResponse } from 'h3'
import { byPlatform, type Platform, platforms } from '../../../core/contract/schemas/platform.ts'
import { ApiError } from '../../../core/errors.ts'
import { Uuid } from '../../../core/ids.ts'
import { inLanguage } from '../../../core/rules/template/definition-languages.ts'
import { mapInSlices } from '../../../core/slices.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Services } from '../../context.ts'
import type { Link } from '../../link-signing.ts'
import { deliveries } from '../../platforms/deliveries.ts'
import { type GroupVisit, type Together, toFailedLink } from '../../platforms/delivery.ts'
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

/** The number of passes per page: two Apple bundles (.pkpasses) of 10 passes. */
const PASSES_A_PAGE = 20

export type GroupServices = Services & Pick<GroupVisit, 'limitAddress'>

const withTogether = platforms.flatMap((platform): { platform: Platform; together: Together }[] => {
  const { together } = deliveries[platform]
  return together ? [{ platform, together }] : []
})

const MOST_TOGETHER = Math.max(...withTogether.map(({ together }) => together.most))

/**
 * Opens the link of a group. Shows a page of its installable passes, starting at the pass in `?from=`. With the
 * parameter of a platform, such as `?bundle=`, adds as many passes as the platform accepts in one step, or the number
 * in `?each=` if that is lower. `?from=` and the parameters of platforms contain a pass ID instead of an index, so that
 * no pass is skipped if another pass leaves the group before the request.
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
  const each = query.has('each') ? countIn(query, 'each', MOST_TOGETHER) : MOST_TOGETHER
  for (const { together } of withTogether) {
    if (!query.has(together.parameter)) continue
    const some = await list(idIn(query, together.parameter), Math.min(each, together.most))
    const visit = { event, pageUrl: addressOf(services, event), limitAddress: services.limitAddress }
    return together.open(await issued(some, services, event, at), visit, services, at)
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
    // Render without the message, which would take a query per pass. The page shows only the front of the card, and the
    // message is on the back.
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
    each: each === MOST_TOGETHER ? undefined : each,
    sandboxed: wallets.sandboxed,
    own,
  })
  return pageResponse(page, { headers })
}

function addressOf({ links }: Services, event: H3Event): string {
  return `${links.publicUrl}/l/${event.context.params?.token}`
}

async function firstsOf(shown: ShownPass[], each: number, services: Services): Promise<GroupPageFacts['firsts']> {
  const firsts = byPlatform((): number[] => [])
  for (const { platform, together } of withTogether) {
    for (let n = 0; n < shown.length; ) {
      const count = await together.countFitting(shown.slice(n, n + Math.min(each, together.most)), services)
      if (count === 0) break
      firsts[platform].push(n)
      n += count
    }
  }
  return firsts
}

async function issued(passes: StoredPass[], services: Services, event: H3Event, at: Date): Promise<StoredPass[]> {
  const current = (await issueQueued(passes, services, event, at)).filter(({ status }) => status === 'ISSUED')
  if (current.length > 0) return current
  throw new ApiError('LINK_REVOKED', { details: { reason: 'failed' } })
}
