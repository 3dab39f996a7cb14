import { readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ApiError } from '../../core/errors.ts'
import { type Asset, asset } from './assets.ts'
import { precompress } from './public-file.ts'

/** Swagger UI as its makers build it: its code and its style sheet. */
export interface ReferenceFiles {
  script: Asset
  style: Asset
}

/** Where the build puts the files, beside this module; a run from source takes them out of the package. */
const builtFolder = fileURLToPath(new URL('./swagger-ui/', import.meta.url))

let loaded: Promise<ReferenceFiles> | undefined

/**
 * Read when somebody first looks: most servers never show the page.
 * @throws Problem SERVICE_UNAVAILABLE that says what is missing
 */
export function loadReferenceFiles(): Promise<ReferenceFiles> {
  loaded ??= load().catch((error) => {
    loaded = undefined
    throw error
  })
  return loaded
}

async function load(): Promise<ReferenceFiles> {
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
