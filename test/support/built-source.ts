import { existsSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import type { Plugin } from 'vitest/config'

const root = join(import.meta.dirname, '../..')
const sources = join(root, 'src') + sep

/**
 * Loads the module of `dist` for each import of a module of `src`, because transforming the source takes about 20 s of
 * CPU per run. The modules of the door and the desk, which are built as bundles, are still transformed.
 */
export const builtSource: Plugin = {
  name: 'built-source',
  enforce: 'pre',
  resolveId(source, importer) {
    if (!importer || !/^\..*\.tsx?$/.test(source)) return undefined
    const path = resolve(dirname(importer), source)
    if (!path.startsWith(sources)) return undefined
    const built = join(root, 'dist', path.slice(sources.length).replace(/\.tsx?$/, '.js'))
    return existsSync(built) ? { id: built, external: true } : undefined
  },
}
