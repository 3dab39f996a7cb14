import type { Warning } from '../../../core/contract/definition.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import type { Poster } from '../../../core/rules/display/poster.ts'
import { walletWord } from '../../../core/rules/display/wallet-words.ts'
import { UNSAID_LANGUAGE } from '../../../core/rules/template/definition-languages.ts'
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
  /** The line below the title. */
  subtitle: string
  /** Null if the server does not issue for Apple, or it was not requested. */
  apple: Card | null
  /** The poster event ticket that newer iPhones show instead. */
  poster?: Poster | null
  /** Null as with `apple`. */
  google: GoogleView | null
  /** Image ids by role, for posters and for Google, whose views contain none. */
  images: Card['images']
  /** The time on the phones. A pass past its expiry is drawn as expired. */
  at: Date
  /** Warnings below the phones. */
  warnings?: readonly Warning[]
}

/**
 * Returns a page with a pass on an iPhone and an Android phone, side by side. The page is a self-contained file:
 * imageUrl returns its images as data URLs.
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
  /** The suffix that distinguishes phones if a page shows several. */
  variant?: string
}

/** Returns the phones only. Needs phoneStyles, and an ancestor of the class `preview`. */
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
  /** Default: the kind. */
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

/** The icons of signal and battery. */
const STATUS_ICONS = `<svg viewBox="0 0 48 12" aria-hidden="true"><path d="M0 8h3v4H0zM5 5.5h3V12H5zM10 3h3v9h-3zM15 0h3v12h-3z"/>
<path d="M26 1.5h16a2 2 0 0 1 2 2v5a2 2 0 0 1-2 2H26a2 2 0 0 1-2-2v-5a2 2 0 0 1 2-2zm0 1a1 1 0 0 0-1 1v5a1 1 0 0 0 1 1h16a1 1 0 0 0 1-1v-5a1 1 0 0 0-1-1z"/>
<rect x="26" y="3.5" width="16" height="5" rx=".75"/><rect x="45" y="4" width="1.5" height="4" rx=".75"/></svg>`

/** Two phones side by side, drawn in CSS without copying artwork of Apple or Google. */
const PHONE_STYLE = `
.preview main { width: min(64rem, 100%); padding: clamp(1rem, 4vw, 3rem) }
.preview .intro { margin-bottom: 2rem; text-align: center }
.preview h1 { font-size: clamp(1.5rem, 4vw, 2.25rem) }
.phones { display: flex; flex-wrap: wrap; justify-content: center; align-items: flex-start; gap: 2.5rem clamp(1.5rem, 6vw, 5rem) }
.phone { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; flex: 0 1 24.875rem; min-width: 0 }
.phone h2 { margin: 0; font-size: 1rem; font-weight: 600; text-align: center }
.frame { padding: .6875rem; border-radius: 3.25rem; background: #17171a;
  box-shadow: 0 0 0 1px #3c3c43, inset 0 0 0 1px #3c3c43, 0 1.5rem 3.5rem -.5rem var(--shadow) }
.screen { display: flex; flex-direction: column; min-height: 47rem; overflow: hidden; border-radius: 2.625rem; background: var(--wallpaper);
  color: var(--ink) }
.iphone .screen { --wallpaper: #ffffff; --ink: #1c1c1e }
.android .screen { --wallpaper: #f6f7fb; --ink: #1f1f1f; border-radius: 2.25rem }
.android .frame { border-radius: 2.75rem }
@media (prefers-color-scheme: dark) {
  .iphone .screen { --wallpaper: #000000; --ink: #f5f5f7 }
  .android .screen { --wallpaper: #131316; --ink: #e4e4e8 }
  .frame { background: #2a2a2f; box-shadow: 0 0 0 1px #55555c, inset 0 0 0 1px #55555c, 0 1.5rem 3.5rem -.5rem var(--shadow) }
}
.status { position: relative; display: flex; justify-content: space-between; align-items: center; padding: .875rem 1.75rem .25rem;
  font-size: .9375rem; font-weight: 600 }
.status::before { content: ""; position: absolute; top: .625rem; left: 50%; width: min(6.25rem, 34%); height: 1.75rem; translate: -50%;
  border-radius: 1rem; background: #000000 }
.android .status { font-weight: 500; font-size: .875rem; padding-top: .75rem }
.android .status::before { top: .75rem; width: 1.125rem; height: 1.125rem }
.status svg { display: block; height: .75rem; fill: currentcolor }
.bar { display: flex; justify-content: space-between; align-items: center; padding: .75rem 1.25rem .625rem; font-size: 1.0625rem }
.bar .round { display: grid; place-items: center; width: 1.875rem; height: 1.875rem; border-radius: 50%; letter-spacing: .06em;
  background: color-mix(in srgb, var(--ink) 10%, var(--wallpaper)); font-size: .875rem; font-weight: 700 }
.iphone .bar { color: #0064d2; font-weight: 600 }
.android .bar { font-size: 1.25rem; padding-block: .5rem .75rem }
@media (prefers-color-scheme: dark) { .iphone .bar { color: #4da3ff } }
.stamp { align-self: center; margin: 0 0 .75rem; padding: .1875rem .875rem; border-radius: 1rem; background: #b3261e; color: #ffffff;
  font-size: .8125rem; font-weight: 600; letter-spacing: .06em }
.is-over .symbol { opacity: .18 }
.place { display: flex; flex: 1; flex-direction: column; padding: 0 .75rem .75rem }
.android .place { padding-inline: 1rem }
.home { width: 8.5rem; height: .3125rem; margin: auto auto .5rem; border-radius: 1rem; background: var(--ink) }
.android .home { width: 6.5rem; height: .25rem; opacity: .8 }
.iphone .sheet { max-width: none; margin: 0; width: 100% }
.iphone .card { min-height: 30rem; border-radius: .875rem }
.iphone .card .barcode { margin-top: auto }
.iphone .coupon { border-radius: 0 }
.preview .back { margin: 0 }
.warnings { max-width: 48rem; margin: 2.5rem auto 0; padding: 1rem 1.25rem; border-radius: .875rem; background: var(--raised) }
.warnings h2 { margin: 0; font-size: 1rem }
.warnings ul { margin: 0; padding: 0; list-style: none }
.warnings li { padding: .625rem 0; border-top: 1px solid var(--line) }
.warnings code { color: var(--muted); font-size: .875rem }
`

