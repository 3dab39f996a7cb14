import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Knex } from 'knex'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { verifyFile } from '../../../src/cli/evidence/verify-chain.ts'
import { newId, parseUuid } from '../../../src/core/ids.ts'
import { type ChainName, chainNames } from '../../../src/core/rules/evidence/chain.ts'
import type { ChainFault } from '../../../src/core/rules/evidence/verification.ts'

import { extendChains, trimChains } from '../../../src/server/evidence/extend-chains.ts'
import { createSigningKeys } from '../../../src/server/evidence/signing-keys.ts'
import { proveChain, verifyChains } from '../../../src/server/operator/verify-chains.ts'
import type { Database } from '../../../src/storage/db/database.ts'
import { isPostgres } from '../../../src/storage/db/dialect.ts'
import type { Block } from '../../../src/storage/evidence/chains.ts'
import { createStore, type Store } from '../../../src/storage/store.ts'
import {
  acceptedScan,
  insertPasses,
  insertTemplate,
  insertWorkspace,
  newPass,
  openTestStore,
  start,
} from '../../storage/fixtures.ts'
import { dialects, type TestDialect, temporaryFolder } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'

const keys = { current: Buffer.alloc(32, 7), previous: [] }

/** Creates a ledger of scans, including one whose pass was erased, and an audit log. Both are chained. */
async function openChained(dialect: TestDialect) {
  const opened = await openTestStore(dialect)
  const { store } = opened
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const passes = [newPass(version), newPass(version)] as const
  await insertPasses(store, workspaceId, [...passes])
  const chaining = {
    store,
    clock: () => start,
    log: pino({ level: 'silent' }),
    signingKeys: createSigningKeys(keys),
    loggedAt: new Map(),
  }
  const extend = () => extendChains(chaining, () => true)
  const scan = (passId: string) =>
    store.transaction((tx) =>
      tx.scans.insert(workspaceId, [
        acceptedScan(passId, {
          id: newId(start),
          externalRef: newId(start),
          context: { note: 'n' },
          payloadDigest: Buffer.from('ab', 'hex'),
          deviceId: 'gate',
        }),
      ]),
    )
  const audit = (at = start) =>
    store.transaction((tx) =>
      tx.auditLog.insert(
        workspaceId,
        { action: 'pass.void', actor: { tokenId: null, name: 'someone' }, targetId: newId(start), correlationId: 'c' },
        at,
      ),
    )
  for (const pass of [passes[0], passes[1], passes[0]]) await scan(pass.id)
  for (let n = 0; n < 3; n += 1) await audit()
  await extend()
  await store.transaction((tx) => tx.erasure.erase(workspaceId, passes[1].id, passes[1].identifierDigest, start))
  await scan(passes[0].id)
  await extend()
  return { ...opened, workspaceId, passes, extend, scan, audit, chaining }
}

async function faultsOf(store: Store, options = {}, chains: readonly ChainName[] = chainNames): Promise<ChainFault[]> {
  const verified = await Promise.all(chains.map((chain) => verifyChains(store, chain, options)))
  return verified.flatMap((one) => one.chains.flatMap(({ faults }) => faults))
}

class Undo extends Error {}

/** Returns the faults that are found after a change of the database. The change is undone afterwards. */
async function faultsAfter(
  database: Database,
  tamper: (tx: Knex) => Promise<unknown>,
  options = {},
  chains?: readonly ChainName[],
): Promise<ChainFault[]> {
  let faults: ChainFault[] = []
  const work = database.writer.transaction(async (tx) => {
    if (isPostgres(tx)) await tx.raw('set local session_replication_role = replica')
    await tamper(tx)
    faults = await faultsOf(createStore({ ...database, reader: tx, writer: tx, entry: tx }), options, chains)
    throw new Undo()
  })
  await expect(work).rejects.toThrow(Undo)
  return faults
}

