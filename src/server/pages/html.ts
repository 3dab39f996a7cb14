import { createHash } from 'node:crypto'
import { directionOfLanguage } from '../../core/rules/display/language-match.ts'
import { BASE_STYLE, browserFile, type PublicFile, publicFile, REVALIDATED } from './assets.ts'

const PAGE_STYLE = `${BASE_STYLE}\n${browserFile('page.css')}`

export interface Page {
  html: string
  headers: Record<string, string>
}

export interface PageParts {
  /** The title as plain text. */
  title: string
  /** HTML with escaped values. */
  main: string
  /** A language tag. Default: `en`. */
  language?: string | undefined
  head?: string | undefined
  /** Additional inline style sheets, which the policy allows by their digest. */
  styles?: string[]
  script?: string | undefined
  icon?: string | undefined
  /** Whether the page embeds all its images as data URLs, and so loads none. */
  hasOwnImages?: true
  /** Whether the script sends requests to this server. */
  isLive?: true
  /** Whether the page has a form that it submits to this server. */
  hasForm?: true
  bodyClass?: string
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

/** Escapes a sentence, and replaces its placeholders with HTML. */
export function fillHtml(sentence: string, parts: Record<string, string>): string {
  return escapeHtml(sentence).replaceAll(/\{(\w+)\}/g, (whole, name: string) => parts[name] ?? whole)
}

/** Returns the source expression by which a content security policy permits exactly this text. */
export function digestSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** Returns a page that runs, loads, and shows only content of this server, and that cannot be framed or cached. */
export function buildPage(parts: PageParts): Page {
  const {
    title,
    main,
    language = 'en',
    head,
    styles = [],
    script,
    icon,
    hasOwnImages,
    isLive,
    hasForm,
    bodyClass,
  } = parts
  const style = [PAGE_STYLE, ...styles].join('\n')
  const policy = {
    'default-src': "'none'",
    'style-src': digestSource(style),
    'img-src': hasOwnImages ? 'data:' : "'self'",
    ...(script && { 'script-src': "'self'" }),
    ...(isLive && { 'connect-src': "'self'" }),
    ...(hasForm && { 'form-action': "'self'" }),
  }
  return {
    html: htmlDocument({
      title,
      language,
      head: `<meta name="color-scheme" content="light dark">
${head ? `${head}\n` : ''}${icon ? `<link rel="icon" href="${escapeHtml(icon)}">\n` : ''}<style>${style}</style>
${script ? `<script src="${escapeHtml(script)}" defer></script>` : ''}`,
      body: `<main>
${main}
</main>`,
      bodyClass,
    }),
    headers: {
      ...pageHeaders(policy),
      'content-language': language,
      // If a language is given, the caller selected it by Accept-Language, so the page varies with this header.
      ...(parts.language !== undefined && { vary: 'Accept-Language' }),
    },
  }
}

export interface DocumentParts {
  /** The title as plain text. */
  title: string
  /** A language tag, which also determines the text direction. Default: `en`. */
  language?: string | undefined
  /** HTML with escaped values, like `body`. */
  head: string
  body: string
  bodyClass?: string | undefined
}

/** Returns an HTML document that search engines must not index. */
export function htmlDocument({ title, language = 'en', head, body, bodyClass }: DocumentParts): string {
  return `<!doctype html>
<html lang="${language}" dir="${directionOfLanguage(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
${head}
</head>
<body${bodyClass ? ` class="${bodyClass}"` : ''}>
${body}
</body>
</html>
`
}

/** Returns headers that prevent framing, type sniffing, caching, camera use, and forms that `policy` does not allow. */
export function pageHeaders(policy: Record<string, string>): Record<string, string> {
  const { 'form-action': forms = "'none'", ...others } = policy
  const whole = { ...others, 'base-uri': "'none'", 'form-action': forms, 'frame-ancestors': "'none'" }
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': Object.entries(whole)
      .map(([directive, sources]) => `${directive} ${sources}`)
      .join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'permissions-policy': 'camera=(), microphone=(), geolocation=()',
    'cache-control': 'no-store',
  }
}

export function pageResponse(
  { html, headers }: Omit<Page, 'html'> & { html: string | Uint8Array<ArrayBuffer> },
  options: ResponseInit = {},
): Response {
  return new Response(html, { ...options, headers: { ...headers, ...(options.headers as Record<string, string>) } })
}

/** Returns a page as a file that browsers can cache, and revalidate before each use. */
export function pageFile({ html, headers }: Page): PublicFile {
  const { 'content-type': contentType = '', 'cache-control': _, ...others } = headers
  return publicFile({ contentType, cacheControl: REVALIDATED, content: html, headers: others })
}

export function schemeStyle(styles: readonly string[], scheme: 'light' | 'dark'): string {
  const isDark = scheme === 'dark'
  return [PAGE_STYLE, ...styles]
    .join('\n')
    .replaceAll('@media (prefers-color-scheme: dark)', isDark ? '@media all' : '@media not all')
    .replaceAll(':root', ':host')
    .replace('color-scheme: light dark', `color-scheme: ${scheme}`)
}
