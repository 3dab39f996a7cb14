import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { png } from '../../server/api/templates/pictures.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const root = new URL('../../../', import.meta.url).pathname
const folder = temporaryFolder(afterAll)
const cleanUp = cleanUpAfterAll()
const CONSUMER = 'generated-clients-consumer.ts'

/** The packages that the generated clients import. The client of openapi-zod-client needs the versions of its generator. */
const imported = {
  axios: 'axios',
  'openapi-fetch': 'openapi-fetch',
  zod: 'openapi-zod-client/node_modules/zod',
  '@zodios/core': 'openapi-zod-client/node_modules/@zodios/core',
}

let server: TestServer

beforeAll(async () => {
  server = await hostServer({ cleanUp })
  const description = join(folder, 'openapi.json')
  writeFileSync(description, await (await fetch(`${server.url}/openapi.json`)).text())
  // The generators are large. In a separate process, they do not stay in the memory of this test worker.
  await execa('node', [join(import.meta.dirname, 'generate-clients.js'), description, folder, server.url])
  cpSync(join(import.meta.dirname, CONSUMER), join(folder, CONSUMER))
  for (const [name, path] of Object.entries(imported)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', path), link)
  }
})

test('clients of four generators compile', async () => {
  const compilerOptions = {
    target: 'ES2023',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    module: 'ESNext',
    moduleResolution: 'Bundler',
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: [],
    noEmit: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [CONSUMER] }))
  const tsc = join(root, 'node_modules/typescript-native/bin/tsc')
  const { stdout } = await execa('node', [tsc, '-p', folder, '--singleThreaded'], {
    env: { GOGC: 'off' },
    reject: false,
  })
  expect(stdout).toBe('')
})

test('clients of four generators publish a template, find passes, and scan', async () => {
  const outfile = join(folder, 'consumer.mjs')
  const esm = { bundle: true, packages: 'external', platform: 'node', format: 'esm' } as const
  await build({ ...esm, entryPoints: [join(folder, CONSUMER)], outfile, logLevel: 'error' })
  const { openapiFetch, heyApiFetch, orvalFetch, zodClient, runFlow } = await import(outfile)
  const image = new Blob([(await png()) as Uint8Array<ArrayBuffer>], { type: 'image/png' })
  const expected = {
    stage: 'published',
    found: ['-2', '-1'],
    total: 2,
    isCounted: true,
    results: ['accepted', 'denied'],
    labels: ['Ada Lovelace', 'Ada Lovelace'],
  }
  for (const [name, createCalls] of Object.entries({ openapiFetch, heyApiFetch, orvalFetch, zodClient })) {
    const width = createCalls(server).uploadImage && 4
    expect(await runFlow(createCalls(server), name, image), name).toEqual({ ...expected, width })
  }
})
