import { type DBSchema, type IDBPDatabase, type IDBPTransaction, openDB, type StoreNames } from 'idb'
import type { SnapshotItem } from '../../core/contract/scanner.ts'
import { MAX_GROUP_AT_DOOR } from '../../core/rules/door/group-at-door.ts'
import { type Matches, matchesOf } from '../../core/rules/door/matches.ts'
import { isListed } from '../../core/rules/door/own-scans.ts'
import type { Verdict } from './engine.ts'
import { ownFacts } from './own-facts.ts'
import {
  type EngineStore,
  type Identity,
  type JournalEntry,
  KEPT_CONFLICTS,
  type ListHead,
  type NamedItem,
  RECENT_VERDICTS,
  StorageFullError,
} from './store.ts'

interface StoredVerdict {
  externalRef: string
  verdict: Verdict
  /** Set where the server disagreed. */
  conflict?: 1
}

interface Meta {
  identity: Identity
  clockOffset: number
  /** `slot` says which of the two stores of items holds it. */
  list: ListHead & { size: number; slot: Slot }
  counts: { accepted: number; turnedAway: number }
}

type Slot = 'items-a' | 'items-b'
type ItemStore = { key: string; value: SnapshotItem; indexes: Record<'active' | 'stale' | 'group', string> }

interface Schema extends DBSchema {
  meta: { key: keyof Meta; value: Meta[keyof Meta] }
  'items-a': ItemStore
  'items-b': ItemStore
  journal: { key: number; value: JournalEntry; indexes: Record<'ref' | 'pass' | 'waits' | 'rejection', string> }
  verdicts: { key: number; value: StoredVerdict; indexes: { ref: string; conflict: number } }
  attempts: { key: string; value: { externalRef: string; at: number } }
}

type Name = StoreNames<Schema>
type Write = IDBPTransaction<Schema, Name[], 'readwrite'>
type Read = IDBPTransaction<Schema, Name[], 'readonly'>

const VERSION = 1
const ITEM_STORES: Slot[] = ['items-a', 'items-b']
/** So many entries at a time are read for their names: a list of 100,000 as a whole would take the memory of a phone. */
const NAMES_AT_ONCE = 2_000

/**
 * Opens the database of a door in a browser.
 * @param onLost told where the browser closed it by itself, as it does where the data is removed
 */
export async function openIndexedDb(name: string, onLost: () => void): Promise<EngineStore> {
  const db = await openDB<Schema>(name, VERSION, {
    upgrade: build,
    // A newer page in another tab waits for this one.
    blocking: (_, __, event) => (event.target as IDBDatabase).close(),
    terminated: onLost,
  })
  return new IndexedDbStore(db)
}

function build(db: IDBPDatabase<Schema>): void {
  db.createObjectStore('meta')
  for (const slot of ITEM_STORES) {
    const items = db.createObjectStore(slot, { keyPath: 'passId' })
    items.createIndex('active', 'identifiers', { multiEntry: true })
    items.createIndex('stale', 'staleIdentifiers', { multiEntry: true })
    items.createIndex('group', 'groupId')
  }
  const journal = db.createObjectStore('journal', { autoIncrement: true })
  journal.createIndex('ref', 'externalRef', { unique: true })
  journal.createIndex('pass', 'passId')
  journal.createIndex('waits', 'waits')
  journal.createIndex('rejection', 'rejection')
  const verdicts = db.createObjectStore('verdicts', { autoIncrement: true })
  verdicts.createIndex('ref', 'externalRef', { unique: true })
  verdicts.createIndex('conflict', 'conflict')
  db.createObjectStore('attempts')
}

class IndexedDbStore implements EngineStore {
  readonly #db: IDBPDatabase<Schema>

  constructor(db: IDBPDatabase<Schema>) {
    this.#db = db
  }

