import { type Definition, fieldGroups } from '../../../core/contract/definition.ts'
import { asset, pageIcon } from '../assets.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import type { PlacedNote } from './content.ts'

/** The response that the page requests after each change of a file. */
export interface DevView {
  title: string
  /** Errors that keep the view older than the file; empty if it is current. */
  faults: string[]
  /** The holders to choose from, the sample first. */
  holders: string[]
  holder: number
  /** The languages of the definition, its default first; empty if it names none. */
  languages: string[]
  /** The selected language. */
  language: string | null
  /** The phones with their styles; null if there was nothing to draw yet. */
  phones: Record<Scheme, string> | null
  styles: Record<Scheme, string>
  /** The fields of the definition with their notes. */
  outline: string
}

const schemes = ['light', 'dark'] as const
/** Light or dark. The page shows both next to each other. */
export type Scheme = (typeof schemes)[number]

/** Returns the empty page. The view fills it. */
export function devPage(file: string): Page {
  const panels = schemes.map(
    (scheme) => `<section class="scheme ${scheme}" aria-labelledby="${scheme}-title">
<h2 id="${scheme}-title">${scheme === 'light' ? 'Light' : 'Dark'}</h2><div class="panel" data-scheme="${scheme}"></div></section>`,
  )
  return buildPage({
    title: file,
    styles: [DEV_STYLE],
    script: devScript.path,
    icon: pageIcon.path,
    isLive: true,
    bodyClass: 'dev',
    main: `<header class="top"><div><h1 dir="auto" id="title">${escapeHtml(file)}</h1><p class="muted" id="state" role="status">Loading</p></div>
<div class="choices"><label id="of-language" hidden>Language <select id="language"></select></label>
<label>Holder <select id="holder"></select></label></div></header>
<div id="faults" role="alert" hidden></div>
<div class="columns"><div class="panels">${panels.join('\n')}</div>
<aside aria-label="Fields and warnings" id="outline"></aside></div>`,
  })
}

/** Returns every field by its path with its notes. Notes about anything else come first. */
export function outlineHtml({ design }: Definition, notes: readonly PlacedNote[]): string {
  const places = fieldGroups.flatMap((group) => {
    const fields = design.fields[group]
    const path = ['definition', 'design', 'fields', group]
    if (fields.length === 0) return []
    return [
      { path, html: `<h3>${group}</h3>` },
      ...fields.map(({ key, label }, index) => ({
        path: [...path, index],
        html: `<p><code>${escapeHtml(key)}</code> <span dir="auto">${escapeHtml(label)}</span></p>`,
      })),
    ]
  })
  const placeOf = (note: PlacedNote) => places.findLast(({ path }) => path.every((part, at) => note.path[at] === part))
  const notesOf = (place: (typeof places)[number] | undefined) =>
    notes
      .filter((note) => placeOf(note) === place)
      .map(noteHtml)
      .join('')
  const general = notesOf(undefined)
  const fields = places.map((place) => {
    const own = notesOf(place)
    return `<li${own ? ' class="is-noted"' : ''}>${place.html}${own}</li>`
  })
  return `<h2>Fields</h2>
${general ? `<div class="general">${general}</div>` : ''}<ul>${fields.join('')}</ul>
${notes.length === 0 ? '<p class="muted">Nothing to say.</p>' : ''}`
}

function noteHtml({ code, path, message, line, column }: PlacedNote): string {
  const place = line === undefined ? path.slice(1).join('.') : `line ${line}, column ${column}`
  const head = code ? `<strong>${escapeHtml(code)}</strong>` : '<strong>keeps it from being published</strong>'
  return `<p class="note${code ? '' : ' problem'}">${head} <span class="muted">${escapeHtml(place)}</span><br>
<span dir="auto">${escapeHtml(message)}</span></p>`
}

/**
 * Patches each view into the page: unchanged elements stay, so that the scroll position, opened details, the focus, and
 * the selection survive a save.
 */
