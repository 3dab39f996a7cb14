/** The look of the reference, by day and by night. */
export const REFERENCE_STYLE = `
:root { color-scheme: light dark; --page: #ffffff; --raised: #f4f4f7; --text: #1c1c1e; --muted: #55555c; --line: #d5d5db;
  --link: #0a4fb0 }
@media (prefers-color-scheme: dark) {
  :root { --page: #121215; --raised: #1e1e23; --text: #f4f4f7; --muted: #b0b0b9; --line: #37373d; --link: #9cc4ff }
}
*, ::before, ::after { box-sizing: border-box }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; scroll-padding-top: 3.5rem }
body { margin: 0; background: var(--page); color: var(--text); overflow-wrap: anywhere }
header { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; padding: .625rem 1.25rem;
  background: var(--page); border-bottom: 1px solid var(--line) }
header a { margin-right: 1rem }
main, nav { padding: 1rem 1.25rem; min-width: 0 }
nav ul { list-style: none; margin: 0; padding: 0 }
nav ul ul { padding-left: .75rem; margin-bottom: .5rem; font-size: .875rem }
a { color: var(--link) }
nav a { text-decoration: none; display: block; padding: .125rem 0 }
nav a:hover { text-decoration: underline }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.2 }
h2 { margin: 2rem 0 .25rem; padding-top: 1rem; border-top: 2px solid var(--line) }
h3 { margin: 0 0 .25rem; font-size: 1.1875rem }
h4 { margin: .75rem 0 .25rem; font-size: 1rem }
p { margin: .375rem 0 }
article { margin: 1rem 0; padding: 1rem 0; border-top: 1px solid var(--line) }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: .875rem }
pre { margin: .25rem 0 .75rem; padding: .75rem; border-radius: .5rem; background: var(--raised); white-space: pre-wrap }
details { margin: .375rem 0 }
summary { cursor: pointer; padding: .25rem 0 }
.route b, .answer b, summary b { font-weight: 650 }
.route span, dt span, .note { color: var(--muted); font-size: .875rem }
dl { margin: .25rem 0 }
dt { margin-top: .375rem }
dd { margin: 0 0 0 1rem }
table { border-collapse: collapse; text-align: left }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
@media (min-width: 60rem) {
  body { display: grid; grid-template: auto 1fr / 19rem minmax(0, 56rem) }
  header { grid-column: 1 / -1 }
  nav { grid-area: 2 / 1; position: sticky; top: 3rem; max-height: calc(100vh - 3rem); overflow-y: auto;
    border-right: 1px solid var(--line) }
  main { grid-area: 2 / 2; padding: 1rem 2rem }
}
`
