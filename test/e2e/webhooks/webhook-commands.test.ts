import { spawn } from '@lydell/node-pty'
import { beforeAll, expect, test } from 'vitest'
import { verify } from '../../../src/core/rules/crypto/signature.ts'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { startReceiver } from '../../support/receiver.ts'
import { program, run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const unknownId = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'

let server: TestServer
const cleanUp = cleanUpAfterAll()
beforeAll(async () => {
  server = await hostServer({ args: ['--allow-insecure-webhooks'], cleanUp })
})

/** Runs a command with --json and reads its one value. */
async function json(...args: string[]) {
  const { exitCode, stdout } = await run([...args, '--json'], server)
  return { exitCode, value: JSON.parse(stdout) }
}

test('a webhook is created, shown, tested and changed', async () => {
  const receiver = await startReceiver()
  const created = await json(
    'webhook',
    'create',
    '--to',
    receiver.url,
    '--event',
    'pass.issued',
    '--description',
    'a b',
  )
  expect(created).toMatchObject({
    exitCode: 0,
    value: { url: receiver.url, events: ['pass.issued'], description: 'a b', secret: expect.stringMatching(/^whsec_/) },
  })
  const { id, secret, ...record } = created.value
  const listed = await json('webhook', 'list', '--all')
  expect(listed.value.items).toContainEqual({ id, ...record })

  const tested = await json('webhook', 'test', id)
  expect(tested).toMatchObject({
    exitCode: 0,
    value: {
      status: 'SUCCESS',
      attemptCount: 1,
      attempts: [{ responseCode: 204 }],
      payload: { data: { webhookId: id } },
    },
  })
  const [sent] = receiver.received
  expect(sent!.envelope).toEqual(tested.value.payload)
  expect(verify(sent!.body, sent!.signature, secret, { at: new Date() })).toMatchObject({ ok: true })

  const changed = await json('webhook', 'update', id, '--event', 'pass.voided', '--event', 'pass.failed')
  expect(changed).toMatchObject({ exitCode: 0, value: { events: ['pass.voided', 'pass.failed'], description: 'a b' } })
})

test('disables, enables, and deletes a webhook, and explains why a test cannot be sent', async () => {
  const { id } = await makeWebhook()
  expect(await json('webhook', 'disable', id)).toMatchObject({ exitCode: 0, value: { status: 'DISABLED' } })
  expect(await json('webhook', 'test', id)).toMatchObject({ exitCode: 1, value: { error: { code: 'CONFLICT' } } })
  const people = await run(['webhook', 'list'], server)
  expect(people.stdout).toMatch(new RegExp(`${id} +DISABLED`))
  expect(await json('webhook', 'enable', id)).toMatchObject({ exitCode: 0, value: { status: 'ENABLED' } })

  expect(await json('webhook', 'delete', id)).toMatchObject({ exitCode: 2, value: { error: { code: 'USAGE' } } })
  expect(await json('webhook', 'delete', id, '--yes')).toEqual({ exitCode: 0, value: { id, deleted: true } })
  expect(await json('webhook', 'test', id)).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'WEBHOOK_NOT_FOUND' } },
  })
})

test('without --event a webhook gets every event that can be subscribed to', async () => {
  const { value } = await json('webhook', 'create', '--to', 'http://127.0.0.1:1/')
  const ofPasses = ['issued', 'updated', 'voided', 'failed', 'scanned', 'installed', 'removed']
  expect(value.events).toEqual([...ofPasses.map((what) => `pass.${what}`), 'zone.capacity'])
})

