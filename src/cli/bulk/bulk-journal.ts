import { createHash } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { isJsonObject } from '../../core/json.ts'
import { type FileLock, openUnderLock } from '../../files/file-lock.ts'
import { beginJournal, continueJournal, type JournalFile, readJournal } from '../../files/journal.ts'
import { ifMissing } from '../../files/private-file.ts'
import { CliError, withName } from '../command/cli-error.ts'

/** The identity of a run. A journal can be resumed only by a run with the same identity. */
export interface JournalHead {
  format: 2
  file: { bytes: number; modified: number; start: string }
  server: string
  workspaceId: string
  command: string
  settings: Readonly<Record<string, string>>
  out: string | null
  failures: string | null
}

/** A checkpoint of a run. All rows before it are complete; rows after it are sent again. */
export interface JournalEntry {
  rows: number
  /** The offset of the end of the completed rows in the input, in bytes. */
  bytes: number
  counts: Record<string, number>
  failing: number
  /** The outcomes of the rows since the previous entry, in order, run-length encoded. */
  outcomes: [outcome: string, rows: number][]
  outBytes: number
  failuresBytes: number
  complete: boolean
}

export interface Journal {
  readonly start: JournalEntry
  /** @throws FileInUseError if another run took the journal over, for example after this machine slept */
  append(entry: JournalEntry): void
  /** Returns when all appended entries are flushed to disk. */
  sync(): void
  [Symbol.asyncDispose](): Promise<void>
}

export const atStart: JournalEntry = {
  rows: 0,
  bytes: 0,
  counts: {},
  failing: 0,
  outcomes: [],
  outBytes: 0,
  failuresBytes: 0,
  complete: false,
}

/** Returns values that detect a changed file without reading all of it. */
export function fingerprint(path: string): Promise<JournalHead['file']> {
  return withName(path, async () => {
    const file = await open(path, 'r')
    try {
      const { size, mtimeMs } = await file.stat()
      const { buffer, bytesRead } = await file.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, 0)
      const start = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex')
      return { bytes: size, modified: mtimeMs, start }
    } finally {
      await file.close()
    }
  })
}

export interface JournalOptions {
  restart: boolean
  note: (message: string) => void
}

/**
 * Opens or creates the journal of a run, and locks it. Removes an invalid line and everything after it, such as a line
 * that a crash cut off. Replaces a journal of other work if that work is complete or has no rows.
 * @throws FileInUseError if another run holds the lock
 * @throws CliError if the file is not a journal. Without `restart`, also if the file holds unfinished work of another
 * command, file, or version of this program
 */
export async function openJournal(path: string, head: JournalHead, options: JournalOptions): Promise<Journal> {
  const { restart, note } = options
  return openUnderLock(path, note, (lock) => openLocked(path, head, { restart, lock }))
}

async function openLocked(
  path: string,
  head: JournalHead,
  { restart, lock }: { restart: boolean; lock: FileLock },
): Promise<Journal> {
  const found = restart ? undefined : readRun(path)
  const difference = found && differenceOf(found.head, head)
  const last = found?.entries.at(-1) ?? atStart
  if (difference && last.rows > 0 && !last.complete) {
    throw new CliError(`${path} contains an unfinished run ${difference}`, {
      code: 'JOURNAL_MISMATCH',
      details: { journal: path },
      // Suggest a new run if the file was replaced, because a run cannot be resumed with another file.
      hint: difference === OTHER_FILE ? ANEW : `resume with the command of that run, or ${ANEW}`,
    })
  }
  if (!found || difference) return journalOver(beginJournal(path, [head]), atStart, lock)
  const start = await startOf(found.entries, head)
  return journalOver(continueJournal(path, found.bytes), start, lock)
}

function journalOver(file: JournalFile<JournalHead | JournalEntry>, start: JournalEntry, lock: FileLock): Journal {
  return {
    start,
    append(entry) {
      lock.assertHeld()
      file.append(entry)
    },
    sync: () => file.sync(),
    [Symbol.asyncDispose]: async () => {
      file.close()
      await lock.release()
    },
  }
}

