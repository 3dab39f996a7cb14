import type { Warning } from '../../../core/contract/schemas/definition.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import { walletLabel } from '../../../core/rules/display/native-rows.ts'
import type { Poster } from '../../../core/rules/display/poster.ts'
import { UNSAID_LANGUAGE } from '../../../core/rules/template/definition-languages.ts'
import { browserFile } from '../assets.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import { english } from '../words.ts'
import {
  CARD_STYLE,
  type CardOptions,
  cardBackHtml,
  cardHtml,
  cardStyle,
  detailsHtml,
  fieldListHtml,
  languageAttributes,
} from './card.ts'
import { googleCardHtml, googleCardStyle } from './google-card.ts'

export interface PreviewPageFacts {
  title: string
  subtitle: string
  /** Null if the server does not issue for Apple, or Apple was not requested. */
  apple: Card | null
  /** The poster event ticket that newer iPhones show instead of the card. */
  poster?: Poster | null
  /** Null if the server does not issue for Google, or Google was not requested. */
  google: GoogleView | null
  /** Image ids by role, for posters and for Google, whose views contain none. */
  images: Card['images']
  /** The time on the phones. A pass past its expiry is drawn as expired. */
  at: Date
  warnings?: readonly Warning[]
}

/**
 * Returns a self-contained page that shows a pass on an iPhone and an Android phone. `imageUrl` must return data URLs.
 */
export function previewPage(facts: PreviewPageFacts, options: CardOptions): Page {
  const { title, subtitle, warnings = [] } = facts
  const main = `<div class="intro"><h1 dir="auto">${escapeHtml(title)}</h1>
<p class="muted" dir="auto">${escapeHtml(subtitle)}</p></div>
${phonesHtml(facts, options)}
${warningsHtml(warnings)}`
  return buildPage({
    title,
    main,
    styles: phoneStyles(facts),
    hasOwnImages: true,
    bodyClass: 'preview',
  })
}

export interface PhoneFacts extends Pick<PreviewPageFacts, 'apple' | 'poster' | 'google' | 'images' | 'at'> {
  variant?: string
}

export function phonesHtml({ apple, poster, google, images, at, variant }: PhoneFacts, options: CardOptions): string {
  const named = variant ? `, ${variant}` : ''
  const phones = [
    apple && poster && applePhone(apple, at, named, { id: 'poster', card: posterHtml(poster, apple, images, options) }),
    apple &&
      applePhone(apple, at, poster ? `${named}, before iOS 18` : named, {
        card: cardHtml(apple, { ...options, marksSurplus: true }),
      }),
    google && androidPhone(google, images, named, options),
  ]
  return `<div class="phones">${phones.filter((phone) => phone !== null).join('\n')}</div>`
}

const PHONE_STYLE = browserFile('phones.css')
const POSTER_STYLE = browserFile('poster.css')

export function phoneStyles({ apple, poster, google }: Pick<PhoneFacts, 'apple' | 'poster' | 'google'>): string[] {
  // The fields of both cards use the style of the Apple card.
  return [
    apple ? cardStyle(apple) : CARD_STYLE,
    apple && poster ? posterStyle(apple) : '',
    google ? googleCardStyle(google) : '',
    PHONE_STYLE,
  ]
}

function warningsHtml(warnings: readonly Warning[]): string {
  if (warnings.length === 0) return ''
  const items = warnings.map(
    ({ code, path, message }) =>
      `<li><p><strong>${code}</strong> <code>${escapeHtml(path.join('.'))}</code></p><p dir="auto">${escapeHtml(message)}</p></li>`,
  )
  return `<section class="warnings" aria-labelledby="warnings"><h2 id="warnings">Warnings</h2><ul>${items.join('')}</ul></section>`
}

function applePhone(card: Card, at: Date, named: string, front: Pick<PhoneParts, 'id' | 'card'>): string {
  const isExpired = card.expiresAt !== null && card.expiresAt <= at
  return phoneHtml({
    ...front,
    kind: 'iphone',
    name: `Apple Wallet${named}`,
    bar: '<span>Done</span><span class="round">•••</span>',
    stamp: card.voided ? 'VOID' : isExpired ? 'EXPIRED' : null,
    back: cardBackHtml(card, english.words.more),
  })
}

