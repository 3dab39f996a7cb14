import { readdirSync, readFileSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../../src/client/client.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { MIGRATION_LOCK } from '../../../src/storage/db/migrate.ts'
import { dialects, emptyDatabase, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { batchOf, inspect, publishTemplate } from '../support/passes.ts'
import { program, run } from '../support/program.ts'
import { hostServer, type ServerProcess, sandboxFolder, startServer, type TestServer } from '../support/server.ts'

const STOP_MS = 20_000

test('without a terminal the first owner token is in a private file and not in the log', async () => {
  const cwd = temporaryFolder()
  const env = { PASSES_SANDBOX_DIR: sandboxFolder() }
  const child = execa('node', [program, 'serve', '--port', '0'], { cwd, env, reject: false, all: true })
  const file = join(cwd, 'passes.db.token')
  await eventually(() => expect(statSync(file).mode & 0o777).toBe(0o600))
  child.kill('SIGINT')
  const { all } = await child
  const token = readFileSync(file, 'utf8').trim()
  expect(token).toMatch(/^psk_/)
  expect(all).not.toContain(token)
  const lines = all.split('\n').map((line) => JSON.parse(line))
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'passes is running', role: 'all' }))
  expect(lines).toContainEqual(expect.objectContaining({ file }))
})

test.skipIf(process.platform !== 'linux')('a start with too few open files fails, and shows a fix', async () => {
  const command = `ulimit -n 128; exec node ${program} serve --port 0`
  const { exitCode, stderr } = await execa('sh', ['-c', command], { cwd: temporaryFolder(), reject: false })
  expect([exitCode, stderr.split('\n')]).toEqual([
    1,
    [
      'Error: The server needs at least 256 open files, but the limit is 128.',
      '  Next: raise the limit with ulimit -n, or LimitNOFILE in systemd.',
    ],
  ])
})

test('SIGTERM under load keeps acknowledged passes, and issues none twice', async () => {
  const server = await startServer({ dialect: 'postgres' })
  const templateId = await publishTemplate(server.client)
  const acknowledged: string[] = []
  const lanes = Array.from({ length: 4 }, async (_, lane) => {
    for (let n = 0; ; n++) {
      const passes = batchOf(templateId, `${lane}-${n}`, 10)
      const answer = await server.client.passes.createBatch({ body: { passes } }).catch(() => undefined)
      if (!answer) return
      acknowledged.push(...answer.results.map((result) => result.externalPassId))
    }
  })
  await eventually(() => expect(acknowledged.length).toBeGreaterThan(60))
  const stopping = performance.now()
  expect(await server.stop()).toBe(0)
  expect(performance.now() - stopping).toBeLessThan(STOP_MS)
  await Promise.all(lanes)

  const { database, token } = server
  await hostServer({ database, token })
  const { passes } = inspect(database)
  await eventually(async () => expect(unissued(await passes())).toEqual([]))
  const stored = new Set((await passes()).map((pass) => pass.externalPassId))
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
})

describe.each(dialects)('on %s', (dialect) => {
  test('servers that start together on an empty database create one workspace, token, and key', async () => {
    const database = await emptyDatabase(dialect)
    // Only one of the servers prints the first token. A token of the operator works on all of them.
    const options = { dialect, database, token: 'none' }
    // On PostgreSQL, the servers coordinate only through the database, so all of them can run in this process.
    const startFirst = dialect === 'sqlite' ? startServer : hostServer
    const servers = await Promise.all([startFirst(options), hostServer(options), hostServer(options)])
    const { rows } = inspect(database)
    expect(await rows('workspaces')).toMatchObject([{ name: 'default' }])
    expect(await rows('tokens')).toMatchObject([{ name: 'first owner' }])
    const settings = (await rows('settings')).map(({ name }) => name)
    expect(settings.toSorted()).toEqual(['apple-pass-type', 'public-url', 'server-key-fingerprint'])
    const made = await run(['token', 'create', '--name', 'test', '--database', database, '--json'])
    const { token } = JSON.parse(String(made.stdout)) as { token: string }
    const [maker, ...others] = servers
    const asked = { ...maker, token }
    const link = await linkOf(asked)
    for (const other of others) {
      const { status } = await fetch(link.replace(maker.url, other.url), { redirect: 'manual' })
      expect(status).toBe(200)
    }
  })
})

test('a worker-only server issues the passes that a web-only server accepts, and has metrics', async () => {
  const api = await hostServer({ dialect: 'postgres', args: ['--role', 'api'] })
  expect(api.metricsUrl).toBeNull()
  const templateId = await publishTemplate(api.client)
  await api.client.passes.createBatch({ body: { passes: batchOf(templateId, 'pass', 5) } })
  const { passes } = inspect(api.database)
  expect((await passes()).map((pass) => pass.status)).toEqual(Array(5).fill('QUEUED'))
  const worker = await startServer({
    database: api.database,
    token: api.token,
    args: ['--role', 'worker', '--public-url', api.url, '--metrics-port', '0'],
  })
  await eventually(async () => expect(unissued(await passes())).toEqual([]))
  expect(worker.url).toBe('')
  await eventually(async () => {
    const text = await (await fetch(worker.metricsUrl!)).text()
    expect(text).toContain('passes_job_runs_total{kind="issue-pass",outcome="done"} 5')
    expect(text).toContain('passes_events_total{type="pass.issued"} 5')
    expect(text).toMatch(/passes_build_info\{version="[\d.]+",node="[\d.]+",role="worker"\} 1/)
    expect(text).toMatch(/passes_certificate_remaining_seconds\{certificate="apple_pass",identity="server"\} 1\d{8}/)
    expect(text).toContain('process_cpu_seconds_total')
  })
  expect(await worker.stop()).toBe(0)
})

