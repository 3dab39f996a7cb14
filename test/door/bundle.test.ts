import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

test('the engine bundle has no Node modules and no schemas, and at most 150 KB', async () => {
  const { metafile, outputFiles } = await build({
    entryPoints: ['src/door/engine/open-engine.ts', 'src/door/engine/browser.ts'],
    absWorkingDir: new URL('../..', import.meta.url).pathname,
    outdir: 'nowhere',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    // Remaining imports of Node.js modules would not resolve.
    platform: 'browser',
    metafile: true,
    write: false,
    logLevel: 'silent',
  })
  const packages = Object.keys(metafile.inputs).flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  )
  expect([...new Set(packages)].toSorted()).toEqual(['idb', 'luxon'])
  const bytes = outputFiles.reduce((sum, { contents }) => sum + contents.length, 0)
  expect(bytes).toBeLessThan(150_000)
  expect(outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0)).toBeLessThan(51_000)
})
