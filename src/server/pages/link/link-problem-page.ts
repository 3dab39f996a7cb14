import { type Platform, platforms } from '../../../core/contract/schemas/platform.ts'
import { ApiError } from '../../../core/errors.ts'
import type { JoinState } from '../../../core/rules/join/join-form.ts'
import type { PassStatus } from '../../../core/rules/pass/pass-status.ts'
import type { PageWords } from '../../../locales/page-texts.ts'
import { browserFile, fromLink, pageIcon } from '../assets.ts'
import { buildPage, escapeHtml, fillHtml, type Page } from '../html.ts'
import type { Contact, IssuerFacts } from '../issuer-facts.ts'
import { english, nameWallets } from '../words.ts'

type ProblemKind = keyof PageWords['problems']

/** The error for the link of an ended pass or a join page that accepts no visitors. The error page names the issuer. */
export class LinkEnded extends ApiError {
  readonly issuer: IssuerFacts

  constructor(status: PassStatus | JoinState, issuer: IssuerFacts) {
    super('LINK_REVOKED', { details: { reason: status.toLowerCase() } })
    this.issuer = issuer
  }
}

const STYLE = browserFile('link-problem.css')

export function linkProblemPage(problem: ApiError, correlationId: string, language = english): Page {
  const { words, tag } = language
  const [title, what, advice] = (['title', 'what', 'advice'] as const).map((part) =>
    nameWallets(words.problems[kindOf(problem)][part], platformsOf(problem.code), language).replace('{time}', () =>
      waitOf(problem, tag),
    ),
  ) as [string, string, string]
  // Show a reference only if the operator has to investigate.
  const reference =
    problem.status >= 500
      ? `<p class="muted">${fillHtml(words.reference, { reference: escapeHtml(correlationId) })}</p>`
      : ''
  const issuer = problem instanceof LinkEnded ? issuerHtml(problem.issuer, words) : ''
  return buildPage({
    title,
    language: tag,
    main: `<div class="problem">${PICTURE}<h1>${escapeHtml(title)}</h1><p>${escapeHtml(what)}</p><p>${escapeHtml(advice)}</p>${issuer}${reference}</div>`,
    styles: [STYLE],
    icon: fromLink(pageIcon.path),
  })
}

function issuerHtml({ organization, contacts }: IssuerFacts, words: PageWords): string {
  const strong = `<strong dir="auto">${escapeHtml(organization)}</strong>`
  const name = organization && `<p>${fillHtml(words.issuedBy, { organization: strong })}</p>`
  return name + (contacts.length > 0 ? `<ul>${contacts.map(contactHtml).join('')}</ul>` : '')
}

function contactHtml({ label, url }: Contact): string {
  const address = escapeHtml(url.replace(/^(?:https:\/\/|mailto:|tel:)/i, ''))
  const text = label === '' ? '' : `<span dir="auto">${escapeHtml(label)}</span> `
  return `<li>${text}<a dir="ltr" href="${escapeHtml(url)}" rel="noopener nofollow">${address}</a></li>`
}

const ended = new Map<unknown, ProblemKind>([
  ['revoked', 'revoked'],
  ['void', 'void'],
  ['failed', 'failed'],
  ['expired', 'expired'],
  ['suspended', 'suspended'],
  ['closed', 'joinClosed'],
  ['full', 'joinFull'],
])
const invalid = new Map<unknown, ProblemKind>([
  ['expired', 'linkExpired'],
  ['malformed', 'malformed'],
  ['platform', 'platform'],
  ['join', 'joinUnknown'],
])

function kindOf({ code, status, details }: ApiError): ProblemKind {
  if (code === 'LINK_REVOKED') return ended.get(details.reason) ?? 'revoked'
  if (code === 'LINK_INVALID') return invalid.get(details.reason) ?? 'unknown'
  if (platformsOf(code).length > 0) return 'refused'
  if (status === 429) return details.reason === 'join' ? 'joinBusy' : 'busy'
  return status >= 500 ? 'fault' : 'unknown'
}

/** Returns the time until a retry in words, such as "12 seconds". */
function waitOf({ headers }: ApiError, tag: string): string {
  const seconds = Number(headers['retry-after'] ?? 1)
  const [value, unit] = seconds < 100 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute']
  return new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' }).format(value)
}

function platformsOf(code: string): Platform[] {
  return platforms.filter((platform) => code === `${platform.toUpperCase()}_API_FAILED`)
}

const PICTURE = `<svg viewBox="0 0 64 64" width="64" height="64" fill="none" stroke="currentColor" stroke-width="3"
stroke-linecap="round" aria-hidden="true"><rect x="10" y="16" width="44" height="32" rx="5"/><path d="M10 26h44M18 40h10"/>
<path d="m8 56 48-48"/></svg>`
