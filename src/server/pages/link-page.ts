import type { DevicePlatform } from '../../core/rules/display/user-agent.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Platform, WalletPass } from '../../wallets/wallet.ts'
import type { Links } from '../links.ts'
import { fromLink, pageIcon, tabletScript } from './assets.ts'
import { barcodeSvg } from './card/barcode.ts'
import { cardBackHtml, cardHtml, cardStyle, expiryHtml } from './card/card.ts'
import { buildPage, escapeHtml, type Page } from './html.ts'
import { LINK_STYLE } from './link-style.ts'

export interface LinkPageFacts {
  pass: StoredPass
  rendered: WalletPass
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
  const main = `<div class="intro"><h1 dir="auto">${escapeHtml(pass.label)}</h1>
<p class="muted" dir="auto">${escapeHtml(pass.templateName)}</p>
${expiryHtml(card)}</div>
<div class="picture">${cardHtml(card, { imageUrl: (id) => imageBase + id })}</div>
<div class="actions">${isInApp ? IN_APP_HINT : ''}${buttons.join('\n')}</div>
<div class="more">${device === 'undetermined' ? phoneHtml(links.urlFor('smart', pass, at)) : ''}${cardBackHtml(card)}</div>`
  return buildPage({
    title: [pass.label, card.organizationName].filter((text) => text.trim() !== '').join(' – '),
    main,
    styles: [cardStyle(card), LINK_STYLE],
    script: sendsOn ? fromLink(tabletScript.path) : undefined,
    icon: card.images.icon ? imageBase + card.images.icon : fromLink(pageIcon.path),
  })
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
