import { escapeHtml } from '../html.ts'

/** The little Markdown that our own descriptions are written in: paragraphs, lists, code and links to our own pages. */
export function markdown(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .filter(Boolean)
    .map((part) => (part.startsWith('- ') ? list(part) : `<p>${spans(part)}</p>`))
    .join('')
}

function list(part: string): string {
  const items = part.split(/^- /m).filter(Boolean)
  return `<ul>${items.map((item) => `<li>${spans(item.trim())}</li>`).join('')}</ul>`
}

function spans(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
