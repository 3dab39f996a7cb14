import { barcodeFormats } from '../../../core/barcode-formats.ts'
import type { Card } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import { walletLabel } from '../../../core/rules/display/native-rows.ts'
import type { EventPoster, GenericPoster, Poster } from '../../../core/rules/display/poster.ts'
import { UNSAID_LANGUAGE } from '../../../core/rules/template/definition-languages.ts'
import { browserFile } from '../assets.ts'
import { escapeHtml } from '../html.ts'
import { barcodeHtml, type CardOptions, fieldListHtml, languageAttributes } from './card.ts'

/**
 * Draws a poster as a newer iPhone does. The page also needs `posterStyle` and, for the fields, `cardStyle`.
 * @param card the classic style of the pass, as `appleCard` returns it
 * @param images the images of the pass, including images that the classic style does not show
 */
export function posterHtml(poster: Poster, card: Card, images: Card['images'], { imageUrl }: CardOptions): string {
  const picture = (role: 'artwork' | 'background' | 'primaryLogo' | 'secondaryLogo', alt = '') => {
    const address = images[role] && imageUrl(images[role])
    return address ? `<img class="${role}" src="${escapeHtml(address)}" alt="${escapeHtml(alt)}">` : ''
  }
  const name = card.logoText?.trim() || card.organizationName
  const isEvent = poster.style === 'posterEventTicket'
  const corner = isEvent ? poster.hasBarcode || readerSign(card.language) : fieldListHtml('header', poster.header)
  return `<article class="poster ${poster.style}" ${languageAttributes(card.language, name)} aria-label="${escapeHtml(card.description)}">
${picture('artwork') || picture('background')}
<header>${picture('primaryLogo', name) || lineHtml('issuer', name)}${corner === true ? '' : corner}</header>
<div class="bill">${isEvent ? picture('secondaryLogo') + eventHtml(poster) : fieldsHtml(poster)}
${poster.hasBarcode ? barcodeHtml(card.barcode) : ''}${isEvent ? '' : fieldListHtml('footer', poster.footer)}</div>
</article>`
}

/**
 * Returns the card that iPhones without posters show. If the poster needs iOS 27, the card has the fallback barcode,
 * because these iPhones cannot show the linear barcodes of iOS 27.
 */
export function cardBeforePoster(card: Card, poster: Poster): Card {
  const { fallback } = barcodeFormats[card.barcode.format]
  if (poster.since < 27 || fallback === undefined) return card
  return { ...card, barcode: { ...card.barcode, format: fallback } }
}

/**
 * Returns the barcodes to draw for iPhones: the barcode of the card and, if there is a poster, the barcode that older
 * iPhones show.
 */
export function barcodesOf(card: Card | null, poster: Poster | null): Card['barcode'][] {
  if (!card) return []
  return poster ? [card.barcode, cardBeforePoster(card, poster).barcode] : [card.barcode]
}

export function posterStyle({ colors }: Card): string {
  return `.poster { --background: ${cardColors(colors).background} }\n${browserFile('poster.css')}`
}

function eventHtml({ event, venue, starts, seat }: EventPoster): string {
  return `
${lineHtml('event', event)}${lineHtml('venue', venue)}${starts === null ? '' : lineHtml('starts', starts)}
${fieldListHtml('seat', seat)}`
}

/** Draws the fields of a generic poster. If the first field has no label, it is drawn as the title. */
function fieldsHtml({ primary: [first, ...others] }: GenericPoster): string {
  if (!first) return ''
  const isTitle = first.label.trim() === ''
  return isTitle
    ? `${lineHtml('event', first.value)}${fieldListHtml('primary', others)}`
    : fieldListHtml('primary', [first, ...others])
}

function lineHtml(kind: string, text: string): string {
  return `<p class="${kind}" dir="auto">${escapeHtml(text)}</p>`
}

/** Draws the waves of an NFC reader, for a poster without a barcode. */
function readerSign(language = UNSAID_LANGUAGE): string {
  return `<svg class="reader" viewBox="0 0 24 24" role="img" aria-label="${walletLabel('holdNearReader', language)}"><path d="M7 9a5 5 0 0 1 0 6M11 6.5a9 9 0 0 1 0 11M15 4a14 14 0 0 1 0 16"/></svg>`
}
