import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { directionOfLanguage } from '../../core/rules/display/language-match.ts'
import { plainPng } from '../../files/plain-png.ts'
import { spokenLanguages } from '../../locales/languages.ts'
import { pagesTexts } from '../../locales/page-texts.ts'
import {
  contentTypeOf,
  IMMUTABLE,
  type PublicFile,
  pageIcon,
  precompress,
  publicFile,
  REVALIDATED,
  touchIcon,
} from './assets.ts'
import { escapeHtml, htmlDocument, pageFile, pageHeaders } from './html.ts'

/**
 * Pages that a script renders in the reader's language, so their documents are the same for all. Addresses are relative,
 * so that they work under any path prefix of a proxy.
 */

/** The path of the page that turns any phone into a door. The paths of its files start with this path. */
export const doorPath = '/door'
/**
 * The path of the desk, a page for anyone with a token or a session (decisions/0026). The paths of its files start with
 * this path.
 */
export const deskPath = '/desk'

/** The files of a page by name, and its manifest `NAME.json`: see scripts/build-NAME.js. */
type Build = ReadonlyMap<string, Uint8Array>
type Files = Map<string, PublicFile>

/**
 * The content security policy that allows files of this server and images as data URLs, but no inline code or styles.
 */
const OWN_FILES = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
}

export async function loadDesk(hasSignIn: boolean): Promise<Files> {
  const head = hasSignIn ? '<meta name="passes-sign-in" content="./desk/login">' : ''
  return filesOf('desk', await readBuild('desk'), { policy: OWN_FILES, head })
}

export async function loadDoor(): Promise<Files> {
  return doorFiles(await readBuild('door'))
}

export function doorFiles(build: Build): Promise<Files> {
  return filesOf('door', build, {
    // Allow WebAssembly, which the barcode reader uses.
    policy: {
      ...OWN_FILES,
      'script-src': "'self' 'wasm-unsafe-eval'",
      'img-src': "'self'",
      'worker-src': "'self'",
      'manifest-src': "'self'",
    },
    // Allow the camera only for this page.
    permissions: 'camera=(self), microphone=(), geolocation=()',
    head: `<meta name="theme-color" content="#101014">
<meta name="apple-mobile-web-app-capable" content="yes">
<link rel="manifest" href=".${doorPath}/manifest.webmanifest">
<link rel="apple-touch-icon" href=".${touchIcon.path}">`,
    more: {
      'manifest.webmanifest': webManifest(),
      // A plain icon in the color of the other icons, for home screens that cannot draw SVG.
      'icon-512.png': publicFile({
        contentType: 'image/png',
        cacheControl: REVALIDATED,
        content: plainPng(512, 512, '#3b4cc0'),
      }),
    },
  })
}

interface PageOptions {
  policy: Record<string, string>
  permissions?: string
  head?: string
  more?: Record<string, PublicFile>
}

/** The only text of the documents. It is in all languages, because the documents are the same for all readers. */
const needsScript = spokenLanguages
  .map((tag) => `<p lang="${tag}" dir="${directionOfLanguage(tag)}">${escapeHtml(pagesTexts[tag].needsScript)}</p>`)
  .join('\n')

/** The files whose names contain no digest. Browsers look for updates of a service worker at its first address. */
const FIXED_NAMES = ['sw.js', 'licences.txt']

async function filesOf(page: string, build: Build, options: PageOptions): Promise<Files> {
  const { policy, permissions, head = '', more = {} } = options
  const { script, style } = JSON.parse(Buffer.from(build.get(`${page}.json`)!).toString())
  const headers: Record<string, string> = {
    ...pageHeaders(policy),
    ...(permissions && { 'permissions-policy': permissions }),
  }
  const html = htmlDocument({
    title: `passes: ${page}`,
    head: `<meta name="color-scheme" content="light dark">
<link rel="icon" href=".${pageIcon.path}">
${head}
<link rel="stylesheet" href="./${page}/${style}">
<script type="module" src="./${page}/${script}"></script>`,
    body: `<div id="${page}"></div>
<noscript>${needsScript}</noscript>`,
  })
  const files: Files = new Map([[`/${page}`, pageFile({ html, headers })]])
  for (const [name, file] of Object.entries(more)) files.set(`/${page}/${name}`, file)
  for (const [name, bytes] of build) {
    const type = contentTypeOf(name)
    if (type === undefined) continue
    const file = publicFile({
      contentType: type,
      content: bytes,
      cacheControl: FIXED_NAMES.includes(name) ? REVALIDATED : IMMUTABLE,
      headers: {
        // Send the policy with each file, because a web worker uses the policy of its file instead of the policy of the
        // page.
        'content-security-policy': headers['content-security-policy']!,
        'cross-origin-resource-policy': 'same-origin',
        ...(name === 'sw.js' && { 'service-worker-allowed': `../${page}` }),
      },
    })
    files.set(`/${page}/${name}`, file)
  }
  return new Map(await Promise.all([...files].map(async ([path, file]) => [path, await precompress(file)] as const)))
}

function webManifest(): PublicFile {
  const content = JSON.stringify({
    id: '../door',
    name: 'passes: door',
    short_name: 'Door',
    start_url: '../door',
    scope: '../door',
    display: 'standalone',
    background_color: '#101014',
    theme_color: '#101014',
    icons: [
      { src: `..${pageIcon.path}`, sizes: 'any', type: 'image/svg+xml' },
      { src: `..${touchIcon.path}`, sizes: '180x180', type: 'image/png' },
      { src: 'icon-512.png', sizes: '512x512', type: 'image/png', purpose: 'maskable' },
    ],
  })
  return publicFile({ contentType: 'application/manifest+json', cacheControl: REVALIDATED, content })
}

/** Returns the files of a page from the build, or bundles them if the server runs from source. */
async function readBuild(page: 'desk' | 'door'): Promise<Build> {
  const folder = fileURLToPath(new URL(`../../${page}/`, import.meta.url))
  // Skip subfolders, which contain the modules of the door engine.
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  if (!names.includes(`${page}.json`)) return bundlePage(page)
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)))
}

export async function bundlePage(page: 'desk' | 'door', main?: string): Promise<Build> {
  const script = new URL(`../../../scripts/build-${page}.js`, import.meta.url)
  const { buildDesk, buildDoor } = await import(script.href)
  return page === 'desk' ? buildDesk() : buildDoor(main)
}