  async identity() {
    return (await this.#db.get('meta', 'identity')) as Identity | undefined
  }

  async setIdentity(identity: Identity) {
    await this.#write(['meta'], (tx) => tx.objectStore('meta').put(identity, 'identity'))
  }

  async clockOffset() {
    return (await this.#db.get('meta', 'clockOffset')) as number | undefined
  }

  async setClockOffset(offsetMs: number) {
    await this.#write(['meta'], (tx) => tx.objectStore('meta').put(offsetMs, 'clockOffset'), 'relaxed')
  }

  async summary() {
    const tx = this.#db.transaction(['meta', 'journal', 'verdicts'])
    const journal = tx.objectStore('journal')
    const [list, counts, waiting, rejected, recent, conflicts] = await Promise.all([
      metaOf(tx, 'list'),
      metaOf(tx, 'counts'),
      waitingByProject(tx),
      journal.index('rejection').getAll(),
      newest(tx, RECENT_VERDICTS),
      tx.objectStore('verdicts').index('conflict').getAll(),
    ])
    return {
      list: list ?? null,
      waiting,
      recent,
      conflicts: conflicts.map(({ verdict }) => verdict).reverse(),
      counts: counts ?? { accepted: 0, turnedAway: 0 },
      rejections: rejected.map(({ rejection }) => rejection!),
    }
  }

  beginAttempt(key: string, { externalRef, at, notBefore }: { externalRef: string; at: number; notBefore: number }) {
    return this.#write(
      ['attempts'],
      async (tx) => {
        const attempts = tx.objectStore('attempts')
        const before = await attempts.get(key)
        if (before && before.at >= notBefore) return before.externalRef
        await attempts.put({ externalRef, at }, key)
        return externalRef
      },
      // It must outlive this page, not a power cut: nobody was let in by it yet.
      'relaxed',
    )
  }

  settle(attemptKey: string, verdict: Verdict, entry: JournalEntry | null) {
    return this.#write(['attempts', 'journal', 'verdicts', 'meta'], (tx) => record(tx, attemptKey, { verdict, entry }))
  }

  evaluate(...[attemptKey, attempt, digest, decide]: Parameters<EngineStore['evaluate']>) {
    return this.#write(['meta', 'journal', 'verdicts', 'attempts', ...ITEM_STORES], async (tx) => {
      const list = await metaOf(tx, 'list')
      if (!list) return undefined
      const items = tx.objectStore(list.slot)
      const found =
        attempt.passId !== null
          ? [await items.get(attempt.passId)].filter((item) => item !== undefined)
          : digest === null
            ? []
            : await carriers(tx, list.slot, digest)
      const matches = matchesOf(attempt, found, digest)
      const decided = decide(await factsOf(tx, list, matches))
      // The same attempt was stored before, by a page that ended before anybody saw it.
      const before = await verdictOf(tx, attempt.externalRef)
      if (before) return before.verdict
      await record(tx, attemptKey, decided)
      return decided.verdict
    })
  }

  async look<T>(...[passId, read]: [string, Parameters<EngineStore['look']>[1]]): Promise<T | undefined> {
    const tx = this.#db.transaction(['meta', 'journal', ...ITEM_STORES])
    const list = await metaOf(tx, 'list')
    const item = list && (await tx.objectStore(list.slot).get(passId))
    if (!item) return undefined
    return read(await factsOf(tx, list, { items: [item], isStale: false })) as T
  }

  undo(verdict: Verdict, entry: JournalEntry) {
    return this.#write(['journal', 'verdicts', 'meta'], async (tx) => {
      const scan = await verdictOf(tx, entry.undoes!.externalRef)
      if (scan) await putVerdict(tx, { ...scan.verdict, isUndone: true })
      await tx.objectStore('journal').add(entry)
      await tx.objectStore('verdicts').add({ externalRef: verdict.externalRef, verdict })
      await count(tx, { accepted: -1, turnedAway: 0 })
    })
  }

  async verdict(externalRef: string) {
    return (await this.#db.getFromIndex('verdicts', 'ref', externalRef))?.verdict
  }

  waiting(projectId: string, limit: number) {
    return this.#db.getAllFromIndex('journal', 'waits', projectId, limit)
  }

  settleUploads(results: Parameters<EngineStore['settleUploads']>[0]) {
    return this.#write(['journal', 'verdicts'], async (tx) => {
      const journal = tx.objectStore('journal')
      for (const { externalRef, recordedAt, scanId, conflict, rejection } of results) {
        const key = await journal.index('ref').getKey(externalRef)
        const entry = key !== undefined && (await journal.get(key))
        if (!entry) continue
        const { waits, ...rest } = entry
        await journal.put({ ...rest, recordedAt, ...(rejection !== undefined && { rejection }) }, key)
        const stored = await verdictOf(tx, externalRef)
        if (!stored) continue
        const known = { scanId: scanId ?? stored.verdict.scanId, conflict: conflict ?? null, isPending: false }
        await putVerdict(tx, { ...stored.verdict, ...known })
      }
      await trim(tx)
    })
  }

  dismissRejections() {
    return this.#write(['journal'], async (tx) => {
      const journal = tx.objectStore('journal')
      for (const key of await journal.index('rejection').getAllKeys()) await journal.delete(key)
    })
  }

  beginList() {
    return this.#write(
      ['meta', ...ITEM_STORES],
      async (tx) => tx.objectStore(otherSlot(await metaOf(tx, 'list'))).clear(),
      'relaxed',
    )
  }

  addToList(items: readonly SnapshotItem[]) {
    return this.#write(
      ['meta', ...ITEM_STORES],
      async (tx) => {
        const store = tx.objectStore(otherSlot(await metaOf(tx, 'list')))
        await Promise.all(items.map((item) => store.put(item)))
      },
      'relaxed',
    )
  }

  finishList(head: ListHead) {
    return this.#write(['meta', 'journal', 'verdicts', ...ITEM_STORES], async (tx) => {
      const before = await metaOf(tx, 'list')
      const slot = otherSlot(before)
      const size = await tx.objectStore(slot).count()
      await tx.objectStore('meta').put({ ...head, size, slot }, 'list')
      if (before) await tx.objectStore(before.slot).clear()
      await prune(tx, head.generatedAt)
    })
  }

  amendList(changed: readonly SnapshotItem[], removed: readonly string[], head: ListHead | null) {
    return this.#write(['meta', 'journal', 'verdicts', ...ITEM_STORES], async (tx) => {
      const list = await metaOf(tx, 'list')
      if (!list) return
      const store = tx.objectStore(list.slot)
      await Promise.all([...changed.map((item) => store.put(item)), ...removed.map((passId) => store.delete(passId))])
      await tx.objectStore('meta').put({ ...list, ...head, size: await store.count() }, 'list')
      if (head) await prune(tx, head.generatedAt)
    })
  }

  async names() {
    const tx = this.#db.transaction(['meta', ...ITEM_STORES])
    const list = await metaOf(tx, 'list')
    const names: NamedItem[] = []
    for (let last: string | undefined; list; ) {
      const range = last === undefined ? undefined : IDBKeyRange.lowerBound(last, true)
      const items = await tx.objectStore(list.slot).getAll(range, NAMES_AT_ONCE)
      for (const { passId, label, externalPassId, templateName, status } of items) {
        names.push({ passId, label, externalPassId, templateName, status })
      }
      if (items.length < NAMES_AT_ONCE) break
      last = items.at(-1)!.passId
    }
    return names
  }

  dropList() {
    return this.#write(['meta', ...ITEM_STORES], dropItems)
  }

  wipe() {
    return this.#write(['meta', 'journal', 'verdicts', 'attempts', ...ITEM_STORES], async (tx) => {
      await dropItems(tx)
      await tx.objectStore('meta').delete('identity')
      await tx.objectStore('meta').delete('counts')
      await tx.objectStore('attempts').clear()
      const journal = tx.objectStore('journal')
      const waiting = new Set<string>()
      for (let cursor = await journal.openCursor(); cursor; cursor = await cursor.continue()) {
        const { waits, rejection, externalRef } = cursor.value
        if (waits !== undefined || rejection !== undefined) waiting.add(externalRef)
        else await cursor.delete()
      }
      const verdicts = tx.objectStore('verdicts')
      for (let cursor = await verdicts.openCursor(); cursor; cursor = await cursor.continue()) {
        if (!waiting.has(cursor.value.externalRef)) await cursor.delete()
      }
    })
  }

  async close() {
    this.#db.close()
  }

  /** One transaction; on the disk when it resolves, or nothing of it is. */
  async #write<T>(names: Name[], work: (tx: Write) => Promise<T>, durability: IDBTransactionDurability = 'strict') {
    try {
      const tx = this.#db.transaction(names, 'readwrite', { durability })
      // What broke is told once, by the work or by the end of the transaction.
      tx.done.catch(() => undefined)
      const result = await work(tx).catch((error) => {
        abort(tx)
        throw tx.error ?? error
      })
      await tx.done
      return result
    } catch (error) {
      if ((error as Error | null)?.name === 'QuotaExceededError') throw new StorageFullError('The storage is full')
      throw error
    }
  }
}

