import type { Card } from '../../core/rules/card.ts'
import { type CardOptions, cardBackHtml, cardHtml, cardStyle, expiryHtml } from './card.ts'
import { buildPage, escapeHtml, type Page } from './html.ts'

/**
 * A page with one card as phones would draw it, which can be kept as a file: it loads nothing but the card's images,
 * and those only where imageBase, then an absolute URL, says where they are.
 */
export function cardPage(card: Card, { imageBase }: CardOptions = {}): Page {
  const main = `<h1 dir="auto">${escapeHtml(card.description)}</h1>
${cardHtml(card, { imageBase })}
${expiryHtml(card)}
${cardBackHtml(card)}`
  return buildPage({
    title: card.description,
    main,
    styles: [cardStyle(card), STYLE],
    imageOrigin: imageBase && new URL(imageBase).origin,
  })
}

const STYLE = `
main { display: grid; gap: 1rem }
main > * { width: 100%; margin-block: 0 }
`
