import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/databases.ts'
import { program } from './server.ts'

const root = new URL('../../', import.meta.url).pathname
const guide = readFileSync(join(root, 'docs/webhooks.md'), 'utf8')
const commands = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => block!.trim().split('\n'))

/** Commands that stay until they are ended, and what each says once it is ready. */
const services: [start: RegExp, ready: RegExp][] = [
  [/^passes serve/, /passes login --url (?<url>\S+) --token (?<token>psk_\w+)\n/],
  [/node-http\.js$/, /Listening on (?<receiver>\S+)\n/],
  [/^passes webhook listen/, /Listening as webhook/],
]

test('the guide works as it is written', { timeout: 180_000 }, async () => {
  const shell = await setUp()
  const known = new Map<string, string>()
  const outputs = new Map<string, string>()
  for (const command of commands) {
    const line = [...known].reduce((text, [name, value]) => text.replaceAll(name, value), command)
    const assigned = /^export (\w+)=(\S+)$/.exec(line)
    if (assigned) {
      Object.assign(shell.env, { [assigned[1]!]: assigned[2]! })
      continue
    }
    const [, ready] = services.find(([start]) => start.test(line)) ?? []
    if (ready) {
      const { url, token, receiver } = await start(line, ready, shell)
      if (url) known.set('http://127.0.0.1:3000', url).set('TOKEN', token!)
      if (receiver) expect(receiver).toBe(known.get('http://127.0.0.1:8080/'))
      continue
    }
    const { exitCode, stdout, stderr } = await execa(line, shell)
    expect([command, exitCode, stderr]).toEqual([command, 0, expect.any(String)])
    outputs.set(command, stdout)
    for (const [, kind, value] of stdout.matchAll(/^(Webhook|Delivery|Secret) +(\S+)$/gm)) {
      const name = kind === 'Secret' ? '=SECRET' : `${kind!.toUpperCase()}_ID`
      if (!known.has(name)) known.set(name, kind === 'Secret' ? `=${value}` : value!)
    }
    if (command.startsWith('passes login')) known.set('http://127.0.0.1:8080/', `http://127.0.0.1:${shell.env.PORT}/`)
  }

  const output = (part: string) => [...outputs].find(([command]) => command.includes(part))?.[1]
  const [, tag] = /v1=([0-9a-f]{64})/.exec(guide) ?? []
  expect(output('openssl')).toContain(tag)
  expect(output('webhook test')).toMatch(/Status +SUCCESS/)
  expect(output('webhook verify')).toContain('The signature is good')
  expect(output('deliveries DELIVERY_ID')).toContain('"type": "webhook.test"')
  expect(output('redeliver')).toMatch(/Status +SUCCESS/)
  expect(output('rotate-secret')).toMatch(/Secret +whsec_/)
  expect(output('webhook update')).toMatch(/Events +pass\.scanned\n/)
  expect(output('webhook delete')).toContain('is deleted')
})

/** A folder as the top folder of the project, and a shell in which the program is installed. */
async function setUp() {
  const folder = temporaryFolder()
  cpSync(join(root, 'examples/webhooks'), join(folder, 'examples/webhooks'), { recursive: true })
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'dist'), join(folder, 'dist'))
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin', 'passes'), `#!/bin/sh\nexec node ${program} "$@"\n`)
  chmodSync(join(folder, 'bin', 'passes'), 0o755)
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    PASSES_PORT: '0',
    PASSES_LOG_LEVEL: 'warn',
    // The receiver of the guide listens where its webhook sends to.
    PORT: String(await freePort()),
  }
  return { cwd: folder, env, shell: true, reject: false } as const
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a command that stays, and reads off its words what a person would. */
async function start(line: string, ready: RegExp, shell: Awaited<ReturnType<typeof setUp>>) {
  const [, assignments = '', call = ''] = /^((?:\w+=\S+ )*)(.*)$/.exec(line) ?? []
  const child = execa(`${assignments}exec ${call}`, { ...shell, buffer: false, all: true })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await child
  })
  let text = ''
  for await (const chunk of child.all) {
    text += chunk
    const match = ready.exec(text)
    if (match) return match.groups ?? {}
  }
  throw new Error(`${line} did not start: ${text}`)
}
