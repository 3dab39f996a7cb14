/** The look of the page of a smart link: one column on a phone, the card beside everything else on a wider screen. */
export const LINK_STYLE = `
.intro { margin-bottom: 1rem }
/* Texts of any direction start where the page does. */
.intro > * { width: fit-content; max-width: 100% }
.actions { display: grid; gap: .75rem; margin-top: 1.25rem }
.hint { margin: 0; padding: .75rem 1rem; border-radius: .875rem; border: 1px solid var(--line); background: var(--raised);
  font-size: .9375rem; white-space: normal }
.phone { display: none }
@media (max-width: 55.99rem) and (min-height: 36rem) {
  .actions { position: sticky; bottom: 0; margin-inline: -1rem; padding: .75rem 1rem max(.75rem, env(safe-area-inset-bottom));
    background: var(--page); box-shadow: 0 -.75rem .75rem -.25rem var(--page) }
}
@media (min-width: 56rem) {
  main { width: min(56rem, 100%); display: grid; grid-template: "picture intro" auto "picture actions" auto "picture more" 1fr
    / 24rem minmax(0, 1fr); column-gap: 4rem; padding: 3rem 2rem }
  .intro { grid-area: intro; margin: 0 }
  .picture { grid-area: picture }
  .actions { grid-area: actions }
  .more { grid-area: more }
  h1 { font-size: 2rem }
  .phone { display: flex; align-items: center; gap: 1.25rem; margin: 1.5rem 0 0; padding: 1rem; border-radius: .875rem;
    background: var(--raised) }
  .phone .symbol { flex: none; width: 8.5rem; padding: .75rem; border-radius: .5rem; background: #ffffff; forced-color-adjust: none }
  .phone figcaption { color: var(--muted); font-size: .9375rem }
  .phone strong { color: var(--text) }
}
`
