import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../support/databases.ts'
import { run } from '../support/program.ts'
import { sharedServer, type TestServer } from '../support/server.ts'

const shared = sharedServer()

const unknownId = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'

/** Settings in the environment of these tests are ignored. */
const unset = { PASSES_URL: undefined, PASSES_TOKEN: undefined, PASSES_PROFILE: undefined }

/** Returns the environment of a user who has no profile yet. */
function newcomer() {
  return { ...unset, XDG_CONFIG_HOME: temporaryFolder() }
}

/** Runs a command with --json and reads its one value. */
async function json(args: string[], server: Pick<TestServer, 'url' | 'token'>, options: object = {}) {
  const { exitCode, stdout } = await run([...args, '--json'], server, options)
  return { exitCode, value: JSON.parse(stdout) }
}

/** Writes a template file with an image next to it. */
function templateFile(definition: object = {}): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'images'))
  const icon = new URL('../../../examples/conference/images/icon.png', import.meta.url)
  copyFileSync(icon, join(folder, 'images', 'icon.png'))
  const path = join(folder, 'ticket.json')
  const file = {
    name: 'Ticket',
    description: 'One day',
    passType: 'eventTicket',
    definition: {
      variables: [{ name: 'seat', label: 'Seat', required: true }],
      design: { organizationName: 'Fair', description: 'Ticket', images: { icon: 'images/icon.png' } },
      ...definition,
    },
  }
  writeFileSync(path, JSON.stringify(file))
  return path
}

test('reports a timeout with the unanswered request and advice', async () => {
  const silent = createServer()
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const { exitCode, stderr } = await run(['pass', 'list', '--timeout', '0.2'], { url, token: 'psk_1' })
  expect(exitCode).toBe(1)
  const said = `${url} did not respond to GET /v1/passes within 0.2 s`
  expect(stderr.split('\n').filter((line) => line.includes(said))).toEqual([
    expect.stringMatching(/; trying again$/),
    expect.stringMatching(/; trying again$/),
    expect.stringContaining('Error: '),
  ])
  expect(stderr).toContain('to wait longer, use --timeout SECONDS (PASSES_TIMEOUT)')
})

test('reports a wait that the server asks for, and fails instead of waiting for hours', async () => {
  const waits = ['1', '5400']
  const limited = createHttpServer((_request, response) => {
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': waits.shift() })
    response.end(JSON.stringify({ errorCode: 'PASS_NOTIFICATION_RATE_LIMITED', message: 'Used up.' }))
  })
  limited.listen(0, '127.0.0.1')
  await once(limited, 'listening')
  onTestFinished(() => void limited.close())
  const url = `http://127.0.0.1:${(limited.address() as AddressInfo).port}`
  const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
  const { exitCode, stderr } = await run(['notify', id, '--message', 'Gate B12'], { url, token: 'psk_1' })
  expect(exitCode).toBe(1)
  expect(stderr.split('\n')).toEqual([
    'Used up; trying again in 1.0 s',
    'Error: Used up.',
    expect.stringContaining('429 PASS_NOTIFICATION_RATE_LIMITED'),
    '  Next: try again in 5400 s.',
  ])
})

test('concurrent programs lose no profile', async () => {
  const path = join(temporaryFolder(), 'passes/profiles.json')
  const module = new URL('../../../dist/cli/settings/profile.js', import.meta.url).href
  const script = `const { workerData: { module, path, own } } = require('node:worker_threads')
    import(module).then(async ({ writeProfile }) => {
      for (let n = 0; n < 8; n += 1) await writeProfile(path, own + n, { url: 'https://passes.example', token: own })
    })`
  const workers = ['a', 'b', 'c'].map((own) => new Worker(script, { eval: true, workerData: { module, path, own } }))
  await Promise.all(workers.map((worker) => once(worker, 'exit')))
  expect(Object.keys(JSON.parse(readFileSync(path, 'utf8')).profiles)).toHaveLength(24)
})

test('login checks the token, stores it for its owner alone, and every command then uses it', async () => {
  const server = await shared()
  const env = newcomer()
  const login = await run(['login', '--url', server.url, '--token-stdin', '--json'], undefined, {
    env,
    input: server.token,
  })
  expect([login.exitCode, JSON.parse(login.stdout)]).toMatchObject([0, { profile: 'default', url: server.url }])
  const path = join(env.XDG_CONFIG_HOME, 'passes', 'profiles.json')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const whoami = await run(['whoami', '--json'], undefined, { env })
  expect(JSON.parse(whoami.stdout)).toMatchObject({
    url: server.url,
    urlSource: `profile default (${path})`,
    tokenSource: `profile default (${path})`,
    token: await server.client.tokens.current(),
  })

  const stored = readFileSync(path, 'utf8')
  const refused = await run(['login', '--url', server.url, '--token-stdin'], undefined, { env, input: 'psk_wrong' })
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('The token came from stdin')])
  expect(readFileSync(path, 'utf8')).toBe(stored)
})