/**
 * Draws a poster event ticket as an iPhone does: the artwork or background behind the name, the place, and the seat.
 */
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

/** The waves of an NFC reader: a poster ticket has no barcode. */
const readerSign = (language = UNSAID_LANGUAGE) =>
  `<svg class="reader" viewBox="0 0 24 24" role="img" aria-label="${walletWord('Hold near the reader', language)}"><path d="M7 9a5 5 0 0 1 0 6M11 6.5a9 9 0 0 1 0 11M15 4a14 14 0 0 1 0 16"/></svg>`

/** Returns the style of a poster, with the color of the card behind its images. */
function posterStyle({ colors }: Card): string {
  return `.poster { --background: ${cardColors(colors).background} }\n${POSTER_STYLE}`
}

/** Uses Apple's image sizes. The text is white, and both ends of the image are darkened. */
const POSTER_STYLE = `
.poster { position: relative; display: flex; flex-direction: column; justify-content: space-between; min-height: 32rem; overflow: hidden;
  border-radius: 1.25rem; background: var(--background); color: #ffffff; line-height: 1.25; filter: drop-shadow(0 .5rem 1.25rem var(--shadow)) }
.poster .background, .poster .artwork { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover }
.poster .artwork { height: auto; aspect-ratio: 358 / 448 }
.poster header, .poster .bill { position: relative; padding: 1rem }
.poster header { display: flex; justify-content: space-between; align-items: center; gap: 1rem; padding-bottom: 2.5rem;
  background: linear-gradient(rgb(0 0 0 / .65), transparent) }
.poster p { margin: 0 }
.poster .issuer { min-width: 0; font-size: 1.0625rem; font-weight: 600 }
.primaryLogo { display: block; width: auto; height: auto; max-width: min(7.875rem, 100%); max-height: 1.875rem }
.secondaryLogo { display: block; width: auto; height: auto; max-width: min(8.4375rem, 100%); max-height: .75rem; margin-bottom: .5rem }
.reader { flex: none; width: 1.5rem; fill: none; stroke: currentcolor; stroke-width: 2; stroke-linecap: round }
.poster .bill { padding-top: 4rem; background: linear-gradient(transparent, rgb(0 0 0 / .7) 4rem, rgb(0 0 0 / .8)) }
.poster .event { font-size: 1.625rem; font-weight: 700; line-height: 1.15; letter-spacing: -.01em }
.poster .venue { margin-top: .25rem; font-size: 1.0625rem }
.poster .seat { margin-top: 1rem; padding-top: .75rem; border-top: 1px solid rgb(255 255 255 / .35) }
.poster .fields dt { color: inherit }
`
