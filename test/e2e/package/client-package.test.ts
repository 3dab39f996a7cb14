import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../support/databases.ts'

const root = new URL('../../../', import.meta.url).pathname
const home = join(root, 'packages/client')

function manifest(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

test('has the version, license, and requirements of the server', () => {
  const [server, client] = [manifest(root), manifest(home)]
  for (const key of ['version', 'license', 'engines']) expect(client[key], key).toEqual(server[key])
  expect(client.dependencies).toEqual({ undici: server.dependencies.undici })
})

/** Installs the package offline in an empty folder, with a copy of its only dependency. */
describe('the package of the client', () => {
  const folder = temporaryFolder(afterAll)
  const env = { PATH: process.env.PATH, HOME: folder, npm_config_offline: 'true', npm_config_update_notifier: 'false' }
  const shell = { cwd: folder, env, extendEnv: false } as const

  let installed: string[]

  beforeAll(async () => {
    const packed = await execa('npm', ['pack', '--json', '--pack-destination', folder], { cwd: home })
    const [{ filename, files }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')))
    expect(files.map(({ path }: { path: string }) => path)).toEqual(expect.arrayContaining(['LICENSE', 'README.md']))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    const undici = join(folder, 'undici')
    cpSync(join(root, 'node_modules/undici'), undici, { recursive: true })
    const flags = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--install-links']
    await execa('npm', ['install', ...flags, join(folder, filename), undici], shell)
    installed = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))
    // A program of TypeScript brings the types of Node.js itself.
    for (const dependency of ['@types/node', 'undici-types']) link(dependency, folder)
  }, 120_000)

  test('installs with undici and nothing else', () => {
    expect(installed).toEqual(['undici', 'wallet-passes-client'])
    const sizes = installed.map(
      (name) => `${name} ${(bytesOf(join(folder, 'node_modules', name)) / 1e6).toFixed(1)} MB`,
    )
    console.log(`${installed.length} packages: ${sizes.join(', ')}`)
  })

  test('works with import and with require, as one module', async () => {
    const body = `
      const client = createClient({ url: 'http://127.0.0.1:1', token: 'x', attempts: 1 })
      client.projects.list().catch(async (error) => {
        await client.close()
        console.log(error instanceof ConnectionError, typeof verify, typeof paginate)
      })`
    const names = '{ createClient, ConnectionError, paginate }'
    writeFileSync(
      join(folder, 'use.mjs'),
      `import ${names} from 'wallet-passes-client'\nimport { verify } from 'wallet-passes-client/webhooks'\n${body}`,
    )
    writeFileSync(
      join(folder, 'use.cjs'),
      `const ${names} = require('wallet-passes-client')\nconst { verify } = require('wallet-passes-client/webhooks')\n${body}`,
    )
    writeFileSync(
      join(folder, 'same.mjs'),
      `import { createRequire } from 'node:module'
      import * as imported from 'wallet-passes-client'
      console.log(createRequire(import.meta.url)('wallet-passes-client').ApiError === imported.ApiError)`,
    )
    for (const [file, output] of Object.entries({
      'use.mjs': 'true function function',
      'use.cjs': 'true function function',
      'same.mjs': 'true',
    })) {
      const { stdout, stderr } = await execa('node', [file], shell)
      expect([file, stdout, stderr]).toEqual([file, output, ''])
    }
  })

  test.each([
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ])('has the types of the sources, without schemas, for moduleResolution $moduleResolution', async (options) => {
    const isNode = options.module === 'nodenext'
    // The declarations themselves are checked: they need no other package than the types of Node.js.
    const strict = {
      target: 'es2022',
      lib: ['es2023'],
      types: ['node'],
      strict: true,
      noEmit: true,
      skipLibCheck: false,
    }
    const consumer = readFileSync(join(import.meta.dirname, 'package-consumer.ts'), 'utf8')
    const text = consumer.replaceAll('wallet-passes-server/client', 'wallet-passes-client')
    const program = text.replaceAll('wallet-passes-server', 'wallet-passes-client')
    writeFileSync(join(folder, 'consumer.ts'), program)
    writeFileSync(join(folder, 'consumer.cts'), program)
    const files = isNode ? ['consumer.ts', 'consumer.cts'] : ['consumer.ts']
    expect(await compile(files, { ...options, ...strict })).toBe('')
    if (!isNode) return
    writeFileSync(
      join(folder, 'same-types.ts'),
      `import type { Client, Definition, PassCreate } from 'wallet-passes-client'
      import type { WebhookEvent } from 'wallet-passes-client/webhooks'
      import type * as source from '${root}src/client/client.ts'
      import type * as webhooks from '${root}src/client/webhooks.ts'
      // The sources mark checked translations, which the declarations of the package do not.
      type Marked = 'templates' | 'templateVersions' | 'joinPages' | 'notifications' | 'broadcasts'
      export const toSource = (client: Omit<Client, Marked>): Omit<source.Client, Marked> => client
      export const fromSource = (client: source.Client): Client => client
      export const toEvent = (event: WebhookEvent): webhooks.WebhookEvent => event
      export const fromEvent = (event: webhooks.WebhookEvent): WebhookEvent => event
      export const create = (body: source.PassCreate): PassCreate => body
      export const definition = (body: source.Definition): Definition => body`,
    )
    const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
    expect(await compile(['same-types.ts'], { ...compilerOptions, ...options, noEmit: true })).toBe('')
  })

  async function compile(files: string[], compilerOptions: object): Promise<string> {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const tsc = join(root, 'node_modules/typescript-native/bin/tsc')
    const { stdout } = await execa('node', [tsc, '-p', folder, '--singleThreaded'], {
      ...shell,
      env: { ...env, GOGC: 'off' },
      reject: false,
    })
    return stdout
  }
})

function bytesOf(path: string): number {
  const stat = lstatSync(path)
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0)
}

function link(dependency: string, folder: string): void {
  const path = join(folder, 'node_modules', dependency)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(join(root, 'node_modules', dependency), path)
}
