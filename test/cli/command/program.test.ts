import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { commandLine, programName } from '../../../src/cli/command/program.ts'

test("prints the program's name if it is installed, else its node command", () => {
  expect(programName(['/usr/bin/node', '/usr/local/bin/passes'])).toBe('passes')
  expect(programName(['/usr/bin/node', `${process.cwd()}/bin/run.js`])).toBe('node bin/run.js')
})

test('a shell reads the printed command line back as the same words', () => {
  const words = ['issue', "all of Ada's tickets; $(rm x).csv", '--template', 'abc', '']
  const line = commandLine({ argv: ['node', '/usr/bin/passes', ...words, '--restart'], without: ['--restart'] })
  const script = `passes() { for word in "$@"; do printf '%s\\n' "$word"; done; }; ${line}`
  expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(words.map((word) => `${word}\n`).join(''))
})

test('never repeats the token of the call', () => {
  for (const token of [['--token', 'psk_secret'], ['--token=psk_secret']]) {
    const line = commandLine({ argv: ['node', '/usr/bin/passes', 'issue', 'a.csv', ...token, '--yes'] })
    expect(line).toMatch(/^passes issue a\.csv --token[ =]TOKEN --yes$/)
  }
})
