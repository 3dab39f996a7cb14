import { barcodeFormats } from '../../../core/barcode-formats.ts'
import {
  CONTENT_WIDTH,
  type FrontRow,
  GAP,
  HEADER_SHARE,
  LABEL_SIZE,
  LOGO,
  layOutFront,
  primarySizes,
  SIGN_WIDTH,
  saysSomething,
  scales,
  THUMBNAIL,
  VALUE_SIZE,
} from '../../../core/rules/display/apple-front.ts'
import type { Card, CardField } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import { directionOfLanguage } from '../../../core/rules/display/language-match.ts'
import { isAbsoluteLink } from '../../../core/rules/template/link-schemes.ts'
import { browserFile } from '../assets.ts'
import { escapeHtml } from '../html.ts'
import { barcodeSvg } from './symbols.ts'

export interface CardOptions {
  /** Returns the address of an image; undefined if it is not drawn. */
  imageUrl: (id: string) => string | undefined
  /** Whether to draw the fields that no phone shows, faded and marked. Otherwise, these fields are omitted. */
  marksSurplus?: boolean
}

/** Draws the front of a card from `appleCard` as an iPhone does. Needs the style from `cardStyle`. */
export function cardHtml(card: Card, options: CardOptions): string {
  const [header, primary, ...rows] = layOutFront(card) as [FrontRow, FrontRow, ...FrontRow[]]
  return `<div class="sheet"><article class="card ${card.passType}" ${languageAttributes(card.language, nameOf(card))} aria-label="${escapeHtml(card.description)}">
${pictureHtml(card, 'background', options)}<header>${brandHtml(card, options)}${rowHtml(header)}</header>
<div class="banner">${pictureHtml(card, 'strip', options)}
<div class="front">${primaryHtml(card, primary)}${pictureHtml(card, 'thumbnail', options)}</div></div>
${rows.map(rowHtml).join('\n')}
${options.marksSurplus ? surplusHtml(card) : ''}
${pictureHtml(card, 'footer', options)}${barcodeHtml(card.barcode)}
</article></div>`
}

/** Returns the fields of the front that an iPhone has no space for. */
export function surplusOf(card: Card): CardField[] {
  return layOutFront(card).flatMap(({ surplus }) => surplus)
}

/** Returns the style of a card. Computes colors from numbers, so that the style has no text of the definition. */
export function cardStyle(card: Card): string {
  const { background, foreground, label } = cardColors(card.colors)
  return `.card { --background: ${background}; --foreground: ${foreground}; --label: ${label} }\n${CARD_STYLE}`
}

/** Returns the back of a card, without empty fields; empty if the back has no fields or links. */
export function cardBackHtml({ fields, links }: Card, summary: string, more: readonly CardField[] = []): string {
  return detailsHtml(summary, [...more, ...fields.back], links)
}

export function detailsHtml(summary: string, fields: readonly CardField[], links: Card['links']): string {
  const items = [
    ...fields
      .filter(({ value }) => value.trim() !== '')
      .map((field) => `<div>${term(field.label, field.labelLanguage)}${description(field.value)}</div>`),
    ...links
      .filter(({ url }) => isAbsoluteLink(url))
      .map(({ label, url }) => `<div>${term(label)}${linkHtml(url)}</div>`),
  ]
  if (items.length === 0) return ''
  return `<details class="back"><summary>${escapeHtml(summary)}</summary><dl>${items.join('')}</dl></details>`
}

/** Draws logo and logo text. Omits the name of the organization, which phones show only in lists and notifications. */
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

/** Draws an image without alternative text, because the fields contain the information. */
function pictureHtml(
  { images }: Card,
  role: 'strip' | 'thumbnail' | 'background' | 'footer',
  { imageUrl }: CardOptions,
): string {
  const address = images[role] && imageUrl(images[role])
  return address ? `<img class="${role}" src="${escapeHtml(address)}" alt="">` : ''
}

function rowHtml({ name, fields, scale }: FrontRow): string {
  return fieldListHtml(scale === 1 ? name : `${name} ${scaleClass(scale)}`, fields)
}

/** Draws the primary fields. On a boarding pass, a symbol of the transport is between origin and destination. */
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

export function fieldListHtml(name: string, fields: readonly CardField[]): string {
  const shown = fields.filter(saysSomething)
  if (shown.length === 0) return ''
  const items = shown.map(
    ({ label, labelLanguage, value, align }) =>
      `<div${align ? ` class="align-${align}"` : ''}>${term(label, labelLanguage)}${description(value)}</div>`,
  )
  return `<dl class="fields ${name}">${items.join('')}</dl>`
}

