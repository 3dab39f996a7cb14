import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The files of a page with a script, by name: those that the build made, or made now where the server runs from source, which
 * has none there.
 * @param page the folder below dist, and the name of its manifest
 * @param bundle makes them from source
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
  // The engine of the door has its modules there, too.
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

/** What a file of a build is sent as; undefined for what is not sent. */
export function typeOfFile(name: string): string | undefined {
  return types[name.split('.').at(-1)!]
}
