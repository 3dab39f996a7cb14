import type { FieldGroup } from '../../../core/contract/definition.ts'
import type { Card, CardField } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import { escapeHtml } from '../html.ts'
import { barcodeHtml } from './barcode.ts'
import { CARD_STYLE } from './card-style.ts'
import { directionOf } from './direction.ts'

export interface CardOptions {
  /** The address of an image; undefined for one that is not to be drawn. */
  imageUrl: (id: string) => string | undefined
}

/** The front of a card as phones draw it. Goes with the sheet of cardStyle. */
export function cardHtml(card: Card, options: CardOptions): string {
  return `<div class="sheet"><article class="card ${card.passType}" dir="${directionOf(nameOf(card))}" aria-label="${escapeHtml(card.description)}">
<header>${brandHtml(card, options)}${fieldsHtml(card, 'header')}</header>
<div class="banner">${pictureHtml(card, 'strip', options) || pictureHtml(card, 'hero', options)}
<div class="front">${fieldsHtml(card, 'primary')}${pictureHtml(card, 'thumbnail', options)}</div></div>
<div class="rows">${fieldsHtml(card, 'secondary')}
${fieldsHtml(card, 'auxiliary')}</div>
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
  return detailsHtml('More about this pass', fields.back, links)
}

/** Fields and links that are opened on demand; empty where there are none. */
export function detailsHtml(summary: string, fields: readonly CardField[], links: Card['links']): string {
  const items = [
    ...fields.map(({ label, value }) => `<div>${term(label)}${description(value)}</div>`),
    ...links.filter(({ url }) => isSafe(url)).map(({ label, url }) => `<div>${term(label)}${linkHtml(url)}</div>`),
  ]
  if (items.length === 0) return ''
  return `<details class="back"><summary>${summary}</summary><dl>${items.join('')}</dl></details>`
}

/** Until when a card is valid; empty where it has no end. */
export function expiryHtml({ expiresAt }: Card): string {
  if (expiresAt === null) return ''
  const text = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return `<p class="expiry">Valid until <time datetime="${expiresAt.toISOString()}">${text.format(expiresAt)} UTC</time></p>`
}

/** The logo, or the icon beside a name: a logo mostly says the name itself. */
function brandHtml(card: Card, { imageUrl }: CardOptions): string {
  const { logo, icon } = card.images
  const id = logo ?? icon
  const address = id && imageUrl(id)
  const name = card.logoText?.trim() || (address && logo ? '' : nameOf(card))
  const image = address
    ? `<img class="logo" src="${escapeHtml(address)}" alt="${name === '' ? escapeHtml(nameOf(card)) : ''}">`
    : ''
  return `<div class="brand">${image}${name && `<span dir="auto">${escapeHtml(name)}</span>`}</div>`
}

function nameOf({ organizationName, description: text }: Card): string {
  return organizationName.trim() || text
}

/** Pictures are ornament: what a card says stands in its fields. */
function pictureHtml({ images }: Card, role: 'strip' | 'hero' | 'thumbnail', { imageUrl }: CardOptions): string {
  const address = images[role] && imageUrl(images[role])
  return address ? `<img class="${role}" src="${escapeHtml(address)}" alt="">` : ''
}

function fieldsHtml({ fields }: Card, group: FieldGroup): string {
  return fieldListHtml(group, fields[group])
}

/** Fields with their labels; those that say nothing are left out. */
export function fieldListHtml(name: string, fields: readonly CardField[]): string {
  const shown = fields.filter(({ label, value }: CardField) => `${label}${value}`.trim() !== '')
  if (shown.length === 0) return ''
  const items = shown.map(({ label, value }) => `<div>${term(label)}${description(value)}</div>`)
  return `<dl class="fields ${name}">${items.join('')}</dl>`
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