test('shows the secret only when it is created or rotated', async () => {
  const receiver = await startReceiver()
  const created = await run(['webhook', 'create', '--to', receiver.url], server)
  const [, id] = /Webhook +(\S+)/.exec(created.stdout) ?? []
  const [first] = /whsec_\S+/.exec(created.stdout) ?? []
  expect(created.stderr).toContain('not shown again')
  const rotated = await run(['webhook', 'rotate-secret', id!, '--yes'], server)
  const [second] = /whsec_\S+/.exec(rotated.stdout) ?? []
  expect(second).not.toBe(first)

  const others = [['list'], ['test', id], ['deliveries'], ['update', id, '--description', 'x'], ['enable', id]]
  const results = await Promise.all(others.map((args) => run(['webhook', ...(args as string[]), '--json'], server)))
  for (const { exitCode, stdout, stderr } of results) {
    expect([exitCode, `${stdout}${stderr}`.includes('whsec_')]).toEqual([0, false])
  }
  for (const { body, signature } of receiver.received) {
    for (const secret of [first!, second!]) expect(verify(body, signature, secret, { at: new Date() }).ok).toBe(true)
  }
  expect(receiver.received).toHaveLength(1)
})

test('a test that the endpoint rejects exits 1 and shows the attempt; after the fix a redelivery succeeds', async () => {
  const receiver = await startReceiver()
  receiver.reply(500)
  const webhook = await makeWebhook(receiver.url)
  const refused = await run(['webhook', 'test', webhook.id], server)
  expect([refused.exitCode, refused.stdout]).toEqual([1, expect.stringMatching(/ms +500/)])
  expect(refused.stderr).toContain('the endpoint responded with 500')
  const [, id] = /webhook redeliver ([\w-]+)/.exec(refused.stderr) ?? []

  receiver.reply(200)
  const redelivered = await json('webhook', 'redeliver', id!)
  expect(redelivered).toMatchObject({ exitCode: 0, value: { id, status: 'SUCCESS' } })
  const again = await json('webhook', 'redeliver', id!)
  expect(again).toMatchObject({ exitCode: 0, value: { id, status: 'SUCCESS' } })
  expect(again.value.attemptCount).toBe(redelivered.value.attemptCount + 1)
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
})

test('an unreachable endpoint is a failure with the reason, as text and as JSON', async () => {
  const webhook = await makeWebhook()
  expect(await json('webhook', 'test', webhook.id)).toMatchObject({
    exitCode: 1,
    value: {
      error: { code: 'DELIVERY_FAILED', details: { attemptCount: 1, lastResponseCode: null, attempts: [{}] } },
    },
  })
})

test('deliveries are filtered, paged, and shown one by one with attempts and payload', async () => {
  const receiver = await startReceiver()
  const webhook = await makeWebhook(receiver.url)
  const ids: string[] = []
  for (const status of [204, 500]) {
    receiver.reply(status)
    const { value } = await json('webhook', 'test', webhook.id)
    ids.unshift(value.id ?? value.error.details.id)
  }
  const list = async (...flags: string[]) =>
    (await json('webhook', 'deliveries', '--webhook', webhook.id, ...flags)).value
  const idsOf = (page: { items: { id: string }[] }) => page.items.map((item) => item.id)
  expect(idsOf(await list())).toEqual(ids)
  expect(idsOf(await list('--status', 'SUCCESS'))).toEqual([ids[1]])
  expect(idsOf(await list('--event', 'pass.issued', '--event', 'pass.voided'))).toEqual([])
  const first = await list('--limit', '1')
  expect(first).toMatchObject({ total: 2, hasMore: true })
  expect(idsOf(await list('--cursor', first.nextCursor))).toEqual([ids[1]])

  const people = await run(['webhook', 'deliveries', ids[1]!], server)
  expect(people.stdout).toContain('"type": "webhook.test"')
  expect(people.stdout).toMatch(/Status +SUCCESS/)
  const table = await run(['webhook', 'deliveries', '--webhook', webhook.id, '--limit', '1'], server)
  expect([table.stdout, table.stderr]).toEqual([
    expect.stringContaining(ids[0]!),
    expect.stringContaining('1 of 2 shown'),
  ])
  const mistaken = await run(['webhook', 'deliveries', webhook.id], server)
  expect([mistaken.exitCode, mistaken.stderr]).toEqual([
    1,
    expect.stringContaining(`passes webhook deliveries --webhook ${webhook.id}`),
  ])
})

