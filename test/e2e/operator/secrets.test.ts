import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { oneDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { issuedPass } from '../support/passes.ts'
import { run, spawnProgram } from '../support/program.ts'
import { startServer } from '../support/server.ts'

const SERVER_KEY = 'planted-server-key-'.repeat(3)

test.each(oneDialect)(
  'on %s no secret is in logs, errors, the database, or responses other than its own',
  async (dialect) => {
    const args = ['--log-level', 'debug', '--allow-insecure-webhooks', '--metrics-port', '0']
    const server = await startServer({ dialect, args, env: { PASSES_SERVER_KEY: SERVER_KEY } })
    const { client } = server
    const written: string[] = []

    const made = await run(['token', 'create', '--name', 'door', '--json'], server, {
      env: { PASSES_DATABASE_URL: server.database, PASSES_SERVER_KEY: SERVER_KEY },
    })
    const { token } = JSON.parse(made.stdout)
    written.push(made.stderr)

    const url = await refusingReceiver()
    const webhook = await client.webhooks.create({ body: { url, events: ['pass.issued'] } })
    const rotated = await client.webhooks.rotateSecret({ params: { id: webhook.id } })
    const pass = await issuedPass(client)
    const links = Object.values(pass.hostedLinks)
      .flatMap((link) => link ?? [])
      .map((link) => link.split('/l/')[1]!)
    await eventually(async () => {
      const { items } = await client.deliveries.list({ query: { webhookId: webhook.id } })
      expect(items[0]?.attemptCount).toBeGreaterThan(0)
      written.push(JSON.stringify(items))
    })

    const planted = [server.token, token, webhook.secret, rotated.secret, SERVER_KEY, ...links]
    expect(planted.every((secret) => typeof secret === 'string' && secret.length > 20)).toBe(true)

    const headers = { authorization: `Bearer ${token}` }
    const wrongToken = `${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`
    const answers = [
      ['GET', '/v1/webhooks', headers],
      ['GET', `/v1/webhooks/${webhook.id}`, headers],
      ['GET', '/v1/nowhere', headers],
      ['GET', `/v1/passes?search=${token}&unknown=${token}`, headers],
      ['POST', '/v1/passes', headers],
      ['GET', '/v1/passes', { authorization: `Bearer ${wrongToken}` }],
      ['GET', '/v1/passes', { authorization: `Basic ${Buffer.from(`user:${token}`).toString('base64')}` }],
      ['GET', `/l/${links[0]}x`, {}],
      ['GET', `/l/${links[0]}`, {}],
      ['GET', '/openapi.json', {}],
    ] as const
    for (const [method, path, sent] of answers) {
      const answer = await fetch(`${server.url}${path}`, { method, headers: sent, redirect: 'manual' })
      if (!path.includes('search=') && !path.startsWith('/l/')) written.push(await answer.text())
    }
    for (const command of [['webhook', 'list'], ['pass', 'list'], ['scans', 'export', '--out', '-'], ['whoami']]) {
      const { stdout, stderr } = await run([...command, '--json'], { ...server, token })
      // `pass list` prints links. Links that were created in the same second are equal.
      written.push(command[0] === 'pass' ? stdout.replaceAll(/"http[^"]+\/l\/[^"]+"/g, 'null') : stdout, stderr)
    }
    const refused = await run(['webhook', 'list'], { url: 'http://127.0.0.1:1', token })
    written.push(refused.stdout, refused.stderr)

    expect(await server.stop()).toBe(0)
    written.push(server.stderr())
    expect(server.stderr()).toContain(webhook.id)
    written.push(await everythingIn(server.database))
    for (const secret of planted) {
      for (const text of written) expect(text.includes(secret), around(text, secret)).toBe(false)
    }
  },
)

test('the password of a database never appears in output', async () => {
  const { stdout, stderr, exitCode } = await spawnProgram(['serve', '--json', '--log-level', 'debug'], undefined, {
    env: {
      PASSES_DATABASE_URL: 'postgres://passes:planted-password@127.0.0.1:1/passes',
      PASSES_SERVER_KEY: SERVER_KEY,
    },
  })
  expect(exitCode).not.toBe(0)
  expect(stdout).toContain('127.0.0.1')
  expect(stdout + stderr).not.toContain('planted-password')
})

/** Starts an endpoint that rejects every request, so that all outputs report failed attempts. */
async function refusingReceiver(): Promise<string> {
  const receiver = createServer((_, response) => response.writeHead(500).end('no'))
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  return `http://127.0.0.1:${(receiver.address() as { port: number }).port}/hook`
}

/** Returns all rows of all tables as text, and the bytes of a SQLite file. */
async function everythingIn(url: string): Promise<string> {
  const { reader, close } = openDatabase(url)
  const isFile = url.startsWith('sqlite:')
  const listing = isFile
    ? `select name from sqlite_master where type = 'table'`
    : `select tablename as name from pg_tables where schemaname = 'public'`
  const listed = await reader.raw(listing)
  const names: { name: string }[] = isFile ? listed : listed.rows
  expect(names.length).toBeGreaterThan(15)
  const tables = await Promise.all(names.map(async ({ name }) => JSON.stringify(await reader(name))))
  await close()
  return [...tables, isFile ? readFileSync(url.slice('sqlite:'.length), 'latin1') : ''].join('\n')
}

function around(text: string, secret: string): string {
  const at = text.indexOf(secret)
  return at < 0 ? '' : text.slice(Math.max(0, at - 200), at + secret.length + 50)
}
