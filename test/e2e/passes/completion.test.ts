import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { program, run } from '../support/program.ts'
import { sharedServer } from '../support/server.ts'

const shared = sharedServer()
const nowhere = { PASSES_URL: 'http://127.0.0.1:1', PASSES_TOKEN: 'psk_x' }

/** Starts a shell whose home is a folder of the test, with names to complete from a server. */
async function completer() {
  const server = await shared()
  const { client } = server
  await client.projects.create({ body: { name: 'Spring fair' } })
  await client.projects.create({ body: { name: 'Two\nlines' } })
  await client.templates.create({ body: { name: 'Day ticket', key: 'day-ticket', passType: 'eventTicket' } })
  const home = temporaryFolder()
  const cache = join(home, 'cache')
  const env = { PASSES_URL: server.url, PASSES_TOKEN: server.token, XDG_CACHE_HOME: cache, XDG_CONFIG_HOME: home }
  const complete = async (words: string[], { shell = 'bash', more = {} } = {}) => {
    const answer = await run(['complete', shell, '--', ...words], undefined, { env: { ...env, ...more } })
    expect(answer).toMatchObject({ exitCode: 0, stderr: '' })
    return answer.stdout.split('\n').filter(Boolean)
  }
  /**
   * Completion waits at most one second, in which a busy machine might not respond. After that, the names are cached.
   */
  const learn = (words: string[], offers: string[]) =>
    eventually(async () => expect(await complete(words)).toEqual(offers))
  return { client, complete, learn, env, home, names: join(cache, 'passes/completion') }
}

test('commands, flags, their values and the names that the server has are completed', async () => {
  const { complete, learn, home } = await completer()
  writeFileSync(join(home, 'x'), '')
  await learn(['template', 'get', ''], ['day-ticket'])
  await learn(['project', 'get', ''], ['Spring fair'])
  for (const [words, offers] of [
    [['tem'], ['template']],
    [['s'], ['scan', 'scans', 'serve']],
    [['webhook', 'rot'], ['rotate-secret']],
    [['help', 'webhook', 'rot'], ['rotate-secret']],
    [['pass', 'create', '--ext'], ['--external-id']],
    [['pass', 'list', '--redeemed', '--no-r'], []],
    [
      ['pass', 'list', '--status', 'IS'],
      ['ISSUING', 'ISSUED'],
    ],
    [['pass', 'list', '--status=V'], ['--status=VOID']],
    [['pass', 'list', '--status', '=', 'V'], ['VOID']],
    [['pass', 'list', '--status', 'VOID', '--status', 'F'], ['FAILED']],
    [['webhook', 'listen', '--events', 'pass.voided,pass.f'], ['pass.voided,pass.failed']],
    [['template', 'get', ''], ['day-ticket']],
    [['template', 'get', '--json', 'd'], ['day-ticket']],
    [['template', 'get', 'day-ticket', 'd'], []],
    [['issue', 'guests.csv', '--template', 'd'], ['day-ticket']],
    [['pass', 'list', '--project', 'Spring\\ f'], ['Spring fair']],
    [['pass', 'list', '--project', '"Spring f'], ['Spring fair']],
    [['project', 'create', '--name', ''], []],
    [['nothing', 'like', 'it', ''], []],
  ] as const) {
    expect([words, await complete([...words])]).toEqual([words, offers])
  }
  expect(await complete(['project', 'get', ''], { shell: 'fish' })).toEqual(['Spring fair\t'])
  expect(await complete(['template', 'get', ''], { shell: 'zsh' })).toEqual(['day-ticket\tDay ticket'])
  expect(await complete([''])).not.toContain('complete')
})

