import {
  CONTENT_WIDTH,
  GAP,
  HEADER_SHARE,
  LABEL_SIZE,
  LOGO,
  primarySizes,
  SIGN_WIDTH,
  scales,
  THUMBNAIL,
  VALUE_SIZE,
} from '../../../core/rules/display/apple-front.ts'

/** The class of values that are shrunk to a share of their usual size. */
export function scaleClass(scale: number): string {
  return `scale-${Math.round(scale * 100)}`
}

/** A point of a phone is a pixel of a page, at the usual size of its text. */
function rem(points: number): string {
  return `${points / 16}rem`
}

const MARGIN = 16

/**
 * The look of a card, in the colours --background, --foreground and --label, by the measures that warnings are made of. Fields
 * share a row as layOutFront says: each takes what it needs up to an equal share of what the others leave, and is cut there.
 */
export const CARD_STYLE = `
.sheet { max-width: ${rem(CONTENT_WIDTH + 2 * MARGIN)}; margin: 0 auto; filter: drop-shadow(0 .5rem 1.25rem var(--shadow)) }
.card { display: flex; flex-direction: column; gap: .875rem; padding: .875rem ${rem(MARGIN)} 1rem; overflow: hidden; border-radius: 1rem;
  background: var(--background); color: var(--foreground); line-height: 1.25 }
.card header { display: flex; justify-content: space-between; align-items: center; gap: 1rem; min-height: 2.5rem }
.brand { display: flex; flex: 1 1 0; align-items: center; gap: .625rem; min-width: 5rem; font-size: 1.0625rem; font-weight: 600 }
.brand span { flex: 1 0 3rem; min-width: 0; overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
.logo { display: block; flex: none; width: auto; height: auto; max-width: min(${rem(LOGO.width)}, 100%); max-height: ${rem(LOGO.height)}; border-radius: .25rem }
.logo:has(+ span) { flex: 0 1 auto; min-width: 0; max-width: min(${rem(LOGO.width)}, 50%) }
.fields { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, max-content); justify-content: space-between; gap: ${rem(GAP)};
  margin: 0; min-width: 0 }
.fields > div { display: flex; flex-direction: column; align-items: flex-start; min-width: 0; max-width: 100% }
.fields dt, .fields dd { max-width: 100%; margin: 0 }
.card .fields dt, .card .fields dd { overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
.fields dt { color: var(--label); font-size: ${rem(LABEL_SIZE)}; font-weight: 600 }
.fields dd { font-size: ${rem(VALUE_SIZE)} }
.fields dd:empty, .fields dt:empty { display: none }
.fields.header { flex: 0 1 auto; justify-content: end; max-width: ${HEADER_SHARE * 100}% }
.card .fields > div:last-child:not(:first-child), .fields.header > div { align-items: flex-end }
.strip { display: block; width: calc(100% + 2rem); max-width: none; margin: 0 -1rem; object-fit: cover }
.strip { aspect-ratio: 375 / 144 }
.eventTicket .strip { aspect-ratio: 375 / 98 }
.front { display: flex; justify-content: space-between; align-items: flex-start; gap: 1rem }
.banner { display: contents }
.banner:has(.strip) { display: grid }
.banner:has(.strip) > * { grid-area: 1 / 1 }
.banner:has(.strip) .front { position: relative; align-self: center; padding: .75rem 0 }
.front:empty { display: none }
.thumbnail { display: block; flex: none; width: ${rem(THUMBNAIL)}; height: ${rem(THUMBNAIL)}; border-radius: .375rem; object-fit: cover }
.front > .primary, .front > .journey { flex: 1 1 0 }
.primary dd { font-size: calc(var(--large) * var(--scale, 1)); line-height: 1.1; letter-spacing: -.01em }
${Object.entries(primarySizes)
  .map(([passType, size]) => `.${passType} { --large: ${rem(size)} }`)
  .join('\n')}
${scales.map((scale) => `.${scaleClass(scale)} { --scale: ${scale} }`).join('\n')}
.surplus { padding: .5rem .75rem; border: 1px dashed currentcolor; border-radius: .5rem; font-size: .8125rem; opacity: .5 }
.surplus p { margin: 0 0 .25rem; font-weight: 600 }
.surplus .fields { grid-auto-flow: row; justify-content: stretch; gap: .25rem }
.surplus .fields > div:last-child { align-items: flex-start }
.surplus .fields dt { color: inherit }
.barcode { display: grid; justify-items: center; gap: .5rem; max-width: 100%; margin: .25rem auto 0; padding: 1rem; border-radius: .75rem;
  background: #ffffff; color: #000000; forced-color-adjust: none }
.symbol svg { display: block; width: 100%; height: auto }
.qr .symbol, .aztec .symbol { width: 10rem; max-width: 100% }
.pdf417, .code128 { width: 100% }
.pdf417 .symbol, .code128 .symbol { width: 100% }
.code128 { padding-inline: 1.5rem }
.code128 svg { height: 5rem }
.barcode figcaption { font-size: .8125rem; text-align: center }

.storeCard .primary dd, .coupon .primary dd { font-weight: 300 }
.storeCard .primary > div, .coupon .primary > div { flex-direction: column-reverse; justify-content: flex-end }
.storeCard .primary dt, .coupon .primary dt { font-size: .8125rem }
.journey { display: grid; grid-template-columns: minmax(0, max-content) ${rem(SIGN_WIDTH - 2 * GAP)} minmax(0, max-content); justify-content: space-between;
  align-items: end; gap: ${rem(GAP)}; min-width: 0 }
.journey .primary:last-child > div { align-items: flex-end }
.journey dd { font-weight: 300 }
.sign { display: block; width: 100%; height: auto; margin-bottom: .25rem; fill: currentcolor }
[dir="rtl"] > .banner .sign { transform: scaleX(-1) }
.eventTicket { -webkit-mask: radial-gradient(circle 1.125rem at 50% -.375rem, #0000 97%, #000);
  mask: radial-gradient(circle 1.125rem at 50% -.375rem, #0000 97%, #000) }
.coupon { padding-block: 1.375rem; border-radius: 0;
  --teeth: conic-gradient(from 135deg at top, #0000, #000 1deg 89deg, #0000 90deg) top / .75rem 51% repeat-x,
    conic-gradient(from -45deg at bottom, #0000, #000 1deg 89deg, #0000 90deg) bottom / .75rem 51% repeat-x;
  -webkit-mask: var(--teeth); mask: var(--teeth) }
`
