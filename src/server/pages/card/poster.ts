import type { Card } from '../../../core/rules/display/card.ts'
import { cardColors } from '../../../core/rules/display/colors.ts'
import type { Poster } from '../../../core/rules/display/poster.ts'
import { walletWord } from '../../../core/rules/display/wallet-words.ts'
import { UNSAID_LANGUAGE } from '../../../core/rules/template/languages.ts'
import { escapeHtml } from '../html.ts'
import { type CardOptions, fieldListHtml, languageAttributes } from './card.ts'

/** A poster ticket as an iPhone draws it: its artwork, or its background, behind the name, the place and the seat. */
export function posterHtml(poster: Poster, card: Card, images: Card['images'], { imageUrl }: CardOptions): string {
  const picture = (role: 'artwork' | 'background' | 'primaryLogo' | 'secondaryLogo', alt = '') => {
    const address = images[role] && imageUrl(images[role])
    return address ? `<img class="${role}" src="${escapeHtml(address)}" alt="${escapeHtml(alt)}">` : ''
  }
  const name = card.logoText?.trim() || card.organizationName
  const line = (kind: string, text: string) => `<p class="${kind}" dir="auto">${escapeHtml(text)}</p>`
  return `<article class="poster" ${languageAttributes(card.language, name)} aria-label="${escapeHtml(card.description)}">
${picture('artwork') || picture('background')}
<header>${picture('primaryLogo', name) || line('issuer', name)}${readerSign(card.language)}</header>
<div class="bill">${picture('secondaryLogo')}
${line('event', poster.event)}${line('venue', poster.venue)}${poster.starts === null ? '' : line('starts', poster.starts)}
${fieldListHtml('seat', poster.seat)}</div>
</article>`
}

/** Waves, as at readers of NFC: such a ticket has no code to show. */
const readerSign = (language = UNSAID_LANGUAGE) =>
  `<svg class="reader" viewBox="0 0 24 24" role="img" aria-label="${walletWord('Hold near the reader', language)}"><path d="M7 9a5 5 0 0 1 0 6M11 6.5a9 9 0 0 1 0 11M15 4a14 14 0 0 1 0 16"/></svg>`

/** The sheet of a poster, behind whose pictures stands the colour of the card. */
export function posterStyle({ colors }: Card): string {
  return `.poster { --background: ${cardColors(colors).background} }\n${POSTER_STYLE}`
}

/** By the sizes that Apple gives for its images; white on what is darkened at both ends. */
const POSTER_STYLE = `
.poster { position: relative; display: flex; flex-direction: column; justify-content: space-between; min-height: 32rem; overflow: hidden;
  border-radius: 1.25rem; background: var(--background); color: #ffffff; line-height: 1.25; filter: drop-shadow(0 .5rem 1.25rem var(--shadow)) }
.poster .background, .poster .artwork { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover }
.poster .artwork { height: auto; aspect-ratio: 358 / 448 }
.poster header, .poster .bill { position: relative; padding: 1rem }
.poster header { display: flex; justify-content: space-between; align-items: center; gap: 1rem; padding-bottom: 2.5rem;
  background: linear-gradient(rgb(0 0 0 / .65), transparent) }
.poster p { margin: 0 }
.poster .issuer { min-width: 0; font-size: 1.0625rem; font-weight: 600 }
.primaryLogo { display: block; width: auto; height: auto; max-width: min(7.875rem, 100%); max-height: 1.875rem }
.secondaryLogo { display: block; width: auto; height: auto; max-width: min(8.4375rem, 100%); max-height: .75rem; margin-bottom: .5rem }
.reader { flex: none; width: 1.5rem; fill: none; stroke: currentcolor; stroke-width: 2; stroke-linecap: round }
.poster .bill { padding-top: 4rem; background: linear-gradient(transparent, rgb(0 0 0 / .7) 4rem, rgb(0 0 0 / .8)) }
.poster .event { font-size: 1.625rem; font-weight: 700; line-height: 1.15; letter-spacing: -.01em }
.poster .venue { margin-top: .25rem; font-size: 1.0625rem }
.poster .seat { margin-top: 1rem; padding-top: .75rem; border-top: 1px solid rgb(255 255 255 / .35) }
.poster .fields dt { color: inherit }
`
