import type { SnapshotItem } from '../../../core/contract/scanner.ts'
import { badgeOf } from '../../../core/rules/door/outcome.ts'
import { isListed } from '../../../core/rules/door/own-scans.ts'
import type { Counts, Decision } from '../engine.ts'
import {
  type Attempted,
  type EngineStore,
  type Identity,
  type JournalEntry,
  KEPT_CONFLICTS,
  type ListHead,
  type Meta,
  type NamedItem,
  type OwnFacts,
  RECENT_DECISIONS,
  type Slot,
  type StoredDecision,
  type Table,
  type TableDatabase,
  type Transaction,
  type UploadResult,
} from './engine-store.ts'
import { factsOf, matching } from './list-facts.ts'

/** The number of entries to read at a time: a list of 100,000 would exceed the memory of a phone. */
const NAMES_AT_ONCE = 2_000
const SLOTS: Slot[] = ['items-a', 'items-b']
const RELAXED = { isRelaxed: true }
const NO_SCANS: Counts = { accepted: 0, turnedAway: 0 }

/** Keeps the data of a door in the tables of a database. */
export class TableStore implements EngineStore {
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

  clockOffset() {
    return this.#db.read(['meta'], (tx) => metaOf(tx, 'clockOffset'))
  }

  setClockOffset(offsetMs: number) {
    return this.#db.write(['meta'], (tx) => setMeta(tx, 'clockOffset', offsetMs), RELAXED)
  }

  summary() {
    return this.#db.read(['meta', 'journal', 'decisions'], async (tx) => {
      const [list, counts, waiting, rejections, recent, conflicts] = await Promise.all([
        metaOf(tx, 'list'),
        metaOf(tx, 'counts'),
        tx.countBy('journal', 'waits'),
        tx.find('journal', 'rejection'),
        tx.newest('decisions', RECENT_DECISIONS),
        tx.find('decisions', 'conflict'),
      ])
      return {
        list: list ?? null,
        waiting,
        recent: recent.map(({ decision }) => decision),
        conflicts: conflicts.map(({ decision }) => decision).reverse(),
        counts: counts ?? NO_SCANS,
        rejections,
      }
    })
  }

  beginAttempt(...[attempt, { notBefore, canResume }]: Parameters<EngineStore['beginAttempt']>) {
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
    // The attempt must survive this page, but not a power failure, because it has not admitted anyone yet.
    return this.#db.write(['attempts'], begin, RELAXED)
  }

  settle(decision: Decision, entry: JournalEntry | null) {
    return this.#db.write(['attempts', 'journal', 'decisions', 'meta'], async (tx) => {
      await record(tx, { decision, entry })
      // Trim also here, because nothing else deletes decisions if there is no list, for example because the workspace
      // forbids it.
      await trim(tx)
    })
  }

  evaluate(...[attempt, code, decide]: Parameters<EngineStore['evaluate']>) {
    return this.#db.write(['meta', 'journal', 'decisions', 'attempts', ...SLOTS], async (tx) => {
      const list = await metaOf(tx, 'list')
      if (!list) return undefined
      // Return a decision on this attempt that is already stored, because a page can end between storing and showing a
      // decision.
      const known = await decisionOf(tx, attempt.externalRef)
      if (known) return known.decision
      const matches = await matching(tx, list.slot, { attempt, code })
      const decided = decide(await factsOf(tx, list, matches))
      await record(tx, decided)
      return decided.decision
    })
  }

  look<T>(passId: string, read: (facts: OwnFacts) => T): Promise<T | undefined> {
    return this.#db.read(['meta', 'journal', ...SLOTS], async (tx) => {
      const list = await metaOf(tx, 'list')
      const item = list && (await tx.get(list.slot, passId))
      return item && read(await factsOf(tx, list, { items: [item], isStale: false }))
    })
  }

  undo(decision: Decision, entry: JournalEntry) {
    return this.#db.write(['journal', 'decisions', 'meta'], async (tx) => {
      const { externalRef } = entry.undoes!
      const scan = await decisionOf(tx, externalRef)
      if (scan) await putDecision(tx, { ...scan.decision, isUndone: true })
      const [undone] = await tx.find('journal', 'externalRef', externalRef)
      const { waits } = undone ?? {}
      await tx.put('journal', [waits === undefined ? entry : { ...entry, projectId: waits, waits }])
      await tx.put('decisions', [{ externalRef: decision.externalRef, decision }])
      if (isCounted(scan)) await count(tx, { accepted: -1, turnedAway: 0 })
    })
  }

  decision(externalRef: string) {
    return this.#db.read(['decisions'], async (tx) => (await decisionOf(tx, externalRef))?.decision)
  }

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
    return this.#db.write(['journal'], async (tx) => removeSeqs(tx, 'journal', await tx.find('journal', 'rejection')))
  }

  beginList() {
    return this.#db.write(['meta', ...SLOTS], async (tx) => tx.clear(await idleSlot(tx)), RELAXED)
  }

  addToList(items: readonly SnapshotItem[]) {
    return this.#db.write(['meta', ...SLOTS], async (tx) => tx.put(await idleSlot(tx), items), RELAXED)
  }

  finishList(head: ListHead) {
    return this.#db.write(['meta', 'journal', 'decisions', ...SLOTS], async (tx) => {
      const before = await metaOf(tx, 'list')
      const slot = await idleSlot(tx)
      await setMeta(tx, 'list', { ...head, size: await tx.count(slot), slot })
      if (before) await tx.clear(before.slot)
      await prune(tx, head.generatedAt)
    })
  }

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

