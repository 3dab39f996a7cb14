import type { Platform } from '../../../core/contract/platform.ts'
import { appointmentOf } from '../../../core/rules/display/calendar.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { WalletPass } from '../../../wallets/wallet.ts'
import type { Links } from '../../link-signing.ts'
import { copyScript, fromLink, pageIcon, tabletScript } from '../assets.ts'
import type { Badges } from '../badges.ts'
import { cardBackHtml, cardHtml, cardStyle, surplusOf } from '../card/card.ts'
import { googleCardHtml, googleCardStyle } from '../card/google-card.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import type { IssuerFacts } from '../issuer-facts.ts'
import type { PageLanguage } from '../words.ts'
import {
  buttonHtml,
  expiryHtml,
  inAppHint,
  kindOfPass,
  PARTS_STYLE,
  phoneHtml,
  ribbonHtml,
  STARTS_WITH_PAGE,
  timeHtml,
} from './link-parts.ts'
import { type SharedLink, shareDescription, sharedLanguage, shareTags, shareTitle } from './share-tags.ts'
import { isOfPhone, type VisitorPhone } from './visitors.ts'

/** The pass of a smart link, and the device that opens it. */
export interface LinkPageFacts {
  pass: StoredPass
  rendered: WalletPass
  issuer: IssuerFacts
  /** The pass as an iPhone shows it; null if the server does not issue for Apple. */
  apple: Card | null
  /** The pass as Google Wallet shows it; null if the server does not issue for Google. */
  google: GoogleView | null
  /** The configured platforms. */
  platforms: Platform[]
  /** Platforms whose passes no real phone accepts. */
  sandboxed: readonly Platform[]
  badges: Badges
  phone: VisitorPhone
  /** Whether the page is shown in an in-app browser. */
  isInApp: boolean
  /** Whether to redirect a tablet that identifies as a computer to its wallet. */
  sendsOn: boolean
  links: Links
  language: PageLanguage
  at: Date
}

const HOUR_MS = 3_600_000

/** Returns the address of the page. It is stable for an hour, so that its QR code is drawn once. */
export function addressOfPage({ links, pass, at }: Pick<LinkPageFacts, 'links' | 'pass' | 'at'>): string {
  return links.urlFor('smart', pass, new Date(at.getTime() - (at.getTime() % HOUR_MS)))
}

/** Returns the page of a smart link: a preview of the pass, and buttons to add it to either wallet. */
export function linkPage(facts: LinkPageFacts): Page {
  const {
    pass,
    rendered: { card },
    issuer,
    apple,
    google,
    platforms,
    sandboxed,
    badges,
    phone,
    isInApp,
    sendsOn,
    links,
    language,
    at,
  } = facts
  const { words, tag, ofTexts = tag } = language
  const inOrder = platforms.toSorted((a, b) => Number(isOfPhone(b, phone)) - Number(isOfPhone(a, phone)))
  const buttons = inOrder.map((platform) =>
    buttonHtml(platform, links.urlFor(platform, pass, at), { badges, language }),
  )
  const own = addressOfPage(facts)
  const picture = draw(card, apple, google)
  const lang = ofTexts === tag ? '' : ` lang="${escapeHtml(ofTexts)}"`
  const main = `<div class="intro">${ribbonHtml(platforms, sandboxed, language)}<h1 dir="auto">${escapeHtml(pass.label)}</h1>
<p class="muted" dir="auto">${escapeHtml(kindOfPass(card.description, issuer))}</p>
${calendarHtml(card, own, language)}${expiryHtml(card, { language: tag, words, timeZone: card.timeZone ?? card.fallbackZone })}${isInApp ? inAppHint(own, words) : ''}</div>
<div class="picture"${lang}>${picture.html}</div>
<div class="actions">${buttons.join('\n')}</div>
<div class="more">${phone === 'undetermined' ? phoneHtml(own, words) : ''}${cardBackHtml(card, words.more, apple ? surplusOf(apple) : [])}</div>`
  return buildPage({
    title: [pass.label, card.organizationName].filter((text) => text.trim() !== '').join(' – '),
    main,
    language: tag,
    head: shareTags({ issuer, platforms, publicUrl: links.publicUrl, language }),
    styles: [...picture.styles, PARTS_STYLE, LINK_STYLE],
    script: isInApp ? fromLink(copyScript.path) : sendsOn ? fromLink(tabletScript.path) : undefined,
    icon: issuer.iconId ? imageBase + issuer.iconId : fromLink(pageIcon.path),
  })
}

/** The path of the calendar file of the event or trip, below a hosted link. */
export const calendarPath = '/calendar.ics'

/** Returns the time of the event or trip in the zone of the pass, with a link to the calendar file. */
function calendarHtml(card: Card, address: string, { words, tag }: PageLanguage): string {
  const appointment = appointmentOf(card)
  if (!appointment) return ''
  const timeZone = card.timeZone ?? card.fallbackZone ?? 'UTC'
  const time = timeHtml(appointment.start, { language: tag, timeZone, weekday: 'short' })
  return `<p class="calendar">${time} <a href="${escapeHtml(address + calendarPath)}">${escapeHtml(words.addToCalendar)}</a></p>
`
}

