import type { DBSchema, IDBPDatabase, IDBPTransaction, StoreNames } from 'idb'
import type { SnapshotItem } from '../../core/contract/scanner.ts'
import { MAX_GROUP_AT_DOOR } from '../../core/rules/door/group-at-door.ts'
import type { Matches } from '../../core/rules/door/matches.ts'
import { badgeOf } from '../../core/rules/door/outcome.ts'
import { acceptedScans, isListed } from '../../core/rules/door/own-scans.ts'
import type { Decision } from './engine.ts'
import type { JournalEntry, ListHead, OwnFacts } from './engine-store.ts'

import { type Identity, KEPT_CONFLICTS, RECENT_DECISIONS } from './engine-store.ts'

/** A shown decision, stored for the list of recent scans and for conflicts. */
export interface StoredDecision {
  externalRef: string
  /** Phones have it under this name. */
  verdict: Decision
  /** Set if the server disagreed. */
  conflict?: 1
  /** Set if it belongs to the previous door of this phone. */
  before?: 1
}

/** Single values, each under a key of the store `meta`. */
export interface Meta {
  identity: Identity
  /** The milliseconds to add to the phone's clock to get the server's time. */
  clockOffset: number
  /** `slot` is the store of items that has the list. */
  list: ListHead & { size: number; slot: Slot }
  /** Since this phone became a door. */
  counts: { accepted: number; turnedAway: number }
}

type Slot = 'items-a' | 'items-b'
type ItemStore = { key: string; value: SnapshotItem; indexes: Record<'active' | 'stale' | 'group', string> }

/** The stores of a door's database, with their keys and indexes (decisions/0009). */
export interface Schema extends DBSchema {
  meta: { key: keyof Meta; value: Meta[keyof Meta] }
  /** The list: see ITEM_STORES. */
  'items-a': ItemStore
  'items-b': ItemStore
  /** Decisions and reversals, in order, until the server has them. */
  journal: { key: number; value: JournalEntry; indexes: Record<'ref' | 'pass' | 'waits' | 'rejection', string> }
  verdicts: { key: number; value: StoredDecision; indexes: { ref: string; conflict: number } }
  /** Attempts without a known result: the scanned content, with the reference for a retry. */
  attempts: { key: string; value: { externalRef: string; at: number } }
}

/** A store of the database. */
export type Name = StoreNames<Schema>
/** A read-write transaction. */
export type Write = IDBPTransaction<Schema, Name[], 'readwrite'>
/** A read-only transaction. */
export type Read = IDBPTransaction<Schema, Name[], 'readonly'>

/** The version of the database. Increment it for each change of the stores. */
export const VERSION = 1
/** One has the list in use, the other one the list that is being loaded. */
export const ITEM_STORES: Slot[] = ['items-a', 'items-b']
/** Creates the stores of a new database. */
export function build(db: IDBPDatabase<Schema>): void {
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
  const decisions = db.createObjectStore('verdicts', { autoIncrement: true })
  decisions.createIndex('ref', 'externalRef', { unique: true })
  decisions.createIndex('conflict', 'conflict')
  db.createObjectStore('attempts')
}

/** Returns a single value of the store `meta`. */
export async function metaOf<K extends keyof Meta>(tx: Read | Write, key: K): Promise<Meta[K] | undefined> {
  return (await tx.objectStore('meta').get(key)) as Meta[K] | undefined
}

/** Returns the store of items that is not in use. */
export function otherSlot(list: Meta['list'] | undefined): Slot {
  return list?.slot === 'items-a' ? 'items-b' : 'items-a'
}

/** Returns the passes with the digest of a payload as an active or former identifier. */
export async function carriers(tx: Write, slot: Slot, digest: string): Promise<SnapshotItem[]> {
  const items = tx.objectStore(slot)
  const [active, stale] = await Promise.all([items.index('active').getAll(digest), items.index('stale').getAll(digest)])
  return [...new Map([...active, ...stale].map((item) => [item.passId, item])).values()]
}

