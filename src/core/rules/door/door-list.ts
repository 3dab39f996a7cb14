import type { SnapshotItem } from '../../contract/scanner.ts'
import { searchByName } from './matches.ts'

/** One page of what changed since a snapshot. */
export interface SnapshotDelta {
  items: readonly SnapshotItem[]
  removed?: readonly string[] | undefined
}

/** The passes of a snapshot as a device looks them up; it changes where a delta is merged into it. */
export interface DoorList {
  readonly size: number
  /** In no order that means anything. */
  items(): Iterable<SnapshotItem>
  get(passId: string): SnapshotItem | undefined
  /**
   * Passes that a payload belongs to: those whose active identifier it is, else those where it was one before.
   * @param digest SHA-256 of the payload, in hex
   */
  find(digest: string): { items: readonly SnapshotItem[]; isStale: boolean }
  /** The passes of a group, in the order of their ids. */
  membersOf(groupId: string): readonly SnapshotItem[]
  /** Passes whose name or external id holds a text, at most so many; those called exactly so first. */
  search(text: string, limit: number): SnapshotItem[]
  /**
   * Puts a page of a delta into the list, at a cost of what is in it. Pages come in their order; once all of a delta are
   * merged the list is that of its id. One that broke off does no harm: ask again since the id of before.
   */
  merge(delta: SnapshotDelta): void
}

/** A list of the items of a whole snapshot, which a device keeps up to date by deltas; for consoles and browsers alike. */
export function createDoorList(snapshot: readonly SnapshotItem[]): DoorList {
  const byId = new Map<string, SnapshotItem>()
  const active = createIndex()
  const stale = createIndex()
  const groups = createIndex()

  function add(item: SnapshotItem): void {
    byId.set(item.passId, item)
    for (const digest of item.identifiers) active.add(digest, item)
    for (const digest of item.staleIdentifiers) stale.add(digest, item)
    if (item.groupId !== undefined) groups.add(item.groupId, item)
  }

  function forget(passId: string): void {
    const item = byId.get(passId)
    if (!item) return
    for (const digest of item.identifiers) active.remove(digest, item)
    for (const digest of item.staleIdentifiers) stale.remove(digest, item)
    if (item.groupId !== undefined) groups.remove(item.groupId, item)
    byId.delete(passId)
  }

  for (const item of snapshot) add(item)
  return {
    get size() {
      return byId.size
    },
    items: () => byId.values(),
    get: (passId) => byId.get(passId),
    find(digest) {
      const found = active.get(digest)
      return found.length > 0 ? { items: found, isStale: false } : { items: stale.get(digest), isStale: true }
    },
    membersOf: (groupId) => groups.get(groupId),
    search: (text, limit) => searchByName(byId.values(), text, limit),
    merge({ items, removed = [] }) {
      for (const passId of removed) forget(passId)
      for (const item of items) {
        forget(item.passId)
        add(item)
      }
    },
  }
}

/** Items by a key that several may have. Most keys have one, which stands alone. */
function createIndex() {
  const byKey = new Map<string, SnapshotItem | Set<SnapshotItem>>()
  return {
    /** In the order of their ids. */
    get(key: string): readonly SnapshotItem[] {
      const found = byKey.get(key)
      if (found === undefined) return []
      return found instanceof Set ? [...found].sort((a, b) => (a.passId < b.passId ? -1 : 1)) : [found]
    },
    add(key: string, item: SnapshotItem): void {
      const found = byKey.get(key)
      if (found === undefined) byKey.set(key, item)
      else if (found instanceof Set) found.add(item)
      else byKey.set(key, new Set([found, item]))
    },
    remove(key: string, item: SnapshotItem): void {
      const found = byKey.get(key)
      if (found instanceof Set) found.delete(item)
      else byKey.delete(key)
    },
  }
}
