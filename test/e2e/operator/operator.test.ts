import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createClient } from '../../../src/client/client.ts'
import { dialects, emptyDatabase, migratedDatabase } from '../../support/databases.ts'
import { within } from '../../support/eventually.ts'
import { inspect, publishTemplate } from '../support/passes.ts'
import { run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

/** The maximum time until a revocation takes effect on a running server. */
const HOLDS_MS = 2_000

test('reports once that a command created a database', async () => {
  const create = ['token', 'create', '--name', 'door', '--json', '--database', await emptyDatabase('sqlite')]
  const [first, second] = [await run(create), await run(create)]
  expect([first.exitCode, second.exitCode]).toEqual([0, 0])
  expect(first.stderr).toMatch(
    /^The database .+ did not exist and was created\. Select the database of your server with --database/,
  )
  expect(second.stderr).not.toContain('was created')
})

describe.each(dialects)('on %s', (dialect) => {
  test('a token created by an operator works at once, and not two seconds after its revocation', async () => {
    const server = await hostServer({ dialect })
    const made = await ok(['token', 'create', '--name', 'door', '--scope', 'passes:read'], server.database)
    expect(made).toEqual({
      id: expect.any(String),
      token: expect.stringMatching(/^psk_[0-9A-Za-z]{38}$/),
      name: 'door',
      role: 'member',
      scopes: ['passes:read'],
      workspaceId: expect.any(String),
      expiresAt: expect.any(String),
    })
    // The default is one year.
    expect(Math.round((Date.parse(made.expiresAt) - Date.now()) / 86_400_000)).toBe(365)
    expect(await statusFor(server, made.token)).toBe(200)

    const lasting = ['token', 'rotate', made.id, '--overlap', '1h', '--expires-in', 'never']
    const follower = await ok(lasting, server.database)
    expect(follower).toMatchObject({
      name: 'door',
      scopes: ['passes:read'],
      expiresAt: null,
      previous: { id: made.id },
    })
    expect([await statusFor(server, made.token), await statusFor(server, follower.token)]).toEqual([200, 200])

    expect(await ok(['token', 'revoke', made.id, '--yes'], server.database)).toEqual({ id: made.id, revoked: true })
    await within(HOLDS_MS, async () => expect(await statusFor(server, made.token)).toBe(401))
    const tokens = await ok(['token', 'list'], server.database)
    expect(tokens.map((token: { name: string }) => token.name)).toEqual(['first owner', 'door', 'door'])
    expect(tokens[1]).toMatchObject({ id: made.id, revokedAt: expect.stringMatching(/Z$/), replacedBy: follower.id })
    expect(JSON.stringify(tokens)).not.toContain(made.token)

    const project = await server.client.projects.create({ body: { name: 'Summerfest' } })
    const gate = await ok(['token', 'create', '--name', 'gate', '--project', 'Summerfest'], server.database)
    expect(gate).toMatchObject({ projectIds: [project.id], scopes: expect.not.arrayContaining(['webhooks:read']) })
    const next = await ok(['token', 'rotate', gate.id], server.database)
    const client = createClient({ url: server.url, token: next.token })
    expect(await client.tokens.current()).toMatchObject({ projectIds: [project.id] })
    await client.close()
  })

  test('shows and changes the limits of a workspace, and warns of a password in arguments', async () => {
    const database = await migratedDatabase(dialect)
    await ok(['token', 'create', '--name', 'first'], database)
    const args = ['workspace', 'limits', 'default', '--webhooks', '0', '--stored-bytes', '5MiB']
    const { stdout, stderr } = await run([...args, '--database', database])
    expect(stdout).toMatch(/^webhooks\s+0\s+0$/m)
    expect(stdout).toMatch(/^stored-bytes\s+0\s+5,242,880\s+0$/m)
    const isWarned = String(stderr).includes('PASSES_DATABASE_URL')
    expect([isWarned, String(stderr).includes(database)]).toEqual([dialect === 'postgres', false])
  })

  test('an operator command migrates an empty database first, and the server then starts with its result', async () => {
    const database = await emptyDatabase(dialect)
    const { token } = await ok(['token', 'create', '--name', 'first', '--role', 'owner'], database)
    expect(await ok(['migrate'], database)).toEqual({ applied: [] })
    const server = await hostServer({ dialect, database, token })
    expect(await server.client.tokens.current()).toMatchObject({ name: 'first', workspaceName: 'default' })
    expect(await inspect(database).rows('tokens')).toHaveLength(1)
  })

  test('a suspended workspace is rejected within two seconds, and works again when resumed', async () => {
    const server = await hostServer({ dialect })
    const { database } = server
    const workspace = await ok(['workspace', 'create', '--name', 'acme'], database)
    expect(workspace).toEqual({
      id: expect.any(String),
      name: 'acme',
      createdAt: expect.any(String),
      suspendedAt: null,
      linksClosedAt: null,
      expiresAt: null,
      offlineScanning: true,
    })
    const { token } = await ok(['token', 'create', '--name', 'a', '--workspace', 'acme'], database)
    expect(await statusFor(server, token)).toBe(200)
    expect(await ok(['workspace', 'suspend', 'acme', '--yes'], database)).toMatchObject({
      suspendedAt: expect.any(String),
    })
    await within(HOLDS_MS, async () => expect(await statusFor(server, token)).toBe(403))
    expect(await statusFor(server, server.token)).toBe(200)
    expect(await ok(['workspace', 'resume', workspace.id], database)).toMatchObject({ suspendedAt: null })
    await within(HOLDS_MS, async () => expect(await statusFor(server, token)).toBe(200))
    const names = (await ok(['workspace', 'list'], database)).map((row: { name: string }) => row.name)
    expect(names).toEqual(['acme', 'default'])
  })

  test('lists the outbox and retries discarded jobs', async () => {
    const server = await hostServer({ dialect, args: ['--role', 'api'] })
    const templateId = await publishTemplate(server.client)
    const body = { externalPassId: 'p-1', label: 'Ada', templateId }
    const pass = await server.client.passes.create({ body })
    const waiting = { kind: 'issue-pass', waiting: 1, failed: 0 }
    expect((await ok(['jobs', 'list'], server.database)).counts).toContainEqual(expect.objectContaining(waiting))
    await inspect(server.database).update('jobs', { failed_at: 1, last_error: 'no luck' })

    const { counts, failed } = await ok(['jobs', 'list'], server.database)
    const gaveUp = { kind: 'issue-pass', waiting: 0, running: 0, discarded: 1, failed: 1 }
    expect(counts).toContainEqual(expect.objectContaining(gaveUp))
    const job = failed.find(({ kind }: { kind: string }) => kind === 'issue-pass')
    expect(job).toMatchObject({ subject: pass.id, error: 'no luck' })
    expect(await ok(['jobs', 'retry', job.id], server.database)).toEqual({ retried: 1 })
    const onDatabase = ['--database', server.database]
    const again = await run(['jobs', 'retry', job.id, ...onDatabase])
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('passes jobs list')])
    expect((await run(['jobs', 'retry', ...onDatabase])).exitCode).toBe(2)
  })

  test('neither a token nor the server key appears in the logs or in the database', async () => {
    const serverKey = 'planted'.repeat(7)
    const server = await hostServer({ dialect, env: { PASSES_LOG_LEVEL: 'debug', PASSES_SERVER_KEY: serverKey } })
    const wrong = `${server.token.slice(0, -1)}${server.token.endsWith('0') ? '1' : '0'}`
    const { client, url, token } = server
    const pass = { externalPassId: 'p', label: 'Ada', templateId: await publishTemplate(client) }
    const { hostedLinks } = await client.passes.create({ body: pass })
    const requests = [
      [`${url}/v1/projects?token=${token}`, { authorization: `Bearer ${token}` }],
      [`${url}/v1/projects`, { authorization: `Bearer ${wrong}` }],
      [`${url}/v1/projects`, { authorization: `Bearer ${token}`, 'x-api-key': wrong }],
      [`${url}/${token}`, { 'x-api-key': token, 'x-correlation-id': token }],
      [`${hostedLinks.apple}`, { authorization: `Bearer ${token}` }],
    ] as const
    for (const [address, headers] of requests) await fetch(address, { headers })
    await server.stop()

    const secrets = [token, token.slice(4), wrong, serverKey]
    const written = [server.stderr(), await bytesOf(server, dialect)]
    for (const text of written) for (const secret of secrets) expect(text.includes(secret)).toBe(false)
    expect(written[1]).toContain('Ada')
  })
})

