import { setTimeout as sleep } from 'node:timers/promises'
import { subscribableEvents } from '../../../src/core/events.ts'
import type { Arena, Scene } from '../arena.ts'
import { holdRequest } from '../held-request.ts'
import { newRecord, openJournal } from '../journal.ts'
import { clearDoubts, prepareTarget, startLoad } from '../load.ts'
import { startTallyReceiver } from '../receiver.ts'
import { listJobs, settle } from '../settle.ts'
import { verify } from '../verify.ts'

export const sigterm: Scene = {
  name: 'sigterm',
  promise: 4,
  promised: 'After SIGTERM under load, requests in flight finish, the process exits within 20 s, and no job runs twice',
  run: stopAgainAndAgain,
}

const HELD = 8

async function stopAgainAndAgain(arena: Arena): Promise<void> {
  const receiver = await startTallyReceiver(arena)
  let server = await arena.start({ database: await arena.emptyDatabase() })
  const { database, token } = server
  const target = await prepareTarget(server, openJournal())
  await server.client.webhooks.create({ body: { url: receiver.url, events: [...subscribableEvents] } })
  const load = startLoad(arena, target, { lanes: 10, pauseMs: 2 })
  const port = new URL(server.url).port
  for (let stop = 0; stop < arena.size(3, 8) && !(stop > 0 && arena.isOver()); stop += 1) {
    await sleep(arena.random.between(400, 1_500))
    // Use requests that the server has confirmed with 100 Continue, because requests of the load might not have reached
    // the server yet.
    const held = await Promise.all(
      Array.from({ length: HELD }, (_, n) => {
        const pass = newRecord(`held-${stop}-${n}`, `held-${stop}-${n}`)
        target.journal.passes.set(pass.externalPassId, pass)
        const body = { externalPassId: pass.externalPassId, label: 'Held', templateId: target.templateId }
        return holdRequest(server, '/v1/passes', body)
      }),
    )
    const at = performance.now()
    const stopping = server.stop()
    target.servers = []
    await sleep(arena.random.between(50, 1_000))
    const statuses = await Promise.all(held.map((request) => request.finish()))
    const exitCode = await stopping
    const seconds = (performance.now() - at) / 1000
    arena.did('SIGTERMs')
    arena.did('requests in flight', HELD)
    arena.took('time until the exit', seconds)
    arena.check(exitCode === 0, `the process exited with ${exitCode}: ${server.stderr().slice(0, 500)}`)
    arena.check(seconds <= 20, `the process took ${seconds.toFixed(1)} s to exit`)
    const cutOff = statuses.find((status) => status !== 201)
    arena.check(cutOff === undefined, `a request in flight got ${cutOff}`)
    const left = (await listJobs(database)).filter(({ running }) => running > 0)
    arena.check(left.length === 0, `jobs remained claimed after the exit: ${JSON.stringify(left)}`)
    server = await arena.start({ database, token, port })
    target.servers = [server]
  }
  await load.stop()
  await clearDoubts(target, server.client)
  arena.took('time until all jobs were run', await settle(arena, database, 60))
  await verify(arena, target, server.client, receiver)
  arena.check(receiver.repeats() === 0, `${receiver.repeats()} deliveries were sent twice`)
}
