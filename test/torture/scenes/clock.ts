import { setTimeout as sleep } from 'node:timers/promises'
import { subscribableEvents } from '../../../src/core/events.ts'
import type { Arena, Scene } from '../arena.ts'
import { issuedPass } from '../issued.ts'
import { openJournal } from '../journal.ts'
import { clearDoubts, prepareTarget, startLoad } from '../load.ts'
import { startMovedServer } from '../moved.ts'
import { startTallyReceiver } from '../receiver.ts'
import { settle } from '../settle.ts'
import { verify } from '../verify.ts'

export const clock: Scene = {
  name: 'clock',
  promise: 11,
  promised: 'If the clock jumps by an hour, no job is lost, and none runs early by more than the jump',
  run: moveClock,
}

const HOUR = 3_600_000

/** A server whose clock differs from PostgreSQL's by more than 30 s runs no jobs. */
const ON_POSTGRES = 20_000

/** Moves the clock forward and back under load. On SQLite, also checks scheduled sends before and after a jump. */
async function moveClock(arena: Arena): Promise<void> {
  const receiver = await startTallyReceiver(arena)
  const server = await startMovedServer(arena)
  const { client } = server
  const target = await prepareTarget(server, openJournal())
  await client.webhooks.create({ body: { url: receiver.url, events: [...subscribableEvents] } })
  const load = startLoad(arena, target, { lanes: 6, pauseMs: 5 })
  const step = arena.dialect === 'postgres' ? ON_POSTGRES : HOUR
  const jumps = arena.size(2, 6)
  for (let jump = 0; jump < jumps && !(jump > 1 && arena.isOver()); jump += 1) {
    for (const offsetMs of jump % 2 === 0 ? [step, 0] : [-step, 0]) {
      await sleep(arena.random.between(500, 1_500))
      await server.tell({ offsetMs })
      arena.did('jumps')
    }
  }
  await load.stop()
  arena.check(load.lost() === 0, `${load.lost()} requests got no response: ${server.stderr().slice(-500)}`)
  await clearDoubts(target, client)
  // Move the clock forward again: jobs that were queued before the clock was set back wait until it reaches that time.
  await server.tell({ offsetMs: step })
  arena.took('time until all jobs were run', await settle(arena, server.database, 60))
  await verify(arena, target, client, receiver)
  arena.check(server.exitCode() === undefined, `the process exited with ${server.exitCode()}: ${server.stderr()}`)
  if (arena.dialect === 'postgres') return

  const id = await issuedPass(arena, client)
  const schedule = (minutes: number) => {
    const sendAt = new Date(Date.now() + HOUR + minutes * 60_000).toISOString()
    const body = { body: `In ${minutes} minutes`, platforms: ['apple' as const], sendAt }
    return client.notifications.create({ params: { id }, body })
  }
  const [soon, late] = [await schedule(30), await schedule(90)]
  const statusOf = async (notificationId: string) =>
    (await client.notifications.get({ params: { id, notificationId } })).status
  await server.tell({ offsetMs: 0 })
  await sleep(1_500)
  arena.check((await statusOf(soon.id)) === 'SCHEDULED', 'a send in 30 minutes started when the clock was set back')
  await server.tell({ offsetMs: 2 * HOUR })
  await arena.waitUntil('the due notification is sent', 15, async () => (await statusOf(soon.id)) !== 'SCHEDULED')
  await sleep(1_500)
  arena.check((await statusOf(late.id)) === 'SCHEDULED', 'a send in 90 minutes started when the clock jumped by 60')
  await server.tell({ offsetMs: 3 * HOUR })
  await arena.waitUntil('the last notification is processed', 15, async () => (await statusOf(late.id)) === 'SKIPPED')
  arena.did('scheduled sends', 2)
  await settle(arena, server.database, 60)
}
