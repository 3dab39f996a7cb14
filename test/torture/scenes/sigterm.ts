import { setTimeout as sleep } from 'node:timers/promises'
import { subscribableEvents } from '../../../src/core/events.ts'
import type { Arena, Scene } from '../arena.ts'
import { openJournal } from '../journal.ts'
import { clearDoubts, prepareTarget, startLoad } from '../load.ts'
import { startTallyReceiver } from '../receiver.ts'
import { listJobs, settle } from '../settle.ts'
import { verify } from '../verify.ts'

export const sigterm: Scene = {
  name: 'sigterm',
  promise: 4,
  promised: 'SIGTERM under load: what is in flight finishes, exit within 20 s, nothing runs twice',
  run: stopAgainAndAgain,
}

/** On a busy machine a request may be under way for so long before the server has it; those meet a closed door. */
const ON_ITS_WAY_MS = 500

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
    const at = performance.now()
    const inFlight = [...load.inFlight]
    arena.did('requests in flight', inFlight.length)
    const stopping = server.stop()
    target.servers = []
    const exitCode = await stopping
    const seconds = (performance.now() - at) / 1000
    arena.did('SIGTERMs')
    arena.took('exit', seconds)
    arena.check(exitCode === 0, `it ended with ${exitCode}: ${server.stderr().slice(0, 500)}`)
    arena.check(seconds <= 20, `it took ${seconds.toFixed(1)} s to end`)
    const cutOff = load.lost.filter((began) => began < at - ON_ITS_WAY_MS)
    arena.check(cutOff.length === 0, `${cutOff.length} requests in flight were cut off`)
    load.lost.length = 0
    const held = (await listJobs(database)).filter(({ running }) => running > 0)
    arena.check(held.length === 0, `jobs were left in the hands of nobody: ${JSON.stringify(held)}`)
    server = await arena.start({ database, token, port })
    target.servers = [server]
  }
  await load.stop()
  await clearDoubts(target, server.client)
  arena.took('until every job was run', await settle(arena, database, 60))
  await verify(arena, target, server.client, receiver)
  arena.check(receiver.repeats() === 0, `${receiver.repeats()} deliveries were sent twice`)
}
