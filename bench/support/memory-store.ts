import type { SnapshotItem } from '../../src/core/contract/scans/scanner.ts'
import { MAX_GROUP_AT_DOOR } from '../../src/core/rules/door/group-at-door.ts'
import { type Matches, matchesOf } from '../../src/core/rules/door/matches.ts'
import { isListed } from '../../src/core/rules/door/own-scans.ts'
import type { Decision } from '../../src/door/engine/engine.ts'
import type { Attempted, Identity, JournalEntry, ListHead } from '../../src/door/engine/store/engine-store.ts'
import { ownFacts } from '../../src/door/engine/store/list-facts.ts'
import type { EngineStore } from '../../src/door/engine/store/table-store.ts'
import { createDoorList, type DoorList } from './door-list.ts'

/** A list that many phones of one process share. Each phone keeps its changes to the list separately. */
export interface SharedList {
  head: ListHead
  list: DoorList
}

/** The list of a phone: a shared list, and the later changes of this phone. */
interface OwnList {
  head: ListHead
  shared: DoorList | undefined
  changed: DoorList
  hidden: Set<string>
}

/**
 * Keeps the data of a door in memory, so that one process can simulate many phones with many passes. The data does not
 * survive a kill.
 */
export function memoryStore(identity: Identity, sharedList?: SharedList): EngineStore & { shared(): SharedList } {
  let own = sharedList && listOf(sharedList.head, sharedList.list)
  let draft: SnapshotItem[] = []
  let token: Identity | undefined = identity
  let clockOffset: number | undefined
  const counts = { accepted: 0, turnedAway: 0, left: 0 }
  const attempts = new Map<string, Attempted>()
  const journal = new Map<string, JournalEntry>()
  const byPass = new Map<string, JournalEntry[]>()
  const decisions = new Map<string, Decision>()

  function record(decision: Decision, entry: JournalEntry | null): void {
    for (const [key, { externalRef }] of attempts) if (externalRef === decision.externalRef) attempts.delete(key)
    decisions.set(decision.externalRef, decision)
    if (entry) put(entry)
    if (decision.result === 'accepted') counts.accepted += 1
    else counts.turnedAway += 1
  }

  function put(entry: JournalEntry): void {
    journal.set(entry.externalRef, entry)
    if (entry.passId === undefined) return
    const others = (byPass.get(entry.passId) ?? []).filter(({ externalRef }) => externalRef !== entry.externalRef)
    byPass.set(entry.passId, [...others, entry])
  }

  function facts(list: OwnList, matches: Matches) {
    const [pass] = matches.items.length === 1 ? matches.items : []
    const members = pass?.groupId === undefined ? [] : membersOf(list, pass.groupId)
    return ownFacts({ ...list.head, zones: [] }, { matches, members }, (passId) => byPass.get(passId) ?? [])
  }

  return {
    // Copy the changed items, because this phone continues to change its list.
    shared: () => ({ head: own!.head, list: createDoorList([...own!.changed.items()]) }),
    identity: async () => token,
    async setIdentity(next) {
      token = next
    },
    clockOffset: async () => clockOffset,
    async setClockOffset(offsetMs) {
      clockOffset = offsetMs
    },
    async summary() {
      const all = [...decisions.values()]
      const waiting = new Map<string, number>()
      for (const { waits } of journal.values()) if (waits) waiting.set(waits, (waiting.get(waits) ?? 0) + 1)
      return {
        list: own ? { ...own.head, size: (own.shared?.size ?? 0) + own.changed.size } : null,
        waiting,
        recent: all.slice(-50).reverse(),
        conflicts: all.filter(({ conflict }) => conflict !== null),
        counts,
        zones: [],
        held: [],
        rejections: [...journal.values()].filter(({ rejection }) => rejection !== undefined),
      }
    },
    async beginAttempt(attempt, { notBefore, canResume }) {
      const before = attempts.get(attempt.key)
      if (before && before.at >= notBefore && canResume(before)) return before.externalRef
      attempts.set(attempt.key, attempt)
      return attempt.externalRef
    },
    async settle(decision, entry) {
      record(decision, entry)
    },
    async evaluate(attempt, code, decide) {
      if (!own) return undefined
      const found = attempt.passId === null ? carriers(own, code!.digest) : [get(own, attempt.passId) ?? []].flat()
      const { decision, entry } = decide(facts(own, matchesOf(attempt, found, code?.digest ?? null)))
      record(decision, entry)
      return decision
    },
    async look(passId, read) {
      const item = own && get(own, passId)
      return item && read(facts(own!, { items: [item], isStale: false }))
    },
    async undo(decision, entry) {
      const scan = decisions.get(entry.undoes!.externalRef)
      if (scan) decisions.set(scan.externalRef, { ...scan, isUndone: true })
      record(decision, entry)
    },
    decision: async (externalRef) => decisions.get(externalRef),
    waiting: async (projectId, limit) =>
      [...journal.values()].filter(({ waits }) => waits === projectId).slice(0, limit),
    async settleUploads(results) {
      for (const { externalRef, recordedAt, scanId, conflict, rejection } of results) {
        const { waits, ...entry } = journal.get(externalRef)!
        put({ ...entry, recordedAt, rejection })
        const decision = decisions.get(externalRef)!
        const known = { scanId: scanId ?? decision.scanId, conflict: conflict ?? null, isPending: false }
        decisions.set(externalRef, { ...decision, ...known })
      }
    },
    learnZones: async () => undefined,
    adjust: async () => undefined,
    undoAdjustment: async () => undefined,
    async dismissRejections() {
      for (const [ref, { rejection }] of journal) if (rejection !== undefined) journal.delete(ref)
    },
    async beginList() {
      draft = []
    },
    async addToList(items) {
      draft.push(...items)
    },
    async finishList(head) {
      own = listOf(head, undefined, draft)
      draft = []
      prune(head)
    },
    async amendList(changed, removed, head) {
      own!.changed.merge({ items: changed, removed })
      for (const passId of [...changed.map(({ passId }) => passId), ...removed]) own!.hidden.add(passId)
      if (!head) return
      own!.head = head
      prune(head)
    },
    names: async () => [...(own?.changed.items() ?? [])],
    async dropList() {
      own = undefined
    },
    async wipe() {
      own = undefined
      token = undefined
    },
    close: async () => undefined,
  }

  function prune({ generatedAt }: ListHead): void {
    for (const [ref, { waits, recordedAt, passId }] of journal) {
      if (waits !== undefined || !isListed(recordedAt, generatedAt)) continue
      journal.delete(ref)
      if (passId === undefined) continue
      const left = byPass.get(passId)!.filter(({ externalRef }) => externalRef !== ref)
      if (left.length > 0) byPass.set(passId, left)
      else byPass.delete(passId)
    }
  }
}

function listOf(head: ListHead, shared: DoorList | undefined, items: SnapshotItem[] = []): OwnList {
  return { head, shared, changed: createDoorList(items), hidden: new Set() }
}

function get({ shared, changed, hidden }: OwnList, passId: string): SnapshotItem | undefined {
  return changed.get(passId) ?? (hidden.has(passId) ? undefined : shared?.get(passId))
}

function carriers({ shared, changed, hidden }: OwnList, digest: string): SnapshotItem[] {
  const before = shared?.find(digest).items.filter(({ passId }) => !hidden.has(passId)) ?? []
  return [...changed.find(digest).items, ...before]
}

function membersOf({ shared, changed, hidden }: OwnList, groupId: string): SnapshotItem[] {
  const before = shared?.membersOf(groupId).filter(({ passId }) => !hidden.has(passId)) ?? []
  return [...changed.membersOf(groupId), ...before]
    .toSorted((a, b) => (a.passId < b.passId ? -1 : 1))
    .slice(0, MAX_GROUP_AT_DOOR + 1)
}
