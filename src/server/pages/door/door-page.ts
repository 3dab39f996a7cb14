import { plainPng } from '../../../wallets/apple/image-files.ts'
import { IMMUTABLE, type PublicFile, pageIcon, precompress, publicFile, REVALIDATED, touchIcon } from '../assets.ts'
import { readBuild, typeOfFile } from '../built-files.ts'
import { htmlDocument, pageHeaders } from '../html.ts'

/** The path of the page that turns any phone into a door. Its files are below it. */
export const doorPath = '/door'

/** The manifest of the build: see scripts/build-door.js. */
interface DoorManifest {
  script: string
  style: string
  files: string[]
}

/**
 * Allows only files of this server, and no inline code except the reader's WebAssembly. A worker gets the policy of
 * its file, so all files carry it.
 */
const policy = {
  'default-src': "'none'",
  'script-src': "'self' 'wasm-unsafe-eval'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'worker-src': "'self'",
  'manifest-src': "'self'",
}

/** Only this page can use the camera, and it can use nothing else. */
const permissions = 'camera=(self), microphone=(), geolocation=()'

/** Returns the page of the door and its files, by path. */
export async function loadDoor(): Promise<Map<string, PublicFile>> {
  return doorFiles(await readBuild('door', bundleFromSource))
}

/** Bundles the files of the page from source, by name. @param main the entry module. Default: that of the page */
export async function bundleFromSource(main?: string): Promise<Map<string, Uint8Array>> {
  const script = new URL('../../../../scripts/build-door.js', import.meta.url)
  const { buildDoor } = (await import(script.href)) as { buildDoor: typeof bundleFromSource }
  return buildDoor(main)
}

/** Returns the responses for the files of a build, by path. @param build its files by name */
export async function doorFiles(build: ReadonlyMap<string, Uint8Array>): Promise<Map<string, PublicFile>> {
  const manifest = JSON.parse(Buffer.from(build.get('door.json')!).toString()) as DoorManifest
  const { 'content-type': contentType = '', 'cache-control': _, ...headers } = pageHeaders(policy)
  const { 'content-security-policy': csp = '' } = headers
  const page = publicFile({
    contentType,
    cacheControl: REVALIDATED,
    content: doorHtml(manifest),
    headers: { ...headers, 'permissions-policy': permissions },
  })
  const more = { 'content-security-policy': csp, 'cross-origin-resource-policy': 'same-origin' }
  const files: [path: string, PublicFile][] = [
    [doorPath, page],
    [`${doorPath}/manifest.webmanifest`, webManifest()],
    [`${doorPath}/icon-512.png`, homeIcon()],
  ]
  for (const [name, content] of build) {
    const contentType = typeOfFile(name)
    if (contentType === undefined) continue
    // The service worker has a fixed name: browsers look there for updates. It also serves the page.
    const isWorker = name === 'sw.js'
    const file = publicFile({
      contentType,
      content,
      cacheControl: isWorker ? REVALIDATED : IMMUTABLE,
      headers: isWorker ? { ...more, 'service-worker-allowed': `..${doorPath}` } : more,
    })
    files.push([`${doorPath}/${name}`, file])
  }
  return new Map(await Promise.all(files.map(async ([path, file]) => [path, await precompress(file)] as const)))
}

/**
 * Contains no text: the script uses the operator's language. Addresses are relative, so that they work under any path
 * of a proxy.
 */
function doorHtml({ script, style }: DoorManifest): string {
  const below = (name: string) => `.${doorPath}/${name}`
  return htmlDocument({
    title: 'passes: door',
    head: `<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#101014">
<meta name="apple-mobile-web-app-capable" content="yes">
<link rel="manifest" href="${below('manifest.webmanifest')}">
<link rel="icon" href=".${pageIcon.path}">
<link rel="apple-touch-icon" href=".${touchIcon.path}">
<link rel="stylesheet" href="${below(style)}">
<script type="module" src="${below(script)}"></script>`,
    body: `<div id="door"></div>
<noscript>This page needs JavaScript.</noscript>`,
  })
}

/** Lets phones add the page to the home screen. */
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

/** A plain icon in the color of the others, for home screens that cannot draw SVG. */
function homeIcon(): PublicFile {
  return publicFile({ contentType: 'image/png', cacheControl: REVALIDATED, content: plainPng(512, 512, '#3b4cc0') })
}
