import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { HTTPResponse } from 'h3'
import { plainPng } from '../../wallets/apple/image-files.ts'
import { acceptedEncodings } from '../http/compress.ts'
import { namesTag } from '../http/etag.ts'

/** A file that pages load. Its path names its content, so browsers may keep it for good. */
export interface Asset extends PublicFile {
  /** Below the public URL. */
  path: string
}

/** The path says which content it is, so browsers may keep the file. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'

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

/** Asked for by name, whatever a page says: the same picture, 32 pixels wide. */
export const favicon = publicFile({
  contentType: 'image/x-icon',
  cacheControl: 'public, max-age=86400',
  content: iconFile(
    'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJJnAAAADFBMVEU8TcE7TcM6S8D///+xU/TGAAAAA3RSTlP/BWvj+bymAAAACXBIWXMAAAsTAAAL' +
      'EwEAmpwYAAAASUlEQVR42mMIbWAAAqZQhggGMFBlSIAwOBkcIAxGhgYIg4mBOPAfCA4AaX4UxgdkBibAVEMMgxlmBZxBBIB7B+5BuJfhgQALFgCP+0CI' +
      'tI2hmgAAAABJRU5ErkJggg==',
  ),
})

/** The same on the home screen of a phone, 180 pixels wide, to its edges: phones round its corners. */
export const touchIcon = asset(
  'touch-icon.png',
  'image/png',
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAALQAAAC0AgMAAABAo+6hAAAADFBMVEU7TMD///97h9W3vuhuorlKAAAACXBIWXMAAD5JAAA+SQE1IK/ZAAAA0UlEQVR42u3X' +
      'MQrCQBBG4VURImJpb5Payt4jWLiYQiRH8Aiex97eS9h7DDs9wM4M/oRA0Pfqj5ANZJlJiYiIiOhPu1p5+JatTjaeZ7unqTeOPlp4nL0uhp65ujV07erG' +
      '0EtX7w39cPVBOaR1zEmg74UeBXpb6EWgW0mfCz0N9K6jrgPdoL/Qq+DmqKR7ppKenXp89nDeJA34e6/ffi/+HTQaje6k+5x9tClMm/C06VGbTLWpV5uo' +
      'xWld2wS0LUPbYLTtSNy8tK1O3BiJiIiIfr0PmNqbxRPX6AkAAAAASUVORK5CYII=',
    'base64',
  ),
)

/** An icon file that holds one PNG of 32 by 32 pixels. */
function iconFile(base64: string): Buffer {
  const png = Buffer.from(base64, 'base64')
  const header = Buffer.from([0, 0, 1, 0, 1, 0, 32, 32, 0, 0, 1, 0, 32, 0, 0, 0, 0, 0, 22, 0, 0, 0])
  header.writeUInt32LE(png.length, 14)
  return Buffer.concat([header, png])
}

/** What doctor gives Google to fetch: a logo that every server has. */
export const trialLogo = asset('logo.png', 'image/png', plainPng(660, 660, '#3b4cc0'))

/** Copies the address in the hint for pages inside other apps; without it, it is there to be marked. */
export const copyScript = asset(
  'copy.js',
  'text/javascript; charset=utf-8',
  `const address = document.querySelector('.address')
const button = document.querySelector('.copy')
button.hidden = false
button.addEventListener('click', async () => {
  address.select()
  // Pages on plain http have no clipboard, and some apps keep it to themselves.
  const written = navigator.clipboard?.writeText(address.value) ?? Promise.reject()
  await written.catch(() => document.execCommand('copy'))
  document.querySelector('.copied').textContent = button.dataset.done
})
`,
)

/** The route of what pages load. */
export const assetPath = '/assets/:name'

/** A path below the public URL, as the page of a link refers to it: whatever path a proxy has put the server under. */
export function fromLink(path: string): string {
  return `..${path}`
}

/** A file of pages, under a path that changes with its content. */
export function asset(
  name: string,
  contentType: string,
  content: string | Uint8Array,
  more: Record<string, string> = {},
): Asset {
  const headers = { 'cross-origin-resource-policy': 'same-origin', ...more }
  const file = publicFile({ contentType, cacheControl: IMMUTABLE, content, headers })
  return { ...file, path: `/assets/${name.replace(/\.(?=\w+$)/, `.${file.digest}.`)}` }
}

/** A file that anybody may ask for: one buffer for each way to send it, however many are sent at once. */
export interface PublicFile {
  contentType: string
  cacheControl: string
  content: Uint8Array<ArrayBuffer>
  /** The same in fewer bytes, where that is worth it. */
  compressed?: { br: Uint8Array<ArrayBuffer>; gzip: Uint8Array<ArrayBuffer> }
  /** Names the content. */
  digest: string
  headers?: Record<string, string>
}

/** A file that is served without a token, before its digest and its compressed form are made. */
export type PublicFileParts = Pick<PublicFile, 'contentType' | 'cacheControl' | 'headers'> & {
  content: string | Uint8Array
}

/** Browsers keep the file, and ask each time whether it is still the one. */
export const REVALIDATED = 'no-cache'

/** A file that is compressed once and served with an ETag to everybody: see PublicFile. */
export function publicFile({ content, ...parts }: PublicFileParts): PublicFile {
  const bytes = (typeof content === 'string' ? Buffer.from(content) : content) as Uint8Array<ArrayBuffer>
  return { ...parts, content: bytes, digest: createHash('sha256').update(bytes).digest('hex').slice(0, 16) }
}

/** The same file, ready to be sent compressed. Off the main thread, and once: it is worth some time. */
export async function precompress(file: PublicFile): Promise<PublicFile> {
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(file.content, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    promisify(gzip)(file.content),
  ])
  return { ...file, compressed: { br, gzip: zipped } }
}

/** Smaller than any gzip, and as quick to make: the best quality takes fifty times as long for a tenth less. */
const BROTLI_QUALITY = 6

/** Sends a file as whoever asks takes it, or 304 where he has it. */
export function answerFile(file: PublicFile, request: Headers): HTTPResponse {
  const coding = file.compressed && acceptedEncodings(request)[0]
  const headers: Record<string, string> = {
    'cache-control': file.cacheControl,
    etag: coding ? `"${file.digest}-${coding}"` : `"${file.digest}"`,
    ...(file.compressed && { vary: 'Accept-Encoding' }),
    ...file.headers,
  }
  const condition = request.get('if-none-match')
  const { digest } = file
  // However it was compressed.
  const isKnown = condition !== null && namesTag(condition, [digest, `${digest}-br`, `${digest}-gzip`])
  if (isKnown) return new HTTPResponse(null, { status: 304, headers })
  const body = coding ? file.compressed![coding] : file.content
  return new HTTPResponse(body, {
    headers: {
      ...headers,
      'content-type': file.contentType,
      'content-length': String(body.length),
      ...(coding && { 'content-encoding': coding }),
    },
  })
}
