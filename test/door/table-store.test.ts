import 'fake-indexeddb/auto'
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openSqliteTables, withFileLock } from '../../src/cli/console/offline/sqlite-tables.ts'
import type { SnapshotItem } from '../../src/core/contract/scans/scanner.ts'
import { newId } from '../../src/core/ids.ts'
import { failedOutcome } from '../../src/core/rules/door/outcome.ts'
import type { Decision } from '../../src/door/engine/engine.ts'
import { type Attempted, type JournalEntry, RECENT_DECISIONS } from '../../src/door/engine/store/engine-store.ts'
import { openIndexedDb } from '../../src/door/engine/store/indexed-db.ts'
import { TableStore } from '../../src/door/engine/store/table-store.ts'
import { temporaryFolder } from '../support/databases.ts'

const passId = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'
const noon = Date.parse('2026-03-01T12:00:00.000Z')
const at = (minutes: number) => new Date(noon + minutes * 60_000).toISOString()

let phones = 0

const databases = [
  [
    'IndexedDB',
    () => {
      phones += 1
      const name = `table-store-${phones}`
      return () => openIndexedDb(name, () => undefined)
    },
  ],
  [
    'SQLite',
    () => {
      const path = join(temporaryFolder(), 'door.db')
      return () => openSqliteTables(path)
    },
  ],
] as const

function item(more: Partial<SnapshotItem> = {}): SnapshotItem {
  return {
    passId,
    externalPassId: 'A-1',
    label: 'Ada',
    templateName: 'Ticket',
    status: 'ISSUED',
    expiresAt: null,
    identifiers: ['digest'],
    staleIdentifiers: [],
    redemption: null,
    acceptedScans: [],
    ...more,
  } as SnapshotItem
}

/** A scan accepted offline, with its reference. */
function accepted(externalRef: string, scannedAt: string, more: Partial<JournalEntry> = {}): [Decision, JournalEntry] {
  const attempt = { payload: 'A', passId, externalRef, at: new Date(scannedAt), scanContextKey: null }
  const outcome = failedOutcome({ ...attempt, validityDate: null }, '')
  const entry: JournalEntry = {
    externalRef,
    projectId: 'p',
    passId,
    kind: 'accepted',
    waits: 'p',
    scannedAt,
    scanContextKey: null,
    recordedAt: undefined,
    ...more,
  }
  return [{ ...outcome, result: 'accepted', failure: null, isUndone: false, isPending: true }, entry]
}

