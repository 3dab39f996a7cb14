import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { isLong } from '../../support/long.ts'
import { freePort } from '../../support/ports.ts'
import { keepRows } from '../support/bulk-setup.ts'

const root = new URL('../../../', import.meta.url).pathname
const { name, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

interface Packed {
  filename: string
  size: number
  unpackedSize: number
  files: { path: string }[]
}

/**
 * Installs the package as npm would publish it, in an empty folder. The dependencies in package.json are linked, without
 * a download, so that a package that is used but not listed is missing.
 */
describe('package', () => {
  const folder = temporaryFolder(afterAll)
  const env = { PATH: process.env.PATH, HOME: folder, npm_config_offline: 'true', npm_config_update_notifier: 'false' }
  const shell = { cwd: folder, env, extendEnv: false } as const
  let packed: Packed

  beforeAll(async () => {
    const { stdout } = await execa('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
    })
    packed = JSON.parse(stdout)[0]
    const home = join(folder, 'node_modules', name)
    mkdirSync(home, { recursive: true })
    await execa('tar', ['-xzf', packed.filename, '-C', home, '--strip-components=1'], shell)
    // TypeScript programs have the types of Node.js.
    for (const dependency of [...Object.keys(dependencies), '@types/node']) link(dependency, folder)
    mkdirSync(join(folder, 'node_modules/.bin'))
    symlinkSync(`../${name}/bin/run.js`, join(folder, 'node_modules/.bin/passes'))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  })

  test('contains the program and its documents, and no sources, tests, or source maps', () => {
    const paths = packed.files.map(({ path }) => path)
    console.log(
      `${packed.filename}: ${paths.length} files, ${kib(packed.size)} packed, ${kib(packed.unpackedSize)} unpacked`,
    )
    expect(paths).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'bin/run.js', 'oclif.manifest.json']))
    expect(paths).toContain('dist/server/pages/browser/tasks/create-pass.py')
    expect(paths.filter((path) => /^(src|test|bench|scripts|docs)\/|\.map$|(?<!\.d)\.tsx?$/.test(path))).toEqual([])
    const types = paths.filter((path) => path.endsWith('.d.ts') && !/^dist\/(client|core)\//.test(path))
    expect(types).toEqual([])
  })

  test('`npx passes --version` runs it', async () => {
    const { stdout } = await execa('npx', ['passes', '--version'], shell)
    expect(stdout).toContain(`${name}/`)
  })

  test('`passes demo` tells the whole story', async () => {
    // In the long form the walk-through of the examples issues all 2,000.
    if (!isLong) keepRows(join(folder, 'node_modules', name, 'examples/conference/attendees.csv'), 25)
    const { stdout, exitCode } = await execa('node_modules/.bin/passes', ['demo', '--no-color'], shell)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Everything worked.')])
  })

  // Only in the long form: it may compile sqlite3, and it downloads packages that are not in the cache of npm.
  test.runIf(isLong)(
    'installs in an empty folder with its dependencies, and runs, demos, and serves there',
    async () => {
      const place = temporaryFolder()
      await execa('npm', ['install', '--prefer-offline', join(folder, packed.filename)], { cwd: place })
      const program = join(place, 'node_modules/.bin/passes')
      const installed = { cwd: place, env: { PATH: process.env.PATH, HOME: place }, extendEnv: false } as const
      const { stdout: version } = await execa(program, ['--version'], installed)
      expect(version).toContain(`${name}/`)
      const { stdout: story } = await execa(program, ['demo', '--no-color'], installed)
      expect(story).toContain('Everything worked.')
      const port = await freePort()
      const args = ['serve', '--port', String(port), '--drain-seconds', '0']
      const serving = execa(program, args, { ...installed, stdio: 'ignore' })
      onTestFinished(() => void serving.kill())
      const statusOf = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).then(({ status }) => status)
      await eventually(async () => expect(await statusOf('/readyz').catch(() => 0)).toBe(200))
      expect(await statusOf('/docs')).toBe(200)
      serving.kill('SIGTERM')
      expect((await serving).exitCode).toBe(0)
    },
    60 * 60_000,
  )

  test.each([
    // Resolves as nodenext does.
    ...(isLong ? [{ module: 'node16', moduleResolution: 'node16' }] : []),
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ])('its exports have types for moduleResolution $moduleResolution', async (options) => {
    const compilerOptions = {
      ...options,
      target: 'es2022',
      lib: ['es2023'],
      types: ['node'],
      strict: true,
      noEmit: true,
    }
    cpSync(join(import.meta.dirname, 'package-consumer.ts'), join(folder, 'consumer.ts'))
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
    const tsc = join(root, 'node_modules/typescript-native/bin/tsc')
    const { stdout } = await execa('node', [tsc, '-p', folder, '--singleThreaded'], {
      ...shell,
      env: { ...env, GOGC: 'off' },
      reject: false,
    })
    expect(stdout).toBe('')
  })
})

/** Links a dependency of the project, as if it were installed next to ours. */
function link(dependency: string, folder: string): void {
  const path = join(folder, 'node_modules', dependency)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(join(root, 'node_modules', dependency), path)
}

function kib(bytes: number): string {
  return `${Math.round(bytes / 1024).toLocaleString('en')} KiB`
}