test('profiles are listed without their tokens, chosen, logged out of and removed', async () => {
  const server = await shared()
  const env = newcomer()
  const call = (...args: string[]) => run(args, undefined, { env })
  const login = (profile: string) =>
    run(['login', '--url', server.url, '--token-stdin', '--profile', profile], undefined, { env, input: server.token })
  expect((await call('profile', 'list')).stderr).toContain('passes login')
  await login('staging')
  expect((await login('production')).stderr).toContain('passes profile use production')
  expect((await call('profile', 'use', 'production')).stdout).toBe(`Profile production (${server.url}) is in use.`)
  const listed = await call('profile', 'list', '--json')
  expect(JSON.parse(listed.stdout)).toEqual([
    { name: 'staging', url: server.url, inUse: false, loggedIn: true },
    { name: 'production', url: server.url, inUse: true, loggedIn: true },
  ])
  expect((await call('profile', 'use', 'prodction')).stderr).toContain('there are staging, production')
  expect((await call('logout')).stdout).toBe('The token of profile production is deleted from this machine.')
  expect(await call('whoami')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is logged out') })
  expect((await call('whoami', '--profile', 'staging')).exitCode).toBe(0)
  expect((await call('profile', 'remove', 'production')).exitCode).toBe(2)
  expect((await call('profile', 'remove', 'production', '--yes')).exitCode).toBe(0)
  expect((await call('profile', 'list')).stdout).not.toContain('production')
})

test('whoami shows the source of each setting, as text and as JSON', async () => {
  const server = await shared()
  const { stdout } = await run(['whoami', '--token', server.token], { url: server.url, token: 'psk_other' })
  expect(stdout).toContain(`${server.url} (from PASSES_URL)`)
  expect(stdout).toContain('(from --token)')
})

test.each([
  ['--token', (token: string) => ({ args: ['--token', token], env: {} })],
  ['PASSES_TOKEN', (token: string) => ({ args: [], env: { PASSES_TOKEN: token } })],
])('a 401 names %s as the source of the token, and the correlation id', async (source, given) => {
  const server = await shared()
  const { args, env } = given('psk_wrong')
  const options = { env: { ...newcomer(), PASSES_URL: server.url, ...env } }
  const people = await run(['project', 'list', ...args], undefined, options)
  expect([people.exitCode, people.stdout]).toEqual([1, ''])
  expect(people.stderr).toContain(`The token came from ${source}.`)
  expect(people.stderr).toMatch(/Correlation ID: [\w.-]+/)
  const script = await run(['project', 'list', ...args, '--json'], undefined, options)
  expect([script.exitCode, JSON.parse(script.stdout)]).toMatchObject([
    1,
    { error: { code: 'TOKEN_INVALID', correlationId: expect.stringMatching(/./), details: {} } },
  ])
})

test('reports an unreachable server with its address, the source of the address, and advice', async () => {
  const nowhere = { url: 'http://127.0.0.1:1', token: 'psk_x' }
  const { exitCode, stdout, stderr } = await run(['whoami'], nowhere)
  expect([exitCode, stdout]).toEqual([1, ''])
  for (const words of ['http://127.0.0.1:1', 'PASSES_URL', 'passes serve']) expect(stderr).toContain(words)
  expect(await json(['whoami'], nowhere)).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'CONNECTION_FAILED' } },
  })
})

test.each([
  ['no token', ['project', 'list'], 'No access token'],
  ['an unknown flag', ['project', 'list', '--nonsense'], '--nonsense'],
  ['a missing flag', ['issue', 'file.csv'], 'Missing required flag template'],
  ['a missing argument', ['project', 'get'], 'id'],
  ['a limit out of bounds', ['project', 'list', '--limit', '1000'], '1000'],
  ['nothing to change', ['project', 'update', unknownId], '--name'],
  ['a missing profile', ['whoami', '--profile', 'nowhere'], 'nowhere'],
  ['no token and no prompt', ['login'], '--token-stdin'],
])('wrong usage exits 2: %s', async (_, args, words) => {
  const options = { env: newcomer() }
  const people = await run(args, undefined, options)
  expect([people.exitCode, people.stdout]).toEqual([2, ''])
  expect(people.stderr).toContain(words)
  expect(people.stderr).not.toContain('Warning')
  const script = await run([...args, '--json'], undefined, options)
  expect([script.exitCode, JSON.parse(script.stdout)]).toMatchObject([2, { error: { code: 'USAGE' } }])
})

