import { expect, test } from 'vitest'
import { isLong } from '../../support/long.ts'
import { run, spawnProgram } from '../support/program.ts'

const nowhere = { url: 'http://127.0.0.1:1', token: 'psk_x' }

/** Output on stdout, on stderr, or as JSON, of help, a failed request, wrong usage, and a command that reads stdin. */
const lines = [
  'webhook --help',
  'pass list --json',
  'pass nothingLikeIt',
  'login --url http://127.0.0.1:1 --token-stdin',
]
const more = [
  '--version',
  '--help',
  'pass list',
  'pass list --limit 1000',
  'project get --json',
  'pass nothingLikeIt --json',
]

test.each(isLong ? [...lines, ...more] : lines)(
  'in this process, passes %s has the same exit code and output as in its own',
  async (line) => {
    const args = line.split(' ')
    // oclif reads a missing argument from stdin if the input arrives early enough.
    const options = line.endsWith('stdin') ? { input: 'psk_y' } : {}
    const { exitCode, stdout, stderr } = await spawnProgram(args, nowhere, options)
    expect(await run(args, nowhere, options)).toEqual({ exitCode, stdout, stderr })
  },
)

test.each(['--help', 'webhook --help', 'webhook create --help'])('finds a command after %s', async (help) => {
  expect((await run(help.split(' '), nowhere)).exitCode).toBe(0)
  expect(await run(['webhook', 'create'], nowhere)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Missing required flag to'),
  })
})

test.each(['issue', 'pass list', 'project figures', 'scans stats'])(
  'the usage line of passes %s has no empty alternative',
  async (command) => {
    const { stdout } = await run([...command.split(' '), '--help'], nowhere)
    const usage = /USAGE\n([\s\S]*?)\n\n/.exec(stdout)![1]!
    expect(usage).toContain(command)
    expect(usage).not.toMatch(/\|\s*[|\])]|[[(]\s*\|/)
  },
)

test('the help shows no default of a repeatable flag without one', async () => {
  const { stdout } = await run(['pass', 'update', '--help'], nowhere)
  expect(stdout).toMatch(/--var=<value>\.\.\. +Variable as name=value/)
  expect(stdout).not.toContain('[default: ]')
})

test('the help of webhook listen shows its current flag', async () => {
  const { stdout } = await run(['webhook', 'listen', '--help'], nowhere)
  expect(stdout).toContain('--event ')
  expect(stdout).not.toContain('--events')
})

test('shows how a command in quotes is written', async () => {
  expect(await run(['webhook create'], nowhere)).toMatchObject({
    exitCode: 2,
    stderr: 'Error: passes has no command webhook create\n  Next: did you mean passes webhook create?',
  })
})

test('settings of a run are restored, also if the command fails', async () => {
  const state = () => ({
    env: { ...process.env },
    cwd: process.cwd(),
    argv: process.argv,
    exitCode: process.exitCode,
    exit: process.exit,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    console,
    listeners: process.eventNames().map((name) => [name, process.listenerCount(name)]),
  })
  await run(['--version'])
  const before = state()
  const env = { PASSES_URL: nowhere.url, PASSES_TOKEN: undefined, PATH: undefined }
  for (const args of [['pass', 'list'], ['pass', 'nothingLikeIt'], ['--help']])
    await run(args, nowhere, { env, cwd: '/' })
  await expect(run(['--help'], nowhere, { cwd: '/nowhere' })).rejects.toThrow('ENOENT')
  expect(state()).toEqual(before)
})
