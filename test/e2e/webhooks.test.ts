import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { verify } from '../../src/core/rules/crypto/signature.ts'
import { dialects, temporaryFolder } from '../support/databases.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/long.ts'
import { startReceiver } from '../support/receiver.ts'
import { batchOf, publishTemplate } from './support/passes.ts'
import { hostServer, startServer } from './support/server.ts'

const args = ['--allow-insecure-webhooks']
const events = ['pass.issued' as const]
const PASSES = times(60, 300)

describe.each(dialects)('on %s', (dialect) => {
  test('a server killed during deliveries delivers everything after its restart, under the same IDs', async () => {
    const receiver = await startReceiver()
    // The first requests get a response, and all others are held, so that the kill interrupts requests.
    receiver.reply((response) => void (receiver.received.length <= PASSES / 6 + 1 && response.end()))
    const victim = await startServer({ dialect, args })
    const { database, token } = victim
    const { id, secret } = await victim.client.webhooks.create({ body: { url: receiver.url, events } })
    const templateId = await publishTemplate(victim.client)
    for (let batch = 0; batch < 3; batch += 1) {
      await victim.client.passes.createBatch({ body: { passes: batchOf(templateId, `batch-${batch}`, PASSES / 3) } })
    }
    await eventually(() => expect(receiver.received.length).toBeGreaterThan(PASSES / 6))
    await victim.kill()
    expect(receiver.received.length).toBeLessThan(PASSES)
    receiver.reply(204)

    const server = await hostServer({ dialect, database, token, args })
    const query = { status: 'SUCCESS' as const, limit: 1 }
    await eventually(
      async () => expect((await server.client.webhooks.listDeliveries({ params: { id }, query })).total).toBe(PASSES),
      { interval: 250 },
    )
    const bodies = new Map<string, Set<string>>()
    for (const { envelope, body, signature } of receiver.received) {
      bodies.set(envelope.id, (bodies.get(envelope.id) ?? new Set()).add(body))
      expect(verify(body, signature, secret, { at: new Date() })).toMatchObject({ ok: true })
    }
    expect(bodies.size).toBe(PASSES)
    expect([...bodies.values()].filter((sent) => sent.size > 1)).toEqual([])
    const passIds = new Set(receiver.received.map(({ envelope }) => envelope.data.id))
    expect(passIds.size).toBe(PASSES)
  })

  test('secrets survive a rotation of the server key, which needs the old key only once', async () => {
    const receiver = await startReceiver()
    const [first, second] = ['11'.repeat(32), '22'.repeat(32)] as const
    let server = await hostServer({ dialect, args, env: { PASSES_SERVER_KEY: first } })
    const { database, token } = server
    const webhook = await server.client.webhooks.create({ body: { url: receiver.url, events } })
    for (const previous of [first, '']) {
      await server.stop()
      const env = { PASSES_SERVER_KEY: second, PASSES_PREVIOUS_SERVER_KEYS: previous }
      server = await hostServer({ dialect, database, token, args, env })
    }
    await server.client.webhooks.test({ params: { id: webhook.id } })
    await eventually(() => expect(receiver.received).toHaveLength(1))
    const { body, signature } = receiver.received[0]!
    expect(verify(body, signature, webhook.secret, { at: new Date() })).toMatchObject({ ok: true })
  })
})

test('accepts only public https addresses without --allow-insecure-webhooks', async () => {
  const { client } = await hostServer()
  for (const url of ['http://hooks.example/', 'https://127.0.0.1/', 'http://127.0.0.1:9/']) {
    await expect(client.webhooks.create({ body: { url, events } })).rejects.toMatchObject({ status: 400 })
  }
})

test('no log contains secrets, regardless of the outcome of a delivery', async () => {
  const receiver = await startReceiver()
  receiver.reply(500, 410)
  const database = `sqlite:${temporaryFolder()}/passes.db`
  const server = await hostServer({ database, args, env: { PASSES_LOG_LEVEL: 'debug' } })
  const { id, secret } = await server.client.webhooks.create({ body: { url: receiver.url, events } })
  const rotated = await server.client.webhooks.rotateSecret({ params: { id } })
  for (let count = 1; count <= 2; count += 1) {
    await server.client.webhooks.test({ params: { id } })
    await eventually(() => expect(receiver.received).toHaveLength(count))
  }
  await eventually(() => expect(server.stderr()).toContain('webhook disabled'))
  await server.stop()
  const file = readFileSync(database.slice('sqlite:'.length)).toString('latin1')
  for (const written of [server.stderr(), file]) {
    for (const one of [secret, rotated.secret]) expect(written).not.toContain(one.slice(6))
  }
})
