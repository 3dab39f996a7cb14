import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/support/postgres.ts', 'test/support/sandbox.ts'],
    // Real databases, real processes and openssl on two shared cores.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // The output of commands that tests run in this process must reach them.
    disableConsoleIntercept: true,
  },
})
