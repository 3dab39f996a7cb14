import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, eachPage } from '../../../client/client.ts'
import { ApiError, ConnectionError } from '../../../client/errors.ts'
import type { SnapshotItem } from '../../../core/contract/scanner.ts'
import { createDoorList, type SnapshotDelta } from '../../../core/rules/door/door-list.ts'
import { failureMessage } from '../outcome.ts'
import { addChange, beginList, type ListChange, type ListHead, readList, removeList } from './list-files.ts'
import type { DoorStore } from './store.ts'

/** The passes of a door as the server knew them at one moment; what is evaluated by without it. A refresh changes it. */
export interface DoorSnapshot {
  readonly id: string
  /** When, by the server's clock. */
  readonly generatedAt: string
  readonly size: number
  get(passId: string): SnapshotItem | undefined
  /** Passes that the digest of a payload belongs to: those whose active identifier it is, else those where it was one before. */
  find(digest: string): { items: readonly SnapshotItem[]; isStale: boolean }
  /** The passes of a group, in the order of their ids. */
  membersOf(groupId: string): readonly SnapshotItem[]
  /** Passes whose name or external id holds a text, at most so many. */
  search(text: string, limit: number): SnapshotItem[]
}

const PAGE = 1000

/** A small list is not stored whole at each change. */
const MIN_CHANGED = 1_000

/** A list that goes on by what changes. */
interface FollowedSnapshot extends DoorSnapshot {
  items(): Iterable<SnapshotItem>
  merge(change: ListChange): void
  /** Items that came by changes since the list was stored whole, and ten for each file that they came in. */
  changed: number
}

interface FetchOptions {
  folder: string
  projectId: string | undefined
  signal: AbortSignal
}

/**
 * Takes the list from the server, stores it in the folder in place of the one before, and returns it.
 * @throws ApiError of code SCANNER_OFFLINE_DISABLED or FORBIDDEN where scanning offline is not allowed.
 */
export async function fetchSnapshot(
  client: Client,
  { folder, projectId, signal }: FetchOptions,
): Promise<FollowedSnapshot> {
  const draft = beginList(folder)
  try {
    const items: SnapshotItem[] = []
    let head: ListHead | undefined
    const query = { limit: PAGE, ...(projectId && { projectId }) }
    for await (const page of eachPage((call) => client.scanner.snapshot(call, { signal }), query)) {
      if (!head) {
        head = { id: page.id, generatedAt: page.generatedAt }
        draft.write([head])
      }
      draft.write(page.items)
      items.push(...page.items)
    }
    draft.commit()
    return snapshotOf(head!, items)
  } finally {
    draft.close()
  }
}

/**
 * Makes a list the newest by what changed since, and stores that. Where the server does not follow the list any more, or
 * is older and never does, a new one is taken whole.
 */
async function refreshSnapshot(
  client: Client,
  list: FollowedSnapshot,
  options: FetchOptions,
): Promise<FollowedSnapshot> {
  const { folder } = options
  const since = list.id
  try {
    const change = await fetchChange(client, since, options)
    addChange(folder, since, change)
    list.merge(change)
  } catch (error) {
    // A server of the version before knows no such parameter.
    const isUnfollowed = error instanceof ApiError && (error.code === 'SCANNER_SNAPSHOT_STALE' || error.status === 400)
    if (!isUnfollowed) throw error
    return fetchSnapshot(client, options)
  }
  // So that a start reads no more of changes than of the list: what they cost is spread over them.
  if (list.changed > Math.max(list.size, MIN_CHANGED)) store(folder, list)
  return list
}

async function fetchChange(client: Client, since: string, { projectId, signal }: FetchOptions): Promise<ListChange> {
  const pages: SnapshotDelta[] = []
  let head: ListHead | undefined
  const query = { limit: PAGE, since, ...(projectId && { projectId }) }
  for await (const page of eachPage((call) => client.scanner.snapshot(call, { signal }), query)) {
    const { id, generatedAt, items, removed } = page
    head ??= { id, generatedAt }
    pages.push({ items, removed })
  }
  return { head: head!, pages }
}

