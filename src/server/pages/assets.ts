import { plainPng } from '../../wallets/apple/image-files.ts'
import { IMMUTABLE, type PublicFile, publicFile } from './public-file.ts'

/** A file that pages load. Its path names its content, so browsers may keep it for good. */
export interface Asset extends PublicFile {
  /** Below the public URL. */
  path: string
}

/**
 * An iPad calls itself a Macintosh, and only its touch screen gives it away. It is sent to the Apple link once: the
 * entry in the history remembers it, so that coming back or reloading leaves the visitor on the page, which is whole by
 * then: what the link gives is a file.
 */
export const tabletScript = asset(
  'tablet.js',
  'text/javascript; charset=utf-8',
  `addEventListener('load', () => {
  const link = document.querySelector('a[data-platform="apple"]')
  const isTablet = navigator.userAgent.includes('Macintosh') && navigator.maxTouchPoints > 1
  if (!link || !isTablet || history.state?.isSentOn) return
  history.replaceState({ isSentOn: true }, '')
  location.replace(link.href)
})
`,
)

/** The picture in the browser's tab where the pass has no icon of its own. */
export const pageIcon = asset(
  'icon.svg',
  'image/svg+xml',
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#3b4cc0"/>
<rect x="6" y="9" width="20" height="14" rx="3" fill="#fff"/><path d="M6 14h20" stroke="#3b4cc0" stroke-width="2"/></svg>
`,
)

/** What doctor gives Google to fetch: a logo that every server has. */
export const trialLogo = asset('logo.png', 'image/png', plainPng(660, 660, '#3b4cc0'))

export const assetPath = '/assets/:name'

/** A path below the public URL, as the page of a link refers to it: whatever path a proxy has put the server under. */
export function fromLink(path: string): string {
  return `..${path}`
}

export function asset(name: string, contentType: string, content: string | Uint8Array): Asset {
  const headers = { 'cross-origin-resource-policy': 'same-origin' }
  const file = publicFile({ contentType, cacheControl: IMMUTABLE, content, headers })
  return { ...file, path: `/assets/${name.replace(/\.(?=\w+$)/, `.${file.digest}.`)}` }
}
