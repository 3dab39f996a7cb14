import type { Card } from '../../core/rules/card.ts'
import { escapeHtml, htmlPage } from './html.ts'

/** A whole page with one card as phones would draw it. */
export function cardPage(card: Card): string {
  return htmlPage(card.description, `<h1 dir="auto">${escapeHtml(card.organizationName)}</h1>`)
}
