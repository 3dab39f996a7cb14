// Everything that CI checks: lint, types, what is unused and the build at once, then all tests. The first failure ends it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const checks = [
  ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  ['node_modules/typescript-native/bin/tsc', '--noEmit'],
  ['node_modules/knip/bin/knip.js', '--no-progress'],
  ['scripts/build.js', '--no-check'],
]
const tests = ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)]

const failed = new AbortController()

async function run([program, ...args]) {
  const options = { cwd: root, stdio: 'inherit', signal: failed.signal }
  const [code] = await once(spawn(process.execPath, [join(root, program), ...args], options), 'exit')
  if (code !== 0) throw new Error(`${program} failed`)
}

try {
  await Promise.all(checks.map(run))
  await run(tests)
} catch (error) {
  failed.abort()
  console.error(error.message)
  process.exitCode = 1
}