/** It may have ended by itself. */
function abort(tx: Write): void {
  try {
    tx.abort()
  } catch (error) {
    if ((error as Error).name !== 'InvalidStateError') throw error
  }
}

async function metaOf<K extends keyof Meta>(tx: Read | Write, key: K): Promise<Meta[K] | undefined> {
  return (await tx.objectStore('meta').get(key)) as Meta[K] | undefined
}

function otherSlot(list: Meta['list'] | undefined): Slot {
  return list?.slot === 'items-a' ? 'items-b' : 'items-a'
}

/** Passes that carry the digest of a payload, or carried it once. */
async function carriers(tx: Write, slot: Slot, digest: string): Promise<SnapshotItem[]> {
  const items = tx.objectStore(slot)
  const [active, stale] = await Promise.all([items.index('active').getAll(digest), items.index('stale').getAll(digest)])
  return [...new Map([...active, ...stale].map((item) => [item.passId, item])).values()]
}

async function factsOf(tx: Read | Write, list: Meta['list'], matches: Matches) {
  const [pass] = matches.items.length === 1 ? matches.items : []
  const members =
    pass?.groupId === undefined
      ? []
      : await tx
          .objectStore(list.slot)
          .index('group')
          .getAll(pass.groupId, MAX_GROUP_AT_DOOR + 1)
  const passIds = [...new Set([...(pass ? [pass] : []), ...members].map(({ passId }) => passId))]
  const journal = tx.objectStore('journal').index('pass')
  const entries = new Map(
    await Promise.all(passIds.map(async (passId) => [passId, await journal.getAll(passId)] as const)),
  )
  return ownFacts(list, { matches, members }, (passId) => entries.get(passId) ?? [])
}

