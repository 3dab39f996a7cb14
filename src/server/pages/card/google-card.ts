import type { Card } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import { browserFile } from '../assets.ts'
import { escapeHtml } from '../html.ts'
import { barcodeHtml, type CardOptions, fieldListHtml, languageAttributes } from './card.ts'

export function googleCardHtml(view: GoogleView, images: Card['images'], { imageUrl }: CardOptions): string {
  const { language, name, title, subtitle, rows, barcode } = view
  const hero = images.hero ?? images.strip
  const heroUrl = hero && imageUrl(hero)
  const heading = [
    subtitle && `<p class="subtitle" dir="auto">${escapeHtml(subtitle)}</p>`,
    title && `<p class="title" dir="auto">${escapeHtml(title)}</p>`,
  ]
  return `<article class="google-card" ${languageAttributes(language, name || (title ?? ''))} aria-label="${escapeHtml(title ?? name)}">
<header>${logoHtml(name, images, imageUrl)}<p class="name" dir="auto">${escapeHtml(name)}</p></header>
<div class="heading">${heading.filter(Boolean).join('')}</div>
${rows.map((fields) => fieldListHtml('google-row', fields)).join('\n')}
${barcodeHtml(barcode)}
${heroUrl ? `<img class="google-hero" src="${escapeHtml(heroUrl)}" alt="">` : ''}
</article>`
}

const GOOGLE_CARD_STYLE = browserFile('google-card.css')

/**
 * Returns the style of a card. The definition sets only the background color, because Google writes text in black or
 * white. Colors are computed from numbers, so that the style contains no text of the definition.
 */
export function googleCardStyle({ background }: GoogleView): string {
  const colors = cardColors({ background: background ?? '#ffffff', foreground: null, label: null })
  const { background: behind, foreground, label } = colors
  return `.google-card { --background: ${behind}; --foreground: ${foreground}; --label: ${label} }\n${GOOGLE_CARD_STYLE}`
}

function logoHtml(name: string, images: Card['images'], imageUrl: CardOptions['imageUrl']): string {
  const id = images.icon ?? images.logo
  const address = id && imageUrl(id)
  if (address) return `<img class="google-logo" src="${escapeHtml(address)}" alt="">`
  const [first = ''] = name.trim()
  return `<span class="google-logo letter" aria-hidden="true">${escapeHtml(first)}</span>`
}