test('projects are created, listed page by page or whole, changed, counted and deleted', async () => {
  const server = await shared()
  const ids: string[] = []
  for (const name of ['One', 'Two', 'Three']) {
    const { value } = await json(['project', 'create', '--name', name, '--color', 'green'], server)
    ids.unshift(value.id)
  }
  const listed = async (...args: string[]) => (await json(['project', 'list', ...args], server)).value
  const page = await listed('--limit', '2')
  expect(page).toMatchObject({ items: [{ id: ids[0] }, { id: ids[1] }], total: 3, hasMore: true })
  expect(await listed('--cursor', page.nextCursor)).toMatchObject({ items: [{ id: ids[2] }], hasMore: false })
  expect((await listed('--all')).items.map((project: { id: string }) => project.id)).toEqual(ids)
  const people = await run(['project', 'list', '--limit', '2'], server)
  expect(people.stdout).toContain('Three')
  expect(people.stderr).toContain('2 of 3 shown')

  const changed = await json(['project', 'update', ids[0]!, '--name', 'Four'], server)
  expect(changed.value).toMatchObject({ name: 'Four', color: 'green' })
  expect((await json(['project', 'get', ids[0]!], server)).value).toEqual(changed.value)
  expect((await json(['project', 'stats', ids[0]!], server)).value).toMatchObject({
    projectId: ids[0],
    totalPassCount: 0,
  })

  const unasked = await json(['project', 'delete', ids[0]!], server)
  expect(unasked).toMatchObject({ exitCode: 2, value: { error: { message: expect.stringContaining(ids[0]!) } } })
  const deleted = await json(['project', 'delete', ids[0]!, '--yes'], server)
  expect(deleted).toEqual({ exitCode: 0, value: { id: ids[0], deleted: true } })
  expect(await json(['project', 'get', ids[0]!], server)).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'NOT_FOUND' } },
  })
})

test('a push creates a template, replaces its draft, or creates a draft after publishing', async () => {
  const server = await shared()
  const file = templateFile()
  const pushed = await json(['template', 'push', file], server)
  expect(pushed).toMatchObject({ exitCode: 0, value: { version: 1, stage: 'draft', images: 1 } })
  const id: string = pushed.value.templateId
  const again = await json(['template', 'push', file, '--template', id], server)
  expect(again.value).toMatchObject({ templateId: id, version: 1, versionId: pushed.value.versionId })
  const published = await json(['template', 'publish', id], server)
  expect(published).toMatchObject({ exitCode: 0, value: { templateId: id, version: 1, stage: 'published' } })
  const equal = await json(['template', 'push', file, '--template', id, '--publish'], server)
  expect(equal.value).toMatchObject({ outcome: 'unchanged', version: 1 })
  writeFileSync(file, readFileSync(file, 'utf8').replace('"Fair"', '"Autumn fair"'))
  const next = await json(['template', 'push', file, '--template', id, '--publish'], server)
  expect(next.value).toMatchObject({ templateId: id, version: 2, stage: 'published' })

  expect((await json(['template', 'get', id], server)).value).toMatchObject({
    name: 'Ticket',
    latestPublishedVersion: 2,
  })
  expect((await json(['template', 'list', '--project', 'null'], server)).value.items).toMatchObject([{ id }])
  const versions = await json(['template', 'versions', id], server)
  expect(versions.value.map((version: { version: number }) => version.version)).toEqual([2, 1])
  expect((await json(['template', 'schema', id], server)).value).toMatchObject({ type: 'object', required: ['seat'] })
  expect(await json(['template', 'publish', id], server)).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'NOT_FOUND' } },
  })
})

test('rejects an invalid template file line by line, before the server stores anything', async () => {
  const server = await shared()
  const broken = templateFile({ variables: [{ name: '1st', label: '' }], expiresAt: 7 })
  const { exitCode, stderr } = await run(['template', 'push', broken], server)
  expect(exitCode).toBe(1)
  for (const path of ['definition.variables.0.name: ', 'definition.variables.0.label: ', 'definition.expiresAt: ']) {
    expect(stderr).toContain(path)
  }
  const unpublishable = templateFile({ photo: '{{nowhere}}' })
  const publish = await json(['template', 'push', unpublishable, '--publish'], server)
  expect(publish).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'VALIDATION_ERROR', details: { issues: [{ path: ['definition', 'photo'] }] } } },
  })
  expect((await json(['template', 'list'], server)).value.items).toEqual([])
})

