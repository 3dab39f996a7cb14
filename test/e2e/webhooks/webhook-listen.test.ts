import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ListenEvent } from '../../../src/cli/webhook/listen.ts'
import { subscribableEvents } from '../../../src/core/events.ts'
import { sign, verify } from '../../../src/core/rules/crypto/signature.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver } from '../../support/receiver.ts'
import { batchOf, publishTemplate } from '../support/passes.ts'
import { program, run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

// This server cannot send to private addresses. Listeners connect to it instead.
let server: TestServer
let env: Record<string, string>
let passIds: string[]
const cleanUp = cleanUpAfterAll()
beforeAll(async () => {
  server = await hostServer({ cleanUp })
  const folder = temporaryFolder(cleanUp)
  env = { PASSES_URL: server.url, PASSES_TOKEN: server.token, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder }
  const templateId = await publishTemplate(server.client)
  const { results } = await server.client.passes.createBatch({ body: { passes: batchOf(templateId, 'listen', 4) } })
  passIds = results.map(({ pass }) => pass!.id)
  await eventually(async () =>
    expect((await server.client.passes.list({ query: { status: ['ISSUED'] } })).total).toBe(passIds.length),
  )
})

const cli = (...args: string[]) => run(args, undefined, { env })
const voidPass = (n: number) => server.client.passes.void({ params: { id: passIds[n]! }, body: {} })

test('receives events over an outgoing connection, signed with the secret of the profile', async () => {
  const application = await startReceiver()
  const secret = (await cli('webhook', 'listen', '--print-secret')).stdout
  expect(statSync(join(env.XDG_CONFIG_HOME!, 'passes/listen-secrets.json')).mode & 0o777).toBe(0o600)
  const listener = await listen('--forward-to', application.url, '--events', 'pass.voided,pass.failed')
  expect(listener.events).toEqual([{ event: 'listening', secret }])
  expect((await server.client.webhooks.list()).items).toEqual([])

  await voidPass(0)
  await eventually(() => expect(listener.events).toHaveLength(2))
  const [forwarded] = application.received
  expect(listener.events[1]).toEqual({
    event: 'delivery',
    payload: forwarded!.envelope,
    responseCode: 204,
    durationMs: expect.any(Number),
    error: null,
  })
  expect(forwarded!.envelope).toMatchObject({ type: 'pass.voided', data: { id: passIds[0] } })
  expect(forwarded!.headers['content-type']).toBe('application/json')
  expect(verify(forwarded!.body, forwarded!.signature, secret, { at: new Date() })).toMatchObject({ ok: true })

  // Triggered events reach the same application, regardless of the types that the listener requested.
  for (const type of subscribableEvents) {
    expect(await cli('webhook', 'trigger', type)).toMatchObject({ exitCode: 0 })
    expect(application.received.at(-1)!.envelope.type).toBe(type)
  }
  application.reply(503)
  expect(await cli('webhook', 'trigger', 'pass.issued')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('it returned 503'),
  })
  const [address] = readFileSync(
    join(env.XDG_STATE_HOME!, 'passes/listeners/default', String(listener.child.pid)),
    'utf8',
  ).split('\n')
  const headers = { 'x-service-signature': sign('{}', ['whsec_other'], new Date()) }
  expect((await fetch(address!, { method: 'POST', body: '{}', headers })).status).toBe(400)
  await eventually(() => expect(listener.events.at(-1)).toMatchObject({ event: 'problem' }))

  // A killed listener leaves no state behind, and the next one resumes where it stopped.
  listener.child.kill('SIGKILL')
  await listener.child
  expect((await server.client.webhooks.list()).items).toEqual([])
  expect(await cli('webhook', 'trigger', 'pass.issued')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('passes webhook listen'),
  })
  await voidPass(1)
  const next = await listen('--since', forwarded!.envelope.id, '--forward-to', 'http://127.0.0.1:1/')
  await eventually(() => expect(next.events).toHaveLength(2))
  expect(next.events).toMatchObject([
    { secret },
    { payload: { data: { id: passIds[1] } }, responseCode: null, error: expect.any(String) },
  ])
  next.child.kill('SIGINT')
  expect((await next.child).exitCode).toBe(130)
})

test('prints the secret and advice on stderr, one event per line on stdout, and ends after --seconds', async () => {
  const { exitCode, stdout, stderr } = await cli('webhook', 'listen', '--since', 'oldest', '--seconds', '4')
  expect(exitCode).toBe(0)
  expect(stdout.split('\n').length).toBeGreaterThanOrEqual(passIds.length)
  expect(stdout).toMatch(/^\S+Z {2}pass\.issued {3}[0-9a-f-]{36} {2}[0-9a-f-]{36}$/m)
  expect(stderr).toContain('Ctrl-C')
  expect(stderr).toContain('whsec_')
})

test.each([
  ['--since', 'yesterday'],
  ['--since', '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'],
  ['--forward-to', 'localhost:8080'],
  ['--events', 'pass.lost'],
])('rejects %s %s', async (flag, value) => {
  const { exitCode, stderr } = await cli('webhook', 'listen', flag, value)
  expect(exitCode).toBeGreaterThan(0)
  expect(stderr).toMatch(/--since|--forward-to|pass\.lost|event/)
})

test('sends an example to a webhook of the server, or to a local address', async () => {
  const application = await startReceiver()
  expect(await cli('webhook', 'trigger', 'pass.scanned', '--forward-to', application.url)).toMatchObject({
    exitCode: 0,
  })
  expect(application.received[0]!.envelope).toMatchObject({ type: 'pass.scanned', data: { verified: 'online' } })

  const own = await hostServer({ args: ['--allow-insecure-webhooks'] })
  const { secret } = await own.client.webhooks.create({ body: { url: application.url, events: ['pass.voided'] } })
  const triggered = await run(['webhook', 'trigger', 'pass.issued', application.url], own)
  expect(triggered).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('SUCCESS') })
  const { envelope, body, signature } = application.received.at(-1)!
  expect(envelope).toMatchObject({ type: 'pass.issued', data: { externalPassId: 'order-1815-1' } })
  expect(verify(body, signature, secret, { at: new Date() })).toMatchObject({ ok: true })
})

/** Starts `webhook listen --json` and waits until the server answered. */
async function listen(...flags: string[]) {
  const child = execa('node', [program, 'webhook', 'listen', ...flags, '--json'], { env, reject: false })
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
  return { child, events }
}
