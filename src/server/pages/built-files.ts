import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Returns the files of a page with a script, by name: from the build, or bundled now if the server runs from source.
 * @param page the folder below dist, and the name of its manifest
 * @param bundle bundles the page from source
 */
export async function readBuild(
  page: 'door' | 'desk',
  bundle: () => Promise<Map<string, Uint8Array>>,
): Promise<Map<string, Uint8Array>> {
  const folder = fileURLToPath(new URL(`../../${page}/`, import.meta.url))
  const isBuilt = await stat(join(folder, `${page}.json`)).then(
    () => true,
    () => false,
  )
  if (!isBuilt) return bundle()
  // The folder also has the modules of the door engine in subfolders.
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)))
}

const types: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  wasm: 'application/wasm',
  txt: 'text/plain; charset=utf-8',
}

/** Returns the content type of a built file; undefined if it is not served. */
export function typeOfFile(name: string): string | undefined {
  return types[name.split('.').at(-1)!]
}
