// Everything that CI checks, in the order that fails fastest: lint, types, what is unused, build, all tests.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const steps = [
  ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  ['typescript/bin/tsc', '--noEmit'],
  ['knip/bin/knip.js', '--no-progress'],
  [join(root, 'scripts/build.js')],
  ['vitest/vitest.mjs', 'run', ...process.argv.slice(2)],
]

for (const [program, ...args] of steps) {
  const path = program.startsWith('/') ? program : join(root, 'node_modules', program)
  execFileSync(process.execPath, [path, ...args], { cwd: root, stdio: 'inherit' })
}