test('quotes the name of a workspace in the next command', async () => {
  const database = await emptyDatabase('sqlite')
  const { stdout } = await run(['workspace', 'create', '--name', 'harbour hall', '--database', database])
  expect(stdout).toContain("passes token create --workspace 'harbour hall' --name")
})

test('wrong usage exits with 2, failures with 1, and --json prints exactly one value', async () => {
  const database = await emptyDatabase('sqlite')
  const cases: [args: string[], exitCode: number, code: string][] = [
    [['token', 'create'], 2, 'USAGE'],
    [['token', 'create', '--name', 'x', '--scope', 'everything'], 2, 'USAGE'],
    [['token', 'create', '--name', 'x', '--expires-in', 'soon'], 2, 'USAGE'],
    [['token', 'create', '--name', 'x', '--workspace', 'nobody'], 1, 'SETUP'],
    [['token', 'create', '--name', 'x', '--project', 'Nowhere'], 1, 'SETUP'],
    [['token', 'create', '--name', 'x', '--project', 'Nowhere', '--scope', 'webhooks:read'], 1, 'SETUP'],
    [['token', 'revoke', '0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27'], 2, 'USAGE'],
    [['token', 'rotate', 'mine'], 1, 'SETUP'],
    [['workspace', 'limits', 'default', '--webhooks', '5GiB'], 2, 'USAGE'],
    [['workspace', 'update', 'default', '--expires', 'soon'], 2, 'USAGE'],
    [['token', 'revoke', '0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27', '--yes'], 1, 'SETUP'],
    [['workspace', 'suspend', 'nobody'], 2, 'USAGE'],
    [['workspace', 'suspend', 'nobody', '--yes'], 1, 'SETUP'],
    [['workspace', 'create', '--name', 'default'], 1, 'SETUP'],
    [['migrate', '--database', 'mysql://x'], 2, 'SETUP'],
  ]
  await ok(['workspace', 'create', '--name', 'default'], database)
  const results = await Promise.all(
    cases.map(async ([args, exitCode, code]) => {
      const onDatabase = args.includes('--database') ? args : [...args, '--database', database]
      const result = await run([...onDatabase, '--json'])
      return { args, expected: { exitCode, code }, result }
    }),
  )
  for (const { args, expected, result } of results) {
    const { error } = JSON.parse(String(result.stdout))
    expect({ exitCode: result.exitCode, code: error.code }, args.join(' ')).toEqual(expected)
    expect(error.message).toMatch(/\w/)
  }
})

