// Bundles the door page for browsers. scripts/build.js writes it to dist/door, and a server that runs from source
// bundles it in memory. Every file name except that of the service worker contains a digest, so that browsers can cache
// files forever.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

const root = new URL('..', import.meta.url).pathname
const source = join(root, 'src/door')

/** The browsers of phones from recent years, which support modules in workers. */
const target = ['chrome100', 'firefox115', 'safari16.4']

/**
 * Returns the files of the page by name, and `door.json` with the names of its `script`, its `style`, and the other
 * `files` that the page needs when it is offline.
 * @param main the module that starts the page
 * @returns {Promise<Map<string, Uint8Array>>}
 */
export async function buildDoor(main = join(source, 'app/main.tsx')) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const files = new Map()
  const bundle = async (entryPoints, { define = {}, ...options } = {}) => {
    const { outputFiles, metafile } = await build({
      entryPoints,
      define,
      bundle: true,
      format: 'esm',
      minify: true,
      target,
      charset: 'utf8',
      // Keep the licenses of bundled packages in the files.
      legalComments: 'inline',
      loader: { '.wasm': 'file' },
      absWorkingDir: root,
      outdir: join(root, 'dist/door'),
      entryNames: '[name].[hash]',
      chunkNames: '[name].[hash]',
      assetNames: '[name].[hash]',
      metafile: true,
      write: false,
      logLevel: 'error',
      ...options,
    })
    for (const { path, contents } of outputFiles) files.set(basename(path), contents)
    const built = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint !== undefined)
    return basename(built[0])
  }

  const reader = await bundle([join(source, 'app/camera/reader-worker.ts')])
  const style = await bundle([join(source, 'app/style.css')])
  const constants = { DOOR_VERSION: JSON.stringify(version) }
  const script = await bundle([main], {
    define: { ...constants, DOOR_READER: JSON.stringify(`./${reader}`) },
    splitting: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
  })
  const names = [...files.keys()]
  const worker = join(source, 'service-worker.ts')
  if (existsSync(worker)) {
    // Put a digest of the file names into the service worker, so that each release has another service worker.
    const digest = createHash('sha256').update(names.toSorted().join()).digest('hex').slice(0, 16)
    const define = { ...constants, DOOR_FILES: JSON.stringify(names), DOOR_BUILD: JSON.stringify(digest) }
    await bundle([worker], { define, entryNames: 'sw' })
  }
  files.set('door.json', Buffer.from(JSON.stringify({ script, style, files: names })))
  return files
}
