import type { Card } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import { escapeHtml } from '../html.ts'
import { barcodeHtml } from './barcode.ts'
import { type CardOptions, fieldListHtml } from './card.ts'
import { directionOf } from './direction.ts'
import { GOOGLE_CARD_STYLE } from './google-card-style.ts'

/** The front of a card as Google Wallet draws it: name, title, rows, code, and the hero beneath them. */
export function googleCardHtml(view: GoogleView, images: Card['images'], { imageUrl }: CardOptions): string {
  const { name, title, subtitle, rows, barcode } = view
  const hero = images.hero ?? images.strip
  const heroUrl = hero && imageUrl(hero)
  const heading = [
    subtitle && `<p class="subtitle" dir="auto">${escapeHtml(subtitle)}</p>`,
    title && `<p class="title" dir="auto">${escapeHtml(title)}</p>`,
  ]
  return `<article class="google-card" dir="${directionOf(name || (title ?? ''))}" aria-label="${escapeHtml(title ?? name)}">
<header>${logoHtml(name, images, imageUrl)}<p class="name" dir="auto">${escapeHtml(name)}</p></header>
<div class="heading">${heading.filter(Boolean).join('')}</div>
${rows.map((fields) => fieldListHtml('google-row', fields)).join('\n')}
${barcodeHtml(barcode)}
${heroUrl ? `<img class="google-hero" src="${escapeHtml(heroUrl)}" alt="">` : ''}
</article>`
}

/** The sheet of the card; colours are computed from numbers. Google chooses black or white for what is written. */
export function googleCardStyle({ background }: GoogleView): string {
  const colors = cardColors({ background: background ?? '#ffffff', foreground: null, label: null })
  const { background: behind, foreground, label } = colors
  return `.google-card { --background: ${behind}; --foreground: ${foreground}; --label: ${label} }\n${GOOGLE_CARD_STYLE}`
}

/** A round logo, or the first letter of the name in its place. */
function logoHtml(name: string, images: Card['images'], imageUrl: CardOptions['imageUrl']): string {
  const id = images.icon ?? images.logo
  const address = id && imageUrl(id)
  if (address) return `<img class="google-logo" src="${escapeHtml(address)}" alt="">`
  const [first = ''] = name.trim()
  return `<span class="google-logo letter" aria-hidden="true">${escapeHtml(first)}</span>`
}
