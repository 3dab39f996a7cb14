import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/databases.ts'
import { program } from './server.ts'

const examples = new URL('../../examples/', import.meta.url).pathname

/** The commands of the walk-through in their order, one a line. */
function commandsOf(readme: string): string[] {
  const [, walk = ''] = /^## Walk-through$(.*?)^## /ms.exec(readme) ?? []
  return [...walk.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => block!.trim().split('\n'))
}

/** A folder as the top folder of the project, and a shell in which the program is installed. */
function setUp() {
  const folder = temporaryFolder()
  cpSync(examples, join(folder, 'examples'), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin', 'passes'), `#!/bin/sh\nexec node ${program} "$@"\n`)
  chmodSync(join(folder, 'bin', 'passes'), 0o755)
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    PASSES_PORT: '0',
    PASSES_RATE_LIMIT: '0',
    PASSES_LOG_LEVEL: 'warn',
  }
  return { folder, shell: { cwd: folder, env, shell: true, reject: false } as const }
}

/** Starts the server as written, and reads off its words what a person would. */
async function serve(command: string, shell: ReturnType<typeof setUp>['shell']) {
  const server = execa(`exec ${command}`, { ...shell, buffer: false })
  onTestFinished(async () => {
    server.kill('SIGKILL')
    await server
  })
  let text = ''
  for await (const chunk of server.stderr) {
    text += chunk
    const login = /passes login --url (\S+) --token (psk_\w+)\n/.exec(text)
    if (login) return { url: login[1]!, token: login[2]! }
  }
  throw new Error(`The server did not start: ${text}`)
}

test('the walk-through of the examples works as it is written', { timeout: 180_000 }, async () => {
  const { folder, shell } = setUp()
  const [start, ...commands] = commandsOf(readFileSync(join(examples, 'README.md'), 'utf8'))
  const { url, token } = await serve(start!, shell)
  const known = new Map([
    ['http://127.0.0.1:3000', url],
    ['TOKEN', token],
  ])
  const outputs = new Map<string, string>()
  for (const command of commands) {
    const line = [...known].reduce((text, [name, value]) => text.replaceAll(name, value), command)
    const { exitCode, stdout, stderr } = await execa(line, shell)
    expect([command, exitCode, stderr]).toEqual([
      command,
      command.includes('attendees-broken') ? 1 : 0,
      expect.any(String),
    ])
    outputs.set(command, stdout)
    for (const [, kind, id] of stdout.matchAll(/^(Project|Template) +([0-9a-f-]{36})$/gm)) {
      known.set(`${kind!.toUpperCase()}_ID`, id!)
    }
  }

  const output = (part: string) => [...outputs].find(([command]) => command.includes(part))?.[1]
  const rows = (name: string): Record<string, string>[] => parse(readFileSync(join(folder, name)), { columns: true })
  expect(output('template preview')).toContain('Polyglot Conference')
  expect(output('attendees.csv')).toMatch(/Created +2,000\n/)
  expect(rows('links.csv')).toHaveLength(2_000)
  // What only the redemption policy refuses is found by the server.
  expect(output('--dry-run')).toMatch(/Good +23\nFailed +17\n/)
  expect(output('attendees-broken.csv --template TEMPLATE_ID --failures')).toMatch(/Created +22\nFailed +18\n/)
  expect(output('issue failures.csv')).toMatch(/Created +18\nFailed +0\n/)
  expect(rows('late-links.csv')).toHaveLength(18)
  expect(output('members.csv')).toMatch(/Created +200\n/)
  expect(output('pass update')).toMatch(/Revision +2\n/)
  expect(output('update tiers.csv --failures')).toMatch(/Updated +200\nFailed +0\n/)
  expect(rows('tiers-failed.csv')).toEqual([])
  expect(output('tier:Basil')).toContain('GF-')
  const closed = rows('closed.csv')
  expect(closed.length).toBeGreaterThan(0)
  expect(output('void closed.csv')).toMatch(new RegExp(`Voided +${closed.length}\n`))
  for (const { id } of closed.slice(0, 20)) expect(output('--status VOID')).toContain(id)
})
