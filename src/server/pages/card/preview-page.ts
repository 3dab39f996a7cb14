import type { Warning } from '../../../core/contract/schemas/warnings.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import type { Poster } from '../../../core/rules/display/poster.ts'
import { browserFile } from '../assets.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import { english } from '../words.ts'
import { CARD_STYLE, type CardOptions, cardBackHtml, cardHtml, cardStyle, detailsHtml } from './card.ts'
import { googleCardHtml, googleCardStyle } from './google-card.ts'
import { cardBeforePoster, posterHtml, posterStyle } from './poster.ts'

export interface PreviewPageFacts {
  title: string
  subtitle: string
  /** The card on an iPhone; null if the server does not issue for Apple, or Apple was not requested. */
  apple: Card | null
  /** The poster that newer iPhones show instead of the card. */
  poster?: Poster | null
  /** The fields of a flight in the layout that iPhones use since iOS 26. */
  semantic?: Card['fields'] | null
  /** The pass on Android; null if the server does not issue for Google, or Google was not requested. */
  google: GoogleView | null
  /** The image IDs by role. The poster and the Google view contain no image IDs. */
  images: Card['images']
  /** The time for which the pass is drawn: a pass that has expired by then is drawn as expired. */
  at: Date
  warnings?: readonly Warning[]
}

/** Returns a self-contained page with a pass on an iPhone and an Android phone. `imageUrl` must return data URLs. */
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

export interface PhoneFacts
  extends Pick<PreviewPageFacts, 'apple' | 'poster' | 'semantic' | 'google' | 'images' | 'at'> {
  variant?: string
}

export function phonesHtml(facts: PhoneFacts, options: CardOptions): string {
  const { apple, poster, semantic, google, images, at, variant } = facts
  const named = variant ? `, ${variant}` : ''
  const newerIos = poster?.since ?? (semantic ? 26 : undefined)
  const phones = [
    apple &&
      poster &&
      applePhone(apple, at, named, {
        id: 'poster',
        card: posterHtml(poster, apple, images, options),
        ...(poster.style === 'posterEventTicket' && { note: POSTER_NOTE }),
        ...(poster.style === 'posterGeneric' && { back: detailsHtml(english.words.more, poster.details, []) }),
      }),
    apple &&
      semantic &&
      applePhone(apple, at, named, {
        id: 'semantic',
        card: cardHtml({ ...apple, fields: semantic, images: semanticImages(apple, images) }, options),
        note: SEMANTIC_NOTE,
      }),
    apple &&
      applePhone(apple, at, newerIos === undefined ? named : `${named}, before iOS ${newerIos}`, {
        card: cardHtml(poster ? cardBeforePoster(apple, poster) : apple, { ...options, marksSurplus: true }),
      }),
    google && androidPhone(google, images, named, options),
  ]
  return `<div class="phones">${phones.filter((phone) => phone !== null).join('\n')}</div>`
}

/** Returns the images of the newer layout, which shows the primary logo, if there is one, instead of the logo. */
function semanticImages(apple: Card, { primaryLogo }: Card['images']): Card['images'] {
  return primaryLogo === undefined ? apple.images : { ...apple.images, logo: primaryLogo }
}

/** A note to the designer: newer iPhones do not show the front fields of a flight. */
const SEMANTIC_NOTE =
  'An approximation: since iOS 26, iPhones show these facts of the flight in the layout of Apple, with badges and live data, ' +
  'and not the front fields of the design.'
const POSTER_NOTE =
  'A poster ticket shows the facts of the event and semantic tags, and not the front fields of the design.'

const PHONE_STYLE = browserFile('phones.css')

export function phoneStyles({ apple, poster, google }: Pick<PhoneFacts, 'apple' | 'poster' | 'google'>): string[] {
  // Include the style of Apple cards even without such a card, because the fields of the Google card also use it.
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

function applePhone(
  card: Card,
  at: Date,
  named: string,
  drawn: Pick<PhoneParts, 'id' | 'card' | 'note'> & Partial<Pick<PhoneParts, 'back'>>,
): string {
  const isExpired = card.expiresAt !== null && card.expiresAt <= at
  return phoneHtml({
    kind: 'iphone',
    name: `Apple Wallet${named}`,
    bar: '<span>Done</span><span class="round">•••</span>',
    stamp: card.voided ? 'VOID' : isExpired ? 'EXPIRED' : null,
    back: cardBackHtml(card, english.words.more),
    ...drawn,
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
  /** Trusted HTML, which is inserted without escaping. */
  bar: string
  stamp: string | null
  card: string
  note?: string
  back: string
}

function phoneHtml({ kind, id = kind, name, bar, stamp, card, note, back }: PhoneParts): string {
  return `<section class="phone ${kind}" aria-labelledby="${id}"><h2 id="${id}">${name}</h2>
<div class="frame"><div class="screen">
<div class="status" aria-hidden="true"><span>9:41</span>${STATUS_ICONS}</div>
<div class="bar" aria-hidden="true">${bar}</div>
<div class="place${stamp ? ' is-over' : ''}">${stamp ? `<p class="stamp">${escapeHtml(stamp)}</p>` : ''}${card}</div>
<div class="home" aria-hidden="true"></div>
</div></div>
${note === undefined ? '' : `<p class="note muted">${escapeHtml(note)}</p>`}
${back}
</section>`
}

const STATUS_ICONS = `<svg viewBox="0 0 48 12" aria-hidden="true"><path d="M0 8h3v4H0zM5 5.5h3V12H5zM10 3h3v9h-3zM15 0h3v12h-3z"/>
<path d="M26 1.5h16a2 2 0 0 1 2 2v5a2 2 0 0 1-2 2H26a2 2 0 0 1-2-2v-5a2 2 0 0 1 2-2zm0 1a1 1 0 0 0-1 1v5a1 1 0 0 0 1 1h16a1 1 0 0 0 1-1v-5a1 1 0 0 0-1-1z"/>
<rect x="26" y="3.5" width="16" height="5" rx=".75"/><rect x="45" y="4" width="1.5" height="4" rx=".75"/></svg>`
