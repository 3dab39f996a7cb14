import type { Platform } from '../../../core/contract/schemas/platform.ts'
import { appointmentOf } from '../../../core/rules/display/calendar.ts'
import type { Card, CardField } from '../../../core/rules/display/card.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import type { Poster } from '../../../core/rules/display/poster.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { WalletPass } from '../../../wallets/wallet.ts'
import type { Links } from '../../link-signing.ts'
import { browserFile, copyScript, fromLink, pageIcon, tabletScript } from '../assets.ts'
import type { Badges } from '../badges.ts'
import { cardBackHtml, cardHtml, cardStyle, surplusOf } from '../card/card.ts'
import { googleCardHtml, googleCardStyle } from '../card/google-card.ts'
import { cardBeforePoster, posterHtml, posterStyle } from '../card/poster.ts'
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
  type SharedLink,
  shareDescription,
  sharedLanguage,
  shareTags,
  shareTitle,
  timeHtml,
} from './link-parts.ts'
import { isOfPhone, type VisitorPhone } from './visitors.ts'

export interface LinkPageFacts {
  pass: StoredPass
  rendered: WalletPass
  issuer: IssuerFacts
  /** The pass as an iPhone shows it; null if the server does not issue for Apple. */
  apple: Card | null
  /** The poster that newer iPhones show instead of the card; null if the pass has no poster. */
  poster: Poster | null
  /** The pass as Google Wallet shows it; null if the server does not issue for Google. */
  google: GoogleView | null
  platforms: Platform[]
  /** The emulated platforms. No real phone accepts their passes. */
  sandboxed: readonly Platform[]
  badges: Badges
  phone: VisitorPhone
  isInApp: boolean
  /** Whether to redirect an iPad to its wallet, although it identifies as a computer. */
  sendsOn: boolean
  links: Links
  language: PageLanguage
  at: Date
}

const LINK_STYLE = browserFile('link.css')

const HOUR_MS = 3_600_000

/** Returns the address of the page. The address is stable for an hour, so that its QR code is drawn once. */
export function addressOfPage({ links, pass, at }: Pick<LinkPageFacts, 'links' | 'pass' | 'at'>): string {
  return links.urlFor('smart', pass, new Date(at.getTime() - (at.getTime() % HOUR_MS)))
}

export function linkPage(facts: LinkPageFacts): Page {
  const { pass, issuer, platforms, phone, isInApp, links, language, at } = facts
  const { card } = facts.rendered
  const { words, tag, ofTexts = tag } = language
  const inOrder = platforms.toSorted((a, b) => Number(isOfPhone(b, phone)) - Number(isOfPhone(a, phone)))
  const buttons = inOrder.map((platform) => buttonHtml(platform, links.urlFor(platform, pass, at), facts))
  const own = addressOfPage(facts)
  const picture = draw(card, facts)
  const lang = ofTexts === tag ? '' : ` lang="${escapeHtml(ofTexts)}"`
  const main = `<div class="intro">${ribbonHtml(platforms, facts.sandboxed, language)}<h1 dir="auto">${escapeHtml(pass.label)}</h1>
<p class="muted" dir="auto">${escapeHtml(kindOfPass(card.description, issuer))}</p>
${calendarHtml(card, own, language)}${expiryHtml(card, { language: tag, words, timeZone: card.timeZone ?? card.fallbackZone })}${isInApp ? inAppHint(own, words) : ''}</div>
<div class="picture"${lang}>${picture.html}</div>
<div class="actions">${buttons.join('\n')}</div>
<div class="more">${phone === 'undetermined' ? phoneHtml(own, words) : ''}${cardBackHtml(card, words.more, moreFields(facts))}</div>`
  return buildPage({
    title: [pass.label, card.organizationName].filter((text) => text.trim() !== '').join(' – '),
    main,
    language: tag,
    head: shareTags({ issuer, platforms, publicUrl: links.publicUrl, language }),
    styles: [...picture.styles, PARTS_STYLE, LINK_STYLE],
    script: isInApp ? fromLink(copyScript.path) : facts.sendsOn ? fromLink(tabletScript.path) : undefined,
    icon: issuer.iconId ? imageBase + issuer.iconId : fromLink(pageIcon.path),
  })
}

/** The path of the calendar file of the event or trip, below a hosted link. */
export const calendarPath = '/calendar.ics'

function calendarHtml(card: Card, address: string, { words, tag }: PageLanguage): string {
  const appointment = appointmentOf(card)
  if (!appointment) return ''
  const timeZone = card.trip?.from?.timeZone ?? card.timeZone ?? card.fallbackZone ?? 'UTC'
  const time = timeHtml(appointment.start, { language: tag, timeZone, weekday: 'short' })
  return `<p class="calendar">${time} <a href="${escapeHtml(address + calendarPath)}">${escapeHtml(words.addToCalendar)}</a></p>
`
}

/** Returns the page for chats that preview a link, without data of the holder and without a way to add the pass. */
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

/** Returns the fields that an iPhone has no space for, and the fields that only the details of the poster contain. */
function moreFields({ apple, poster }: Pick<LinkPageFacts, 'apple' | 'poster'>): CardField[] {
  if (!apple) return []
  const onBack = new Set(apple.fields.back.map(({ key }) => key))
  const ofPoster = poster?.style === 'posterGeneric' ? poster.details.filter(({ key }) => !onBack.has(key)) : []
  return [...surplusOf(apple), ...ofPoster]
}

/**
 * Draws the card as an iPhone shows it. If there is a poster, draws the poster and the card of older iPhones. If the
 * server does not issue for Apple, draws the card as Google Wallet shows it.
 */
function draw(
  card: Card,
  { apple, poster, google }: Pick<LinkPageFacts, 'apple' | 'poster' | 'google'>,
): { html: string; styles: string[] } {
  const options = { imageUrl: (id: string) => imageBase + id }
  if (apple && poster) {
    const html = `<figure class="look"><figcaption dir="ltr">iOS ${poster.since}+</figcaption>${posterHtml(poster, apple, card.images, options)}</figure>
<figure class="look"><figcaption>iOS ${poster.since - 1}</figcaption>${cardHtml(cardBeforePoster(apple, poster), options)}</figure>`
    return { html, styles: [cardStyle(apple), posterStyle(apple)] }
  }
  if (apple) return { html: cardHtml(apple, options), styles: [cardStyle(apple)] }
  if (google)
    return { html: googleCardHtml(google, card.images, options), styles: [cardStyle(card), googleCardStyle(google)] }
  return { html: '', styles: [] }
}

const imageBase = fromLink('/images/')
