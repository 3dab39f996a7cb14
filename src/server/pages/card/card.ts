import { type FrontRow, layOutFront, saysSomething } from '../../../core/rules/display/apple-front.ts'
import type { Card, CardField } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import { escapeHtml } from '../html.ts'
import { barcodeHtml } from './barcode.ts'
import { CARD_STYLE, scaleClass } from './card-style.ts'
import { directionOf } from './direction.ts'
import { transitSign } from './transit-sign.ts'

export interface CardOptions {
  /** The address of an image; undefined for one that is not to be drawn. */
  imageUrl: (id: string) => string | undefined
  /** Whether fields that no phone shows are drawn, faded and marked; without it they are left out. */
  marksSurplus?: boolean
}

/** The front of a card as appleCard gives it, drawn as an iPhone does. Goes with the sheet of cardStyle. */
export function cardHtml(card: Card, options: CardOptions): string {
  const [header, primary, ...rows] = layOutFront(card) as [FrontRow, FrontRow, ...FrontRow[]]
  return `<div class="sheet"><article class="card ${card.passType}" dir="${directionOf(nameOf(card))}" aria-label="${escapeHtml(card.description)}">
<header>${brandHtml(card, options)}${rowHtml(header)}</header>
<div class="banner">${pictureHtml(card, 'strip', options)}
<div class="front">${primaryHtml(card, primary)}${pictureHtml(card, 'thumbnail', options)}</div></div>
${rows.map(rowHtml).join('\n')}
${options.marksSurplus ? surplusHtml(card) : ''}
${barcodeHtml(card.barcode)}
</article></div>`
}

/** The fields of the front that an iPhone has no place for. */
export function surplusOf(card: Card): CardField[] {
  return layOutFront(card).flatMap(({ surplus }) => surplus)
}

/** The sheet of a card in its own colours. Holds no text of the definition: colours are computed from numbers. */
export function cardStyle(card: Card): string {
  const { background, foreground, label } = cardColors(card.colors)
  return `.card { --background: ${background}; --foreground: ${foreground}; --label: ${label} }\n${CARD_STYLE}`
}

/** What phones show when a card is turned over; empty where there is nothing. */
export function cardBackHtml({ fields, links }: Card, more: readonly CardField[] = []): string {
  return detailsHtml('More about this pass', [...more, ...fields.back], links)
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

/** The logo and the text beside it. The name of the organization stands in lists and notifications alone. */
function brandHtml(card: Card, { imageUrl }: CardOptions): string {
  const address = card.images.logo && imageUrl(card.images.logo)
  const name = card.logoText?.trim() ?? ''
  const image = address
    ? `<img class="logo" src="${escapeHtml(address)}" alt="${name === '' ? escapeHtml(nameOf(card)) : ''}">`
    : ''
  return `<div class="brand">${image}${name && `<span dir="auto">${escapeHtml(name)}</span>`}</div>`
}

function nameOf({ organizationName, description: text }: Card): string {
  return organizationName.trim() || text
}

/** Pictures are ornament: what a card says stands in its fields. */
function pictureHtml({ images }: Card, role: 'strip' | 'thumbnail', { imageUrl }: CardOptions): string {
  const address = images[role] && imageUrl(images[role])
  return address ? `<img class="${role}" src="${escapeHtml(address)}" alt="">` : ''
}

function rowHtml({ name, fields, scale }: FrontRow): string {
  return fieldListHtml(scale === 1 ? name : `${name} ${scaleClass(scale)}`, fields)
}

/** On a boarding pass the sign of its means of transport stands between the two places. */
function primaryHtml(card: Card, row: FrontRow): string {
  if (card.passType !== 'boardingPass' || row.fields.length === 0) return rowHtml(row)
  const [from, ...to] = row.fields
  return `<div class="journey">${rowHtml({ ...row, fields: [from!] })}${transitSign(card.apple.transitType)}${rowHtml({ ...row, fields: to })}</div>`
}

function surplusHtml(card: Card): string {
  const surplus = surplusOf(card)
  if (surplus.length === 0) return ''
  return `<div class="surplus"><p>Not shown on an iPhone:</p>${fieldListHtml('faded', surplus)}</div>`
}

/** Fields with their labels; those that say nothing are left out. */
export function fieldListHtml(name: string, fields: readonly CardField[]): string {
  const shown = fields.filter(saysSomething)
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
