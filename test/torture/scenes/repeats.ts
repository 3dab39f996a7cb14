import { setTimeout as sleep } from 'node:timers/promises'
import { subscribableEvents } from '../../../src/core/events.ts'
import { queueOptions } from '../../../src/server/background/job-handlers.ts'
import { setFaults } from '../../e2e/support/phone.ts'
import type { ServerProcess } from '../../e2e/support/server.ts'
import type { Arena, Scene } from '../arena.ts'
import { type HeldPass, holdPasses } from '../phones.ts'
import { startTallyReceiver, type TallyReceiver } from '../receiver.ts'
import { settle } from '../settle.ts'

export const repeats: Scene = {
  name: 'repeats',
  promise: 2,
  promised: 'A kill repeats at most the unacknowledged part of a batch, under the same idempotency keys',
  run: killWorkers,
}

/** The number of notifications of a pass that Google accepts per day. */
const GOOGLE_CAP = 3

/**
 * The maximum number of deliveries to one endpoint without a recorded response: requests in flight, and responses that
 * are not written yet.
 */
const UNWRITTEN_DELIVERIES = 8 + 200

/** Kills a worker during its work. The API and the emulators keep running in another process. */
async function killWorkers(arena: Arena): Promise<void> {
  const receiver = await startTallyReceiver(arena)
  const api = await arena.start({ database: await arena.emptyDatabase(), args: ['--role', 'api'] })
  const { database, token } = api
  const startWorker = () => arena.start({ database, token, args: ['--role', 'worker'] })
  let worker = await startWorker()
  await api.client.webhooks.create({ body: { url: receiver.url, events: [...subscribableEvents] } })
  const held = await holdPasses(arena, api, { passes: arena.size(30, 100), onGoogle: 5 })
  await setFaults(api, 'apns-slow', 'google-slow')
  let count = 0
  for (; count < arena.size(2, 8) && !(count > 0 && arena.isOver()); count += 1) {
    await sendAll(api, held, count)
    await sleep(arena.random.between(100, 2_500))
    await worker.kill()
    arena.did('workers killed')
    worker = await startWorker()
  }
  await setFaults(api)
  arena.took('time until all jobs were run', await settle(arena, database, 90))
  await checkNotifications(arena, api, held, count)
  checkDeliveries(arena, receiver, count)
}

/** Sends a notification and a change of every pass. */
async function sendAll({ client }: ServerProcess, held: HeldPass[], round: number): Promise<void> {
  for (const { id } of held) {
    const platforms: ('apple' | 'google')[] = round < GOOGLE_CAP ? ['apple', 'google'] : ['apple']
    await client.notifications.create({ params: { id }, body: { body: `Message ${round}`, platforms } })
    await client.passes.update({ params: { id }, body: { variables: { round } } })
  }
}

async function checkNotifications(arena: Arena, { client }: ServerProcess, held: HeldPass[], count: number) {
  let repeated = 0
  for (const { id, pushes, googleMessages } of held) {
    const { items } = await client.notifications.list({ params: { id }, query: { limit: 100 } })
    arena.check(items.length === count, `pass ${id} has ${items.length} notifications instead of ${count}`)
    const failed = items.find(({ status, apple }) => status !== 'SENT' || apple.deviceCount !== 1)
    arena.check(!failed, `a notification of ${id} is ${JSON.stringify(failed)}`)
    // Expect at least one push per notification: pushes of two updates can be merged, but a notification always has its
    // own push.
    arena.check(pushes() >= count, `the phone of ${id} got ${pushes()} pushes for ${count} notifications`)
    // Expect at most one push for each notification and update, and for each killed attempt of either.
    arena.check(pushes() <= 4 * count, `the phone of ${id} got ${pushes()} pushes in ${count} rounds`)
    repeated += Math.max(0, pushes() - 2 * count)
    arena.did('pushes', pushes())
    if (!googleMessages) continue
    const shown = await googleMessages()
    const targeted = items.filter(({ google }) => google.status === 'SENT').map((item) => item.id)
    const isSame = shown.toSorted().join() === targeted.sort().join()
    arena.check(isSame, `Google shows ${shown.length} messages for ${targeted.length} notifications of ${id}`)
    arena.did('messages at Google', shown.length)
  }
  const { urgent, interactive } = queueOptions.pushes
  // The maximum number of pushes that one workspace has in flight.
  const most = count * (urgent.batchSize * Math.ceil(urgent.batches / 2) + interactive.batchSize)
  arena.check(repeated <= most, `${repeated} pushes were repeated after ${count} kills`)
  arena.did('pushes repeated', repeated)
}

function checkDeliveries(arena: Arena, receiver: TallyReceiver, killed: number): void {
  for (const [id, { times, isSame }] of receiver.deliveries) {
    arena.check(isSame, `delivery ${id} arrived with different bytes`)
    arena.check(times <= 1 + killed, `delivery ${id} arrived ${times} times after ${killed} kills`)
  }
  const repeated = receiver.repeats()
  arena.check(repeated <= killed * UNWRITTEN_DELIVERIES, `${repeated} deliveries were repeated after ${killed} kills`)
  arena.did('deliveries', receiver.deliveries.size)
  arena.did('deliveries repeated', repeated)
}
