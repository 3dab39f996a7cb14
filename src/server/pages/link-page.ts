import type { Card } from '../../core/rules/display/card.ts'
import type { GoogleView } from '../../core/rules/display/google-view.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Platform, WalletPass } from '../../wallets/wallet.ts'
import type { Links } from '../links.ts'
import { fromLink, pageIcon, tabletScript } from './assets.ts'
import { barcodeSvg, cardBackHtml, cardHtml, cardStyle, expiryHtml, surplusOf } from './card/card.ts'
import { googleCardHtml, googleCardStyle } from './card/google-card.ts'
import { buildPage, escapeHtml, type Page } from './html.ts'
import type { DevicePlatform } from './visitors.ts'

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