function androidPhone(view: GoogleView, images: Card['images'], named: string, options: CardOptions): string {
  return phoneHtml({
    kind: 'android',
    name: `Google Wallet${named}`,
    bar: '<span>✕</span><span>⋮</span>',
    stamp: view.state === 'ACTIVE' ? null : view.state,
    card: googleCardHtml(view, images, options),
    back: detailsHtml('Details', view.details, view.links),
  })
}

interface PhoneParts {
  id?: string
  kind: 'iphone' | 'android'
  name: string
  /** Trusted HTML. */
  bar: string
  stamp: string | null
  card: string
  back: string
}

function phoneHtml({ kind, id = kind, name, bar, stamp, card, back }: PhoneParts): string {
  return `<section class="phone ${kind}" aria-labelledby="${id}"><h2 id="${id}">${name}</h2>
<div class="frame"><div class="screen">
<div class="status" aria-hidden="true"><span>9:41</span>${STATUS_ICONS}</div>
<div class="bar" aria-hidden="true">${bar}</div>
<div class="place${stamp ? ' is-over' : ''}">${stamp ? `<p class="stamp">${escapeHtml(stamp)}</p>` : ''}${card}</div>
<div class="home" aria-hidden="true"></div>
</div></div>
${back}
</section>`
}

const STATUS_ICONS = `<svg viewBox="0 0 48 12" aria-hidden="true"><path d="M0 8h3v4H0zM5 5.5h3V12H5zM10 3h3v9h-3zM15 0h3v12h-3z"/>
<path d="M26 1.5h16a2 2 0 0 1 2 2v5a2 2 0 0 1-2 2H26a2 2 0 0 1-2-2v-5a2 2 0 0 1 2-2zm0 1a1 1 0 0 0-1 1v5a1 1 0 0 0 1 1h16a1 1 0 0 0 1-1v-5a1 1 0 0 0-1-1z"/>
<rect x="26" y="3.5" width="16" height="5" rx=".75"/><rect x="45" y="4" width="1.5" height="4" rx=".75"/></svg>`

function posterHtml(poster: Poster, card: Card, images: Card['images'], { imageUrl }: CardOptions): string {
  const picture = (role: 'artwork' | 'background' | 'primaryLogo' | 'secondaryLogo', alt = '') => {
    const address = images[role] && imageUrl(images[role])
    return address ? `<img class="${role}" src="${escapeHtml(address)}" alt="${escapeHtml(alt)}">` : ''
  }
  const name = card.logoText?.trim() || card.organizationName
  const line = (kind: string, text: string) => `<p class="${kind}" dir="auto">${escapeHtml(text)}</p>`
  return `<article class="poster" ${languageAttributes(card.language, name)} aria-label="${escapeHtml(card.description)}">
${picture('artwork') || picture('background')}
<header>${picture('primaryLogo', name) || line('issuer', name)}${readerSign(card.language)}</header>
<div class="bill">${picture('secondaryLogo')}
${line('event', poster.event)}${line('venue', poster.venue)}${poster.starts === null ? '' : line('starts', poster.starts)}
${fieldListHtml('seat', poster.seat)}</div>
</article>`
}

/** Draws the waves of an NFC reader, because a poster ticket has no barcode. */
const readerSign = (language = UNSAID_LANGUAGE) =>
  `<svg class="reader" viewBox="0 0 24 24" role="img" aria-label="${walletLabel('holdNearReader', language)}"><path d="M7 9a5 5 0 0 1 0 6M11 6.5a9 9 0 0 1 0 11M15 4a14 14 0 0 1 0 16"/></svg>`

function posterStyle({ colors }: Card): string {
  return `.poster { --background: ${cardColors(colors).background} }\n${POSTER_STYLE}`
}
