// Builds the package of the client, packages/client, from src/client: a script for each export, and the declarations.
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'src/client')
const home = join(root, 'packages/client')
const target = join(home, 'dist')
const entries = ['client.ts', 'webhooks.ts'].map((name) => join(source, name))

/** Writes the scripts without the declarations, which take ten times as long. */
export async function bundleClient() {
  await build({
    entryPoints: entries,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['undici'],
    outdir: target,
    logLevel: 'error',
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  rmSync(target, { recursive: true, force: true })
  await bundleClient()
  const { declareClient } = await import('./client-types.js')
  declareClient({ root, source, entries, target })
  copyFileSync(join(root, 'LICENSE'), join(home, 'LICENSE'))
}
