import { BASE_STYLE, browserFile, pageIcon } from '../assets.ts'
import { digestSource, escapeHtml, htmlDocument, type Page, pageHeaders } from '../html.ts'

const STYLE = `${BASE_STYLE}\n${browserFile('reference.css')}`
const SEARCH = browserFile('scripts/docs.js')

export interface DocsParts {
  title: string
  /** The relative path from the page to the public URL: empty, or `../` for each folder. */
  root: string
  /** HTML with escaped values. */
  nav: string
  main: string
  hasSearch?: true
}

/** Returns a page of the reference. The page loads nothing, and runs no script except that of the search. */
export function docsPage({ title, root, nav, main, hasSearch }: DocsParts): Page {
  const pages = [
    ['docs', 'Endpoints'],
    ['docs/objects', 'Objects'],
    ['docs/errors', 'Errors'],
    ['openapi.json', 'openapi.json'],
  ] as const
  const top = pages.map(([path, name]) => link(root + path, name))
  return {
    html: htmlDocument({
      title: `${title} of passes`,
      head: `<meta name="color-scheme" content="light dark">
<link rel="icon" href="${root}${pageIcon.path.slice(1)}">
<style>${STYLE}</style>`,
      body: `<header><b>passes</b> <span>${top.join(' ')}</span></header>
<main>${main}</main>
<nav aria-label="${title}">${nav}</nav>${hasSearch ? `\n<script>${SEARCH}</script>` : ''}`,
    }),
    headers: pageHeaders({
      'default-src': "'none'",
      'style-src': digestSource(STYLE),
      ...(hasSearch && { 'script-src': digestSource(SEARCH) }),
      'img-src': "'self'",
    }),
  }
}

export function block(text: string): string {
  return `<pre><code>${escapeHtml(text)}</code></pre>`
}

export function link(href: string, text: string): string {
  return `<a href="${escapeHtml(href)}">${escapeHtml(text)}</a>`
}

export function markdown(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .filter(Boolean)
    .map((part) => (part.startsWith('- ') ? list(part) : `<p>${inline(part)}</p>`))
    .join('')
}

/** Returns the HTML of one paragraph of Markdown, without the `p` element. */
export function inline(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

function list(part: string): string {
  const items = part.split(/^- /m).filter(Boolean)
  return `<ul>${items.map((item) => `<li>${inline(item.trim())}</li>`).join('')}</ul>`
}
