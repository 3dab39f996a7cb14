import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { isLong } from '../../support/long.ts'
import { keepRows } from '../support/bulk-setup.ts'
import { readGuide } from '../support/guide.ts'
import { runGuide } from '../support/guide-run.ts'

/** The number of rows of the file. The tests of the examples check that each row creates a pass. */
const ATTENDEES = isLong ? 2_000 : 60

test('the walk-through of the examples works', async () => {
  const { folder, output } = await runGuide(readGuide('examples/README.md'), {
    prepare: (folder) => keepRows(join(folder, 'examples/conference/attendees.csv'), ATTENDEES),
  })
  const rows = (name: string): Record<string, string>[] => parse(readFileSync(join(folder, name)), { columns: true })
  expect(output('template preview')).toContain('Polyglot Conference')
  expect(output('attendees.csv')).toMatch(new RegExp(`Created +${ATTENDEES.toLocaleString('en')}\n`))
  expect(rows('links.csv')).toHaveLength(ATTENDEES)
  // The dry run asks the server, so it also finds the rows that only the redemption policy rejects.
  expect(output('--dry-run')).toMatch(/Created +22\nPresent +0\n(.+\n){3}Failed +18\n/)
  expect(output('attendees-broken.csv --template TEMPLATE_ID --failures')).toMatch(/Created +22\n(.+\n){4}Failed +18\n/)
  expect(output('issue failures.csv')).toMatch(/Created +18\n(.+\n){4}Failed +0\n/)
  expect(rows('late-links.csv')).toHaveLength(18)
  expect(output('members.csv')).toMatch(/Created +200\n/)
  expect(output('pass update')).toMatch(/Revision +2\n/)
  expect(output('update examples/loyalty/tiers.csv --failures')).toMatch(/Updated +200\nFailed +0\n/)
  expect(rows('tiers-failed.csv')).toEqual([])
  expect(output('tier:Basil')).toContain('GF-')
  const closed = rows('closed.csv')
  expect(closed.length).toBeGreaterThan(0)
  expect(output('void closed.csv')).toMatch(new RegExp(`Voided +${closed.length}\n`))
  for (const { id } of closed.slice(0, 20)) expect(output('--status VOID')).toContain(id)
})