function term(text: string, language?: string): string {
  return `<dt dir="auto"${language === undefined ? '' : ` lang="${escapeHtml(language)}"`}>${escapeHtml(text)}</dt>`
}

function description(text: string): string {
  return `<dd dir="auto">${escapeHtml(text)}</dd>`
}

function linkHtml(url: string): string {
  return `<dd dir="ltr"><a href="${escapeHtml(url)}" rel="noopener nofollow">${escapeHtml(url)}</a></dd>`
}

const LETTER = /\p{L}/u
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

/** Returns the direction of a text by its first letter, as `dir="auto"` does. */
export function directionOf(text: string): 'ltr' | 'rtl' {
  return RIGHT_TO_LEFT.test(LETTER.exec(text)?.[0] ?? '') ? 'rtl' : 'ltr'
}

export function languageAttributes(language: string | undefined, text: string): string {
  return language
    ? `dir="${directionOfLanguage(language)}" lang="${escapeHtml(language)}"`
    : `dir="${directionOf(text)}"`
}

interface Sign {
  name: string
  /** An SVG path in a 24 × 24 box, for left-to-right readers. */
  path: string
}

/** Symbols by Apple's transit types, drawn for this project. */
const signs = new Map<unknown, Sign>(
  Object.entries({
    PKTransitTypeAir: {
      name: 'Flight',
      path: 'M22 12c0-.9-1-1.5-2.5-1.5h-5L9 2H6.8l2.7 8.5H5L3 8H1.5l1.2 4-1.2 4H3l2-2.5h4.5L6.8 22H9l5.5-8.5h5c1.5 0 2.5-.6 2.5-1.5z',
    },
    PKTransitTypeTrain: {
      name: 'Train',
      path: 'M7 2h10a3 3 0 0 1 3 3v9a3 3 0 0 1-3 3l2 4h-2.4l-1-2H8.4l-1 2H5l2-4a3 3 0 0 1-3-3V5a3 3 0 0 1 3-3zM6.5 5v5h11V5zM7 12.5V15h2.5v-2.5zm7.5 0V15H17v-2.5z',
    },
    PKTransitTypeBus: {
      name: 'Bus',
      path: 'M5 3h14a2 2 0 0 1 2 2v12h-1v4h-3v-3H7v3H4v-4H3V5a2 2 0 0 1 2-2zm0 3v6h14V6zm1 7.5V16h2.5v-2.5zm9.5 0V16H18v-2.5z',
    },
    PKTransitTypeBoat: {
      name: 'Boat',
      path: 'M11 2h2v3h4v5l4 1.5L18.5 19h-13L3 11.5 7 10V5h4zM9 7v2.3l3-1.1 3 1.1V7zM2 20.5h20V22H2z',
    },
  }),
)

const ARROW: Sign = { name: 'To', path: 'M2 11h15l-4.5-4.5L14 5l7 7-7 7-1.5-1.5L17 13H2z' }

function transitSign(transitType: unknown): string {
  const { name, path } = signs.get(transitType) ?? ARROW
  return `<svg class="sign" viewBox="0 0 24 24" role="img" aria-label="${name}"><path fill-rule="evenodd" d="${path}"/></svg>`
}

function scaleClass(scale: number): string {
  return `scale-${Math.round(scale * 100)}`
}

/** The measures of a phone in points, as custom properties. A point is a pixel at the default text size. */
const measures = {
  'content-width': CONTENT_WIDTH,
  gap: GAP,
  'label-size': LABEL_SIZE,
  'value-size': VALUE_SIZE,
  'logo-width': LOGO.width,
  'logo-height': LOGO.height,
  thumbnail: THUMBNAIL,
  'sign-width': SIGN_WIDTH,
}
const properties = Object.entries(measures).map(([name, points]) => `--${name}: ${points / 16}rem`)

export const CARD_STYLE = [
  `:root { ${properties.join('; ')}; --header-share: ${HEADER_SHARE * 100}% }`,
  ...Object.entries(primarySizes).map(([passType, points]) => `.${passType} { --large: ${points / 16}rem }`),
  ...scales.map((scale) => `.${scaleClass(scale)} { --scale: ${scale} }`),
  browserFile('card.css'),
].join('\n')

export function barcodeHtml({ format, message, altText }: Card['barcode']): string {
  if (message === '') return ''
  const { name, spoken = `${name} barcode`, shape } = barcodeFormats[format]
  const svg = barcodeSvg(format, message)
  const caption = altText?.trim() || (svg === undefined ? message : '')
  const picture = svg && `<div class="symbol" role="img" aria-label="${spoken}">${svg}</div>`
  return `<figure class="barcode ${shape}">${picture ?? ''}${
    caption && `<figcaption dir="auto">${escapeHtml(caption)}</figcaption>`
  }</figure>`
}
