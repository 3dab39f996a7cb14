import type { ApiError } from '../../core/errors.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { GoogleView } from '../../core/rules/display/google-view.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Platform, WalletPass } from '../../wallets/wallet.ts'
import type { Links } from '../links.ts'
import { fromLink, pageIcon, tabletScript } from './assets.ts'
import { barcodeSvg, cardBackHtml, cardHtml, cardStyle, expiryHtml, surplusOf } from './card/card.ts'
import { googleCardHtml, googleCardStyle } from './card/google-card.ts'
import { buildPage, escapeHtml, type Page } from './html.ts'

export interface LinkPageFacts {
  pass: StoredPass
  rendered: WalletPass
  /** The pass as an iPhone shows it; null where the server does not issue for Apple. */
  apple: Card | null
  /** The same as Google Wallet shows it. */
  google: GoogleView | null
  /** The configured platforms. */
  platforms: Platform[]
  device: DevicePlatform
  /** The page is shown inside another app. */
  isInApp: boolean
  /** A tablet that calls itself a computer may be sent to its wallet. */
  sendsOn: boolean
  links: Links
  at: Date
}

const platformNames: Record<Platform, string> = { apple: 'Apple Wallet', google: 'Google Wallet' }

/** The page of a smart link: the pass as it will look, and a way to add it to either wallet. */
export function linkPage(facts: LinkPageFacts): Page {
  const {
    pass,
    rendered: { card },
    apple,
    google,
    platforms,
    device,
    isInApp,
    sendsOn,
    links,
    at,
  } = facts
  const inOrder = platforms.toSorted((a, b) => Number(b === device) - Number(a === device))
  const buttons = inOrder.map((platform) => {
    const address = escapeHtml(links.urlFor(platform, pass, at))
    return `<a class="button" data-platform="${platform}" href="${address}">Add to ${platformNames[platform]}</a>`
  })
  const picture = draw(card, apple, google)
  const main = `<div class="intro"><h1 dir="auto">${escapeHtml(pass.label)}</h1>
<p class="muted" dir="auto">${escapeHtml(pass.templateName)}</p>
${expiryHtml(card)}</div>
<div class="picture">${picture.html}</div>
<div class="actions">${isInApp ? IN_APP_HINT : ''}${buttons.join('\n')}</div>
<div class="more">${device === 'undetermined' ? phoneHtml(links.urlFor('smart', pass, at)) : ''}${cardBackHtml(card, apple ? surplusOf(apple) : [])}</div>`
  return buildPage({
    title: [pass.label, card.organizationName].filter((text) => text.trim() !== '').join(' – '),
    main,
    styles: [...picture.styles, LINK_STYLE],
    script: sendsOn ? fromLink(tabletScript.path) : undefined,
    icon: card.images.icon ? imageBase + card.images.icon : fromLink(pageIcon.path),
  })
}

/** As the previews draw it: the card of an iPhone, or where none is issued that of Google Wallet. */
function draw(card: Card, apple: Card | null, google: GoogleView | null): { html: string; styles: string[] } {
  const options = { imageUrl: (id: string) => imageBase + id }
  if (apple) return { html: cardHtml(apple, options), styles: [cardStyle(apple)] }
  if (google)
    return { html: googleCardHtml(google, card.images, options), styles: [cardStyle(card), googleCardStyle(google)] }
  return { html: '', styles: [] }
}

const imageBase = fromLink('/images/')

const IN_APP_HINT = `<p class="hint"><strong>Open in your browser:</strong> the app that shows this page may not be able
to add passes. Look for “Open in browser” in its menu.</p>`

/** On a computer the pass is wanted on another device; the sheet hides this where the screen is a phone's. */
function phoneHtml(address: string): string {
  const svg = barcodeSvg('qr', address)
  if (svg === undefined) return ''
  return `<figure class="phone"><div class="symbol" role="img" aria-label="QR code of this page’s address">${svg}</div>
<figcaption><strong>Continue on your phone</strong>
Scan this code with its camera.</figcaption></figure>`
}

/** The look of the page of a smart link: one column on a phone, the card beside everything else on a wider screen. */
const LINK_STYLE = `
.intro { margin-bottom: 1rem }
/* Texts of any direction start where the page does. */
.intro > * { width: fit-content; max-width: 100% }
.actions { display: grid; gap: .75rem; margin-top: 1.25rem }
.hint { margin: 0; padding: .75rem 1rem; border-radius: .875rem; border: 1px solid var(--line); background: var(--raised);
  font-size: .9375rem; white-space: normal }
.phone { display: none }
@media (max-width: 55.99rem) and (min-height: 36rem) {
  .actions { position: sticky; bottom: 0; margin-inline: -1rem; padding: .75rem 1rem max(.75rem, env(safe-area-inset-bottom));
    background: var(--page); box-shadow: 0 -.75rem .75rem -.25rem var(--page) }
}
@media (min-width: 56rem) {
  main { width: min(56rem, 100%); display: grid; grid-template: "picture intro" auto "picture actions" auto "picture more" 1fr
    / 24rem minmax(0, 1fr); column-gap: 4rem; padding: 3rem 2rem }
  .intro { grid-area: intro; margin: 0 }
  .picture { grid-area: picture }
  .actions { grid-area: actions }
  .more { grid-area: more }
  h1 { font-size: 2rem }
  .phone { display: flex; align-items: center; gap: 1.25rem; margin: 1.5rem 0 0; padding: 1rem; border-radius: .875rem;
    background: var(--raised) }
  .phone .symbol { flex: none; width: 8.5rem; padding: .75rem; border-radius: .5rem; background: #ffffff; forced-color-adjust: none }
  .phone figcaption { color: var(--muted); font-size: .9375rem }
  .phone strong { color: var(--text) }
}
`

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
  return buildPage({
    title,
    main: `<div class="problem">${PICTURE}<h1>${title}</h1><p>${what}</p><p>${advice}</p>${reference}</div>`,
    styles: [STYLE],
    icon: fromLink(pageIcon.path),
  })
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
`

export type DevicePlatform = 'apple' | 'google' | 'undetermined'

export interface VisitorHeaders {
  /** The header `User-Agent`. */
  userAgent: string | null
  /** The header `Sec-CH-UA-Platform` as it was sent: a quoted string such as `"Android"`. */
  platformHint: string | null
}

/**
 * The wallet of the device behind a request. A Macintosh may be an iPad in disguise, so only a script on the page can
 * tell; it and every computer are undetermined and get the page that offers both.
 */
export function devicePlatform({ userAgent, platformHint }: VisitorHeaders): DevicePlatform {
  if (platformHint?.trim() === '"Android"') return 'google'
  if (userAgent === null) return 'undetermined'
  if (/\bAndroid\b/i.test(userAgent)) return 'google'
  if (/\b(?:iPhone|iPad|iPod)\b/i.test(userAgent)) return 'apple'
  return 'undetermined'
}