/** Returns the facts of the list and the journal about an attempt. */
export async function factsOf(tx: Read | Write, list: Meta['list'], matches: Matches) {
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

/** Stores the decision on an attempt, once. */
export async function record(
  tx: Write,
  attemptKey: string,
  { decision, entry }: { decision: Decision; entry: JournalEntry | null },
): Promise<void> {
  const { externalRef } = decision
  // A retried attempt may be stored already.
  const isKnown = (await tx.objectStore('verdicts').index('ref').getKey(externalRef)) !== undefined
  await tx.objectStore('attempts').delete(attemptKey)
  if (isKnown) return
  if (entry) await tx.objectStore('journal').add(entry)
  await tx.objectStore('verdicts').add({ externalRef, verdict: decision })
  // A code of several passes does not count as rejected: the choice that follows counts.
  const { tone } = badgeOf(decision)
  await count(tx, { accepted: tone === 'yes' ? 1 : 0, turnedAway: tone === 'no' ? 1 : 0 })
}

/** Adds to the counts of the door. */
export async function count(tx: Write, { accepted, turnedAway }: Meta['counts']): Promise<void> {
  const before = (await metaOf(tx, 'counts')) ?? { accepted: 0, turnedAway: 0 }
  const after = { accepted: before.accepted + accepted, turnedAway: before.turnedAway + turnedAway }
  await tx.objectStore('meta').put(after, 'counts')
}

/** Returns a stored decision with its markers. */
export async function decisionOf(tx: Write, externalRef: string): Promise<StoredDecision | undefined> {
  return tx.objectStore('verdicts').index('ref').get(externalRef)
}

/** Updates a stored decision. */
export async function putDecision(tx: Write, decision: Decision): Promise<void> {
  const decisions = tx.objectStore('verdicts')
  const key = await decisions.index('ref').getKey(decision.externalRef)
  const known = key !== undefined && (await decisions.get(key))
  if (!known) return
  const stored: StoredDecision = { ...known, verdict: decision }
  if (decision.conflict !== null) stored.conflict = 1
  await decisions.put(stored, key)
}

/** Whether a scan counts for this door, not for the previous door of the phone. */
export function isCounted(scan: StoredDecision | undefined): boolean {
  return scan !== undefined && scan.before === undefined
}

/** Marks a reversal that the server rejected: its scan remains accepted, and the reversal has the reason. */
export async function rejectUndo(
  tx: Write,
  { externalRef, undoes }: JournalEntry,
  { message, isOfAnother }: { message: string; isOfAnother: boolean | undefined },
): Promise<void> {
  const [scan, undo] = [await decisionOf(tx, undoes!.externalRef), await decisionOf(tx, externalRef)]
  if (scan) await putDecision(tx, { ...scan.verdict, isUndone: false })
  const failure = isOfAnother ? 'of_another' : 'refused'
  if (undo) await putDecision(tx, { ...undo.verdict, result: 'error', failure, message })
  if (isCounted(scan)) await count(tx, { accepted: 1, turnedAway: 0 })
}

/** Returns the latest decisions, newest first. */
export async function newest(tx: Read, limit: number): Promise<Decision[]> {
  const decisions: Decision[] = []
  const store = tx.objectStore('verdicts')
  for (let cursor = await store.openCursor(null, 'prev'); cursor; cursor = await cursor.continue()) {
    if (decisions.push(cursor.value.verdict) === limit) break
  }
  return decisions
}

/** Counts the pending entries by project. */
export async function waitingByProject(tx: Read): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const index = tx.objectStore('journal').index('waits')
  for (let cursor = await index.openKeyCursor(null, 'nextunique'); cursor; cursor = await cursor.continue()) {
    counts.set(cursor.key, await index.count(cursor.key))
  }
  return counts
}

/** Removes the list. */
export async function dropItems(tx: Write): Promise<void> {
  await tx.objectStore('meta').delete('list')
  for (const slot of ITEM_STORES) await tx.objectStore(slot).clear()
}

/** Deletes the journal entries that a list of that time contains. */
export async function prune(tx: Write, generatedAt: string): Promise<void> {
  const journal = tx.objectStore('journal')
  for (let cursor = await journal.openCursor(); cursor; cursor = await cursor.continue()) {
    const { waits, rejection, recordedAt } = cursor.value
    if (waits === undefined && rejection === undefined && isListed(recordedAt, generatedAt)) await cursor.delete()
  }
  await trim(tx)
}

/** Keeps the newest decisions, pending ones, and conflicts up to a maximum. */
export async function trim(tx: Write): Promise<void> {
  const decisions = tx.objectStore('verdicts')
  if ((await decisions.count()) <= RECENT_DECISIONS * 2) return
  let [shown, conflicts] = [0, 0]
  for (let cursor = await decisions.openCursor(null, 'prev'); cursor; cursor = await cursor.continue()) {
    const { verdict: decision, conflict } = cursor.value
    if (shown < RECENT_DECISIONS) shown += 1
    else if (conflict && conflicts < KEPT_CONFLICTS) conflicts += 1
    else if (!decision.isPending) await cursor.delete()
  }
}

/**
 * Returns the facts of a list and the journal for the rules.
 * @param entriesOf the journal entries of a pass, for all passes that are needed
 */
export function ownFacts(
  { id, generatedAt }: ListHead,
  { matches, members }: { matches: Matches; members: readonly SnapshotItem[] },
  entriesOf: (passId: string) => readonly JournalEntry[],
): OwnFacts {
  return {
    snapshotId: id,
    matches,
    members,
    acceptedScansOf(item) {
      const entries = entriesOf(item.passId)
      const own = entries.filter(({ kind }) => kind === 'accepted')
      const reversed = entries.filter(({ kind }) => kind === 'reversed')
      return acceptedScans({ listed: item.acceptedScans, generatedAt }, { own, reversed })
    },
  }
}
