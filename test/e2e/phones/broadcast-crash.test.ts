import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { insertProject } from '../../../bench/support/project.ts'
import type { Broadcast } from '../../../src/core/contract/messages/broadcasts.ts'
import { type Database, openDatabase } from '../../../src/storage/db/database.ts'
import { dialects } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { hostServer, startServer } from '../support/server.ts'

/** Set PASSES_BROADCAST_KILLS for more kills. */
const KILLS = Number(process.env.PASSES_BROADCAST_KILLS ?? times(2, 3))
const PASSES = Number(process.env.PASSES_BROADCAST_PASSES ?? times(1_200, 12_000))

/** Matches half of the passes. The test uses a filter on PostgreSQL only, so that both forms of a broadcast are killed. */
const TIERS = { variable: [1, 3, 5, 7, 9].map((tier) => `tier:${tier}`) }

describe.each(dialects)('on %s', (dialect) => {
  test('a broadcast stopped or killed repeatedly ends DISPATCHED with one notification per pass', {
    timeout: 300_000 + PASSES * 10 + KILLS * 20_000,
  }, async () => {
    let victim = await startServer({ dialect })
    const { database: url, token } = victim
    const database = openDatabase(url)
    onTestFinished(() => database.close())
    const { workspaceId } = await victim.client.tokens.current()
    const projectId = await insertProject(database, workspaceId, PASSES)
    const isFiltered = dialect === 'postgres'
    const rows: { id: string; external_pass_id: string }[] = await database
      .reader('passes')
      .where({ status: 'ISSUED' })
      .select('id', 'external_pass_id')
    const matching = rows.filter((row) => !isFiltered || /[13579]$/.test(row.external_pass_id))
    const issued = matching.map(({ id }) => id)
    const endOfSlowness = await slowDown(database)

    const params = { id: projectId }
    const body = { body: 'Doors open at 7', ...(isFiltered && { filter: TIERS }) }
    const { id } = (await victim.client.broadcasts.create({ params, body })) as Broadcast
    const progress = () => database.reader('broadcasts').where({ id }).first('fanned_out', 'dispatched_at')
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const aim = Math.floor((issued.length * kill) / (KILLS * 2))
      while ((await progress()).fanned_out < aim) await sleep(10)
      // The first one is stopped with a signal, as in a deployment.
      if (kill === 1) expect(await victim.stop()).toBe(0)
      else await victim.kill()
      expect((await progress()).dispatched_at, 'it ended too late').toBe(null)
      if (kill < KILLS) victim = await startServer({ dialect, database: url, token })
    }
    await endOfSlowness()
    const server = await hostServer({ dialect, database: url, token })

    const named = { params: { ...params, broadcastId: id } }
    const patient = { timeout: 120_000 + PASSES * 8, interval: 250 }
    await vi.waitFor(async () => expect((await server.client.broadcasts.get(named)).status).toBe('DISPATCHED'), patient)
    expect((await server.client.broadcasts.get(named)).passCount).toBe(issued.length)
    const reached: string[] = await database.reader('notifications').where({ broadcast_id: id }).pluck('pass_id')
    expect(reached.length).toBe(issued.length)
    expect(new Set(reached)).toEqual(new Set(issued))
    await vi.waitFor(async () => expect((await server.client.broadcasts.stats(named)).pending).toBe(0), patient)
    expect(await server.client.broadcasts.stats(named)).toMatchObject({ skipped: issued.length })
  })
})

/**
 * Slows down each insert of a notification by a millisecond until the returned function is called, so that a server is
 * killed in the middle of a fan-out.
 */
async function slowDown({ dialect, writer }: Database): Promise<() => Promise<void>> {
  if (dialect === 'sqlite') {
    await writer.raw(`create trigger slow before insert on notifications
      begin select length(hex(zeroblob(500000))); end`)
    return () => writer.raw('drop trigger slow')
  }
  await writer.raw(`create function slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.001); return new; end $$`)
  await writer.raw('create trigger slow before insert on notifications for each row execute function slow()')
  return () => writer.raw('drop trigger slow on notifications')
}
