import { closeSync, fsyncSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, eachPage } from '../../../client/client.ts'
import { SnapshotItem } from '../../../core/contract/scanner.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import { openPrivateSync, syncFolder } from '../../../files/private-file.ts'

/** The passes of a door as the server knew them at one moment; what is judged by without it. */
export interface DoorList {
  id: string
  /** When, by the server's clock. */
  generatedAt: string
  size: number
  get(passId: string): SnapshotItem | undefined
  /** Passes that a payload belongs to: those whose active identifier it is, else those where it was one before. */
  find(payload: string): { items: SnapshotItem[]; isStale: boolean }
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
export async function fetchDoorList(
  client: Client,
  options: { folder: string; projectId: string | undefined; signal: AbortSignal },
): Promise<DoorList> {
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
    return doorListOf(head!, items)
  } finally {
    closeSync(file)
    rmSync(draft, { force: true })
  }
}

/** The stored list; undefined where there is none, or one that no longer fits. */
export function loadDoorList(folder: string): DoorList | undefined {
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
  return isKnown ? doorListOf(head, items) : undefined
}

/** Where scanning offline is forbidden, no list of guests stays behind. */
export function removeDoorList(folder: string): void {
  rmSync(join(folder, FILE), { force: true })
}

function doorListOf({ id, generatedAt }: Head, items: SnapshotItem[]): DoorList {
  const byId = new Map(items.map((item) => [item.passId, item]))
  const active = indexBy(items, (item) => item.identifiers)
  const stale = indexBy(items, (item) => item.staleIdentifiers)
  return {
    id,
    generatedAt,
    size: items.length,
    get: (passId) => byId.get(passId),
    find(payload) {
      const digest = identifierDigest(payload).toString('hex')
      const found = active.get(digest)
      return found ? { items: found, isStale: false } : { items: stale.get(digest) ?? [], isStale: true }
    },
    search(text, limit) {
      const wanted = text.toLowerCase()
      const fits = ({ label, externalPassId }: SnapshotItem) =>
        label.toLowerCase().includes(wanted) || externalPassId.toLowerCase().includes(wanted)
      const isExact = ({ label, externalPassId }: SnapshotItem) =>
        label.toLowerCase() === wanted || externalPassId.toLowerCase() === wanted
      const [exact, found]: SnapshotItem[][] = [[], []]
      for (const item of items) {
        if (isExact(item)) exact!.push(item)
        else if (found!.length < limit && fits(item)) found!.push(item)
      }
      return [...exact!, ...found!].slice(0, limit)
    },
  }
}

function indexBy(items: SnapshotItem[], keysOf: (item: SnapshotItem) => string[]): Map<string, SnapshotItem[]> {
  const index = new Map<string, SnapshotItem[]>()
  for (const item of items) {
    for (const key of keysOf(item)) {
      const found = index.get(key)
      if (found) found.push(item)
      else index.set(key, [item])
    }
  }
  return index
}