test('SIGTERM drains, completes work in flight, rejects new requests, and does not wait for endless ones', async () => {
  const server = await startServer({ args: ['--drain-seconds', '3'] })
  const { client, database, token } = server
  const templateId = await publishTemplate(client)
  const request = await openRequest(server, { externalPassId: 'late', label: 'Ada', templateId })
  await openRequest(server, { label: 'never sent in full' })
  // The server is still issuing these passes when it has to stop.
  const passesInFlight = batchOf(templateId, 'early', 40)
  await client.passes.createBatch({ body: { passes: passesInFlight } })
  const stopping = performance.now()
  const stopped = server.stop()
  const statusOf = async (path: string) => (await fetch(server.url + path)).status
  await eventually(async () => expect(await statusOf('/readyz')).toBe(503), { interval: 20 })
  expect(await statusOf('/healthz')).toBe(200)
  await eventually(() => expect(fetch(`${server.url}/healthz`)).rejects.toThrow())
  expect(await request.finish()).toMatch(/^HTTP\/1\.1 201 /)
  expect(await stopped).toBe(0)
  expect(performance.now() - stopping).toBeLessThan(STOP_MS)
  const { passes } = inspect(database)
  const wanted = [...passesInFlight.map(({ externalPassId }) => externalPassId), 'late']
  expect((await passes()).map(({ externalPassId }) => externalPassId).toSorted()).toEqual(wanted.toSorted())

  await hostServer({ database, token })
  await eventually(async () => expect(unissued(await passes())).toEqual([]))
})

test('SIGTERM stops a start gracefully, also while another server migrates the database', async () => {
  const url = await emptyDatabase('postgres')
  const { writer, close } = openDatabase(url)
  onTestFinished(close)
  await writer.transaction(async (tx) => {
    await tx.raw('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK])
    const env = { PASSES_DATABASE_URL: `${url}?lock_timeout=100` }
    const child = execa('node', [program, 'serve', '--port', '0'], { cwd: temporaryFolder(), env, reject: false })
    onTestFinished(() => void child.kill('SIGKILL'))
    await eventually(async () => expect(await tx('pg_locks').where({ granted: false })).not.toEqual([]))
    child.kill('SIGTERM')
    expect(await child).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('stopped during the start') })
  })
})

test('files next to a SQLite database are readable by their owner only', async () => {
  const { database } = await hostServer({ makesSandbox: true })
  const file = database.replace('sqlite:', '')
  const kept = [`${file}.key`, ...filesIn(`${file}.sandbox`)]
  expect(kept.map((path) => path.replace(file, ''))).toEqual(
    expect.arrayContaining(['.key', '.sandbox/apple/pass.key', '.sandbox/google/service-account.json']),
  )
  for (const path of kept) expect((statSync(path).mode & 0o777).toString(8), path).toBe('600')
})

test('a server runs on a database of a newer program, and reports it', async () => {
  const { database, token, stop } = await hostServer()
  await stop()
  const { writer, close } = openDatabase(database)
  await writer('migrations').insert({ name: '9999-of-tomorrow' })
  await close()
  const server = await hostServer({ database, token })
  expect(await server.client.tokens.current()).toMatchObject({ name: 'first owner' })
  expect(server.stderr()).toContain('9999-of-tomorrow')
})

function unissued(passes: { status: string; issuedEvents: number }[]) {
  return passes.filter((pass) => pass.status !== 'ISSUED' || pass.issuedEvents !== 1)
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
}

async function linkOf({ url, token }: Pick<TestServer, 'url' | 'token'>): Promise<string> {
  const client = createClient({ url, token })
  onTestFinished(() => client.close())
  const body = { externalPassId: 'linked', label: 'Ada', templateId: await publishTemplate(client) }
  const { hostedLinks } = await client.passes.create({ body })
  return hostedLinks.smart!
}

/**
 * Opens a request that creates an object. The server has asked for its body, so it has begun to read. The test sends the body
 * later.
 */
async function openRequest({ url, token }: ServerProcess, body: object) {
  const { hostname, port } = new URL(url)
  const content = JSON.stringify(body)
  const socket: Socket = connect(Number(port), hostname)
  onTestFinished(() => {
    socket.destroy()
  })
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  const head = [
    'POST /v1/passes HTTP/1.1',
    `Host: ${hostname}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(content)}`,
    'Expect: 100-continue',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await eventually(() => expect(received).toMatch(/^HTTP\/1\.1 100 /))
  return {
    async finish(): Promise<string> {
      received = ''
      socket.write(content)
      await eventually(() => expect(received).toContain('\r\n\r\n'))
      return received
    },
  }
}
