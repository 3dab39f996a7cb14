import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { HTTPResponse } from 'h3'
import { plainPng } from '../../files/plain-png.ts'
import { acceptedEncodings, namesTag } from '../http/negotiation.ts'

/** A file that pages load. The path contains a digest of the content, so browsers can cache the file forever. */
export interface Asset extends PublicFile {
  /** The path, relative to the public URL. */
  path: string
}

/** The cache policy of files whose path contains their digest. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'

const types: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  wasm: 'application/wasm',
  txt: 'text/plain; charset=utf-8',
}

/**
 * The script that redirects iPads to the Apple link. The server cannot, because an iPad identifies as a Macintosh. The
 * redirect happens once per history entry, so that a visitor who comes back or reloads stays on the page.
 */
export const tabletScript = browserAsset('scripts/tablet.js')

/** The default icon of pages, for passes without an icon. */
export const pageIcon = asset(
  'icon.svg',
  'image/svg+xml',
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#3b4cc0"/>
<rect x="6" y="9" width="20" height="14" rx="3" fill="#fff"/><path d="M6 14h20" stroke="#3b4cc0" stroke-width="2"/></svg>
`,
)

/** The icon of pages as favicon.ico, 32 pixels wide. Browsers request this name regardless of the page. */
export const favicon = publicFile({
  contentType: 'image/x-icon',
  cacheControl: 'public, max-age=86400',
  content: iconFile(
    'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJJnAAAADFBMVEU8TcE7TcM6S8D///+xU/TGAAAAA3RSTlP/BWvj+bymAAAACXBIWXMAAAsTAAAL' +
      'EwEAmpwYAAAASUlEQVR42mMIbWAAAqZQhggGMFBlSIAwOBkcIAxGhgYIg4mBOPAfCA4AaX4UxgdkBibAVEMMgxlmBZxBBIB7B+5BuJfhgQALFgCP+0CI' +
      'tI2hmgAAAABJRU5ErkJggg==',
  ),
})

/** The icon of pages for home screens, 180 pixels wide. It has no rounded corners, because phones round them. */
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

function iconFile(base64: string): Buffer {
  const png = Buffer.from(base64, 'base64')
  const header = Buffer.from([0, 0, 1, 0, 1, 0, 32, 32, 0, 0, 1, 0, 32, 0, 0, 0, 0, 0, 22, 0, 0, 0])
  header.writeUInt32LE(png.length, 14)
  return Buffer.concat([header, png])
}

/** The logo of the class that `doctor` writes. Every server serves this logo, so that the platform can fetch it. */
export const trialLogo = asset('logo.png', 'image/png', plainPng(660, 660, '#3b4cc0'))

/** The script that copies the address in the hint for in-app browsers. Without scripts, visitors select the address. */
export const copyScript = browserAsset('scripts/copy.js')

export function contentTypeOf(name: string): string | undefined {
  return types[name.split('.').at(-1)!]
}

/** Returns a style or a script of the folder `browser`. Removes comments and line breaks from styles. */
export function browserFile(name: string): string {
  const text = readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8')
  if (!name.endsWith('.css')) return text
  const withoutComments = text.split('*/').map((part) => part.split('/*')[0])
  return withoutComments.join(' ').replaceAll(/\s+/g, ' ')
}

/** The base style of every page that does not load a bundle. */
export const BASE_STYLE = browserFile('base.css')

export function browserAsset(name: string): Asset {
  return asset(basename(name), contentTypeOf(name)!, browserFile(name))
}

export const assetPath = '/assets/:name'

/** Returns a path relative to the page of a link, so that it works under any path prefix of a proxy. */
export function fromLink(path: string): string {
  return `..${path}`
}

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

/** A file that clients can fetch without a token. All responses share one buffer per encoding. */
export interface PublicFile {
  contentType: string
  cacheControl: string
  content: Uint8Array<ArrayBuffer>
  compressed?: { br: Uint8Array<ArrayBuffer>; gzip: Uint8Array<ArrayBuffer> }
  digest: string
  headers?: Record<string, string>
}

export type PublicFileParts = Pick<PublicFile, 'contentType' | 'cacheControl' | 'headers'> & {
  content: string | Uint8Array
}

export const REVALIDATED = 'no-cache'

/** Returns a file with its digest, which is its ETag. */
export function publicFile({ content, ...parts }: PublicFileParts): PublicFile {
  const bytes = (typeof content === 'string' ? Buffer.from(content) : content) as Uint8Array<ArrayBuffer>
  return { ...parts, content: bytes, digest: createHash('sha256').update(bytes).digest('hex').slice(0, 16) }
}

/** Compresses a file off the main thread. The result serves all responses. */
export async function precompress(file: PublicFile): Promise<PublicFile> {
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(file.content, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    promisify(gzip)(file.content),
  ])
  return { ...file, compressed: { br, gzip: zipped } }
}

/**
 * The Brotli level. It compresses better than any gzip level, and takes no longer. The best Brotli level saves another
 * 10 % but takes fifty times as long.
 */
const BROTLI_QUALITY = 6

/** Responds with a file in an encoding that the client accepts, or with 304 if the client has it. */
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
  // Match the tag of any encoding, because all encodings have the same content.
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
