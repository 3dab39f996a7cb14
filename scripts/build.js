// Builds dist/ and the oclif command manifest. With --if-needed, does nothing if dist/ is newer than every source. With
// --no-check, does not check types, for callers that check them in another step.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { bundleClient } from './build-client.js'
import { buildDesk } from './build-desk.js'
import { buildDoor } from './build-door.js'

const root = new URL('..', import.meta.url).pathname
const manifest = join(root, 'oclif.manifest.json')

function newestIn(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(...readdirSync(path).map((name) => newestIn(join(path, name))))
}

function isCurrent() {
  const built = statSync(manifest, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return built > newestIn(join(root, 'src')) && built > newestIn(join(root, 'package.json'))
}

function run(command, ...args) {
  execFileSync(process.execPath, [join(root, 'node_modules', command), ...args], { cwd: root, stdio: 'inherit' })
}

/** Copies the styles and scripts of pages that are not bundled. */
function copyBrowserFiles() {
  cpSync(join(root, 'src/server/pages/browser'), join(root, 'dist/server/pages/browser'), { recursive: true })
}

/** Writes the files of a bundled page. */
function writePage(page, files) {
  const to = join(root, 'dist', page)
  mkdirSync(to, { recursive: true })
  for (const [name, content] of files) writeFileSync(join(to, name), content)
}

/**
 * Writes a module for each command of the tables in cli/resource and cli/operator, at the path where oclif looks for
 * it.
 */
async function writeResourceCommands() {
  const folders = ['resource', 'operator'].map((name) => join(root, 'dist/cli', name))
  const tables = folders.flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)))
  for (const table of tables.filter((path) => path.endsWith('.js'))) {
    const { commands = {} } = await import(table)
    for (const id of Object.keys(commands)) {
      const to = join(root, 'dist/commands', `${id.replaceAll(':', '/')}.js`)
      mkdirSync(dirname(to), { recursive: true })
      const from = relative(dirname(to), table)
      writeFileSync(to, `import { commands } from '${from}'\n\nexport default commands['${id}']\n`)
    }
  }
}

if (!process.argv.includes('--if-needed') || !isCurrent()) {
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  const checked = process.argv.includes('--no-check') ? ['--noCheck'] : []
  // Use one thread: several threads are faster on an idle machine, but use 50 % more CPU.
  run('typescript-native/bin/tsc', '--project', 'tsconfig.build.json', '--singleThreaded', ...checked)
  copyBrowserFiles()
  writePage('door', await buildDoor())
  writePage('desk', await buildDesk())
  await writeResourceCommands()
  await bundleClient()
  run('oclif/bin/run.js', 'manifest')
}
