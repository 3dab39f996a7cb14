// Bundles the desk for browsers. scripts/build.js writes it to dist/desk, and a server that runs from source bundles it
// in memory. Every file name contains a digest, so that browsers can cache files forever.
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

const root = new URL('..', import.meta.url).pathname
const source = join(root, 'src/desk')

/**
 * Returns the files of the page by name, and `desk.json` with the names of its `script` and its `style`.
 * @returns {Promise<Map<string, Uint8Array>>}
 */
export async function buildDesk() {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(source, 'main.tsx'), join(source, 'style.css')],
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    target: ['chrome100', 'firefox115', 'safari16.4'],
    charset: 'utf8',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    absWorkingDir: root,
    outdir: join(root, 'dist/desk'),
    entryNames: '[name].[hash]',
    chunkNames: '[name].[hash]',
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]))
  const [script, style] = ['main.tsx', 'style.css'].map((name) =>
    basename(Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === `src/desk/${name}`)[0]),
  )
  files.set('licences.txt', Buffer.from(licencesOf(Object.keys(metafile.inputs))))
  files.set('desk.json', Buffer.from(JSON.stringify({ script, style })))
  return files
}

/** Returns the license texts that bundled packages require. */
function licencesOf(inputs) {
  const names = new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []))
  const texts = [...names].toSorted().map((name) => {
    const path = join(root, 'node_modules', name, 'LICENSE')
    if (!existsSync(path)) throw new Error(`${name} has no LICENSE to go with the bundle`)
    return `${name}\n\n${readFileSync(path, 'utf8').trim()}\n`
  })
  return texts.join('\n---\n\n')
}
