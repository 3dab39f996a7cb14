import { ApiError } from '../../core/errors.ts'
import type { PassStatus } from '../../core/rules/pass/pass-status.ts'
import { fromLink, pageIcon } from './assets.ts'
import { buildPage, escapeHtml, type Page } from './html.ts'
import type { Contact, IssuerFacts } from './issuer-facts.ts'

/** A link whose pass is over: its page names who issued it, the error of the interface does not. */
export class LinkEnded extends ApiError {
  readonly issuer: IssuerFacts

  constructor(status: PassStatus, issuer: IssuerFacts) {
    super('LINK_REVOKED', { details: { reason: status.toLowerCase() } })
    this.issuer = issuer
  }
}

interface Explanation {
  title: string
  /** What happened. */
  what: string
  /** What the visitor can do. */
  advice: string
}

/** By the reason in the details of LINK_REVOKED. */
const ended: Record<string, Explanation> = {
  revoked: {
    title: 'This link was withdrawn',
    what: 'Whoever issued the pass has ended this link, so the pass can no longer be added with it. A pass that is in a wallet already is not affected.',
    advice: 'If you still need to add the pass, ask whoever sent it for a new link.',
  },
  void: {
    title: 'This pass was cancelled',
    what: 'Whoever issued the pass has cancelled it, so it can no longer be added or used.',
    advice: 'If you did not expect that, ask whoever sent it.',
  },
  failed: {
    title: 'This pass could not be made',
    what: 'Something went wrong while the pass was prepared, so there is nothing to add yet. It is nothing that you did.',
    advice: 'Tell whoever sent the link. Once they have put it right, this same link works again.',
  },
  expired: {
    title: 'This pass has expired',
    what: 'The time for which this pass was valid is over, so it can no longer be added.',
    advice: 'If you think it should still be valid, ask whoever sent it.',
  },
  suspended: {
    title: 'This link is closed for now',
    what: 'Passes of this issuer cannot be added at the moment. A pass that is in a wallet already is not affected.',
    advice: 'Try this same link again later, or ask whoever sent it.',
  },
}

/** By the reason in the details of LINK_INVALID. */
const invalid: Record<string, Explanation> = {
  expired: {
    title: 'This link has expired',
    what: 'Links to add a pass work for a limited time, and that of this one is over.',
    advice: 'Ask whoever sent it for a new link.',
  },
  malformed: {
    title: 'This link is not complete',
    what: 'A part of its address is missing or was changed; long links are sometimes cut off in messages.',
    advice:
      'Open the link again from the message that it came in, or copy the whole of it. If that does not help, ask for a new one.',
  },
  platform: {
    title: 'This wallet is not available',
    what: 'The pass can no longer be added to this kind of wallet.',
    advice: 'Ask whoever sent the link for another way to get the pass.',
  },
}

const unknown: Explanation = {
  title: 'This link is not valid',
  what: 'It does not lead to any pass. It may have been mistyped or changed on its way to you.',
  advice:
    'Open the link again from the message that it came in. If that does not help, ask whoever sent it for a new one.',
}

const busy: Explanation = {
  title: 'Too many visits at once',
  what: 'More links were opened from your network than can be answered right now.',
  advice: 'Wait a few seconds, then load this page again.',
}

const fault: Explanation = {
  title: 'The pass cannot be shown right now',
  what: 'Something does not work on our side. Your link and your pass are not affected.',
  advice: 'Load this page again in a minute.',
}

const refused: Explanation = {
  title: 'This pass cannot be added to Google Wallet',
  what: 'Google Wallet does not take it as it is. It is nothing that you did, and trying again will not help.',
  advice: 'Tell whoever sent the link. Once they have put it right, this same link works again.',
}

/** The page of a link that opens nothing: what happened, and what its visitor can do. */
export function linkProblemPage(problem: ApiError, correlationId: string): Page {
  const { title, what, advice } = explain(problem)
  // A number to quote helps only where somebody has to look for what went wrong.
  const reference = problem.status >= 500 ? `<p class="muted">Reference: ${escapeHtml(correlationId)}</p>` : ''
  const issuer = problem instanceof LinkEnded ? issuerHtml(problem.issuer) : ''
  return buildPage({
    title,
    main: `<div class="problem">${PICTURE}<h1>${title}</h1><p>${what}</p><p>${advice}</p>${issuer}${reference}</div>`,
    styles: [STYLE],
    icon: fromLink(pageIcon.path),
  })
}

/** Whom to ask, as far as the definition says. */
function issuerHtml({ organization, contacts }: IssuerFacts): string {
  const name = organization && `<p>Issued by <strong dir="auto">${escapeHtml(organization)}</strong></p>`
  return name + (contacts.length > 0 ? `<ul>${contacts.map(contactHtml).join('')}</ul>` : '')
}

function contactHtml({ label, url }: Contact): string {
  const address = escapeHtml(url.replace(/^(?:https:\/\/|mailto:|tel:)/i, ''))
  const text = label === '' ? '' : `<span dir="auto">${escapeHtml(label)}</span> `
  return `<li>${text}<a dir="ltr" href="${escapeHtml(url)}" rel="noopener nofollow">${address}</a></li>`
}

function explain({ code, status, details }: ApiError): Explanation {
  const reason = String(details.reason)
  if (code === 'LINK_REVOKED') return ended[reason] ?? ended.revoked!
  if (code === 'LINK_INVALID') return invalid[reason] ?? unknown
  if (code === 'GOOGLE_API_FAILED') return refused
  if (status === 429) return busy
  return status >= 500 ? fault : unknown
}

/** An empty card with a line through it. */
const PICTURE = `<svg viewBox="0 0 64 64" width="64" height="64" fill="none" stroke="currentColor" stroke-width="3"
stroke-linecap="round" aria-hidden="true"><rect x="10" y="16" width="44" height="32" rx="5"/><path d="M10 26h44M18 40h10"/>
<path d="m8 56 48-48"/></svg>`

const STYLE = `
.problem { padding: 2rem 1.5rem; border-radius: 1rem; background: var(--raised); text-align: center }
.problem svg { margin-bottom: .75rem; color: var(--muted) }
.problem h1 { margin-bottom: .75rem }
.problem p { margin: .75rem 0 0; text-wrap: balance }
.problem ul { display: grid; gap: .5rem; margin: .75rem 0 0; padding: 0; list-style: none }
.problem li a { display: inline-block; padding-block: .25rem }
`