/**
 * Returns the last checkpoint that matches the output files. After a power failure, this can be an earlier checkpoint.
 * If an output file was deleted, it is the start. The files of a complete run can be edited and are left unchanged.
 */
async function startOf(entries: JournalEntry[], head: JournalHead): Promise<JournalEntry> {
  const outBytes = await sizeOf(head.out)
  const failuresBytes = await sizeOf(head.failures)
  const last = entries.at(-1)
  if (last?.complete && outBytes > 0 && failuresBytes > 0) return last
  return entries.findLast((entry) => entry.outBytes <= outBytes && entry.failuresBytes <= failuresBytes) ?? atStart
}

/** Returns the size of an output file; infinite if the output is not requested, so that it matches every checkpoint. */
async function sizeOf(path: string | null): Promise<number> {
  if (path === null) return Number.POSITIVE_INFINITY
  return stat(path).then(({ size }) => size, ifMissing(0))
}

/** Reads the journal of a run; `undefined` if the run was never started. */
function readRun(path: string) {
  const [first, ...rest] = readJournal(path) ?? []
  if (!first) return undefined
  const rejection = (what: string, hint: string) =>
    new CliError(`${path} ${what}`, { code: 'JOURNAL_MISMATCH', details: { journal: path }, hint })
  if (isJsonObject(first.value) && 'format' in first.value && first.value.format !== FORMAT) {
    if (rest.length === 0) return undefined
    throw rejection('was written by another version of passes, which stores other data of each row', ANEW)
  }
  if (!isHead(first.value)) throw rejection('is not a journal of passes', `move it away, or ${ANEW}`)
  const torn = rest.findIndex(({ value }) => !isEntry(value))
  const good = torn < 0 ? rest : rest.slice(0, torn)
  return {
    head: first.value,
    entries: good.map(({ value }) => value as JournalEntry),
    bytes: good.at(-1)?.end ?? first.end,
  }
}

function isHead(value: unknown): value is JournalHead {
  return isJsonObject(value) && value.format === FORMAT && isJsonObject(value.file) && isJsonObject(value.settings)
}

const COUNTED = ['rows', 'bytes', 'failing', 'outBytes', 'failuresBytes'] as const

function isEntry(value: unknown): value is JournalEntry {
  if (!isJsonObject(value) || !isJsonObject(value.counts) || !Array.isArray(value.outcomes)) return false
  return isWhole(value, COUNTED) && isWhole(value.counts, Object.keys(value.counts))
}

export function isWhole(record: Record<string, unknown>, names: readonly string[]): boolean {
  return names.every((name) => Number.isSafeInteger(record[name]) && (record[name] as number) >= 0)
}

/** The version of the entry format. Increase it when entries change, so that incompatible journals are not resumed. */
const FORMAT: JournalHead['format'] = 2

const ANEW = 'start over with --restart: completed rows are not repeated.'
const OTHER_FILE = 'over another version of this file'

function differenceOf(found: JournalHead, wanted: JournalHead): string | undefined {
  const file = found.file
  if (file.bytes !== wanted.file.bytes || file.modified !== wanted.file.modified || file.start !== wanted.file.start) {
    return OTHER_FILE
  }
  if (found.server !== wanted.server) return `against another server (${found.server})`
  if (found.workspaceId !== wanted.workspaceId) return 'in another workspace'
  if (found.command !== wanted.command) return `of another command (passes ${found.command})`
  const changed = changedSetting(found.settings, wanted.settings)
  if (changed) return changed
  if (found.out !== wanted.out || found.failures !== wanted.failures) {
    return `with other files to write (--out ${found.out ?? 'none'}, --failures ${found.failures ?? 'none'})`
  }
  return undefined
}

/** Describes the first setting that differs from the journal's; `undefined` if all are equal. */
export function changedSetting(found: JournalHead['settings'], wanted: JournalHead['settings']): string | undefined {
  const changed = Object.keys({ ...found, ...wanted }).find((name) => found[name] !== wanted[name])
  return changed && `with another ${changed} (${found[changed] ?? 'none'})`
}
