import type { Card } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import type { GoogleView } from '../../../core/rules/display/google-view.ts'
import { escapeHtml } from '../html.ts'
import { barcodeHtml, type CardOptions, fieldListHtml, languageAttributes } from './card.ts'

/** Draws the front of a card as Google Wallet does: name, title, rows, barcode, and the hero image below them. */
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

/** Returns the style of a card. Colors are computed from numbers. Google writes text in black or white. */
export function googleCardStyle({ background }: GoogleView): string {
  const colors = cardColors({ background: background ?? '#ffffff', foreground: null, label: null })
  const { background: behind, foreground, label } = colors
  return `.google-card { --background: ${behind}; --foreground: ${foreground}; --label: ${label} }\n${GOOGLE_CARD_STYLE}`
}

/** Returns a round logo, else the first letter of the name. */
function logoHtml(name: string, images: Card['images'], imageUrl: CardOptions['imageUrl']): string {
  const id = images.icon ?? images.logo
  const address = id && imageUrl(id)
  if (address) return `<img class="google-logo" src="${escapeHtml(address)}" alt="">`
  const [first = ''] = name.trim()
  return `<span class="google-logo letter" aria-hidden="true">${escapeHtml(first)}</span>`
}

/** The style of a Google Wallet card, in the colors --background, --foreground, and --label. */
const GOOGLE_CARD_STYLE = `
.google-card { display: flex; flex-direction: column; overflow: hidden; border-radius: 1.75rem; background: var(--background);
  color: var(--foreground); line-height: 1.3; box-shadow: 0 .125rem .5rem var(--shadow); font-family: Roboto, "Google Sans",
  system-ui, "Segoe UI", "Noto Sans", sans-serif }
.google-card p { margin: 0 }
.google-card > header { display: flex; align-items: center; gap: .75rem; padding: 1rem 1.25rem;
  border-bottom: 1px solid color-mix(in srgb, var(--foreground) 18%, var(--background)) }
.google-logo { flex: none; width: 2.25rem; height: 2.25rem; border-radius: 50%; background: #ffffff; object-fit: cover }
.google-logo.letter { display: grid; place-items: center; background: var(--foreground); color: var(--background); font-weight: 600 }
.google-card .name { min-width: 0; font-size: 1rem; font-weight: 500 }
.google-card .heading { padding: 1.125rem 1.25rem 0 }
.google-card .heading:empty { display: none }
.google-card .subtitle { color: var(--label); font-size: .875rem }
.google-card .title { font-size: 1.625rem; line-height: 1.2; letter-spacing: -.01em }
.fields.google-row { display: flex; justify-content: space-between; gap: 1rem; padding: 1.125rem 1.25rem 0 }
.google-card .google-row > div { flex: 0 1 auto; align-items: flex-start }
.google-card .google-row > div:last-child:not(:first-child) { align-items: flex-end; text-align: end }
.google-card .google-row dt { font-size: .75rem; font-weight: 400; letter-spacing: 0 }
.google-card .google-row dd { font-size: 1rem; font-weight: 500 }
.google-card .barcode { margin: 1.5rem auto; border-radius: 1rem }
.google-card .pdf417, .google-card .code128 { width: calc(100% - 2.5rem) }
.google-hero { display: block; width: 100%; aspect-ratio: 1032 / 336; object-fit: cover }
`
