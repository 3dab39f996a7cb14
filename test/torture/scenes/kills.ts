import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../../src/client/client.ts'
import { subscribableEvents } from '../../../src/core/events.ts'
import type { Arena, Scene } from '../arena.ts'
import { type Journal, openJournal } from '../journal.ts'
import { clearDoubts, prepareTarget, startLoad, type Target } from '../load.ts'
import { startTallyReceiver } from '../receiver.ts'
import { drain } from '../settle.ts'
import { verify } from '../verify.ts'

export const kills: Scene = {
  name: 'kills',
  promise: 1,
  promised: 'After SIGKILL, every acknowledged write is there, no rolled-back one is, and every job is run',
  run: killAgainAndAgain,
}

async function killAgainAndAgain(arena: Arena): Promise<void> {
  const receiver = await startTallyReceiver(arena)
  let server = await arena.start({ database: await arena.emptyDatabase() })
  const { database, token } = server
  const target = await prepareTarget(server, openJournal())
  await server.client.webhooks.create({ body: { url: receiver.url, events: [...subscribableEvents] } })
  const load = startLoad(arena, target, { lanes: 6, pauseMs: arena.size(2, 10) })
  const port = new URL(server.url).port
  for (let kill = 0; kill < arena.size(5, 250) && !arena.isOver(); kill += 1) {
    await someWrites(target.journal, arena.random.between(0, 150))
    await sleep(arena.random.between(0, 100))
    const killed = server.kill()
    target.servers = []
    await killed
    arena.did('kills')
    server = await arena.start({ database, token, port })
    target.servers = [server]
  }
  await load.stop()
  await clearDoubts(target, server.client)
  const { client } = server
  const fannedOut = () => countFannedOut(target, client)
  arena.took('time until all jobs were run', await drain(arena, database, 60, fannedOut))
  await verify(arena, target, server.client, receiver)
}

/** Returns the number of messages that the broadcasts of the load have created. */
async function countFannedOut({ journal, projectId }: Target, client: Client): Promise<number> {
  let count = 0
  for (const { answer } of journal.broadcasts) {
    if (!answer) continue
    const stats = await client.broadcasts.stats({ params: { id: projectId, broadcastId: answer.id } })
    count += stats.fannedOut
  }
  return count
}

/** Waits for a number of writes, so that the kill hits a busy server even on a slow machine. */
async function someWrites(journal: Journal, count: number): Promise<void> {
  const enough = journal.acknowledged + count
  const patience = performance.now() + 3_000
  while (journal.acknowledged < enough && performance.now() < patience) await sleep(5)
}