// biome-ignore lint/suspicious/noExplicitAny: each command prints a different shape, which its test states.
async function ok(args: string[], database: string): Promise<any> {
  const { exitCode, stdout, stderr } = await run([...args, '--database', database, '--json'])
  expect(exitCode, String(stderr)).toBe(0)
  return JSON.parse(String(stdout))
}

async function statusFor({ url }: TestServer, token: string): Promise<number> {
  return (await fetch(`${url}/v1/tokens/current`, { headers: { authorization: `Bearer ${token}` } })).status
}

/** Returns the whole content of a database: the bytes of its files, or every row as text. */
async function bytesOf({ database }: TestServer, dialect: string): Promise<string> {
  if (dialect === 'sqlite') {
    const folder = dirname(database.replace('sqlite:', ''))
    const files = readdirSync(folder).filter((name) => name.startsWith('passes.db'))
    const open = files.filter((name) => !name.endsWith('.key') && !name.endsWith('.sandbox'))
    return open.map((name) => readFileSync(`${folder}/${name}`, 'latin1')).join('')
  }
  const { rows } = inspect(database)
  const tables = await rows('information_schema.tables')
  const own = tables.filter((table) => table.table_schema === 'public').map((table) => String(table.table_name))
  return JSON.stringify(await Promise.all(own.map(rows)))
}
