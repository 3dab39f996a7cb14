import { createHash } from 'node:crypto'
import { PAGE_STYLE } from './page-style.ts'

/** A whole page with the headers that it must be sent with. */
export interface Page {
  html: string
  headers: Record<string, string>
}

export interface PageParts {
  /** Plain text. */
  title: string
  /** HTML whose values are escaped already. */
  main: string
  /** Style sheets beside that of every page. */
  styles?: string[]
  /** The address of a script of our own. */
  script?: string | undefined
  /** The address of the picture in the browser's tab. */
  icon?: string | undefined
  /** The page holds its pictures itself, and loads none. */
  hasOwnImages?: true
  /** Said by the body, for the sheets. */
  bodyClass?: string
}

/** Text as HTML shows it, safe in content and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

/** A page on which nothing runs, loads or shows that is not ours, and which no one frames or remembers. */
export function buildPage({ title, main, styles = [], script, icon, hasOwnImages, bodyClass }: PageParts): Page {
  const style = [PAGE_STYLE, ...styles].join('\n')
  const policy = {
    'default-src': "'none'",
    'style-src': `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    'img-src': hasOwnImages ? 'data:' : "'self'",
    ...(script && { 'script-src': "'self'" }),
  }
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
${icon ? `<link rel="icon" href="${escapeHtml(icon)}">\n` : ''}<style>${style}</style>
${script ? `<script src="${escapeHtml(script)}" defer></script>\n` : ''}</head>
<body${bodyClass ? ` class="${bodyClass}"` : ''}>
<main>
${main}
</main>
</body>
</html>
`,
    headers: pageHeaders(policy),
  }
}

/** What every page is sent with: its own policy, and that no one frames it, posts from it, guesses its type or remembers it. */
export function pageHeaders(policy: Record<string, string>): Record<string, string> {
  const whole = { ...policy, 'base-uri': "'none'", 'form-action': "'none'", 'frame-ancestors': "'none'" }
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': Object.entries(whole)
      .map(([directive, sources]) => `${directive} ${sources}`)
      .join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
  }
}

/** The answer that shows a page. */
export function pageResponse({ html, headers }: Page, options: ResponseInit = {}): Response {
  return new Response(html, { ...options, headers: { ...headers, ...(options.headers as Record<string, string>) } })
}
