import type { SnapshotItem } from '../../../core/contract/scanner.ts'
import { createDoorList, type DoorList, type SnapshotDelta } from '../../../core/rules/door/door-list.ts'
import { addChange, beginList, type ListDraft, type ListHead, readList, removeList } from './list-files.ts'

/** The passes of a door at one time, and what changed in its files since they were written in full. */
interface CurrentList extends ListHead {
  passes: DoorList
  /** The number of changed items since the list was stored in full, plus ten for each file of changes. */
  changed: number
}

/** The stored list of a door, with the methods of `EngineStore`. */
export interface StoredList {
  /** The newest list; one that another console stored if this one has none. */
  readonly current: (ListHead & { passes: DoorList }) | undefined
  begin(head: ListHead): void
  add(items: readonly SnapshotItem[]): void
  /** Replaces the list with the one that was begun. */
  finish(): void
  /** Applies a page of changes. The last one has the head of the new list, and stores the changes. */
  amend(page: SnapshotDelta, head: ListHead | null): void
  drop(): void
  /** Discards a list that was not finished. */
  close(): void
}

const PAGE = 1000
/** The minimum number of changes before the list is stored in full again. */
const MIN_CHANGED = 1_000

/** Opens the list in the folder of a door; see `StoredList`. */
export function openStoredList(folder: string): StoredList {
  let list = load(folder)
  let draft: { file: ListDraft; head: ListHead; items: SnapshotItem[] } | undefined
  /** Pages of changes that are not stored yet. A page that is sent again after a failure is stored twice, without harm. */
  let pages: SnapshotDelta[] = []

  return {
    get current() {
      list ??= load(folder)
      return list
    },
    begin(head) {
      draft?.file.close()
      draft = { file: beginList(folder), head, items: [] }
      draft.file.write([head])
    },
    add(items) {
      draft!.file.write(items)
      draft!.items.push(...items)
    },
    finish() {
      const { file, head, items } = draft!
      file.commit()
      file.close()
      draft = undefined
      pages = []
      list = { ...head, passes: createDoorList(items), changed: 0 }
    },
    amend(page, head) {
      if (!list) return
      list.passes.merge(page)
      pages.push(page)
      if (!head) return
      addChange(folder, list.id, { head, pages })
      list = { ...list, ...head, changed: list.changed + costOf(pages) }
      pages = []
      // A start then reads at most as many changes as items, and the cost of storing is amortized.
      if (list.changed <= Math.max(list.passes.size, MIN_CHANGED)) return
      storeInFull(folder, list)
      list.changed = 0
    },
    drop() {
      list = undefined
      removeList(folder)
    },
    close: () => draft?.file.close(),
  }
}

function storeInFull(folder: string, { id, generatedAt, passes }: CurrentList): void {
  const file = beginList(folder)
  try {
    file.write([{ id, generatedAt }])
    const items = [...passes.items()]
    for (let first = 0; first < items.length; first += PAGE) file.write(items.slice(first, first + PAGE))
    file.commit()
  } finally {
    file.close()
  }
}

/** Loads the stored list; `undefined` if there is none or its format is outdated. */
function load(folder: string): CurrentList | undefined {
  const stored = readList(folder)
  if (!stored) return undefined
  const passes = createDoorList(stored.items)
  for (const { pages } of stored.changes) for (const page of pages) passes.merge(page)
  const { head } = stored.changes.at(-1) ?? stored
  return { ...head, passes, changed: stored.changes.reduce((sum, { pages }) => sum + costOf(pages), 0) }
}

function costOf(pages: readonly SnapshotDelta[]): number {
  return pages.reduce((sum, { items }) => sum + items.length, 10)
}
