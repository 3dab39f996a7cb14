import { execa } from 'execa'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ListenEvent } from '../../../src/cli/webhook/listen.ts'
import { sign, verify } from '../../../src/core/rules/crypto/signature.ts'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver } from '../../support/receiver.ts'
import { program, run, spawnProgram } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

let server: TestServer
const cleanUp = cleanUpAfterAll()
beforeAll(async () => {
  server = await hostServer({ args: ['--allow-insecure-webhooks'], cleanUp })
})

test('events are verified, shown, and passed on byte for byte; the answer of the application goes back', async () => {
  const application = await startReceiver()
  const listener = await listen('--forward-to', application.url)
  const { webhookId, secret } = listener.first
  const delivered = await sendTest(webhookId)
  expect(delivered).toMatchObject({ status: 'SUCCESS', lastResponseCode: 204 })
  await eventually(() => expect(listener.events).toHaveLength(2))
  expect(listener.events[1]).toEqual({
    event: 'delivery',
    payload: delivered.payload,
    responseCode: 204,
    durationMs: expect.any(Number),
    error: null,
  })
  const [forwarded] = application.received
  expect(forwarded!.envelope).toEqual(delivered.payload)
  expect(forwarded!.headers['content-type']).toContain('application/json')
  expect(verify(forwarded!.body, forwarded!.signature, secret, { at: new Date() })).toMatchObject({ ok: true })

  application.reply(503)
  expect(await sendTest(webhookId)).toMatchObject({ status: 'PENDING', lastResponseCode: 503 })
})

test('what is not signed by the server is a problem, goes nowhere and is answered 400', async () => {
  const application = await startReceiver()
  const listener = await listen('--forward-to', application.url)
  const headers = { 'x-service-signature': sign('{}', ['whsec_other'], new Date()) }
  expect((await fetch(listener.first.url, { method: 'POST', body: '{}', headers })).status).toBe(400)
  expect((await fetch(listener.first.url, { method: 'POST', body: '{}' })).status).toBe(400)
  expect((await fetch(listener.first.url)).status).toBe(400)
  await eventually(() => expect(listener.events.slice(1)).toMatchObject([{ event: 'problem' }, { event: 'problem' }]))
  expect(application.received).toEqual([])
})

test('an application that is not there is said, and the server hears 502', async () => {
  const listener = await listen('--forward-to', 'http://127.0.0.1:1/')
  expect(await sendTest(listener.first.webhookId)).toMatchObject({ lastResponseCode: 502 })
  await eventually(() => expect(listener.events[1]).toMatchObject({ responseCode: null, error: expect.any(String) }))
})

test.each([
  ['Ctrl-C', 'SIGINT', 130],
  ['SIGTERM', 'SIGTERM', 0],
] as const)('%s removes the webhook', async (_, signal, exitCode) => {
  const listener = await listen()
  expect((await server.client.webhooks.list()).items).toMatchObject([{ id: listener.first.webhookId }])
  listener.child.kill(signal)
  expect((await listener.child).exitCode).toBe(exitCode)
  expect((await server.client.webhooks.list()).items).toEqual([])
})

test('for people: the secret and how to end it on stderr, an event a line on stdout', async () => {
  const running = spawnProgram(['webhook', 'listen', '--event', 'pass.voided'], server)
  const webhook = await eventually(async () => {
    const { items } = await server.client.webhooks.list()
    expect(items).toHaveLength(1)
    return items[0]!
  })
  expect(webhook).toMatchObject({ events: ['pass.voided'], description: expect.stringContaining('webhook listen') })
  const { id } = await sendTest(webhook.id)
  running.kill('SIGTERM')
  const { exitCode, stdout, stderr } = await running
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(new RegExp(`webhook.test +${id}`))])
  expect(stdout.split('\n')).toHaveLength(1)
  expect([stderr, stderr]).toEqual([expect.stringContaining('Ctrl-C'), expect.stringContaining('whsec_')])
})

test('it ends by itself after --seconds, and removes the webhook', async () => {
  expect((await run(['webhook', 'listen', '--seconds', '1'], server)).exitCode).toBe(0)
  expect((await server.client.webhooks.list()).items).toEqual([])
})

test('a server that sends to public addresses only is named, with the flag that mends it', async () => {
  const strict = await hostServer()
  const { exitCode, stdout, stderr } = await run(['webhook', 'listen'], strict)
  expect([exitCode, stdout, stderr]).toEqual([1, '', expect.stringContaining('--allow-insecure-webhooks')])
})

/** Starts `webhook listen --json` and waits until it is registered. */
async function listen(...flags: string[]) {
  const child = execa('node', [program, 'webhook', 'listen', ...flags, '--json'], {
    env: { PASSES_URL: server.url, PASSES_TOKEN: server.token },
    reject: false,
  })
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await child
  })
  const events: ListenEvent[] = []
  let text = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      text += chunk
      const lines = text.split('\n')
      text = lines.pop()!
      events.push(...lines.map((line) => JSON.parse(line)))
      resolve()
    })
    child.then(({ stdout, stderr }) => reject(new Error(stdout + stderr)))
  })
  return { child, events, first: events[0] as Extract<ListenEvent, { event: 'listening' }> }
}

/** Sends a test event and waits for its first attempt. */
async function sendTest(webhookId: string) {
  const { id } = await server.client.webhooks.test({ params: { id: webhookId } })
  return eventually(async () => {
    const delivery = await server.client.deliveries.get({ params: { id } })
    expect(delivery.attemptCount).toBe(1)
    return delivery
  })
}
