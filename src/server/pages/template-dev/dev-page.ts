import { type Definition, fieldGroups } from '../../../core/contract/definition.ts'
import { browserAsset, browserFile, pageIcon } from '../assets.ts'
import { buildPage, escapeHtml, type Page } from '../html.ts'
import type { PlacedNote } from './content.ts'

export interface DevView {
  title: string
  /** Errors that keep the view older than the file; empty if it is current. */
  faults: string[]
  holders: string[]
  holder: number
  /** The languages of the definition, its default first; empty if it names none. */
  languages: string[]
  language: string | null
  /** The phones with their styles; null if there was nothing to draw yet. */
  phones: Record<Scheme, string> | null
  styles: Record<Scheme, string>
  outline: string
}

const schemes = ['light', 'dark'] as const
export type Scheme = (typeof schemes)[number]

export function devPage(file: string): Page {
  const panels = schemes.map(
    (scheme) => `<section class="scheme ${scheme}" aria-labelledby="${scheme}-title">
<h2 id="${scheme}-title">${scheme === 'light' ? 'Light' : 'Dark'}</h2><div class="panel" data-scheme="${scheme}"></div></section>`,
  )
  return buildPage({
    title: file,
    styles: [browserFile('template-dev.css')],
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

export const devScript = browserAsset('template-dev.js')
