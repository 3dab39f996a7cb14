import type { H3Event } from 'h3'
import { Problem } from '../../core/errors.ts'
import { effectiveStatus, isInstallable } from '../../core/rules/pass-status.ts'
import { devicePlatform } from '../../core/rules/user-agent.ts'
import type { StoredPass } from '../../storage/pass-row.ts'
import type { Platform } from '../../wallets/wallet.ts'
import type { Services } from '../context.ts'
import { correlationIdOf } from '../middleware/correlation.ts'
import { escapeHtml, htmlPage, pageHeaders } from './html.ts'

const platformNames: Record<Platform, string> = { apple: 'Apple Wallet', google: 'Google Wallet' }

/**
 * Opens a hosted link: the signed package for apple, a redirect to the save URL for google, and for the smart link
 * whichever the visitor's device takes, or a page that offers both.
 * @throws Problem LINK_INVALID, LINK_REVOKED
 */
export async function openLink(event: H3Event, services: Services): Promise<Response> {
  const now = services.clock()
  const verdict = services.links.verify(event.context.params?.token ?? '', now)
  if (!verdict.ok) throw new Problem('LINK_INVALID', { details: { reason: verdict.reason } })
  const { kind, workspaceId, passId, generation } = verdict.link
  const pass = await services.store.passes.find(workspaceId, passId)
  if (!pass) throw new Problem('LINK_INVALID', { details: { reason: 'unknown' } })
  if (pass.linkGeneration !== generation) throw new Problem('LINK_REVOKED', { details: { reason: 'revoked' } })
  const current = await issueIfQueued(pass, services, event, now)
  if (!isInstallable(effectiveStatus(current, now))) {
    throw new Problem('LINK_REVOKED', { details: { reason: effectiveStatus(current, now).toLowerCase() } })
  }
  if (kind === 'smart') return openSmart(event, current, services, now)
  return openPlatform(kind, current, services, now)
}

/** The page of a link that opens nothing: what happened, and what its visitor can do. */
export function linkProblemPage(problem: Problem): string {
  const message =
    problem.code === 'LINK_REVOKED'
      ? 'This pass can no longer be added. If you did not expect that, ask whoever sent it for a new link.'
      : 'This link is not valid. It may have been cut off or mistyped, or be too old: ask whoever sent it for a new one.'
  const title = problem.code === 'LINK_REVOKED' ? 'This link has ended' : 'This link does not work'
  return htmlPage(title, `<h1>${title}</h1><p>${message}</p>`)
}

function openPlatform(platform: Platform, pass: StoredPass, services: Services, at: Date): Promise<Response> {
  return platform === 'apple' ? openApple(pass, services, at) : openGoogle(pass, services, at)
}

async function openApple(pass: StoredPass, { wallets, issuing }: Services, at: Date): Promise<Response> {
  if (!wallets.apple) throw notConfigured()
  const file = await wallets.apple.buildPackage(await issuing.render(pass), at)
  return new Response(new Uint8Array(file), {
    headers: {
      'content-type': 'application/vnd.apple.pkpass',
      'content-disposition': `attachment; filename="${pass.id}.pkpass"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    },
  })
}

async function openGoogle(pass: StoredPass, { wallets, issuing }: Services, at: Date): Promise<Response> {
  if (!wallets.google) throw notConfigured()
  const location = await wallets.google.saveUrl(await issuing.render(pass), at, { payload: 'full' })
  return new Response(null, {
    status: 302,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  })
}

async function openSmart(event: H3Event, pass: StoredPass, services: Services, at: Date): Promise<Response> {
  const { headers } = event.req
  const device = devicePlatform({
    userAgent: headers.get('user-agent'),
    platformHint: headers.get('sec-ch-ua-platform'),
  })
  const vary = { vary: 'User-Agent, Sec-CH-UA-Platform' }
  if (device !== 'undetermined' && services.wallets[device]) {
    const location = services.links.urlFor(device, pass, at)
    return new Response(null, { status: 302, headers: { location, 'cache-control': 'no-store', ...vary } })
  }
  const buttons = services.wallets.all.map(
    ({ platform }) =>
      `<a class="button" href="${escapeHtml(services.links.urlFor(platform, pass, at))}">Add to ${platformNames[platform]}</a>`,
  )
  const content = `<h1 dir="auto">${escapeHtml(pass.label)}</h1><p dir="auto">${escapeHtml(pass.templateName)}</p>${buttons.join('')}`
  return new Response(htmlPage(pass.label, content), { headers: { ...pageHeaders, ...vary } })
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

function notConfigured(): Problem {
  return new Problem('LINK_INVALID', { message: 'This server no longer issues passes for this platform.' })
}
