import { IMMUTABLE, type PublicFile, pageIcon, precompress, publicFile, REVALIDATED } from '../assets.ts'
import { readBuild, typeOfFile } from '../built-files.ts'
import { htmlDocument, pageHeaders } from '../html.ts'

/** The path of the desk, a read-only page for anyone with a token. Its files are below it. */
export const deskPath = '/desk'

/** The manifest of the build: see scripts/build-desk.js. */
interface DeskManifest {
  script: string
  style: string
}

/** Allows only files of this server, and no inline code or styles. Pictures of cards are data URLs. */
const policy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
}

/** Returns the desk and its files, by path (decisions/0026). */
export async function loadDesk(): Promise<Map<string, PublicFile>> {
  const build = await readBuild('desk', bundleFromSource)
  const manifest = JSON.parse(Buffer.from(build.get('desk.json')!).toString()) as DeskManifest
  const { 'content-type': contentType = '', 'cache-control': _, ...headers } = pageHeaders(policy)
  const page = publicFile({ contentType, cacheControl: REVALIDATED, content: deskHtml(manifest), headers })
  const files: [path: string, PublicFile][] = [[deskPath, page]]
  for (const [name, content] of build) {
    const type = typeOfFile(name)
    if (type === undefined) continue
    const cacheControl = name === 'licences.txt' ? REVALIDATED : IMMUTABLE
    const more = { 'cross-origin-resource-policy': 'same-origin', 'x-content-type-options': 'nosniff' }
    files.push([`${deskPath}/${name}`, publicFile({ contentType: type, content, cacheControl, headers: more })])
  }
  return new Map(await Promise.all(files.map(async ([path, file]) => [path, await precompress(file)] as const)))
}

async function bundleFromSource(): Promise<Map<string, Uint8Array>> {
  const script = new URL('../../../../scripts/build-desk.js', import.meta.url)
  const { buildDesk } = (await import(script.href)) as { buildDesk: typeof bundleFromSource }
  return buildDesk()
}

/**
 * Contains no text: the script uses the reader's language. Addresses are relative, so that they work under any path of
 * a proxy.
 */
function deskHtml({ script, style }: DeskManifest): string {
  return htmlDocument({
    title: 'passes: desk',
    head: `<meta name="color-scheme" content="light dark">
<link rel="icon" href=".${pageIcon.path}">
<link rel="stylesheet" href=".${deskPath}/${style}">
<script type="module" src=".${deskPath}/${script}"></script>`,
    body: `<div id="desk"></div>
<noscript>This page needs JavaScript.</noscript>`,
  })
}
