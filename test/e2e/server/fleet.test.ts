import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type Client, createClient } from '../../../src/client/client.ts'
import { servicesOf } from '../../support/compose.ts'
import { eventually } from '../../support/eventually.ts'
import { isLong, times } from '../../support/long.ts'
import { startReceiver } from '../../support/receiver.ts'
import { hostFleet, startFleet } from '../support/fleet.ts'
import { inviteGuests, startLoad } from '../support/fleet-load.ts'
import { inspect } from '../support/passes.ts'

const GUESTS = times(30, 200)
/** An API server and a worker are killed in each round. */
const ROUNDS = times(1, 2)
const roles = ['api', 'worker'] as const
const events = ['pass.issued' as const, 'pass.updated' as const, 'pass.scanned' as const]

test('any of two servers, two workers, and a database can be killed: nothing is lost or done twice', async () => {
  const receiver = await startReceiver()
  const args = ['--allow-insecure-webhooks']
  // The roles to kill are chosen at random before the start, because the other servers run in this process.
  const names = roles.map((role) => servicesOf(role).map(([name]) => name))
  const killed = isLong ? names.flat() : names.map((each) => oneOf(each))
  const fleet = await startFleet({ args, names: killed })
  const hosted = await hostFleet({ args, names: names.flat().filter((name) => !killed.includes(name)), beside: fleet })
  const clients = [...fleet.apis, ...hosted.apis].map(({ url }) => connect(url, fleet.token))
  expect(clients).toHaveLength(2)
  const [client] = clients as [Client]
  const webhook = await client.webhooks.create({ body: { url: receiver.url, events } })
  const guests = await inviteGuests(client, GUESTS)
  const load = await startLoad(clients, guests)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const members of [fleet.apis, fleet.workers]) {
      const before = load.acknowledged.created.size
      await eventually(() => expect(load.acknowledged.created.size).toBeGreaterThan(before + 10))
      const victim = oneOf(members)
      await sleep(Math.random() * 300)
      await victim.server().kill()
      await (isLong ? victim.start() : victim.host())
    }
  }
  const { created, updated, scanned, refused } = await load.stop()
  expect(refused).toEqual([])
  expect([updated.size, scanned.size > 20]).toEqual([2, true])

  const { rows, passes } = inspect(fleet.database)
  // Jobs of killed workers are rescued when their leases end.
  await eventually(async () => expect(await rows('jobs')).toEqual([]), { interval: 250 })

  const stored = new Map((await passes()).map((pass) => [pass.externalPassId, pass]))
  for (const [externalPassId, id] of created) expect(stored.get(externalPassId)?.id, externalPassId).toBe(id)
  expect([...stored.values()].filter(({ status, issuedEvents }) => status !== 'ISSUED' || issuedEvents !== 1)).toEqual(
    [],
  )

  for (const [id, { value, unsure }] of updated) {
    const { variables } = await client.passes.get({ params: { id } })
    expect([value, unsure], id).toContain(variables.seat)
  }

  const uses = (await rows('accepted_scans')).map((row) => String(row.pass_id))
  expect(new Set(uses).size, 'a pass was let in twice').toBe(uses.length)
  const ledger = (await rows('scans')).map((row) => String(row.pass_id))
  for (const [passId, { answers, accepted }] of scanned) {
    expect(accepted, passId).toBeLessThanOrEqual(1)
    expect(uses, passId).toContain(passId)
    expect(ledger.filter((id) => id === passId).length, passId).toBeGreaterThanOrEqual(answers)
  }

  const named = { params: { id: guests.projectId, broadcastId: load.broadcast.id } }
  const { status, passCount } = await client.broadcasts.get(named)
  const notified = (await rows('notifications')).map((row) => String(row.pass_id))
  expect([status, passCount]).toEqual(['DISPATCHED', notified.length])
  expect(new Set(notified).size).toBe(notified.length)
  expect(guests.passIds.filter((id) => !notified.includes(id))).toEqual([])

  const deliveries = await rows('webhook_deliveries')
  expect(deliveries.filter(({ status: state }) => state !== 'SUCCESS')).toEqual([])
  const bodies = new Map<string, string>()
  for (const { body, envelope } of receiver.received) {
    expect(body, 'an attempt differs from the one before').toBe(bodies.get(envelope.id) ?? body)
    bodies.set(envelope.id, body)
  }
  expect([...bodies.keys()].sort()).toEqual(deliveries.map(({ id }) => String(id)).sort())
  expect(deliveries.every(({ webhook_id: id }) => id === webhook.id)).toBe(true)
  const issued = receiver.received.filter(({ envelope }) => envelope.type === 'pass.issued')
  expect(new Set(issued.map(({ envelope }) => envelope.data.id)).size).toBe(stored.size)
})

function connect(url: string, token: string): Client {
  const client = createClient({ url, token, attempts: 1 })
  onTestFinished(() => client.close())
  return client
}

function oneOf<T>(all: T[]): T {
  return all[Math.floor(Math.random() * all.length)]!
}