test('completion caches names in private files per server and token, and shows no errors', async () => {
  const { client, complete, learn, env, home, names } = await completer()
  const templates = (more = {}) => complete(['template', 'get', ''], { more })
  await learn(['template', 'get', ''], ['day-ticket'])
  await client.templates.create({ body: { name: 'Later', key: 'later', passType: 'coupon' } })
  expect(await templates()).toEqual(['day-ticket'])
  expect(await templates(nowhere)).toEqual([])
  expect(await templates({ PASSES_TOKEN: 'psk_other' })).toEqual([])
  const [file, ...others] = readdirSync(names).map((name) => join(names, name))
  expect(others).toEqual([])
  expect(statSync(file!).mode & 0o777).toBe(0o600)
  expect(file! + readFileSync(file!, 'utf8')).not.toContain(env.PASSES_TOKEN)
  writeFileSync(file!, 'half a fi')
  expect(await templates()).toEqual([])
  const profiles = join(home, 'passes/profiles.json')
  expect(
    (await run(['login', '--profile', 'fair', '--token-stdin'], undefined, { env, input: env.PASSES_TOKEN })).exitCode,
  ).toBe(0)
  expect(await complete(['profile', 'use', ''])).toEqual(['fair'])
  expect(await complete(['whoami', '--profile', 'f'])).toEqual(['fair'])
  writeFileSync(profiles, '{')
  expect(await complete(['profile', 'use', ''])).toEqual([])
})

test('bash accepts the offered completions, quoted if necessary', async () => {
  const { learn, env, home } = await completer()
  await learn(['project', 'get', ''], ['Spring fair'])
  const { stdout: script } = await run(['completion', 'bash'])
  const setUp = `passes() { "${process.execPath}" "${program}" "$@"; }\n${script}`
  const ask = `COMP_WORDS=(passes "$@"); COMP_CWORD=$#
    $(complete -p passes | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const shell = { env: { ...env, PATH: process.env.PATH, HOME: home }, extendEnv: false } as const
  const words = ['pass', 'list', '--project', 'Sp']
  const { stdout, stderr } = await execa('bash', ['--norc', '-c', `${setUp}\n${ask}`, 'bash', ...words], shell)
  expect([stdout, stderr]).toEqual(['Spring\\ fair', ''])
  expect(await run(['completion', 'tcsh'])).toMatchObject({ exitCode: 2 })
})

const awkward = `O'Brien "x" $(touch run) \`touch run\`; 東京`

test.each(['zsh', 'fish'] as const)('%s gets unquoted names, also after an open quote', async (shell) => {
  const { client, learn, env, home } = await completer()
  const script = (await run(['completion', shell])).stdout
  expect(script).toContain(`complete ${shell} --`)
  if (!isInstalled(shell)) return console.warn(`${shell} is not installed: its script was not run`)
  await client.projects.create({ body: { name: awkward } })
  await learn(['project', 'get', 'Spr'], ['Spring fair'])
  const bin = join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'passes'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, { mode: 0o755 })
  const asked = { zsh: askZsh(script), fish: askFish(script) }[shell]
  const { stdout, stderr } = await execa(shell, asked, {
    env: { ...env, PATH: `${bin}:${process.env.PATH}`, HOME: home },
    cwd: home,
    extendEnv: false,
  })
  expect(stderr).toBe('')
  expect(stdout.split('\n')).toEqual(['Spring fair', 'Spring fair', awkward])
  expect(readdirSync(home)).not.toContain('run')
})

function isInstalled(shell: string): boolean {
  return (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, shell)))
}

/**
 * Runs the completion without the line editor, which would print the same text before the cursor and the open quote.
 */
function askZsh(script: string): string[] {
  const offer = (prefix: string, quote: string) => `PREFIX=${prefix} QIPREFIX=${quote} _passes_complete`
  return [
    '-f',
    '-c',
    `compdef() { : }
compadd() { print -rl -- "\${@[\${@[(i)--]}+1,-1]}" }
${script}
words=(passes template list --project x) CURRENT=5
${offer('Spr', "''")}
${offer('Spr', `"'"`)}
${offer(`"O\\\\'B"`, "''")}`,
  ]
}

function askFish(script: string): string[] {
  const lines = ['Spr', "'Spr", "O\\'B"].map((word) => `passes template list --project ${word}`)
  return ['--no-config', '-c', `${script}\nfor line in $argv; complete -C $line; end`, ...lines]
}
