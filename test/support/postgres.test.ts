import { execa } from 'execa'
import { expect, test } from 'vitest'

test('a run with its own PostgreSQL exits with the code of the tests', async () => {
  const script = "await import('./test/support/postgres.ts'); process.exitCode = 3"
  const { exitCode } = await execa('node', ['--import', 'tsx', '--input-type=module', '-e', script], { reject: false })
  expect(exitCode).toBe(3)
})