/** Drops the triggers, as an attacker with access to the database could. */
async function dropTriggers({ dialect, writer }: Database): Promise<void> {
  if (dialect === 'postgres') return
  const names: string[] = await writer('sqlite_schema').where({ type: 'trigger', tbl_name: 'scans' }).pluck('name')
  for (const name of names) await writer.raw('drop trigger ??', [name])
}

function anotherKey(): string {
  return generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()
}

/** Returns a different value of the same type. */
function other(column: string, value: unknown, otherWorkspace: string): unknown {
  if (column === 'workspace_id') return otherWorkspace
  if (column === 'public_key') return anotherKey()
  if (value instanceof Uint8Array) return Buffer.from([...value.subarray(0, -1), value.at(-1)! ^ 1])
  // A sequence number that no other entry has.
  if (typeof value === 'number') return column === 'adopted' ? 1 - value : value + 1_000
  if (typeof value === 'boolean') return !value
  if (typeof value === 'string' && !/(^|_)id$/.test(column)) return `${value}.`
  if (/(_at|_time|_count)$/.test(column)) return 1
  if (/(digest|salt|commitment)$/.test(column)) return Buffer.alloc(32, 1)
  return /(^|_)id$/.test(column) &&
    column !== 'device_id' &&
    column !== 'external_pass_id' &&
    column !== 'correlation_id'
    ? newId(start)
    : 'other'
}

