import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SnapshotItem } from '../../../core/contract/scanner.ts'
import type { SnapshotDelta } from '../../../core/rules/door/door-list.ts'
import { beginReplacement, replacePrivateSync } from '../../../files/private-file.ts'

/**
 * The list of a door on the disk: `list.ndjson` with all of it, and for each refresh since a file with what changed, which is
 * named after the snapshot that it goes on from. Each is written as a whole, so that a crash leaves the list of before; of two
 * consoles that write the same, either may be kept, as both lead on from there.
 */

/** Which snapshot a list is, and when it was made by the server's clock. */
export interface ListHead {
  id: string
  generatedAt: string
}

/** What a list became since the one before. */
export interface ListChange {
  head: ListHead
  pages: SnapshotDelta[]
}

const FILE = 'list.ndjson'
const CHANGES = /^list\.[\da-f-]{36}\.ndjson$/
const DRAFTS = /^list\.(?:[\da-f-]{36}\.)?ndjson\./
/** No list takes so long to write. */
const DRAFT_MS = 3_600_000

const changesSince = (id: string) => `list.${id}.ndjson`

/** A whole list on its way to the disk, a page at a time. */
export interface ListDraft {
  write(lines: readonly object[]): void
  /** Puts it in place of the list of before and of all that changed since. */
  commit(): void
  /** To be called in any case; a list that was not committed is gone. */
  close(): void
}

/** Begins a list beside the one that stands there. */
export function beginList(folder: string): ListDraft {
  const draft = beginReplacement(join(folder, FILE))
  return {
    write: (lines) => draft.write(textOf(lines)),
    commit() {
      draft.commit()
      removeOlder(folder)
    },
    close: draft.close,
  }
}

/** Stores what changed since a snapshot. */
export function addChange(folder: string, since: string, { head, pages }: ListChange): void {
  replacePrivateSync(join(folder, changesSince(since)), textOf([head, ...pages]))
}

function textOf(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** The stored list, and what changed since in its order; undefined where there is none, or one that no longer fits. */
export function readList(folder: string): { head: ListHead; items: SnapshotItem[]; changes: ListChange[] } | undefined {
  const [head, ...items] = (readLines(join(folder, FILE)) ?? []) as [ListHead?, ...SnapshotItem[]]
  // Written by this program as a whole, but maybe by an older one.
  const isKnown = typeof head?.id === 'string' && (items.length === 0 || SnapshotItem.safeParse(items[0]).success)
  if (!isKnown) return undefined
  const changes: ListChange[] = []
  const seen = new Set<string>()
  for (let { id } = head; !seen.has(id); ) {
    seen.add(id)
    const [next, ...pages] = (readLines(join(folder, changesSince(id))) ?? []) as [ListHead?, ...SnapshotDelta[]]
    if (!next) break
    changes.push({ head: next, pages })
    id = next.id
  }
  return { head, items, changes }
}

/** Where scanning offline is forbidden, no list of guests stays behind. */
export function removeList(folder: string): void {
  remove(folder, (name) => name.startsWith('list.'))
}

/** What changed since older lists, and what consoles that were killed left half written. */
function removeOlder(folder: string): void {
  const stale = Date.now() - DRAFT_MS
  const isLeft = (name: string) => DRAFTS.test(name) && mtimeOf(join(folder, name)) < stale
  remove(folder, (name) => CHANGES.test(name) || isLeft(name))
}

function remove(folder: string, isMeant: (name: string) => boolean): void {
  for (const name of readdirSync(folder)) if (isMeant(name)) rmSync(join(folder, name), { force: true })
}

/** Never, of what another console has put in its place meanwhile. */
function mtimeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
}

function readLines(path: string): unknown[] | undefined {
  try {
    const text = readFileSync(path, 'utf8').trimEnd()
    return text.split('\n').map((line) => JSON.parse(line))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