describe.each(databases)('a store on %s', (_, create) => {
  async function openTwo() {
    const open = create()
    return [new TableStore(await open()), new TableStore(await open())] as const
  }

  async function withList(store: TableStore, generatedAt: string, listed: SnapshotItem[] = [item()]) {
    await store.beginList()
    await store.addToList(listed)
    await store.finishList({ id: 'list', generatedAt })
  }

  /** Returns the minutes of the accepted scans of the pass. */
  async function minutesOf(store: TableStore): Promise<number[] | undefined> {
    const scans = await store.look(passId, ({ acceptedScansOf, matches }) => acceptedScansOf(matches.items[0]!))
    return scans?.map(({ scannedAt }) => (scannedAt.getTime() - noon) / 60_000)
  }

  const refsOf = (entries: readonly { externalRef: string }[]) => entries.map(({ externalRef }) => externalRef)

  test('keeps pending scans in the order of their decisions, for all runners, until one uploads them', async () => {
    const [one, other] = await openTwo()
    // The order does not depend on a clock that was set back.
    for (const minute of [3, 1, 2]) await one.settle(...accepted(`ref-${minute}`, at(minute)))
    expect(refsOf(await other.waiting('p', 9))).toEqual(['ref-3', 'ref-1', 'ref-2'])
    expect(refsOf(await other.waiting('p', 1))).toEqual(['ref-3'])
    await other.settleUploads([{ externalRef: 'ref-3', recordedAt: at(5), scanId: 'scan' }])
    expect(refsOf(await one.waiting('p', 9))).toEqual(['ref-1', 'ref-2'])
    expect(await one.decision('ref-3')).toMatchObject({ scanId: 'scan', isPending: false })
    expect((await one.summary()).waiting).toEqual(new Map([['p', 2]]))
    for (const store of [one, other]) await store.close()
  })

  test('counts a scan once, whether the list has it, the journal, or both, and a reversed one not', async () => {
    const [store, other] = await openTwo()
    await withList(store, at(1), [item({ acceptedScans: [{ scannedAt: at(1), scanContextKey: null }] })])
    const online = { waits: undefined }
    await store.settle(...accepted('one', at(1), { ...online, recordedAt: at(1) }))
    await store.settle(...accepted('two', at(2), { ...online, recordedAt: at(2) }))
    await store.settle(...accepted('three', at(3)))
    expect(await minutesOf(store)).toEqual([1, 2, 3])
    // A later list contains everything that the server knew. A missing scan was reversed elsewhere.
    await withList(store, at(10))
    expect(await minutesOf(other)).toEqual([3])
    await store.settleUploads([{ externalRef: 'three', recordedAt: at(20) }])
    expect(await minutesOf(store)).toEqual([3])
    const [undone] = accepted('undo', at(3))
    const undoes = { externalRef: 'three', scanId: null }
    await store.undo(undone, { ...accepted('undo', at(3))[1], kind: 'reversed', undoes })
    expect(await minutesOf(store)).toEqual([])
    await withList(store, at(30))
    expect(await minutesOf(store)).toEqual([])
    for (const one of [store, other]) await one.close()
  })

  test('a reversal has the movement of its scan, also after the list replaced the journal entry', async () => {
    const [store, other] = await openTwo()
    await withList(store, at(0))
    const movement = { zoneId: 'hall', direction: 'in' as const, at: at(1), isReentry: true }
    const scan = { validityDate: '2026-03-02', waits: undefined, recordedAt: at(1), movement }
    await store.settle(...accepted('one', at(1440), scan))
    await withList(store, at(10))
    const [undone, entry] = accepted('undo', at(1440))
    const unknown = { ...movement, at: at(1440), isReentry: false }
    const undoes = { externalRef: 'one', scanId: null }
    await other.undo(undone, { ...entry, kind: 'reversed', undoes, movement: unknown })
    expect(await store.waiting('p', 9)).toMatchObject([{ externalRef: 'undo', movement }])
    for (const one of [store, other]) await one.close()
  })

  test('keeps a held count for its project until it is recorded, and its correction waits separately', async () => {
    const [store, other] = await openTwo()
    const inside = async () => (await other.summary()).zones[0]!.inside
    const hall = { id: 'hall', name: 'Hall', inside: 5, capacity: null, whenFull: 'warn', resetAt: null } as const
    await store.learnZones([hall], { at: at(0), areAll: true })
    const [, scan] = accepted('out', at(1), { passId: undefined, kind: 'counted' })
    const count = { ...scan, adjustment: { zoneId: 'hall', delta: -1, reason: 'Counted' } }
    await store.adjust(count)
    expect(await inside()).toBe(4)
    const held = { externalRef: 'out', recordedAt: null, rejection: 'Too few', isHeld: true } as const
    for (const [one, another] of [
      [store, other],
      [other, store],
    ] as const) {
      await one.settleUploads([held])
      expect(refsOf(await another.waiting('p', 9))).toEqual([])
      expect(refsOf((await another.summary()).held)).toEqual(['out'])
    }
    expect(await inside()).toBe(5)
    await store.learnZones([hall], { at: at(2), areAll: true })
    await store.dismissRejections()
    await store.wipe(undefined)
    expect(await store.summary()).toMatchObject({ held: [held], rejections: [], waiting: new Map([['p', 1]]) })
    const opposite = { ...count, externalRef: 'out+undone', adjustment: { ...count.adjustment, delta: 1 } }
    await store.undoAdjustment(opposite, 'out')
    expect(refsOf(await other.waiting('p', 9))).toEqual(['out+undone'])
    await store.settleUploads([{ externalRef: 'out', recordedAt: at(3) }])
    expect((await other.summary()).held).toEqual([])
    // A permanently rejected count has no correction.
    await store.adjust({ ...count, externalRef: 'late' })
    await store.undoAdjustment({ ...opposite, externalRef: 'late+undone' }, 'late')
    await store.settleUploads([{ externalRef: 'late', recordedAt: null, rejection: 'Zone not found' }])
    expect(refsOf(await other.waiting('p', 9))).toEqual(['out+undone'])
    for (const one of [store, other]) await one.close()
  })

  test('a number inside that was requested before a newer one arrived is ignored, but its reset applies', async () => {
    const [store, other] = await openTwo()
    const hall = { id: 'hall', name: 'Hall', inside: 5, capacity: null, whenFull: 'warn', resetAt: null } as const
    const zones = async () => (await store.summary()).zones
    const seen = await zones()
    await other.learnZones([{ ...hall, inside: 6 }], { at: at(1), areAll: false })
    await store.learnZones([{ ...hall, resetAt: at(0) }], { at: at(2), areAll: true, seen })
    const [zone] = await zones()
    expect(zone).toMatchObject({ inside: 6, resetAt: at(0), at: at(1) })
    await store.learnZones([hall], { at: at(3), areAll: false, seen: [zone!] })
    expect(await zones()).toMatchObject([{ inside: 5, at: at(3) }])
    for (const one of [store, other]) await one.close()
  })

  test('counts each scan as of a date that has the same time, and a reversal removes one of them', async () => {
    const [store, other] = await openTwo()
    const dated = { scannedAt: at(60), scanContextKey: null, validityDate: '2026-03-01' }
    await withList(store, at(2), [item({ acceptedScans: [dated] })])
    for (const ref of ['one', 'two']) await store.settle(...accepted(ref, at(60), { validityDate: '2026-03-01' }))
    expect(await minutesOf(store)).toEqual([60, 60])
    const [undone, entry] = accepted('undo', at(60))
    await store.undo(undone, { ...entry, kind: 'reversed', undoes: { externalRef: 'one', scanId: null } })
    expect(await minutesOf(store)).toEqual([60])
    for (const one of [store, other]) await one.close()
  })

  test('resumes an attempt of a runner that ended, once, and none of a runner that runs', async () => {
    const [store, other] = await openTwo()
    const begin = (runner: string, externalRef: string, isRunning: boolean) => {
      const attempt = { key: 'code', runner, externalRef, at: noon }
      const canResume = (begun: Attempted) => begun.runner === runner || !isRunning
      return store.beginAttempt(attempt, { notBefore: noon - 1, canResume })
    }
    expect(await begin('north', 'ref-1', true)).toBe('ref-1')
    expect(await begin('south', 'ref-2', true)).toBe('ref-2')
    expect(await begin('north', 'ref-3', true)).toBe('ref-1')
    await store.settle(...accepted('ref-2', at(0)))
    // The process `north` was killed.
    expect(await begin('south', 'ref-4', false)).toBe('ref-1')
    expect(await begin('west', 'ref-5', true)).toBe('ref-5')
    const later = { key: 'code', runner: 'south', externalRef: 'ref-6', at: noon + 9 }
    expect(await store.beginAttempt(later, { notBefore: noon + 1, canResume: () => true })).toBe('ref-6')
    for (const one of [store, other]) await one.close()
  })

  test('replaces a list as a whole, and amends it in place', async () => {
    const [store, other] = await openTwo()
    await withList(store, at(1))
    await store.beginList()
    await store.addToList([item({ passId: newId(new Date(noon)), label: 'Bea' })])
    expect((await other.names()).map(({ label }) => label)).toEqual(['Ada'])
    await store.finishList({ id: 'next', generatedAt: at(2) })
    expect((await other.names()).map(({ label }) => label)).toEqual(['Bea'])
    const [bea] = await other.names()
    await store.amendList([item({ label: 'Cara' })], [bea!.passId], null)
    expect((await store.summary()).list).toMatchObject({ id: 'next', size: 1 })
    expect((await other.names()).map(({ label }) => label)).toEqual(['Cara'])
    for (const one of [store, other]) await one.close()
  })

  test('keeps a maximum of decisions without any list', async () => {
    const [store, other] = await openTwo()
    const [decision] = accepted('ref', at(0))
    for (let n = 0; n <= RECENT_DECISIONS * 2; n += 1) {
      await store.settle({ ...decision, externalRef: `ref-${n}`, isPending: false }, null)
    }
    expect(await other.decision('ref-0')).toBeUndefined()
    expect(await other.decision(`ref-${RECENT_DECISIONS + 1}`)).toBeDefined()
    expect((await other.summary()).recent).toHaveLength(RECENT_DECISIONS)
    for (const one of [store, other]) await one.close()
  })

  test('runs concurrent changes of two runners one after the other', async () => {
    const [store, other] = await openTwo()
    const refs = Array.from({ length: 20 }, (_, n) => `ref-${n}`)
    await Promise.all(refs.map((ref, n) => (n % 2 ? store : other).settle(...accepted(ref, at(n)))))
    expect(refsOf(await store.waiting('p', 99)).toSorted()).toEqual(refs.toSorted())
    expect((await store.summary()).counts).toEqual({ accepted: 20, turnedAway: 0, left: 0 })
    for (const one of [store, other]) await one.close()
  })
})