async function record(
  tx: Write,
  attemptKey: string,
  { verdict, entry }: { verdict: Verdict; entry: JournalEntry | null },
): Promise<void> {
  const { externalRef, result } = verdict
  // An attempt that was asked again under its name may be stored already.
  const isKnown = (await tx.objectStore('verdicts').index('ref').getKey(externalRef)) !== undefined
  await tx.objectStore('attempts').delete(attemptKey)
  if (isKnown) return
  if (entry) await tx.objectStore('journal').add(entry)
  await tx.objectStore('verdicts').add({ externalRef, verdict })
  const isAccepted = result === 'accepted'
  await count(tx, { accepted: isAccepted ? 1 : 0, turnedAway: isAccepted ? 0 : 1 })
}

async function count(tx: Write, { accepted, turnedAway }: Meta['counts']): Promise<void> {
  const before = (await metaOf(tx, 'counts')) ?? { accepted: 0, turnedAway: 0 }
  const after = { accepted: before.accepted + accepted, turnedAway: before.turnedAway + turnedAway }
  await tx.objectStore('meta').put(after, 'counts')
}

async function verdictOf(tx: Write, externalRef: string): Promise<StoredVerdict | undefined> {
  return tx.objectStore('verdicts').index('ref').get(externalRef)
}

async function putVerdict(tx: Write, verdict: Verdict): Promise<void> {
  const verdicts = tx.objectStore('verdicts')
  const key = await verdicts.index('ref').getKey(verdict.externalRef)
  const stored: StoredVerdict = { externalRef: verdict.externalRef, verdict }
  if (verdict.conflict !== null) stored.conflict = 1
  if (key !== undefined) await verdicts.put(stored, key)
}

async function newest(tx: Read, limit: number): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  const store = tx.objectStore('verdicts')
  for (let cursor = await store.openCursor(null, 'prev'); cursor; cursor = await cursor.continue()) {
    if (verdicts.push(cursor.value.verdict) === limit) break
  }
  return verdicts
}

async function waitingByProject(tx: Read): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const index = tx.objectStore('journal').index('waits')
  for (let cursor = await index.openKeyCursor(null, 'nextunique'); cursor; cursor = await cursor.continue()) {
    counts.set(cursor.key, await index.count(cursor.key))
  }
  return counts
}

async function dropItems(tx: Write): Promise<void> {
  await tx.objectStore('meta').delete('list')
  for (const slot of ITEM_STORES) await tx.objectStore(slot).clear()
}

/** Lets go of what a list of that moment holds. */
async function prune(tx: Write, generatedAt: string): Promise<void> {
  const journal = tx.objectStore('journal')
  for (let cursor = await journal.openCursor(); cursor; cursor = await cursor.continue()) {
    const { waits, rejection, recordedAt } = cursor.value
    if (waits === undefined && rejection === undefined && isListed(recordedAt, generatedAt)) await cursor.delete()
  }
  await trim(tx)
}

/** Keeps the newest verdicts, those that wait, and conflicts up to a number. */
async function trim(tx: Write): Promise<void> {
  const verdicts = tx.objectStore('verdicts')
  if ((await verdicts.count()) <= RECENT_VERDICTS * 2) return
  let [shown, conflicts] = [0, 0]
  for (let cursor = await verdicts.openCursor(null, 'prev'); cursor; cursor = await cursor.continue()) {
    const { verdict, conflict } = cursor.value
    if (shown < RECENT_VERDICTS) shown += 1
    else if (conflict && conflicts < KEPT_CONFLICTS) conflicts += 1
    else if (!verdict.isPending) await cursor.delete()
  }
}