describe.each(dialects)('on %s', (dialect) => {
  test('untouched chains are valid, including erased entries', async () => {
    const { store, workspaceId, chaining } = await openChained(dialect)
    const { chains, waiting } = await verifyChains(store, 'scans', { workspace: 'acme' })
    expect(chains).toMatchObject([{ workspaceId, entries: 4, erased: 1, adopted: 0, faultCount: 0, sequence: 4 }])
    expect(waiting).toBe(0)
    expect(await faultsOf(store)).toEqual([])
    const publicKey = chains[0]!.publicKey!
    expect(publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----/)
    // The entries contain no digest from which erased data could be guessed.
    const entries = await chaining.store.chainReader.listEntries({ workspaceId, chain: 'scans' }, 0, 10)
    expect(entries[1]).toMatchObject({ salt: null, commitment: expect.anything() })
  })

  test('detects and names one altered value in any column of any row', async () => {
    const { database, store } = await openChained(dialect)
    const beside = await insertWorkspace(store, 'beside')
    await dropTriggers(database)
    // The last row of a table suffices to see how the database returns each column. On SQLite, also alter an erased row.
    const isAltered = (row: Record<string, unknown>, index: number, rows: unknown[]) =>
      isLong || index === rows.length - 1 || (dialect === 'sqlite' && row.salt === null)
    for (const table of ['scans', 'audit_entries']) {
      const rows: Record<string, unknown>[] = await database.reader(table).select().orderBy('id')
      for (const row of rows.filter(isAltered)) {
        for (const [column, value] of Object.entries(row)) {
          // The column only says that the row was added to the chain.
          if (column === 'chained') continue
          const faults = await faultsAfter(
            database,
            (tx) =>
              tx(table)
                .where({ id: row.id })
                .update({ [column]: other(column, value, beside) }),
            {},
            [table === 'scans' ? 'scans' : 'audit'],
          )
          const what = `${table}.${column} of ${row.id}: ${JSON.stringify(faults)}`
          expect(
            faults.map(({ id }) => id),
            what,
          ).toContain(row.id)
        }
      }
    }
    for (const table of ['chain_blocks', 'chain_heads', 'chain_signed_heads', 'chain_keys']) {
      const rows: Record<string, unknown>[] = await database.reader(table).select()
      for (const row of rows) {
        for (const [column, value] of Object.entries(row)) {
          if (column === 'sealed_key') continue
          // This change is the same as a deletion of the head, which is no fault: later heads cover what it covered.
          if (table === 'chain_signed_heads' && column === 'chain') continue
          const faults = await faultsAfter(database, (tx) =>
            tx(table)
              .where(row)
              .update({ [column]: other(column, value, beside) }),
          )
          expect(faults, `${table}.${column}`).not.toEqual([])
        }
      }
    }
  })

  test('detects a removed, inserted, or moved entry, with and without its links', async () => {
    const { database, store, workspaceId } = await openChained(dialect)
    await dropTriggers(database)
    const [block, ...later] = await store.chains.listBlocks({ workspaceId, chain: 'scans' }, 0, 10)
    const [first, second, third] = block!.entryIds as [string, string, string]
    const last = later.at(-1)!.entryIds[0]!
    const blocks = (tx: Knex) => tx('chain_blocks').where({ workspace_id: workspaceId, chain: 'scans' })
    const put = (tx: Knex, entryIds: string[], digests: Uint8Array[]) =>
      blocks(tx)
        .where('first_sequence', 1)
        .update({ entry_ids: Buffer.concat(entryIds.map(parseUuid)), digests: Buffer.concat(digests) })
    const find = (tamper: (tx: Knex) => Promise<unknown>) => faultsAfter(database, tamper)
    expect(await find((tx) => tx('scans').where({ id: second }).delete())).toMatchObject([
      { kind: 'removed', sequence: 2, id: second },
    ])
    const [one, two, three] = block!.digests as [Uint8Array, Uint8Array, Uint8Array]
    const cut = await find(async (tx) => {
      await tx('scans').where({ id: third }).delete()
      await put(tx, [first, second], [one, two])
    })
    expect(cut).toMatchObject([{ kind: 'missing', sequence: 3, toSequence: 3 }])
    const shifted = await find(async (tx) => {
      await tx('scans').where({ id: second }).delete()
      await put(tx, [first, third], [one, three])
    })
    expect(shifted).toMatchObject([
      { kind: 'altered', sequence: 2, id: third },
      { kind: 'missing', sequence: 3, toSequence: 3 },
    ])
    const lost = await find(async (tx) => {
      await tx('scans').where({ id: last }).delete()
      await blocks(tx).where('first_sequence', 4).delete()
    })
    expect(lost).toMatchObject([{ kind: 'missing', sequence: 4, toSequence: 4 }])
    const row = await database.reader('scans').where({ id: third }).first()
    const made = newId(start)
    const inserted = await find((tx) => tx('scans').insert({ ...row, id: made, external_ref: 'made' }))
    expect(inserted).toMatchObject([{ kind: 'inserted', id: made }])
    const swapped = await find((tx) => put(tx, [third, second, first], [one, two, three]))
    expect(swapped.map(({ kind, sequence }) => [kind, sequence])).toEqual([
      ['altered', 1],
      ['altered', 3],
    ])
  })

  test('entries from before their chain or of older servers are chained as such, erased or not', async () => {
    const { database, store, workspaceId, passes, extend } = await openChained(dialect)
    const [, row] = await database.reader('scans').where({ pass_id: passes[0].id }).orderBy('id')
    const older = ['a', 'b', 'c'].map((externalRef) => ({
      ...row,
      id: newId(start),
      external_ref: externalRef,
      chained: false,
      salt: null,
      commitment: null,
    }))
    await database.writer('scans').insert(older)
    await store.transaction((tx) => tx.erasure.erase(workspaceId, passes[0].id, passes[0].identifierDigest, start))
    await database.writer('scans').insert({ ...older[0], id: newId(start), external_ref: 'd', message: 'Welcome.' })
    const { count } = await store.chainReader.findPending('scans')
    expect(count).toBe(4)
    await extend()
    const { chains, waiting } = await verifyChains(store, 'scans')
    expect(chains).toMatchObject([{ entries: 8, adopted: 4, erased: 4, faultCount: 0 }])
    expect(waiting).toBe(0)
    // Erase again, now that everything is chained.
    await store.transaction((tx) => tx.erasure.erase(workspaceId, passes[0].id, passes[0].identifierDigest, start))
    expect(await verifyChains(store, 'scans')).toMatchObject({ chains: [{ erased: 8, faultCount: 0 }] })
  })

  test('signing keys survive a new server key', async () => {
    const { store, chaining, scan, passes } = await openChained(dialect)
    const current = Buffer.alloc(32, 8)
    await createSigningKeys({ current, previous: [keys.current] }).reseal(store, chaining.log)
    await scan(passes[0].id)
    await extendChains({ ...chaining, signingKeys: createSigningKeys({ current, previous: [] }) }, () => true)
    expect(await verifyChains(store, 'scans')).toMatchObject({ waiting: 0, chains: [{ entries: 5, faultCount: 0 }] })
  })

  test('a signing key without its server key blocks no start and no other chain, and is reported hourly', async () => {
    const { database, store, chaining, scan, passes, workspaceId } = await openChained(dialect)
    const told: object[] = []
    const log = { error: (fields: object, message: string) => told.push({ ...fields, message }) } as never
    await database.writer('chain_keys').where({ workspace_id: workspaceId }).update({ sealed_key: 'lost:lost' })
    const signingKeys = createSigningKeys(keys)
    await signingKeys.reseal(store, log)
    expect(told).toMatchObject([{ workspaceId, message: expect.stringContaining('cannot be read') }])
    told.length = 0
    const other = await insertWorkspace(store, 'other')
    const version = await insertTemplate(store, other)
    const pass = newPass(version)
    await insertPasses(store, other, [pass])
    await scan(passes[0].id)
    await store.transaction((tx) =>
      tx.scans.insert(other, [acceptedScan(pass.id, { id: newId(start), externalRef: 'x' })]),
    )
    let at = start
    const again = () => extendChains({ ...chaining, signingKeys, log, clock: () => at }, () => true)
    await again()
    await again()
    expect(told).toMatchObject([
      { workspaceId, chain: 'scans', message: expect.stringContaining('none of the server keys') },
    ])
    expect((await verifyChains(store, 'scans', { workspace: 'other' })).chains).toMatchObject([
      { entries: 1, faultCount: 0 },
    ])
    at = new Date(start.getTime() + 3_600_000)
    await again()
    expect(told).toHaveLength(2)
  })

  test('detects a restored head, or one of another key, and signs nothing after it', async () => {
    const { database, store, workspaceId, extend, scan, passes } = await openChained(dialect)
    await dropTriggers(database)
    const key = { workspace_id: workspaceId, chain: 'scans' }
    const old = await database.reader('chain_heads').where(key).first()
    await scan(passes[0].id)
    await extend()
    const kept = await store.chainReader.findHead({ workspaceId, chain: 'scans' })
    const rollBack = async (tx: Knex) => {
      const [{ entryIds }] = (await store.chains.listBlocks({ workspaceId, chain: 'scans' }, 4, 1)) as [Block]
      await tx('scans').whereIn('id', entryIds).delete()
      await tx('chain_blocks').where(key).where('first_sequence', '>', 4).delete()
      await tx('chain_heads').where(key).update(old)
    }
    expect(await faultsAfter(database, rollBack)).toMatchObject([{ kind: 'cut', sequence: 5, toSequence: 5 }])
    // If the heads of hours are deleted too, only a head that was stored elsewhere reveals the change.
    const rollAllBack = async (tx: Knex) => {
      await rollBack(tx)
      await tx('chain_signed_heads').where(key).delete()
    }
    expect(await faultsAfter(database, rollAllBack)).toEqual([])
    expect(await faultsAfter(database, rollAllBack, { kept: [kept!] })).toMatchObject([{ kind: 'cut', sequence: 5 }])

    // A chain is never restarted, even if entries are deleted.
    const head = await database.reader('chain_heads').where(key).first()
    await database.writer('chain_heads').where(key).delete()
    await scan(passes[0].id)
    await extend()
    expect(await database.reader('chain_heads').where(key)).toMatchObject([{ sequence: 0 }])
    await database.writer('chain_heads').where(key).delete()
    await database.writer('chain_heads').insert({ ...head, digest: Buffer.alloc(32) })
    await scan(passes[0].id)
    await extend()
    expect(await verifyChains(store, 'scans')).toMatchObject({ waiting: 2, chains: [{ sequence: 5 }] })
    expect((await faultsOf(store)).map(({ kind }) => kind)).toContain('unsigned')
  })

  test('an exported chain with its proof verifies with its key and without the database', async () => {
    const { store } = await openChained(dialect)
    let text = ''
    for await (const part of proveChain(store, { workspace: 'acme', chain: 'scans' })) text += part
    const file = join(temporaryFolder(), 'scans.jsonl')
    const verify = (content: string, publicKey?: string) => {
      writeFileSync(file, content)
      return verifyFile(file, 'scans', { publicKey, kept: [] })
    }
    const { publicKey } = (await verifyChains(store, 'scans', { workspace: 'acme' })).chains[0]!
    expect(await verify(text, publicKey!)).toMatchObject({ entries: 4, erased: 1, faultCount: 0 })
    const changed = await verify(text.replace('"accepted"', '"denied"'), publicKey!)
    expect(changed).toMatchObject({ faultCount: 1, faults: [{ kind: 'altered', sequence: 1 }] })
    const cut = await verify(text.split('\n').slice(0, -2).join('\n'), publicKey!)
    expect(cut).toMatchObject({ faults: [{ kind: 'missing', sequence: 4 }] })
    expect((await verify(text, anotherKey())).faults[0]).toMatchObject({ kind: 'unsigned' })
  })

  test('a public key needs the name of its workspace if several workspaces have chains', async () => {
    const { store, extend } = await openChained(dialect)
    const publicKey = (await verifyChains(store, 'audit')).chains[0]!.publicKey!
    expect(await verifyChains(store, 'audit', { publicKey })).toMatchObject({ chains: [{ faultCount: 0 }] })
    const entry = { action: 'workspace.update', actor: { tokenId: null, name: 'someone' }, targetId: null } as const
    const other = await insertWorkspace(store, 'other')
    await store.transaction((tx) => tx.auditLog.insert(other, { ...entry, correlationId: null }, start))
    await extend()
    await expect(verifyChains(store, 'audit', { publicKey })).rejects.toThrow('--workspace')
    const { chains } = await verifyChains(store, 'audit', { publicKey, workspace: 'acme' })
    expect(chains).toMatchObject([{ faultCount: 0 }])
  })

  test('an audit chain stays valid after retention deletes its start', async () => {
    const { database, store, audit, extend, chaining, workspaceId } = await openChained(dialect)
    const late = new Date(start.getTime() + 3_600_000)
    await audit(late)
    await extend()
    await trimChains(chaining, late, () => true)
    await store.transaction((tx) => tx.retention.deleteByIds('audit_entries', late, 100))
    const { chains } = await verifyChains(store, 'audit', { workspace: 'acme' })
    expect(chains).toMatchObject([{ entries: 1, sequence: 4, faultCount: 0 }])
    const [entry] = await database.reader('audit_entries').where({ workspace_id: workspaceId })
    expect(await faultsAfter(database, (tx) => tx('audit_entries').where({ id: entry.id }).delete())).toMatchObject([
      { kind: 'removed', id: entry.id },
    ])
  })

  test('two servers that chain concurrently chain each entry once', async () => {
    const { store, extend, scan, passes } = await openChained(dialect)
    for (let n = 0; n < 20; n += 1) await scan(passes[0].id)
    await Promise.all([extend(), extend(), extend()])
    await extend()
    expect(await verifyChains(store, 'scans')).toMatchObject({ waiting: 0, chains: [{ entries: 24, faultCount: 0 }] })
  })
})
