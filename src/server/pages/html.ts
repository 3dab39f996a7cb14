/** Text as HTML shows it, safe in content and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

const STYLE = `
:root { color-scheme: light dark; font: 17px/1.5 system-ui, sans-serif }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: Canvas; color: CanvasText }
main { box-sizing: border-box; width: min(28rem, 100%); padding: 1.5rem }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .5rem; overflow-wrap: anywhere }
p { margin: .5rem 0; overflow-wrap: anywhere }
a.button { display: block; margin: .75rem 0; padding: .85rem 1rem; border: 2px solid; border-radius: .75rem;
  color: inherit; text-align: center; text-decoration: none; font-weight: 600 }
a.button:hover, a.button:focus-visible { background: CanvasText; color: Canvas; outline: none }
`

/** Headers of every page that a person opens: nothing runs that is not ours, and no one frames or remembers it. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
}

/** A whole page. `title` is plain text, `content` is HTML whose values are escaped already. */
export function htmlPage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body><main>${content}</main></body>
</html>
`
}
