import { readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ApiError } from '../../core/errors.ts'
import { type Asset, asset, browserAsset, pageIcon, precompress } from './assets.ts'
import { htmlDocument, type Page, pageHeaders } from './html.ts'
import { OWN_FILES } from './scripted-pages.ts'

export const tryPath = '/docs/try'

export const docsScript = browserAsset('docs.js')

export const docsStyle = browserAsset('docs.css')

/** Returns the page to try the API. It loads only its own files and /openapi.json. */
export function tryPage({ script, style }: ReferenceFiles): Page {
  return {
    html: htmlDocument({
      title: 'Try the API of passes',
      head: `<link rel="icon" href="${local(pageIcon.path)}">
<link rel="stylesheet" href="${local(style.path)}">
<link rel="stylesheet" href="${local(docsStyle.path)}">
<script src="${local(docsScript.path)}"></script>
<script src="${local(script.path)}" defer></script>`,
      body: `<div id="reference"></div>
<noscript>This page needs JavaScript. The description that it shows is <a href="../openapi.json">openapi.json</a>.</noscript>`,
    }),
    // Swagger's style sheet embeds its icons.
    headers: pageHeaders(OWN_FILES),
  }
}

/** Returns a relative path, so that it works under any path of a proxy. */
function local(path: string): string {
  return `..${path}`
}

interface ReferenceFiles {
  script: Asset
  style: Asset
}

/** The folder of the built files, next to this module. When run from source, the files come from the package. */
const builtFolder = fileURLToPath(new URL('./swagger-ui/', import.meta.url))

/** @throws ApiError SERVICE_UNAVAILABLE that names what is missing */
export async function readReferenceFiles(): Promise<ReferenceFiles> {
  const folder = await findFolder()
  const file = async (name: string, contentType: string) => {
    const { path, ...content } = asset(name, contentType, await readFile(join(folder, name)))
    return { path, ...(await precompress(content)) }
  }
  const [script, style] = await Promise.all([
    file('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    file('swagger-ui.css', 'text/css; charset=utf-8'),
  ])
  return { script, style }
}

async function findFolder(): Promise<string> {
  const isBuilt = await stat(builtFolder).then(
    () => true,
    () => false,
  )
  if (isBuilt) return builtFolder
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  } catch (cause) {
    throw new ApiError('SERVICE_UNAVAILABLE', {
      message:
        `The reference page needs the files of swagger-ui-dist, which are neither in ${builtFolder} nor installed: ` +
        'run npm ci and npm run build. The description itself is at /openapi.json.',
      cause,
    })
  }
}
