import type { Warning } from '../../../core/contract/warnings.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import { type CardOptions, cardBackHtml, cardHtml, cardStyle, detailsHtml } from './card.ts'
import { googleCardHtml, googleCardStyle } from './google-card.ts'
import { PHONE_STYLE } from './phone-style.ts'

export interface PreviewPageFacts {
  title: string
  /** A line under the title. */
  subtitle: string
  /** Null where the server does not issue for it, or it is not asked for. */
  apple: Card | null
  google: GoogleView | null
  images: Card['images']
  at: Date
  /** What to look at; told under the phones. */
  warnings?: readonly Warning[]
}

/**
 * A pass as an iPhone and an Android phone draw it, side by side. The page can be kept as a file and sent around: it
 * loads nothing, and imageUrl gives its pictures as data.
 */
export function previewPage(facts: PreviewPageFacts, options: CardOptions): Page {
  const { title, subtitle, apple, google, images, at, warnings = [] } = facts
  const phones = [apple && applePhone(apple, at, options), google && androidPhone(google, images, options)].filter(
    (phone) => phone !== null,
  )
  const main = `<div class="intro"><h1 dir="auto">${escapeHtml(title)}</h1>
<p class="muted" dir="auto">${escapeHtml(subtitle)}</p></div>
<div class="phones">${phones.join('\n')}</div>
${warningsHtml(warnings)}`
  return buildPage({
    title,
    main,
    styles: [apple ? cardStyle(apple) : '', google ? googleCardStyle(google) : '', PHONE_STYLE],
    hasOwnImages: true,
    bodyClass: 'preview',
  })
}

function warningsHtml(warnings: readonly Warning[]): string {
  if (warnings.length === 0) return ''
  const items = warnings.map(
    ({ code, path, message }) =>
      `<li><p><strong>${code}</strong> <code>${escapeHtml(path.join('.'))}</code></p><p dir="auto">${escapeHtml(message)}</p></li>`,
  )
  return `<section class="warnings" aria-labelledby="warnings"><h2 id="warnings">Warnings</h2><ul>${items.join('')}</ul></section>`
}

function applePhone(card: Card, at: Date, options: CardOptions): string {
  const isExpired = card.expiresAt !== null && card.expiresAt <= at
  return phoneHtml({
    kind: 'iphone',
    name: 'Apple Wallet',
    bar: '<span>Done</span><span class="round">•••</span>',
    stamp: card.voided ? 'VOID' : isExpired ? 'EXPIRED' : null,
    card: cardHtml(card, { ...options, marksSurplus: true }),
    back: cardBackHtml(card),
  })
}

function androidPhone(view: GoogleView, images: Card['images'], options: CardOptions): string {
  return phoneHtml({
    kind: 'android',
    name: 'Google Wallet',
    bar: '<span>✕</span><span>⋮</span>',
    stamp: view.state === 'ACTIVE' ? null : view.state,
    card: googleCardHtml(view, images, options),
    back: detailsHtml('Details', view.details, view.links),
  })
}

interface PhoneParts {
  kind: 'iphone' | 'android'
  name: string
  /** HTML of our own. */
  bar: string
  stamp: string | null
  card: string
  back: string
}

function phoneHtml({ kind, name, bar, stamp, card, back }: PhoneParts): string {
  return `<section class="phone ${kind}" aria-labelledby="${kind}"><h2 id="${kind}">${name}</h2>
<div class="frame"><div class="screen">
<div class="status" aria-hidden="true"><span>9:41</span>${STATUS_ICONS}</div>
<div class="bar" aria-hidden="true">${bar}</div>
<div class="place${stamp ? ' is-over' : ''}">${stamp ? `<p class="stamp">${escapeHtml(stamp)}</p>` : ''}${card}</div>
<div class="home" aria-hidden="true"></div>
</div></div>
${back}
</section>`
}

/** Signal and battery. */
const STATUS_ICONS = `<svg viewBox="0 0 48 12" aria-hidden="true"><path d="M0 8h3v4H0zM5 5.5h3V12H5zM10 3h3v9h-3zM15 0h3v12h-3z"/>
<path d="M26 1.5h16a2 2 0 0 1 2 2v5a2 2 0 0 1-2 2H26a2 2 0 0 1-2-2v-5a2 2 0 0 1 2-2zm0 1a1 1 0 0 0-1 1v5a1 1 0 0 0 1 1h16a1 1 0 0 0 1-1v-5a1 1 0 0 0-1-1z"/>
<rect x="26" y="3.5" width="16" height="5" rx=".75"/><rect x="45" y="4" width="1.5" height="4" rx=".75"/></svg>`