test('only the owner can read the files of a console, and a removed list leaves no names in them', async () => {
  const path = join(temporaryFolder(), 'door.db')
  const store = new TableStore(await openSqliteTables(path))
  await store.addToList([item({ label: 'Ada Lovelace' })])
  await store.finishList({ id: 'list', generatedAt: at(1) })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readFileSync(path, 'latin1')).toContain('Ada Lovelace')
  await store.dropList()
  expect(readFileSync(path, 'latin1')).not.toContain('Ada Lovelace')
  await store.close()
})

test('a lock of a file is held by one, and released when its work ends or fails', async () => {
  const path = join(temporaryFolder(), 'upload.lock')
  const order: string[] = []
  const hold = (name: string) =>
    withFileLock(path, async () => {
      order.push(`${name} begins`)
      await new Promise((resolve) => setTimeout(resolve, 20))
      order.push(`${name} ends`)
      if (name === 'one') throw new Error('failed')
    })
  await Promise.allSettled([hold('one'), hold('two')])
  expect(order).toHaveLength(4)
  expect(order.map((text) => text.split(' ')[1])).toEqual(['begins', 'ends', 'begins', 'ends'])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a process keeps a lock of a file while it waits for the same lock again', async () => {
  const path = join(temporaryFolder(), 'upload.lock')
  const script = `const { Database } = require('sqlite3')
    const db = new Database(process.argv[1])
    db.configure('busyTimeout', 1)
    db.exec('begin exclusive', (error) => console.log(error?.code ?? 'free'))`
  const tryLock = () => execFileSync(process.execPath, ['-e', script, path], { encoding: 'utf8' }).trim()
  let second: Promise<void> | undefined
  await withFileLock(path, async () => {
    second = withFileLock(path, async () => undefined)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(tryLock()).toBe('SQLITE_BUSY')
  })
  await second
  expect(tryLock()).toBe('free')
})
