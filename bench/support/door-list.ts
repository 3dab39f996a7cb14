import type { SnapshotItem } from '../../src/core/contract/scans/scanner.ts'

export interface SnapshotDelta {
  items: readonly SnapshotItem[]
  removed?: readonly string[] | undefined
}

/** The passes of a snapshot, indexed for lookups. Merging a delta changes the list. */
export interface DoorList {
  readonly size: number
  /** Returns the passes in no particular order. */
  items(): Iterable<SnapshotItem>
  get(passId: string): SnapshotItem | undefined
  /**
   * Returns the passes whose active identifier is the payload, else those for which it is a stale identifier.
   * @param digest SHA-256 of the payload, in hex
   */
  find(digest: string): { items: readonly SnapshotItem[]; isStale: boolean }
  /** Returns the passes of a group, ordered by ID. */
  membersOf(groupId: string): readonly SnapshotItem[]
  /**
   * Merges a page of a delta. The cost depends only on the size of the page. Merge pages in order. Once all pages are
   * merged, the list corresponds to the ID of the delta. An interrupted delta does no harm: request it again with the
   * previous ID.
   */
  merge(delta: SnapshotDelta): void
}

/** Creates a list from a full snapshot. Merge deltas to keep it current. Many phones of one process share it. */
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
    merge({ items, removed = [] }) {
      for (const passId of removed) forget(passId)
      for (const item of items) {
        forget(item.passId)
        add(item)
      }
    },
  }
}

/**
 * Creates an index of items by a key that several items can share. Most keys have one item, which is stored without a
 * set.
 */
function createIndex() {
  const byKey = new Map<string, SnapshotItem | Set<SnapshotItem>>()
  return {
    /** Returns the items of a key, ordered by ID. */
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
