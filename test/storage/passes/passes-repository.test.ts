import { describe, expect, test } from 'vitest'
import type { Database } from '../../../src/storage/db/database.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects } from '../../support/databases.ts'
import {
  insertPasses,
  insertTemplate,
  insertWorkspace,
  later,
  newPass,
  openTestDatabase,
  openTestStore,
  start,
} from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('exactly one of many racing inserts of one externalPassId makes a pass, and the others leave no rows', async () => {
    const { store, database, url, workspaceId, version } = await setUp()
    const stores = [store, createStore(openTestDatabase(url))]
    const racing = Array.from({ length: 20 }, () => newPass(version, { externalPassId: 'same' }))
    const inserted = await Promise.all(
      racing.map((pass, n) => stores[n % 2]!.transaction((tx) => tx.passes.insert(workspaceId, [pass], start))),
    )
    const winners = inserted.flatMap((ids) => [...ids])
    expect(winners).toHaveLength(1)
    expect(await database.reader('passes').pluck('id')).toEqual(winners)
    expect(await database.reader('pass_identifiers').pluck('pass_id')).toEqual(winners)
    expect(await database.reader('pass_variables').pluck('pass_id')).toEqual(winners)
  })

  test('racing batches with the same passes in different orders all succeed, and each pass exists once', async () => {
    const { store, database, url, workspaceId, version } = await setUp()
    if (dialect === 'postgres') await slowDownInserts(database)
    const stores = [store, createStore(openTestDatabase(url))]
    const externalIds = Array.from({ length: 60 }, (_, n) => `pass-${n}`)
    const batches = Array.from({ length: 8 }, (_, n) => {
      const passes = externalIds.map((externalPassId) => newPass(version, { externalPassId }))
      return n % 2 === 0 ? passes : passes.toReversed()
    })
    const inserted = await Promise.all(
      batches.map((passes, n) => stores[n % 2]!.transaction((tx) => tx.passes.insert(workspaceId, passes, start))),
    )
    expect(inserted.flatMap((ids) => [...ids])).toHaveLength(60)
    expect(await store.passes.listByExternalIds(workspaceId, externalIds)).toHaveLength(60)
  })

  test('inserted passes read back unchanged', async () => {
    const { store, workspaceId, version } = await setUp()
    const pass = newPass(version, {
      label: 'Zoë 💺 "ẞ"',
      variables: { seat: 'A1', nested: { __proto__: 1, list: [null, 1.5, 'x'] } },
      redemption: { maxUses: 3 },
      expiresAt: later(60),
    })
    await insertPasses(store, workspaceId, [pass])
    const { identifierDigest: _, ...fields } = pass
    expect(await store.passes.find(workspaceId, pass.id)).toMatchObject({
      ...fields,
      status: 'QUEUED',
      version: 1,
      revision: 1,
      linkGeneration: 0,
      latestTemplateVersion: 1,
      createdAt: start,
      updatedAt: start,
    })
  })

  test('an update writes the scan code of a pass only if it changes', async () => {
    const { store, database, workspaceId, version } = await setUp()
    const { id, ...pass } = newPass(version)
    await insertPasses(store, workspaceId, [{ id, ...pass }])
    const written: string[] = []
    database.writer.on('query', ({ sql }) => {
      if (/^(insert|update|delete).*pass_identifiers/.test(sql)) written.push(sql)
    })
    const update = (identifierDigest: Uint8Array) =>
      store.transaction((tx) =>
        tx.passes.update(workspaceId, id, { ...pass, identifierDigest, status: 'QUEUED' }, later(1)),
      )
    const active = () => database.reader('pass_identifiers').where({ active: true }).pluck('digest')
    await update(pass.identifierDigest)
    expect([written, await active()]).toEqual([[], [pass.identifierDigest]])
    for (const digest of [Buffer.from('other'), pass.identifierDigest]) {
      await update(digest)
      expect(await active()).toEqual([digest])
    }
    expect(await database.reader('pass_identifiers')).toHaveLength(2)
  })

  test('a pass is ISSUING while a worker holds its job, regardless of what an older program wrote', async () => {
    const { store, workspaceId, version, database } = await setUp()
    const [id] = (await insertPasses(store, workspaceId, [newPass(version)])) as [string]
    const [other] = (await insertPasses(store, workspaceId, [newPass(version)], later(1))) as [string]
    const limits = { limit: 1, leaseSeconds: 10, workspaceId }
    for (const stored of ['QUEUED', 'ISSUING'] as const) {
      await database.writer('passes').where({ id }).update({ status: stored })
      const statuses = async () => {
        const { rows } = await store.passes.list(
          workspaceId,
          { limit: 9, sortBy: 'createdAt', sortDir: 'asc', status: ['ISSUING'] },
          start,
        )
        return [(await store.passes.find(workspaceId, id))?.status, rows.map((pass) => pass.id)]
      }
      expect(await statuses()).toEqual(['QUEUED', []])
      const jobs = await store.statement((tx) => tx.jobs.claim('issuing', start, limits))
      expect(await statuses()).toEqual(['ISSUING', [id]])
      await store.statement((tx) => tx.jobs.snooze(jobs, start))
    }
    expect((await store.passes.find(workspaceId, other))?.status).toBe('QUEUED')
  })

  test('a status changes only as allowed: an issued pass is not claimed, queued, or failed again', async () => {
    const { store, workspaceId, version } = await setUp()
    const [id] = (await insertPasses(store, workspaceId, [newPass(version)])) as [string]
    const find = () => store.passes.find(workspaceId, id)
    expect(await find()).toMatchObject({ status: 'QUEUED', version: 1, revision: 1 })
    await store.transaction((tx) => tx.passes.setIssued(workspaceId, [id], later(3)))
    const issued = await find()
    expect(issued).toMatchObject({ status: 'ISSUED', version: 2, revision: 1, updatedAt: later(3) })
    const error = { code: 'PASS_ISSUING_FAILED', message: 'no' } as const
    await store.transaction(async (tx) => {
      await tx.passes.setQueuedAgain(workspaceId, [id], later(4))
      await tx.passes.setIssued(workspaceId, [id], later(4))
      await tx.passes.setFailed(workspaceId, id, error, later(4))
      expect(await tx.passes.lockUnissued(workspaceId, [id])).toEqual(new Map())
    })
    expect(await find()).toEqual(issued)
  })

  test('issued passes expire at their expiry, with a new wallet version', async () => {
    const { store, workspaceId, version } = await setUp()
    const ids = await insertPasses(store, workspaceId, [
      newPass(version, { expiresAt: later(10) }),
      newPass(version, { expiresAt: later(10) }),
      newPass(version, { expiresAt: later(11) }),
      newPass(version),
    ])
    const [first, queued] = ids as [string, string]
    const issued = ids.filter((id) => id !== queued)
    await store.transaction((tx) => tx.passes.setIssued(workspaceId, issued, start))
    expect(await store.passes.hasExpired(later(9.999))).toBe(false)
    expect(await store.passes.hasExpired(later(10))).toBe(true)
    expect(await store.transaction((tx) => tx.passes.expire(later(10), 100))).toHaveLength(1)
    expect(await store.passes.hasExpired(later(10))).toBe(false)
    expect(await store.passes.find(workspaceId, first)).toMatchObject({
      status: 'EXPIRED',
      walletVersion: 2,
      revision: 1,
      version: 3,
    })
    expect(await store.passes.find(workspaceId, queued)).toMatchObject({ status: 'QUEUED' })
  })

  test('two servers that sweep at once expire each pass once', async () => {
    const { store, url, workspaceId, version } = await setUp()
    const passes = Array.from({ length: 60 }, () => newPass(version, { expiresAt: later(10) }))
    const ids = await insertPasses(store, workspaceId, passes)
    await store.transaction((tx) => tx.passes.setIssued(workspaceId, ids, start))
    const stores = [store, createStore(openTestDatabase(url))]
    const expired = await Promise.all(
      Array.from({ length: 8 }, (_, n) => stores[n % 2]!.transaction((tx) => tx.passes.expire(later(10), 10))),
    )
    expect(expired.flat()).toHaveLength(60)
    const versions = (await store.passes.listByIds(workspaceId, ids)).map((pass) => [pass.status, pass.walletVersion])
    expect(new Set(versions.map(String))).toEqual(new Set(['EXPIRED,2']))
  })

  async function setUp() {
    const opened = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(opened.store)
    return { ...opened, workspaceId, version: await insertTemplate(opened.store, workspaceId) }
  }
})

/** Slows down inserts, so that inserts of many rows certainly overlap. */
async function slowDownInserts({ writer }: Database): Promise<void> {
  await writer.raw(`create function slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.001); return new; end $$`)
  await writer.raw('create trigger slow before insert on passes for each row execute function slow()')
}
