import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, eachPage } from '../../../client/client.ts'
import { ApiError, ConnectionError } from '../../../client/errors.ts'
import type { SnapshotItem } from '../../../core/contract/scanner.ts'
import { createDoorList, type SnapshotDelta } from '../../../core/rules/door/door-list.ts'
import { failureMessage } from '../outcome.ts'
import { addChange, beginList, type ListChange, type ListHead, readList, removeList } from './list-files.ts'
import type { DoorStore } from './store.ts'

/** The passes of a door at one time, for offline evaluation. A refresh updates it. */
export interface DoorSnapshot {
  readonly id: string
  /** The time on the server's clock. */
  readonly generatedAt: string
  readonly size: number
  get(passId: string): SnapshotItem | undefined
  /** Returns the passes with the digest of a payload: those whose active identifier it is, else those that had it earlier. */
  find(digest: string): { items: readonly SnapshotItem[]; isStale: boolean }
  /** Returns the passes of a group, ordered by id. */
  membersOf(groupId: string): readonly SnapshotItem[]
  /** Returns at most `limit` passes whose name or external id contains a text. */
  search(text: string, limit: number): SnapshotItem[]
}

const PAGE = 1000

/** The minimum number of changes before the list is stored in full again. */
const MIN_CHANGED = 1_000

/** A list that is updated by changes. */
interface FollowedSnapshot extends DoorSnapshot {
  items(): Iterable<SnapshotItem>
  merge(change: ListChange): void
  /** The number of changed items since the list was stored in full, plus ten for each file of changes. */
  changed: number
}

interface FetchOptions {
  folder: string
  projectId: string | undefined
  signal: AbortSignal
}

/**
 * Downloads the list, replaces the stored one, and returns it.
 * @throws ApiError SCANNER_OFFLINE_DISABLED or FORBIDDEN if offline scanning is not allowed
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
 * Applies the changes since the list was made and stores them. If the server is too old for changes, or no longer has
 * them, downloads the full list.
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
    // The previous version of the server does not accept the parameter.
    const isUnfollowed = error instanceof ApiError && (error.code === 'SCANNER_SNAPSHOT_STALE' || error.status === 400)
    if (!isUnfollowed) throw error
    return fetchSnapshot(client, options)
  }
  // Store the full list once there are more changes than items: a start then reads at most as many changes as items,
  // and the cost of storing is amortized.
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

/** Loads the stored list; `undefined` if there is none or its format is outdated. */
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

/** Keeps the newest list of the door for offline use. */
export interface ListKeeper {
  readonly list: DoorSnapshot | undefined
  /** The reason why no list is available, as text; `null` if there is none. */
  readonly rejection: string | null
  /** Starts a download in the background, unless one is running or the list is recent. */
  refresh(): void
  /** Resolves when no download is running, or after the timeout. */
  whenTaken(timeoutMs: number): Promise<void>
  stop(): Promise<void>
}

const REFRESH_MS = 60_000
/** The minimum pause between downloads, as a multiple of their duration: slow downloads are less frequent. */
const REST_FACTOR = 20
const RETRY_MS = 30_000

/** Keeps the stored list current while the console runs; see `ListKeeper`. */
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
      // Another console of this door may have stored a list.
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