test('a member can view and redeliver deliveries, but not manage webhooks', async () => {
  const made = await run([
    'token',
    'create',
    '--name',
    'm',
    '--role',
    'member',
    '--database',
    server.database,
    '--json',
  ])
  const member = { url: server.url, token: JSON.parse(made.stdout).token }
  expect(await run(['webhook', 'deliveries', '--json'], member)).toMatchObject({ exitCode: 0 })
  for (const args of [['list'], ['create', '--to', 'http://127.0.0.1:1/'], ['delete', unknownId, '--yes']]) {
    const { exitCode, stdout } = await run(['webhook', ...args, '--json'], member)
    expect([exitCode, JSON.parse(stdout)], args.join(' ')).toMatchObject([1, { error: { code: 'FORBIDDEN' } }])
  }
})

test('wrong usage exits with 2 and a rejected address with 1, each with one JSON value', async () => {
  const cases: [exitCode: number, code: string, ...args: string[]][] = [
    [2, 'USAGE', 'create'],
    [2, 'USAGE', 'create', '--to', 'https://a.example', '--event', 'pass.lost'],
    [2, 'USAGE', 'create', '--to', 'https://a.example', '--event', 'webhook.test'],
    [2, 'USAGE', 'update', unknownId],
    [2, 'USAGE', 'deliveries', '--status', 'LOST'],
    [2, 'USAGE', 'rotate-secret', unknownId],
    [2, 'USAGE', 'listen', '--forward-to', 'localhost:8080'],
    [1, 'VALIDATION_ERROR', 'create', '--to', 'ftp://example.com/'],
    [1, 'VALIDATION_ERROR', 'create', '--to', 'https://user:secret@example.com/'],
    [1, 'VALIDATION_ERROR', 'create', '--to', 'https://example.com/#x'],
    [1, 'VALIDATION_ERROR', 'create', '--to', 'nonsense'],
  ]
  const results = await Promise.all(cases.map(([, , ...args]) => json('webhook', ...args)))
  for (const [index, { exitCode, value }] of results.entries()) {
    expect([exitCode, value.error.code, ...cases[index]!.slice(2)]).toEqual(cases[index])
  }
})

test.each([
  ['delete', 'n\r', 1, true],
  ['delete', '\x03', 130, true],
  ['delete', 'y\r', 0, false],
])('on a terminal, %s asks for confirmation, and with %j exits with %i', async (command, answer, exitCode, isKept) => {
  const webhook = await makeWebhook()
  const ended = await answerPrompt(['webhook', command, webhook.id], answer)
  expect(ended).toMatchObject({ exitCode, output: expect.stringContaining(`Delete webhook ${webhook.id}?`) })
  const { items } = await server.client.webhooks.list({ query: { limit: 100 } })
  expect(items.some((item) => item.id === webhook.id)).toBe(isKept)
})

/** Creates a webhook. Without a receiver, no server listens at its address. */
function makeWebhook(url = 'http://127.0.0.1:1/') {
  return server.client.webhooks.create({ body: { url, events: ['pass.voided'] } })
}

/** Runs a command in a terminal and answers its question. */
function answerPrompt(args: string[], answer: string): Promise<{ exitCode: number; output: string }> {
  const env = { ...process.env, PASSES_URL: server.url, PASSES_TOKEN: server.token } as Record<string, string>
  const terminal = spawn('node', [program, ...args], { cols: 120, env })
  let output = ''
  let isAnswered = false
  terminal.onData((chunk) => {
    output += chunk
    if (isAnswered || !output.includes('[y/N]')) return
    isAnswered = true
    terminal.write(answer)
  })
  return new Promise((resolve) => {
    terminal.onExit(({ exitCode }) => resolve({ exitCode, output }))
  })
}
