import type { FieldGroup } from '../../core/contract/definition.ts'
import type { Card, CardField } from '../../core/rules/card.ts'
import { barcodeHtml } from './barcode.ts'
import { CARD_STYLE } from './card-style.ts'
import { cardColors } from './colors.ts'
import { directionOf } from './direction.ts'
import { escapeHtml } from './html.ts'

export interface CardOptions {
  /** What stands before the id in the address of an image, with its slash; without it no image is drawn. */
  imageBase?: string | undefined
}

/** The front of a card as phones draw it. Goes with the sheet of cardStyle. */
export function cardHtml(card: Card, options: CardOptions): string {
  return `<div class="sheet"><article class="card ${card.passType}" dir="${directionOf(nameOf(card))}" aria-label="${escapeHtml(card.description)}">
<header>${brandHtml(card, options)}${fieldsHtml(card, 'header')}</header>
${pictureHtml(card, 'strip', options) || pictureHtml(card, 'hero', options)}
<div class="front">${fieldsHtml(card, 'primary')}${pictureHtml(card, 'thumbnail', options)}</div>
${fieldsHtml(card, 'secondary')}
${fieldsHtml(card, 'auxiliary')}
${barcodeHtml(card.barcode)}
</article></div>`
}

/** The sheet of a card in its own colours. Holds no text of the definition: colours are computed from numbers. */
export function cardStyle(card: Card): string {
  const { background, foreground, label } = cardColors(card.colors)
  return `.card { --background: ${background}; --foreground: ${foreground}; --label: ${label} }\n${CARD_STYLE}`
}

/** What phones show when a card is turned over; empty where there is nothing. */
export function cardBackHtml({ fields, links }: Card): string {
  const items = [
    ...fields.back.map(({ label, value }) => `<div>${term(label)}${description(value)}</div>`),
    ...links.filter(({ url }) => isSafe(url)).map(({ label, url }) => `<div>${term(label)}${linkHtml(url)}</div>`),
  ]
  if (items.length === 0) return ''
  return `<details class="back"><summary>More about this pass</summary><dl>${items.join('')}</dl></details>`
}

/** Until when a card is valid; empty where it has no end. */
export function expiryHtml({ expiresAt }: Card): string {
  if (expiresAt === null) return ''
  const text = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return `<p class="expiry">Valid until <time datetime="${expiresAt.toISOString()}">${text.format(expiresAt)} UTC</time></p>`
}

/** The logo, or the icon beside a name: a logo mostly says the name itself. */
function brandHtml(card: Card, { imageBase }: CardOptions): string {
  const { logo, icon } = card.images
  const id = logo ?? icon
  const hasImage = imageBase !== undefined && id !== undefined
  const name = card.logoText?.trim() || (hasImage && logo ? '' : nameOf(card))
  const image = hasImage
    ? `<img class="logo" src="${escapeHtml(imageBase + id)}" alt="${name === '' ? escapeHtml(nameOf(card)) : ''}">`
    : ''
  return `<div class="brand">${image}${name && `<span dir="auto">${escapeHtml(name)}</span>`}</div>`
}

function nameOf({ organizationName, description: text }: Card): string {
  return organizationName.trim() || text
}

/** Pictures are ornament: what a card says stands in its fields. */
function pictureHtml({ images }: Card, role: 'strip' | 'hero' | 'thumbnail', { imageBase }: CardOptions): string {
  const id = images[role]
  return id && imageBase !== undefined ? `<img class="${role}" src="${escapeHtml(imageBase + id)}" alt="">` : ''
}

function fieldsHtml({ fields }: Card, group: FieldGroup): string {
  const shown = fields[group].filter(({ label, value }: CardField) => `${label}${value}`.trim() !== '')
  if (shown.length === 0) return ''
  const items = shown.map(({ label, value }) => `<div>${term(label)}${description(value)}</div>`)
  return `<dl class="fields ${group}">${items.join('')}</dl>`
}

function term(text: string): string {
  return `<dt dir="auto">${escapeHtml(text)}</dt>`
}

function description(text: string): string {
  return `<dd dir="auto">${escapeHtml(text)}</dd>`
}

function linkHtml(url: string): string {
  return `<dd dir="ltr"><a href="${escapeHtml(url)}" rel="noopener nofollow">${escapeHtml(url)}</a></dd>`
}

const protocols = new Set(['https:', 'http:', 'tel:', 'mailto:'])

function isSafe(url: string): boolean {
  return URL.canParse(url) && protocols.has(new URL(url).protocol)
}
