// Runs what CI checks: lint, types, unused code, and the build in parallel, then all tests. Stops at the first failure.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const checks = [
  ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  ['scripts/voice.js'],
  ['scripts/lint-openapi.js'],
  ['node_modules/typescript-native/bin/tsc', '--noEmit', '--singleThreaded'],
  ['node_modules/knip/bin/knip.js', '--no-progress'],
  ['scripts/build.js', '--no-check'],
]
const tests = ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)]

/**
 * Turns off garbage collection in the compiler, which would take a quarter of its CPU time. Without garbage collection,
 * the compiler uses at most 1.1 GB.
 */
const cheapCompiler = { GOGC: 'off' }

const env = { ...process.env, ...cheapCompiler, PASSES_TEST_BUILT: '1' }

const failed = new AbortController()

async function run([program, ...args]) {
  const options = { cwd: root, env, stdio: 'inherit', signal: failed.signal }
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
