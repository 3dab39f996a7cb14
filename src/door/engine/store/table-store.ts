import type { SnapshotItem } from '../../../core/contract/scans/scanner.ts'
import type { Attempt } from '../../../core/rules/door/outcome.ts'
import { isListed } from '../../../core/rules/door/own-scans.ts'
import type { Decision } from '../engine.ts'
import { decisionOf, NO_SCANS, record, recordUndo, settleUpload, trim } from './decision-rows.ts'
import {
  type Attempted,
  type Identity,
  type JournalEntry,
  type ListHead,
  type NamedItem,
  type OwnFacts,
  RECENT_DECISIONS,
  type ScannedCode,
  type ServerZone,
  type Slot,
  type StoreSummary,
  type TableDatabase,
  type Transaction,
  type UploadResult,
} from './engine-store.ts'
import { factsOf, matching } from './list-facts.ts'
import { metaOf, removeSeqs, setMeta } from './rows.ts'
import { changeZone, isHeld, type LearnOptions, learnZones, ZONE_TABLES, zonesOf } from './zone-rows.ts'

/** The number of passes to read at a time. All passes of a list (up to 100,000) would exceed the memory of a phone. */
const NAMES_AT_ONCE = 2_000
const SLOTS: Slot[] = ['items-a', 'items-b']
const RELAXED = { isRelaxed: true }

/**
 * The persistent storage of a door. Each method is one atomic transaction, which is on disk when the method resolves,
 * unless it is relaxed (see `TableDatabase.write`). Transactions that write run one at a time, even if several tabs or
 * consoles share the storage.
 */
export class TableStore {
  readonly #db: TableDatabase

  constructor(db: TableDatabase) {
    this.#db = db
  }

  identity() {
    return this.#db.read(['meta'], (tx) => metaOf(tx, 'identity'))
  }

  setIdentity(identity: Identity) {
    return this.#db.write(['meta'], (tx) => setMeta(tx, 'identity', identity))
  }

  /** Returns the last stored value of `DoorClock.offsetMs`, in milliseconds; `undefined` if there is none. */
  clockOffset() {
    return this.#db.read(['meta'], (tx) => metaOf(tx, 'clockOffset'))
  }

  setClockOffset(offsetMs: number) {
    return this.#db.write(['meta'], (tx) => setMeta(tx, 'clockOffset', offsetMs), RELAXED)
  }

