/** The look of every page: colours for day and night, text, buttons, a visible focus. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --page: #f2f2f7; --raised: #ffffff; --text: #1c1c1e; --muted: #5a5a61; --line: #d5d5db;
  --focus: #0b5fd0; --shadow: rgb(20 20 45 / .18) }
@media (prefers-color-scheme: dark) {
  :root { --page: #0e0e11; --raised: #1d1d21; --text: #f4f4f7; --muted: #a9a9b2; --line: #37373d; --focus: #8fbcff;
    --shadow: rgb(0 0 0 / .6) }
}
*, ::before, ::after { box-sizing: border-box }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; -webkit-text-size-adjust: 100% }
body { margin: 0; min-height: 100vh; min-height: 100svh; display: grid; background: var(--page); color: var(--text);
  overflow-wrap: anywhere; -webkit-font-smoothing: antialiased }
main { width: min(26rem, 100%); min-width: 0; margin: auto; padding: 1rem }
h1 { margin: 0 0 .25rem; font-size: 1.5rem; line-height: 1.2; letter-spacing: -.01em }
p { margin: .25rem 0 }
p, dd, figcaption { white-space: pre-line }
a { color: inherit }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 3px }
.muted, .expiry { color: var(--muted); font-size: .9375rem }
.button { display: grid; place-items: center; min-height: 3.25rem; padding: .5rem 1rem; border-radius: .875rem;
  border: 1px solid transparent; background: var(--text); color: var(--page); font-weight: 600; line-height: 1.25;
  text-align: center; text-decoration: none }
.button:hover { background: color-mix(in srgb, var(--text) 85%, var(--page)) }
.back { margin-top: 1rem; padding: 0 1rem; border-radius: .875rem; background: var(--raised) }
.back summary { padding: .8125rem 0; font-weight: 600; cursor: pointer }
.back dl { margin: 0; padding-bottom: .25rem }
.back dl > div { padding: .625rem 0; border-top: 1px solid var(--line) }
.back dt { color: var(--muted); font-size: .8125rem }
.back dd { margin: 0 }
`