/**
 * Returns the page for programs that preview a link in a chat. It contains no data of the holder and no way to add the
 * pass.
 */
export function sharedPage(link: SharedLink): Page {
  const title = shareTitle(link.issuer)
  return buildPage({
    title,
    main: `<h1 dir="auto">${escapeHtml(title)}</h1><p>${escapeHtml(shareDescription(link))}</p>`,
    language: sharedLanguage(link).tag,
    head: shareTags(link),
    icon: fromLink(pageIcon.path),
  })
}

/** Draws the card as the previews do: as on an iPhone, else as in Google Wallet. */
function draw(card: Card, apple: Card | null, google: GoogleView | null): { html: string; styles: string[] } {
  const options = { imageUrl: (id: string) => imageBase + id }
  if (apple) return { html: cardHtml(apple, options), styles: [cardStyle(apple)] }
  if (google)
    return { html: googleCardHtml(google, card.images, options), styles: [cardStyle(card), googleCardStyle(google)] }
  return { html: '', styles: [] }
}

const imageBase = fromLink('/images/')

/**
 * The style of the page of a smart link: one column on a phone, and the card next to the rest on a wider screen. On a
 * small phone, the code comes before the fields, so that it is visible above the buttons. On paper, only the code and
 * the fields matter.
 */
const LINK_STYLE = `
.intro { margin-bottom: 1rem }
/* Texts of any direction start where the page does. */
.intro > :not(.ribbon, .hint) { ${STARTS_WITH_PAGE} }
.calendar { display: flex; flex-wrap: wrap; column-gap: .75rem; margin: .25rem 0; font-size: .9375rem }
/* As high as a finger, in the room of its line. */
.calendar a { color: inherit; margin-block: -.75rem; padding-block: .75rem }
.actions { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(8.5rem, 100%), 1fr)); gap: .75rem; margin-top: 1.25rem }
.actions .button { padding-inline: .5rem }
.badge { display: grid; place-items: center; border-radius: .5rem }
.badge img { display: block; width: auto; max-width: 100%; height: 3.25rem; object-fit: contain }
@media (max-width: 55.99rem) and (min-height: 36rem) {
  .actions { position: sticky; bottom: 0; margin-inline: -1rem; padding: .75rem 1rem max(.75rem, env(safe-area-inset-bottom));
    background: var(--page); box-shadow: 0 -.75rem .75rem -.25rem var(--page) }
}
@media (max-width: 55.99rem) and (max-height: 47.99rem) {
  .intro { margin-bottom: .5rem; line-height: 1.35 }
  .intro > p:not(.ribbon) { margin: 0 }
  .intro > .hint { margin-top: .25rem; padding: .375rem .625rem }
  .ribbon { margin-bottom: .5rem; padding: .125rem .5rem; font-size: .8125rem }
  .actions { box-shadow: none }
  .card { gap: .625rem; padding-top: .625rem }
  .card .barcode, .google-card .barcode { order: -1; margin-block: 0; padding-top: .75rem }
  .card header, .google-card > header { order: -2 }
}
/* A phone held across, or a page at twice its size: what adds the pass stands beside it, not a screen below. */
@media (min-width: 40rem) and (max-width: 55.99rem) and (max-height: 35.99rem) {
  main { width: 100%; display: grid; grid-template: "picture intro" auto "picture actions" auto "picture more" 1fr
    / minmax(0, 20rem) minmax(0, 1fr); column-gap: 1.5rem }
  .intro { grid-area: intro }
  .picture { grid-area: picture }
  .actions { grid-area: actions; margin-top: 0 }
  .more { grid-area: more }
}
@media (min-width: 56rem) {
  main { width: min(56rem, 100%); display: grid; grid-template: "picture intro" auto "picture actions" auto "picture more" 1fr
    / 24rem minmax(0, 1fr); column-gap: 4rem; padding: 3rem 2rem }
  .intro { grid-area: intro; margin: 0 }
  .picture { grid-area: picture }
  .actions { grid-area: actions; grid-template-columns: none }
  .more { grid-area: more }
  h1 { font-size: 2rem }
  .badge { justify-items: start }
}
@media print {
  :root { color-scheme: light; --page: #ffffff; --raised: #ffffff; --text: #000000; --muted: #000000; --line: #000000 }
  main { display: block; width: 100%; padding: 0 }
  .actions, .hint, .calendar a, .phone, .strip, .card > .background, .google-hero, .logo, .google-logo, .thumbnail { display: none }
  .ribbon { border: 1px solid; background: none; color: inherit }
  .sheet { max-width: 18cm; margin: 1rem auto; filter: none }
  .card, .google-card { --background: #ffffff; --foreground: #000000; --label: #000000; border: 1px solid; border-radius: 0; box-shadow: none;
    -webkit-mask: none; mask: none; break-inside: avoid }
  .card .barcode, .google-card .barcode { width: 100%; margin-block: 1rem; font-size: 1rem }
  .qr .symbol, .aztec .symbol { width: 9cm }
  .pdf417 .symbol, .code128 .symbol { max-width: 16cm; margin: 0 auto }
  .back summary { list-style: none }
  .back::details-content { content-visibility: visible; block-size: auto }
}
`