  summary(): Promise<StoreSummary> {
    return this.#db.read(['meta', 'journal', 'decisions'], async (tx) => {
      const [list, counts, zones, waiting, rejected, recent, conflicts] = await Promise.all([
        metaOf(tx, 'list'),
        metaOf(tx, 'counts'),
        zonesOf(tx),
        tx.countBy('journal', 'waits'),
        tx.find('journal', 'rejection'),
        tx.newest('decisions', RECENT_DECISIONS),
        tx.find('decisions', 'conflict'),
      ])
      const held = rejected.filter(isHeld)
      for (const { projectId } of held) waiting.set(projectId, (waiting.get(projectId) ?? 0) + 1)
      return {
        list: list ?? null,
        waiting,
        recent: recent.map(({ decision }) => decision),
        conflicts: conflicts.map(({ decision }) => decision).reverse(),
        counts: { ...NO_SCANS, ...counts },
        zones,
        held,
        rejections: rejected.filter((entry) => !isHeld(entry)),
      }
    })
  }

  /**
   * Stores an attempt before the server is called. If a crash interrupts the attempt, the retry uses the same
   * externalRef.
   * @param canResume whether to resume an unfinished attempt with the same key that began at `notBefore` or later
   * @returns the externalRef of the resumed or new attempt
   */
  beginAttempt(
    attempt: Attempted,
    { notBefore, canResume }: { notBefore: number; canResume: (attempt: Attempted) => boolean },
  ) {
    const begin = async (tx: Transaction) => {
      const all = await tx.list('attempts')
      const isOver = ({ at }: Attempted) => at < notBefore
      const resumed = all.find((one) => one.key === attempt.key && !isOver(one) && canResume(one))
      const isReplaced = ({ key, runner }: Attempted) => key === attempt.key && runner === attempt.runner
      await tx.remove(
        'attempts',
        all.filter((one) => isOver(one) || isReplaced(one)).map(({ externalRef }) => externalRef),
      )
      const begun = { ...(resumed ?? attempt), runner: attempt.runner }
      await tx.put('attempts', [begun])
      return begun.externalRef
    }
    // The attempt must survive if this page is closed. It need not survive a power failure, because no person was
    // admitted yet.
    return this.#db.write(['attempts'], begin, RELAXED)
  }

  /** Stores the server's decision and deletes the attempt. */
  settle(decision: Decision, entry: JournalEntry | null) {
    return this.#db.write(['attempts', 'journal', 'decisions', 'meta'], async (tx) => {
      await record(tx, { decision, entry })
      // Trim here, too. On a phone without a list, `prune` never runs, and decisions would pile up.
      await trim(tx)
    })
  }

  /**
   * Evaluates an attempt against the stored list, and stores the decision. Returns `undefined` if no list is stored.
   */
  evaluate(
    attempt: Attempt,
    code: ScannedCode | null,
    decide: (facts: OwnFacts) => { decision: Decision; entry: JournalEntry },
  ) {
    return this.#db.write(['meta', 'journal', 'decisions', 'attempts', ...SLOTS], async (tx) => {
      const list = await metaOf(tx, 'list')
      if (!list) return undefined
      // If the page ended after the decision was stored and before it was shown, the retry must show this decision.
      const known = await decisionOf(tx, attempt.externalRef)
      if (known) return known.decision
      const matches = await matching(tx, list.slot, { attempt, code })
      const decided = decide(await factsOf(tx, list, matches))
      await record(tx, decided)
      return decided.decision
    })
  }

  /** Returns the result of `read` for the stored facts about a pass, or `undefined` if the list lacks the pass. */
  look<T>(passId: string, read: (facts: OwnFacts) => T): Promise<T | undefined> {
    return this.#db.read(['meta', 'journal', ...SLOTS], async (tx) => {
      const list = await metaOf(tx, 'list')
      const item = list && (await tx.get(list.slot, passId))
      return item && read(await factsOf(tx, list, { items: [item], isStale: false }))
    })
  }

  /**
   * Stores a reversal and marks the reversed scan. If the scan is not uploaded yet, both are uploaded to the project of
   * the scan.
   */
  undo(decision: Decision, entry: JournalEntry) {
    return this.#db.write(['journal', 'decisions', 'meta'], (tx) => recordUndo(tx, decision, entry))
  }

  decision(externalRef: string) {
    return this.#db.read(['decisions'], async (tx) => (await decisionOf(tx, externalRef))?.decision)
  }

  /** Stores zones of the server, as `learnZones` in `zone-rows.ts` describes. */
  learnZones(zones: readonly ServerZone[], options: LearnOptions) {
    return this.#db.write(ZONE_TABLES, (tx) => learnZones(tx, zones, options), RELAXED)
  }

  /** Stores people who were counted in or out without a scan. */
  adjust(entry: JournalEntry) {
    return this.#db.write(ZONE_TABLES, async (tx) => {
      await tx.put('journal', [entry])
      await changeZone(tx, entry)
    })
  }

  /**
   * Stores the reversal of a count without a scan, unless the count is already reversed or was permanently rejected.
   */
  undoAdjustment(entry: JournalEntry, undone: string) {
    return this.#db.write(ZONE_TABLES, async (tx) => {
      const [[count], known] = await Promise.all([
        tx.find('journal', 'externalRef', undone),
        tx.find('journal', 'externalRef', entry.externalRef),
      ])
      if (known.length > 0 || (count?.rejection !== undefined && !isHeld(count))) return
      await tx.put('journal', [entry])
      await changeZone(tx, entry)
    })
  }

  /** Returns the oldest entries that must be uploaded to a project. Omits entries with `isHeld`. */
  waiting(projectId: string, limit: number): Promise<JournalEntry[]> {
    return this.#db.read(['journal'], (tx) => tx.find('journal', 'waits', projectId, limit))
  }

  settleUploads(results: readonly UploadResult[]) {
    return this.#db.write(['journal', 'decisions', 'meta'], async (tx) => {
      for (const result of results) await settleUpload(tx, result)
      await trim(tx)
    })
  }

  dismissRejections() {
    return this.#db.write(['journal'], async (tx) => {
      const rejected = await tx.find('journal', 'rejection')
      return removeSeqs(
        tx,
        'journal',
        rejected.filter((entry) => !isHeld(entry)),
      )
    })
  }

  /** Starts a new list of passes. The list in use stays in use until `finishList`. */
  beginList() {
    return this.#db.write(['meta', ...SLOTS], async (tx) => tx.clear(await idleSlot(tx)), RELAXED)
  }

  addToList(items: readonly SnapshotItem[]) {
    return this.#db.write(['meta', ...SLOTS], async (tx) => tx.put(await idleSlot(tx), items), RELAXED)
  }

  /** Replaces the list in use by the new list, and deletes the journal entries that the new list contains. */
  finishList(head: ListHead) {
    return this.#db.write(['meta', 'journal', 'decisions', ...SLOTS], async (tx) => {
      const before = await metaOf(tx, 'list')
      const slot = await idleSlot(tx)
      await setMeta(tx, 'list', { ...head, size: await tx.count(slot), slot })
      if (before) await tx.clear(before.slot)
      await prune(tx, head.generatedAt)
    })
  }

  /** Adds, replaces, and removes passes of the list in use. Replaces the head of the list unless `head` is `null`. */
  amendList(changed: readonly SnapshotItem[], removed: readonly string[], head: ListHead | null) {
    return this.#db.write(['meta', 'journal', 'decisions', ...SLOTS], async (tx) => {
      const list = await metaOf(tx, 'list')
      if (!list) return
      await tx.put(list.slot, changed)
      await tx.remove(list.slot, removed)
      await setMeta(tx, 'list', { ...list, ...head, size: await tx.count(list.slot) })
      if (head) await prune(tx, head.generatedAt)
    })
  }

  names() {
    return this.#db.read(['meta', ...SLOTS], async (tx) => {
      const list = await metaOf(tx, 'list')
      const names: NamedItem[] = []
      for (let after: string | undefined; list; after = names.at(-1)!.passId) {
        const items = await tx.list(list.slot, { after, limit: NAMES_AT_ONCE })
        for (const { passId, label, externalPassId, templateName, status } of items) {
          names.push({ passId, label, externalPassId, templateName, status })
        }
        if (items.length < NAMES_AT_ONCE) break
      }
      return names
    })
  }

  dropList() {
    return this.#db.write(['meta', ...SLOTS], dropItems)
  }

  /**
   * Removes the token, the stored list, and all guest data except pending and rejected entries. Does nothing if the
   * phone now has a token other than `token`, because it has become another door.
   */
  wipe(token: string | undefined) {
    return this.#db.write(['meta', 'journal', 'decisions', 'attempts', ...SLOTS], async (tx) => {
      const identity = await metaOf(tx, 'identity')
      if (identity && identity.token !== token) return
      await dropItems(tx)
      await tx.remove('meta', ['identity', 'counts'])
      await tx.clear('attempts')
      const journal = await tx.list('journal')
      const isKept = ({ waits, rejection }: JournalEntry) => waits !== undefined || rejection !== undefined
      const kept = new Set(journal.filter(isKept).map(({ externalRef }) => externalRef))
      const isGone = ({ externalRef }: { externalRef: string }) => !kept.has(externalRef)
      await removeSeqs(tx, 'journal', journal.filter(isGone))
      const decisions = await tx.list('decisions')
      await removeSeqs(tx, 'decisions', decisions.filter(isGone))
      const left = decisions.filter((stored) => !isGone(stored))
      await tx.put(
        'decisions',
        left.map((stored) => ({ ...stored, before: 1 })),
      )
    })
  }

  close() {
    return this.#db.close()
  }
}

/** The methods of a store, without its private fields, so that benchmarks can keep the data in memory. */
export type EngineStore = Pick<TableStore, keyof TableStore>

async function idleSlot(tx: Transaction): Promise<Slot> {
  return (await metaOf(tx, 'list'))?.slot === 'items-a' ? 'items-b' : 'items-a'
}

async function dropItems(tx: Transaction): Promise<void> {
  await tx.remove('meta', ['list', 'zones'])
  for (const slot of SLOTS) await tx.clear(slot)
}

/**
 * Deletes the uploaded journal entries that are contained in a list of passes generated at `generatedAt`. Also deletes
 * old decisions.
 */
async function prune(tx: Transaction, generatedAt: string): Promise<void> {
  const isDone = ({ waits, rejection, recordedAt }: JournalEntry) => {
    return waits === undefined && rejection === undefined && isListed(recordedAt, generatedAt)
  }
  await removeSeqs(tx, 'journal', (await tx.list('journal')).filter(isDone))
  await trim(tx)
}
