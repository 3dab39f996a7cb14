import type { Knex } from 'knex'
import { expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { planRedemption } from '../../../src/core/rules/redemption/redemption-plan.ts'
import { AcceptedScans } from '../../../src/storage/scans/accepted-scans.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestStore, start } from '../fixtures.ts'

test('on postgres, counting the uses of a pass reads only them, with a plan cached while there were none', async () => {
  const { store, database } = await openTestStore('postgres')
  await database.writer.raw('vacuum analyze accepted_scans')
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const passes = Array.from({ length: 200 }, () => newPass(version))
  await insertPasses(store, workspaceId, passes)
  const facts = { status: 'ISSUED', expiresAt: null, realTime: start, scanContextKey: null } as const
  const plans = [
    { perPeriod: { unit: 'day' as const, count: 1, timezone: 'UTC' } },
    { windows: [{ end: '2100-01-01T00:00Z' }] },
  ].map((policy) => planRedemption({ ...facts, policy }))
  const uses = passes.map(({ id, projectId, templateId }) => ({
    scanId: newId(start),
    passId: id,
    projectId,
    templateId,
    scanContextKey: null,
    scannedAt: start,
    debitedWindow: null,
    validityDate: null,
  }))

  await database.forRequests(workspaceId).writer.transaction(async (tx) => {
    const acceptedScans = new AcceptedScans({ db: tx })
    const asked = plans.map((plan) => ({ passId: passes[0]!.id, plan }))
    const count = async () => {
      const counts = await acceptedScans.listRangeCounts(workspaceId, asked)
      return counts.flatMap((some) => [...some.values()].map((one) => one.count))
    }
    // PostgreSQL caches a plan after the fifth execution.
    for (let n = 0; n < 8; n += 1) expect(await count()).toEqual([0, 0])
    await acceptedScans.insert(workspaceId, uses)
    const before = await fetched(tx)
    expect(await count()).toEqual([1, 1])
    expect((await fetched(tx)) - before).toBeLessThan(10)
  })
})

async function fetched(tx: Knex): Promise<number> {
  const { rows } = await tx.raw(`select coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0) as n
    from pg_stat_xact_user_tables where relname = 'accepted_scans'`)
  return rows[0].n
}
