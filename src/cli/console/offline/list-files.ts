import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SnapshotItem } from '../../../core/contract/scanner.ts'
import type { SnapshotDelta } from '../../../core/rules/door/door-list.ts'
import { beginReplacement, replacePrivateSync } from '../../../files/private-file.ts'

/**
 * The stored list of a door: `list.ndjson` with all items, and for each refresh a file with the changes, named after
 * the snapshot that it follows. Files are replaced atomically, so that a crash keeps the old list. If two consoles
 * write the same file, either version is valid.
 */

/** A snapshot id and its time on the server's clock. */
export interface ListHead {
  id: string
  generatedAt: string
}

/** The changes from the previous snapshot. */
export interface ListChange {
  head: ListHead
  pages: SnapshotDelta[]
}

const FILE = 'list.ndjson'
const CHANGES = /^list\.[\da-f-]{36}\.ndjson$/
const DRAFTS = /^list\.(?:[\da-f-]{36}\.)?ndjson\./
/** The age at which a draft is abandoned, longer than any write takes. */
const DRAFT_MS = 3_600_000

const changesSince = (id: string) => `list.${id}.ndjson`

/** A complete list that is being written, page by page. */
export interface ListDraft {
  write(lines: readonly object[]): void
  /** Replaces the previous list and its changes. */
  commit(): void
  /** Always call it; discards a list that was not committed. */
  close(): void
}

/** Starts a draft next to the current list. */
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

/** Stores the changes since a snapshot. */
export function addChange(folder: string, since: string, { head, pages }: ListChange): void {
  replacePrivateSync(join(folder, changesSince(since)), textOf([head, ...pages]))
}

function textOf(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Reads the stored list and its changes, in order; `undefined` if there is none or its format is outdated. */
export function readList(folder: string): { head: ListHead; items: SnapshotItem[]; changes: ListChange[] } | undefined {
  const [head, ...items] = (readLines(join(folder, FILE)) ?? []) as [ListHead?, ...SnapshotItem[]]
  // The file is complete, but may be from an older version of this program.
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

/** Removes the list, which must not remain on this machine when offline scanning is forbidden. */
export function removeList(folder: string): void {
  remove(folder, (name) => name.startsWith('list.'))
}

/** Removes changes of older lists, and abandoned drafts of killed consoles. */
function removeOlder(folder: string): void {
  const stale = Date.now() - DRAFT_MS
  const isLeft = (name: string) => DRAFTS.test(name) && mtimeOf(join(folder, name)) < stale
  remove(folder, (name) => CHANGES.test(name) || isLeft(name))
}

function remove(folder: string, isMeant: (name: string) => boolean): void {
  for (const name of readdirSync(folder)) if (isMeant(name)) rmSync(join(folder, name), { force: true })
}

/** Returns a time that is never stale if another console has already replaced or removed the file. */
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
