import { execa } from 'execa'
import { expect, test } from 'vitest'
import { dialects } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'
import { readOptions } from '../../torture/options.ts'
import type { Row } from '../../torture/report.ts'

// Other tests cover kills and races. The brief form shows that a scene runs, and covers what no other test does.
const brief = isLong ? ['kills', 'scans', 'sqlite-full'] : ['sqlite-full']
const databases = isLong ? dialects : (['sqlite'] as const)

test('a short torture run holds the promises, prints them in a table, and exits with 0', async () => {
  const flags = [...brief.flatMap((name) => ['--only', name]), ...(isLong ? [] : ['--database', 'sqlite'])]
  // `npm run torture` runs this command too.
  const args = ['--import', 'tsx', 'test/torture/run.ts', '--json', '--seed', 'ci', ...flags]
  const { stdout, stderr, exitCode } = await execa('node', args, { reject: false })
  const { isWhole, rows } = JSON.parse(stdout) as { isWhole: boolean; rows: Row[] }
  expect(rows.filter(({ result }) => result !== 'HELD')).toEqual([])
  expect([exitCode, isWhole], stderr).toEqual([0, true])
  const expected = databases.flatMap((dialect) =>
    brief.filter((name) => name !== 'sqlite-full' || dialect === 'sqlite').map((name) => `${name} on ${dialect}`),
  )
  expect(rows.map(({ scene, database }) => `${scene} on ${database}`).sort()).toEqual(expected.sort())
  for (const { done } of rows) expect(done).toMatch(/[1-9]/)
})

test('rejects an unknown scene, database, number, or flag', () => {
  for (const flags of [['--only', 'nothing'], ['--database', 'oracle'], ['--minutes', 'many'], ['--unknown']]) {
    expect(() => readOptions(flags, ['scans']), flags.join(' ')).toThrow(flags[0])
  }
})