async function metaOf<K extends keyof Meta>(tx: Transaction, name: K): Promise<Meta[K] | undefined> {
  return (await tx.get('meta', name))?.value as Meta[K] | undefined
}

function setMeta<K extends keyof Meta>(tx: Transaction, name: K, value: Meta[K]): Promise<void> {
  return tx.put('meta', [{ name, value }])
}

function removeSeqs(tx: Transaction, table: Table, rows: readonly { seq?: number }[]): Promise<void> {
  return tx.remove(
    table,
    rows.map(({ seq }) => seq!),
  )
}

async function decisionOf(tx: Transaction, externalRef: string): Promise<StoredDecision | undefined> {
  return (await tx.find('decisions', 'externalRef', externalRef))[0]
}

/** Updates a stored decision. */
async function putDecision(tx: Transaction, decision: Decision): Promise<void> {
  const known = await decisionOf(tx, decision.externalRef)
  if (known) await tx.put('decisions', [{ ...known, decision, ...(decision.conflict !== null && { conflict: 1 }) }])
}

/** Returns the table of items that is not in use. */
async function idleSlot(tx: Transaction): Promise<Slot> {
  return (await metaOf(tx, 'list'))?.slot === 'items-a' ? 'items-b' : 'items-a'
}

/** Stores the decision on an attempt, once. */
async function record(
  tx: Transaction,
  { decision, entry }: { decision: Decision; entry: JournalEntry | null },
): Promise<void> {
  const { externalRef } = decision
  await tx.remove('attempts', [externalRef])
  // Skip an attempt that is already stored, for example by an earlier try.
  if (await decisionOf(tx, externalRef)) return
  if (entry) await tx.put('journal', [entry])
  await tx.put('decisions', [{ externalRef, decision }])
  // Do not count a code of several passes as rejected, because the pass that is chosen next is counted.
  const { tone } = badgeOf(decision)
  await count(tx, { accepted: tone === 'yes' ? 1 : 0, turnedAway: tone === 'no' ? 1 : 0 })
}

/** Adds to the counts of the door. */
async function count(tx: Transaction, { accepted, turnedAway }: Counts): Promise<void> {
  const before = (await metaOf(tx, 'counts')) ?? NO_SCANS
  const after = { accepted: before.accepted + accepted, turnedAway: before.turnedAway + turnedAway }
  await setMeta(tx, 'counts', after)
}

/** Whether a scan counts for this door, not for the previous door of the phone. */
function isCounted(scan: StoredDecision | undefined): boolean {
  return scan !== undefined && scan.before === undefined
}

async function settleUpload(tx: Transaction, result: UploadResult): Promise<void> {
  const { externalRef, recordedAt, scanId, conflict = null, rejection, isOfAnother } = result
  const [entry] = await tx.find('journal', 'externalRef', externalRef)
  if (!entry) return
  const { waits, ...rest } = entry
  await tx.put('journal', [{ ...rest, recordedAt, rejection, isOfAnother }])
  if (rejection !== undefined && entry.undoes) await rejectUndo(tx, entry, { message: rejection, isOfAnother })
  const stored = await decisionOf(tx, externalRef)
  if (!stored) return
  const { decision } = stored
  await putDecision(tx, { ...decision, scanId: scanId ?? decision.scanId, conflict, isPending: false })
}

/** Marks a reversal that the server rejected: its scan remains accepted, and the reversal has the reason. */
async function rejectUndo(
  tx: Transaction,
  { externalRef, undoes }: JournalEntry,
  { message, isOfAnother }: { message: string; isOfAnother: boolean | undefined },
): Promise<void> {
  const [scan, undo] = [await decisionOf(tx, undoes!.externalRef), await decisionOf(tx, externalRef)]
  if (scan) await putDecision(tx, { ...scan.decision, isUndone: false })
  const failure = isOfAnother ? 'of_another' : 'refused'
  if (undo) await putDecision(tx, { ...undo.decision, result: 'error', failure, message })
  if (isCounted(scan)) await count(tx, { accepted: 1, turnedAway: 0 })
}

async function dropItems(tx: Transaction): Promise<void> {
  await tx.remove('meta', ['list'])
  for (const slot of SLOTS) await tx.clear(slot)
}

/** Deletes the journal entries that a list of that time contains. */
async function prune(tx: Transaction, generatedAt: string): Promise<void> {
  const isDone = ({ waits, rejection, recordedAt }: JournalEntry) => {
    return waits === undefined && rejection === undefined && isListed(recordedAt, generatedAt)
  }
  await removeSeqs(tx, 'journal', (await tx.list('journal')).filter(isDone))
  await trim(tx)
}

/** Keeps the newest decisions, pending ones, and conflicts up to a maximum. */
async function trim(tx: Transaction): Promise<void> {
  if ((await tx.count('decisions')) <= RECENT_DECISIONS * 2) return
  let conflicts = 0
  const older = (await tx.list('decisions')).reverse().slice(RECENT_DECISIONS)
  const isOver = ({ decision, conflict }: StoredDecision) => {
    if (conflict) conflicts += 1
    return !decision.isPending && !(conflict && conflicts <= KEPT_CONFLICTS)
  }
  await removeSeqs(tx, 'decisions', older.filter(isOver))
}
