/** The look of a card, in the colours --background, --foreground and --label. */
export const CARD_STYLE = `
.sheet { max-width: 24rem; margin: 0 auto; filter: drop-shadow(0 .5rem 1.25rem var(--shadow)) }
.card { display: flex; flex-direction: column; gap: .875rem; padding: .875rem 1rem 1rem; overflow: hidden; border-radius: 1rem;
  background: var(--background); color: var(--foreground); line-height: 1.25 }
.card header { display: flex; justify-content: space-between; align-items: center; gap: 1rem; min-height: 2.5rem }
.brand { display: flex; flex: 1 1 0; align-items: center; gap: .625rem; min-width: 5rem; font-size: 1.0625rem; font-weight: 600 }
.brand span { flex: 1 0 3rem; min-width: 0; overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
.logo { display: block; flex: none; width: auto; height: auto; max-width: min(10rem, 100%); max-height: 2.5rem; border-radius: .25rem }
.logo:has(+ span) { flex: 0 1 auto; min-width: 0; max-width: min(10rem, 50%) }
.fields { display: flex; flex-wrap: wrap; gap: .75rem 1.25rem; margin: 0; min-width: 0 }
.fields > div { display: flex; flex: 0 1 auto; flex-direction: column; align-items: flex-start; min-width: 0; max-width: 100% }
.fields dt, .fields dd { max-width: 100%; margin: 0 }
.fields dt { color: var(--label); font-size: .6875rem; font-weight: 600; letter-spacing: .03em }
.fields dd { font-size: 1.0625rem }
.fields dd:empty, .fields dt:empty { display: none }
.fields.header { flex: 0 1 auto; justify-content: flex-end; max-width: 60% }
.fields.header > div { align-items: flex-end }
.strip, .hero { display: block; width: calc(100% + 2rem); max-width: none; margin: 0 -1rem; object-fit: cover }
.strip { aspect-ratio: 375 / 144 }
.eventTicket .strip { aspect-ratio: 375 / 98 }
.hero { aspect-ratio: 1032 / 336 }
.front { display: flex; justify-content: space-between; align-items: flex-start; gap: 1rem }
.banner, .rows { display: contents }
.front:empty { display: none }
.thumbnail { display: block; flex: none; width: 5.625rem; height: 5.625rem; border-radius: .375rem; object-fit: cover }
.fields.primary { flex: 1 1 auto }
.fields.primary dd { font-size: 1.75rem; line-height: 1.1; letter-spacing: -.01em }
.fields.secondary > div, .fields.auxiliary > div { flex-grow: 1 }
.fields.secondary > div:last-child:not(:first-child), .fields.auxiliary > div:last-child:not(:first-child) { flex-grow: 0 }
.barcode { display: grid; justify-items: center; gap: .5rem; max-width: 100%; margin: .25rem auto 0; padding: 1rem; border-radius: .75rem;
  background: #ffffff; color: #000000; forced-color-adjust: none }
.symbol svg { display: block; width: 100%; height: auto }
.qr .symbol, .aztec .symbol { width: 10rem; max-width: 100% }
.pdf417, .code128 { width: 100% }
.pdf417 .symbol, .code128 .symbol { width: 100% }
.code128 { padding-inline: 1.5rem }
.code128 svg { height: 5rem }
.barcode figcaption { font-size: .8125rem; text-align: center }

.storeCard .primary dd, .coupon .primary dd { font-size: 2.5rem; font-weight: 300 }
.storeCard .primary > div, .coupon .primary > div { flex-direction: column-reverse; justify-content: flex-end }
.storeCard .primary dt, .coupon .primary dt { font-size: .8125rem }
.boardingPass .primary { flex-wrap: nowrap; justify-content: space-between; align-items: flex-end }
.boardingPass .primary dd { font-size: 2.25rem; font-weight: 300 }
.boardingPass .primary > div:last-child:not(:first-child) { align-items: flex-end; order: 2 }
.boardingPass .primary:has(> :nth-child(2):last-child)::before { content: "→" / ""; order: 1; color: var(--label); font-size: 1.5rem }
.boardingPass[dir="rtl"] .primary:has(> :nth-child(2):last-child)::before { content: "←" / "" }
.eventTicket { -webkit-mask: radial-gradient(circle 1.125rem at 50% -.375rem, #0000 97%, #000);
  mask: radial-gradient(circle 1.125rem at 50% -.375rem, #0000 97%, #000) }
.coupon { padding-block: 1.375rem; border-radius: 0;
  --teeth: conic-gradient(from 135deg at top, #0000, #000 1deg 89deg, #0000 90deg) top / .75rem 51% repeat-x,
    conic-gradient(from -45deg at bottom, #0000, #000 1deg 89deg, #0000 90deg) bottom / .75rem 51% repeat-x;
  -webkit-mask: var(--teeth); mask: var(--teeth) }
`