test('a pass is created, once for each external id, and read with its links', async () => {
  const server = await shared()
  const { value: template } = await json(['template', 'push', templateFile(), '--publish'], server)
  const create = ['pass', 'create', '--template', template.templateId, '--external-id', 'T-1', '--label', 'Ada']
  const refused = await json(create, server)
  expect(refused).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'VALIDATION_ERROR', details: { issues: [{ path: ['variables', 'seat'] }] } } },
  })
  const made = await json([...create, '--var', 'seat=12=A', '--var', 'hall=Hall 2'], server)
  expect(made).toMatchObject({ exitCode: 0, value: { variables: { seat: '12=A', hall: 'Hall 2' } } })
  const again = await json([...create, '--var', 'seat=99'], server)
  expect(again).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'DIFFERS', details: { passId: made.value.id, differences: 'seat is "12=A"' } } },
  })
  const kept = await json([...create, '--var', 'seat=99', '--existing', 'keep'], server)
  expect(kept).toMatchObject({
    exitCode: 0,
    value: { id: made.value.id, outcome: 'differs', variables: { seat: '12=A' } },
  })
  const people = await run(['pass', 'get', made.value.id], server)
  expect(people.stdout).toContain('Ada')
  expect(people.stdout).toContain(`${server.url}/l/`)
})

test.each([
  ['isue file.csv', 'did you mean passes issue?'],
  ['pass lst', 'did you mean passes pass list?'],
  ['nothingLikeIt', 'passes --help'],
  ['pass nothingLikeIt', 'passes pass --help'],
])('the unknown command %j is wrong usage, and similar commands are suggested', async (words, hint) => {
  const people = await run(words.split(' '))
  expect([people.exitCode, people.stdout, people.stderr]).toEqual([2, '', expect.stringContaining(hint)])
  const script = await run([...words.split(' '), '--json'])
  expect([script.exitCode, JSON.parse(script.stdout)]).toMatchObject([2, { error: { code: 'USAGE' } }])
})

test('help for an unknown command suggests the same', async () => {
  const { exitCode, stderr } = await run(['help', 'pass', 'lst'])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('did you mean passes pass list?')])
})

test('previews a template with its sample values, and saves it as a page', async () => {
  const server = await shared()
  const { value: pushed } = await json(['template', 'push', templateFile()], server)
  const { value: preview } = await json(['template', 'preview', pushed.templateId], server)
  expect(preview).toMatchObject({ card: { organizationName: 'Fair', barcode: { format: 'qr' } }, google: {} })
  const drawn = await run(['template', 'preview', pushed.templateId, '--version', '1'], server)
  expect([drawn.exitCode, drawn.stderr.split('\n')[0]]).toEqual([0, 'Version 1 (draft), with sample values.'])
  expect(drawn.stderr).toMatch(/^Warning google-front-empty: /m)
  expect(drawn.stdout).toContain('Fair')
  expect(drawn.stdout).toContain('█▀')
  expect(drawn.stdout).not.toContain('\u001B')
  const folder = temporaryFolder()
  const saved = await json(['template', 'preview', pushed.templateId, '--html', 'card.html'], server, { cwd: folder })
  expect(saved).toMatchObject({ exitCode: 0, value: { version: 1, stage: 'draft', file: 'card.html' } })
  expect(readFileSync(join(folder, 'card.html'), 'utf8')).toMatch(/^<!doctype html>.*Fair/is)
  expect(await json(['template', 'preview', pushed.templateId, '--version', '9'], server)).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'NOT_FOUND' } },
  })
  const definition = { design: { organizationName: 'Fair', description: 'Ticket' }, apple: { logoText: 'Overridden' } }
  const params = { id: pushed.templateId }
  await server.client.templates.createVersion({ params, body: { definition } })
  const overridden = await run(['template', 'preview', pushed.templateId], server)
  expect(overridden.stdout).toContain('Overridden')
})

test('runs from source with the same commands, and uses no build next to it', async () => {
  const dev = new URL('../../../bin/dev.js', import.meta.url).pathname
  const [source, built] = await Promise.all([
    execa('node', [dev, '--help'], { env: { DEBUG: 'oclif:config:wallet-passes-server' } }),
    run(['--help']),
  ])
  expect(source.stdout).toContain('issue')
  expect(source.stdout).toBe(built.stdout)
  expect(source.stderr).toMatch(/bin.dev-commands\.js/)
  expect(source.stderr).not.toMatch(/\(import\) .*dist.commands/)
})
