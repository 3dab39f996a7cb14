import { closeSync, fsyncSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, eachPage } from '../../../client/client.ts'
import { ApiError, ConnectionError } from '../../../client/errors.ts'
import { SnapshotItem } from '../../../core/contract/scanner.ts'
import { createDoorList } from '../../../core/rules/door/door-list.ts'
import { openPrivateSync, syncFolder } from '../../../files/private-file.ts'
import { failureMessage } from '../outcome.ts'
import type { DoorStore } from './store.ts'

/** The passes of a door as the server knew them at one moment; what is evaluated by without it. */
export interface DoorSnapshot {
  id: string
  /** When, by the server's clock. */
  generatedAt: string
  size: number
  get(passId: string): SnapshotItem | undefined
  /** Passes that the digest of a payload belongs to: those whose active identifier it is, else those where it was one before. */
  find(digest: string): { items: readonly SnapshotItem[]; isStale: boolean }
  /** The passes of a group, in the order of their ids. */
  membersOf(groupId: string): readonly SnapshotItem[]
  /** Passes whose name or external id holds a text, at most so many. */
  search(text: string, limit: number): SnapshotItem[]
}

const FILE = 'list.ndjson'
const PAGE = 1000

interface Head {
  id: string
  generatedAt: string
}

/**
 * Takes the list from the server, stores it in the folder in place of the one before, and returns it.
 * @throws ApiError of code SCANNER_OFFLINE_DISABLED or FORBIDDEN where scanning offline is not allowed.
 */
export async function fetchSnapshot(
  client: Client,
  options: { folder: string; projectId: string | undefined; signal: AbortSignal },
): Promise<DoorSnapshot> {
  const { folder, projectId, signal } = options
  const draft = join(folder, `${FILE}.${process.pid}`)
  const file = openPrivateSync(draft, 'w')
  try {
    const items: SnapshotItem[] = []
    let head: Head | undefined
    const write = (lines: readonly object[]) =>
      writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const query = { limit: PAGE, ...(projectId && { projectId }) }
    for await (const page of eachPage((call) => client.scanner.snapshot(call, { signal }), query)) {
      if (!head) {
        head = { id: page.id, generatedAt: page.generatedAt }
        write([head])
      }
      write(page.items)
      items.push(...page.items)
    }
    fsyncSync(file)
    renameSync(draft, join(folder, FILE))
    syncFolder(folder)
    return snapshotOf(head!, items)
  } finally {
    closeSync(file)
    rmSync(draft, { force: true })
  }
}

/** The stored list; undefined where there is none, or one that no longer fits. */
function loadSnapshot(folder: string): DoorSnapshot | undefined {
  let text: string
  try {
    text = readFileSync(join(folder, FILE), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const [head, ...items] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  // Written by this program as a whole, but maybe by an older one.
  const isKnown = typeof head?.id === 'string' && (items.length === 0 || SnapshotItem.safeParse(items[0]).success)
  return isKnown ? snapshotOf(head, items) : undefined
}

/** Where scanning offline is forbidden, no list of guests stays behind. */
function removeSnapshot(folder: string): void {
  rmSync(join(folder, FILE), { force: true })
}

function snapshotOf({ id, generatedAt }: Head, items: SnapshotItem[]): DoorSnapshot {
  const list = createDoorList(items)
  return {
    id,
    generatedAt,
    size: list.size,
    get: list.get,
    find: list.find,
    membersOf: list.membersOf,
    search: list.search,
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

const REFRESH_MS = 5 * 60_000
/** A list that takes a minute to read is not read every five. */
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
      list = await fetchSnapshot(client, { folder, projectId, signal: stopped.signal })
      rejection = null
      store.prune(list.generatedAt)
      const took = performance.now() - startedAt
      notBefore = performance.now() + Math.max(REFRESH_MS, took * REST_FACTOR)
    } catch (error) {
      if (stopped.signal.aborted) return
      if (error instanceof ApiError && [401, 403, 404].includes(error.status)) {
        rejection = error.code === 'SCANNER_OFFLINE_DISABLED' ? 'this workspace forbids it' : failureMessage(error)
        list = undefined
        removeSnapshot(folder)
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