function store(folder: string, list: FollowedSnapshot): void {
  const draft = beginList(folder)
  try {
    draft.write([{ id: list.id, generatedAt: list.generatedAt }])
    const items = [...list.items()]
    for (let first = 0; first < items.length; first += PAGE) draft.write(items.slice(first, first + PAGE))
    draft.commit()
    list.changed = 0
  } finally {
    draft.close()
  }
}

/** The stored list; undefined where there is none, or one that no longer fits. */
function loadSnapshot(folder: string): FollowedSnapshot | undefined {
  const stored = readList(folder)
  if (!stored) return undefined
  const list = snapshotOf(stored.head, stored.items)
  for (const change of stored.changes) list.merge(change)
  return list
}

function snapshotOf(first: ListHead, items: SnapshotItem[]): FollowedSnapshot {
  const list = createDoorList(items)
  let head = first
  return {
    get id() {
      return head.id
    },
    get generatedAt() {
      return head.generatedAt
    },
    get size() {
      return list.size
    },
    changed: 0,
    items: list.items,
    get: list.get,
    find: list.find,
    membersOf: list.membersOf,
    search: list.search,
    merge(change) {
      for (const page of change.pages) {
        list.merge(page)
        this.changed += page.items.length
      }
      this.changed += 10
      head = change.head
    },
  }
}

/** Holds the newest list of the door, for when the server is gone. */
export interface ListKeeper {
  readonly list: DoorSnapshot | undefined
  /** Why none can be had, in words; null where nothing stands in the way. */
  readonly rejection: string | null
  /** Takes a new list in the background, unless one is on its way or too new to be replaced. */
  refresh(): void
  /** Resolves when none is on its way, or when the time is over. */
  whenTaken(timeoutMs: number): Promise<void>
  stop(): Promise<void>
}

const REFRESH_MS = 60_000
/** A list that takes a minute to read is not read every minute. */
const REST_FACTOR = 20
const RETRY_MS = 30_000

/** Keeps the stored list fresh while the console runs: see ListKeeper. */
export function createListKeeper(options: {
  client: Client
  store: DoorStore
  folder: string
  projectId: string | undefined
  onChange: () => void
}): ListKeeper {
  const { client, store, folder, projectId, onChange } = options
  const stopped = new AbortController()
  let list = loadSnapshot(folder)
  let rejection: string | null = null
  let running: Promise<void> | undefined
  let notBefore = 0

  async function take(): Promise<void> {
    const startedAt = performance.now()
    try {
      const options = { folder, projectId, signal: stopped.signal }
      list = list ? await refreshSnapshot(client, list, options) : await fetchSnapshot(client, options)
      rejection = null
      store.prune(list.generatedAt)
      const took = performance.now() - startedAt
      notBefore = performance.now() + Math.max(REFRESH_MS, took * REST_FACTOR)
    } catch (error) {
      if (stopped.signal.aborted) return
      if (error instanceof ApiError && [401, 403, 404].includes(error.status)) {
        rejection = error.code === 'SCANNER_OFFLINE_DISABLED' ? 'this workspace forbids it' : failureMessage(error)
        list = undefined
        removeList(folder)
      } else if (!(error instanceof ApiError || error instanceof ConnectionError)) rejection = failureMessage(error)
      notBefore = performance.now() + RETRY_MS
    }
  }

  return {
    get list() {
      // Another console of this door may have taken one.
      if (rejection === null) list ??= loadSnapshot(folder)
      return list
    },
    get rejection() {
      return rejection
    },
    refresh() {
      if (running || performance.now() < notBefore || stopped.signal.aborted) return
      running = take().finally(() => {
        running = undefined
        onChange()
      })
    },
    async whenTaken(timeoutMs) {
      await Promise.race([running, sleep(timeoutMs, undefined, { ref: false })])
    },
    async stop() {
      stopped.abort()
      await running
    },
  }
}