export const devScript = asset(
  'template-dev.js',
  'text/javascript; charset=utf-8',
  `const byId = (id) => document.getElementById(id)
const state = byId('state'), faults = byId('faults'), holder = byId('holder'), language = byId('language'), outline = byId('outline')
const panels = [...document.querySelectorAll('.panel')].map((host) => {
  const root = host.attachShadow({ mode: 'open' })
  const sheet = new CSSStyleSheet()
  root.adoptedStyleSheets = [sheet]
  const content = document.createElement('div')
  content.className = 'preview'
  root.append(content)
  return { scheme: host.dataset.scheme, sheet, content, style: '' }
})
const chosen = new URLSearchParams(location.hash.slice(1))
let asked = 0

async function refresh() {
  const turn = (asked += 1)
  try {
    const answer = await fetch('/view?' + chosen, { cache: 'no-store' })
    if (!answer.ok) throw new Error(await answer.text())
    const view = await answer.json()
    if (turn === asked) show(view)
  } catch {
    state.textContent = 'The program has ended; what is shown may be old.'
  }
}

function show(view) {
  document.title = view.title
  byId('title').textContent = view.title
  state.textContent = view.faults.length > 0 ? 'The last version that could be drawn' : 'Up to date'
  faults.hidden = view.faults.length === 0
  draw(faults, view.faults.map((line) => '<p></p>').join(''))
  view.faults.forEach((line, index) => { faults.children[index].textContent = line })
  if (view.phones === null) return
  for (const panel of panels) {
    const style = view.styles[panel.scheme]
    if (style !== panel.style) panel.sheet.replaceSync(style)
    panel.style = style
    draw(panel.content, view.phones[panel.scheme])
  }
  draw(outline, view.outline)
  offer(holder, view.holders.map((name, index) => [name, String(index)]), String(view.holder))
  byId('of-language').hidden = view.languages.length < 2
  offer(language, view.languages.map((tag) => [nameOf(tag), tag]), view.language)
}

function offer(select, options, value) {
  if (select.options.length !== options.length || options.some(([name, value], index) => select.options[index].text !== name || select.options[index].value !== value)) {
    select.replaceChildren(...options.map(([name, value]) => new Option(name, value)))
  }
  select.value = value
}

function nameOf(tag) {
  return new Intl.DisplayNames(tag, { type: 'language' }).of(tag) + ' (' + tag + ')'
}

function draw(element, html) {
  const template = document.createElement('template')
  template.innerHTML = html
  match(element, template.content)
}

function match(from, to) {
  const [old, wanted] = [[...from.childNodes], [...to.childNodes]]
  wanted.forEach((node, index) => {
    const there = old[index]
    if (!there) from.append(node)
    else if (there.nodeType !== node.nodeType || there.nodeName !== node.nodeName) there.replaceWith(node)
    else if (node.nodeType !== Node.ELEMENT_NODE) { if (there.data !== node.data) there.data = node.data }
    else {
      for (const { name } of [...there.attributes]) if (!node.hasAttribute(name) && name !== 'open') there.removeAttribute(name)
      for (const { name, value } of node.attributes) if (there.getAttribute(name) !== value) there.setAttribute(name, value)
      match(there, node)
    }
  })
  for (const surplus of old.slice(wanted.length)) surplus.remove()
}

for (const select of [holder, language]) select.addEventListener('change', () => {
  chosen.set(select.id, select.value)
  history.replaceState(null, '', '#' + chosen)
  refresh()
})
const events = new EventSource('/events')
events.addEventListener('open', refresh)
events.addEventListener('change', refresh)
events.addEventListener('error', () => { state.textContent = 'The program has ended; what is shown may be old.' })
`,
)

const DEV_STYLE = `
.dev main { width: 100%; max-width: 100rem; padding: 1.5rem clamp(1rem, 3vw, 3rem) }
.top { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 1rem }
.choices { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem }
.top select { font: inherit; max-width: 20rem; padding: .375rem .5rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--raised); color: var(--text) }
#faults { margin: 1rem 0 0; padding: .75rem 1rem; border-radius: .75rem; background: #b3261e; color: #ffffff }
#faults p { font-family: ui-monospace, monospace; font-size: .875rem; white-space: pre-wrap }
.columns { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 2rem; margin-top: 1.5rem }
.panels { flex: 1 1 30rem; min-width: 0; display: grid; gap: 1.5rem }
.scheme { min-width: 0; padding: 1rem clamp(.5rem, 3vw, 2rem) 2rem; border-radius: 1.25rem }
.scheme h2 { margin: 0 0 1rem; font-size: 1rem }
.scheme.light { background: #f2f2f7; color: #1c1c1e }
.scheme.dark { background: #0e0e11; color: #f4f4f7 }
@media (prefers-color-scheme: dark) { .scheme { border: 1px solid var(--line) } }
#outline { flex: 0 1 22rem; min-width: min(16rem, 100%); padding: 1rem 1.25rem; border-radius: 1rem; background: var(--raised) }
#outline h2 { margin: 0; font-size: 1rem }
#outline h3 { margin: .75rem 0 0; font-size: .875rem; color: var(--muted); font-weight: 600 }
#outline ul { margin: 0; padding: 0; list-style: none }
#outline code { font-size: .875rem }
.note { margin: .25rem 0 .5rem; padding: .5rem .75rem; border-inline-start: 3px solid #b26a00; border-radius: .25rem; background: var(--page);
  font-size: .875rem }
.note.problem { border-color: #b3261e }
`
