import { type IDBPDatabase, openDB } from 'idb'
import type { SnapshotItem } from '../../core/contract/scanner.ts'
import { matchesOf } from '../../core/rules/door/matches.ts'
import type { Decision } from './engine.ts'
import {
  type EngineStore,
  type Identity,
  type JournalEntry,
  type ListHead,
  type NamedItem,
  RECENT_DECISIONS,
  StorageFullError,
} from './engine-store.ts'
import {
  build,
  carriers,
  count,
  decisionOf,
  dropItems,
  factsOf,
  ITEM_STORES,
  isCounted,
  metaOf,
  type Name,
  newest,
  otherSlot,
  prune,
  putDecision,
  record,
  rejectUndo,
  type Schema,
  trim,
  VERSION,
  type Write,
  waitingByProject,
} from './indexed-database.ts'

/** The number of entries to read at a time: a list of 100,000 would exceed the memory of a phone. */
const NAMES_AT_ONCE = 2_000

/**
 * Opens the database of a door in a browser.
 * @param onLost called if the browser closes it, for example because the data was removed
 */
export async function openIndexedDb(name: string, onLost: () => void): Promise<EngineStore> {
  const db = await openDB<Schema>(name, VERSION, {
    upgrade: build,
    // A newer page in another tab waits for this connection to close.
    blocking: (_, __, event) => (event.target as IDBDatabase).close(),
    terminated: onLost,
  })
  return new IndexedDbStore(db)
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
      newest(tx, RECENT_DECISIONS),
      tx.objectStore('verdicts').index('conflict').getAll(),
    ])
    return {
      list: list ?? null,
      waiting,
      recent,
      conflicts: conflicts.map(({ verdict }) => verdict).reverse(),
      counts: counts ?? { accepted: 0, turnedAway: 0 },
      rejections: rejected,
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
      // It must survive this page, but not a power failure: the attempt has not admitted anyone yet.
      'relaxed',
    )
  }

  settle(attemptKey: string, decision: Decision, entry: JournalEntry | null) {
    return this.#write(['attempts', 'journal', 'verdicts', 'meta'], (tx) => record(tx, attemptKey, { decision, entry }))
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
      // A page that ended before it showed the decision has stored this attempt.
      const before = await decisionOf(tx, attempt.externalRef)
      if (before) return before.verdict
      await record(tx, attemptKey, decided)
      return decided.decision
    })
  }

  async look<T>(...[passId, read]: [string, Parameters<EngineStore['look']>[1]]): Promise<T | undefined> {
    const tx = this.#db.transaction(['meta', 'journal', ...ITEM_STORES])
    const list = await metaOf(tx, 'list')
    const item = list && (await tx.objectStore(list.slot).get(passId))
    if (!item) return undefined
    return read(await factsOf(tx, list, { items: [item], isStale: false })) as T
  }

  undo(decision: Decision, entry: JournalEntry) {
    return this.#write(['journal', 'verdicts', 'meta'], async (tx) => {
      const scan = await decisionOf(tx, entry.undoes!.externalRef)
      if (scan) await putDecision(tx, { ...scan.verdict, isUndone: true })
      const journal = tx.objectStore('journal')
      const waits = (await journal.index('ref').get(entry.undoes!.externalRef))?.waits
      await journal.add(waits === undefined ? entry : { ...entry, projectId: waits, waits })
      await tx.objectStore('verdicts').add({ externalRef: decision.externalRef, verdict: decision })
      if (isCounted(scan)) await count(tx, { accepted: -1, turnedAway: 0 })
    })
  }

  async decision(externalRef: string) {
    return (await this.#db.getFromIndex('verdicts', 'ref', externalRef))?.verdict
  }

  waiting(projectId: string, limit: number) {
    return this.#db.getAllFromIndex('journal', 'waits', projectId, limit)
  }

  settleUploads(results: Parameters<EngineStore['settleUploads']>[0]) {
    return this.#write(['journal', 'verdicts', 'meta'], async (tx) => {
      const journal = tx.objectStore('journal')
      for (const { externalRef, recordedAt, scanId, conflict, rejection, isOfAnother } of results) {
        const key = await journal.index('ref').getKey(externalRef)
        const entry = key !== undefined && (await journal.get(key))
        if (!entry) continue
        const { waits, ...rest } = entry
        await journal.put({ ...rest, recordedAt, ...(rejection !== undefined && { rejection, isOfAnother }) }, key)
        if (rejection !== undefined && entry.undoes) await rejectUndo(tx, entry, { message: rejection, isOfAnother })
        const stored = await decisionOf(tx, externalRef)
        if (!stored) continue
        const known = { scanId: scanId ?? stored.verdict.scanId, conflict: conflict ?? null, isPending: false }
        await putDecision(tx, { ...stored.verdict, ...known })
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

  wipe(token: string | undefined) {
    return this.#write(['meta', 'journal', 'verdicts', 'attempts', ...ITEM_STORES], async (tx) => {
      const identity = await metaOf(tx, 'identity')
      if (identity && identity.token !== token) return
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
      const decisions = tx.objectStore('verdicts')
      for (let cursor = await decisions.openCursor(); cursor; cursor = await cursor.continue()) {
        if (waiting.has(cursor.value.externalRef)) await cursor.update({ ...cursor.value, before: 1 })
        else await cursor.delete()
      }
    })
  }

  async close() {
    this.#db.close()
  }

  /** Runs one transaction, which is on disk when it resolves. */
  async #write<T>(names: Name[], work: (tx: Write) => Promise<T>, durability: IDBTransactionDurability = 'strict') {
    try {
      const tx = this.#db.transaction(names, 'readwrite', { durability })
      // The error is reported once, by the work or by the end of the transaction.
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

/** The transaction may have ended already. */
function abort(tx: Write): void {
  try {
    tx.abort()
  } catch (error) {
    if ((error as Error).name !== 'InvalidStateError') throw error
  }
}
