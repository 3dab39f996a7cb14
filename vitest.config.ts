import { accessSync, constants, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { builtSource } from './test/support/built-source.ts'

const MEMORY = '/dev/shm'

/** Databases of tests stand in memory where there is room for them: each commit waits for a disk otherwise. */
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
 * Alternates files of test/e2e, which wait for processes and leases, with the others, which wait for nothing: together they
 * use the processors best. Large files are first, so that no worker has a long file left when the others are done.
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
 * Tests run most of the code for moments: V8 optimizing it as early as it does, on threads beside them, costs a sixth of the
 * CPU of a worker. Later versions of Node.js have no such option.
 */
const optimizesLate = process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []

export default defineConfig({
  // Only scripts/test.js, which has just built, sets this: other runs test the source as it is.
  plugins: process.env.PASSES_TEST_BUILT ? [builtSource] : [],
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    setupFiles: ['test/support/random.ts'],
    globalSetup: ['test/support/postgres.ts', 'test/support/migrated.ts', 'test/support/sandbox.ts'],
    // These end what hangs, and nothing else: however busy the machine is, a test waits for what it waits for.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // More than CI has cores: tests of servers that are killed wait for leases to end.
    maxWorkers: 3,
    sequence: { sequencer: Alternating },
    // A worker keeps the modules that it has loaded for its next file: loading them anew costs as much as the tests.
    isolate: false,
    // What was built is loaded as Node.js loads it.
    server: { deps: { external: [new RegExp(`^${import.meta.dirname}/dist/`)] } },
    // Node's http2 takes a half-loaded tls where something else loads that first; esbuild starts its process in the folder that
    // it was loaded in, which must not be one that a test leaves and removes.
    execArgv: ['--require', 'tls', '--require', 'esbuild', ...optimizesLate],
    // The output of commands that tests run in this process must reach them.
    disableConsoleIntercept: true,
  },
})
