import { accessSync, constants, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { builtSource } from './test/support/built-source.ts'

const MEMORY = '/dev/shm'

/** Whether the databases of tests fit into memory, where a commit does not wait for a disk. */
function hasRoomInMemory(): boolean {
  const enough = 4 * 2 ** 30
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, freemem()) > enough
  } catch {
    return false
  }
}

if (process.env.TMPDIR === undefined && hasRoomInMemory()) process.env.TMPDIR = MEMORY

/**
 * Alternates files of test/e2e, which wait for processes and leases, with other files, so that the processors are always
 * in use. Large files run first, so that all workers end at about the same time.
 */
class Alternating extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const bySize = await super.sort(files)
    const isEndToEnd = ({ moduleId }: TestSpecification) => moduleId.includes('/test/e2e/')
    const [waiting, others] = [bySize.filter(isEndToEnd), bySize.filter((file) => !isEndToEnd(file))]
    const pairs = Array.from({ length: Math.max(waiting.length, others.length) }, (_, n) => [waiting[n], others[n]])
    return pairs.flat().filter((file) => file !== undefined)
  }
}

/**
 * Tests run most code only briefly, so V8 should optimize it later than usual. This saves a sixth of the CPU of a worker.
 * Later versions of Node.js do not have this option.
 */
const optimizesLate = process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []

export default defineConfig({
  // scripts/test.js sets this variable after the build. Other runs test the source.
  plugins: process.env.PASSES_TEST_BUILT ? [builtSource] : [],
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    setupFiles: ['test/support/random.ts'],
    globalSetup: ['test/support/postgres.ts', 'test/support/migrated.ts', 'test/support/sandbox.ts'],
    // These timeouts end only tests that hang, because tests can be slow on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // One more than the cores of CI, because some tests wait for leases of killed servers to end.
    maxWorkers: 3,
    sequence: { sequencer: Alternating },
    // A worker keeps loaded modules for its next file, because loading them again costs as much as the tests.
    isolate: false,
    // Node.js loads built modules directly.
    server: { deps: { external: [new RegExp(`^${import.meta.dirname}/dist/`)] } },
    // Load tls first, because http2 of Node.js can get an incomplete tls otherwise. Load esbuild in this folder, because it
    // starts its process in the current folder, which a test could remove.
    execArgv: ['--require', 'tls', '--require', 'esbuild', ...optimizesLate],
    // Tests capture the output of commands in this process.
    disableConsoleIntercept: true,
  },
})
