import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../../support/databases.ts'
import { program } from '../support/program.ts'

const folder = temporaryFolder(afterAll)
const env = { PATH: process.env.PATH, HOME: folder, XDG_CACHE_HOME: join(folder, 'cache') }
const shell = { env, extendEnv: false } as const

/** What a reader of docs/completion.md would have his shell run when it starts. */
let startUp: string

beforeAll(async () => {
  await execa('node', [program, 'autocomplete', '--refresh-cache'], shell)
  const { stdout } = await execa('node', [program, 'autocomplete', 'script', 'bash'], shell)
  startUp = stdout
})

/** What bash would offer behind these words, as Tab asks it: through the function that was registered for the program. */
async function complete(...words: string[]): Promise<string[]> {
  const script = `${startUp}
    COMP_WORDS=(passes "$@"); COMP_CWORD=$#
    $(complete -p passes | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await execa('bash', ['--norc', '-c', script, 'bash', ...words], shell)
  return [...new Set(stdout.split('\n'))]
}

test.each([
  { words: ['tem'], offered: ['template'] },
  { words: ['webhook', 'rot'], offered: ['rotate-secret'] },
  { words: ['pass', 'create', '--ext'], offered: ['--external-id'] },
])('bash completes "passes $words" to $offered', async ({ words, offered }) => {
  expect(await complete(...words)).toEqual(offered)
})

test('bash offers every topic and command where nothing is typed yet', async () => {
  const offered = await complete('')
  expect(offered).toEqual(
    expect.arrayContaining(['serve', 'demo', 'scan', 'issue', 'template', 'webhook', 'broadcast']),
  )
})

test('the script for zsh leads to a completion of the program', async () => {
  const { stdout } = await execa('node', [program, 'autocomplete', 'script', 'zsh'], shell)
  const [, setup] = /PASSES_AC_ZSH_SETUP_PATH=(\S+)/.exec(stdout) ?? []
  const functions = join(folder, 'cache/passes/autocomplete/functions/zsh')
  const { stdout: loaded } = await execa('cat', [setup!, join(functions, '_passes')])
  expect(loaded).toContain(functions)
  expect(loaded).toMatch(/^#compdef passes$/m)
  expect(loaded).toContain('"rotate-secret[')
})
