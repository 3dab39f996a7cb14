import { createHash } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { isJsonObject } from '../../core/json.ts'
import { type FileLock, openUnderLock } from '../../files/file-lock.ts'
import { beginJournal, continueJournal, type JournalFile, readJournal } from '../../files/journal.ts'
import { CliError, withName } from '../command/errors.ts'

/** What a run works on. Only a run over the very same may go on from a journal. */
export interface JournalHead {
  format: 2
  file: { bytes: number; modified: number; start: string }
  server: string
  workspaceId: string
  /** The command of the program, such as issue. */
  command: string
  /** Its flags that change what is done with a row. */
  settings: Readonly<Record<string, string>>
  out: string | null
  failures: string | null
}

/** How far a run has come: everything before this point is done, nothing after it counts. */
export interface JournalEntry {
  /** Rows of the input, from its first. */
  rows: number
  /** Bytes of the input up to the end of those rows. */
  bytes: number
  /** Of those rows, how many came to what. */
  counts: Record<string, number>
  /** Of those rows, how many stand in the failures file. */
  failing: number
  /** What became of each row since the entry before, in their order; equal ones beside each other are counted. */
  outcomes: [outcome: string, rows: number][]
  /** Sizes of the files that were written. */
  outBytes: number
  failuresBytes: number
  complete: boolean
}

/** The journal of a run, open and locked. */
export interface Journal {
  /** Where to go on. */
  readonly start: JournalEntry
  /** @throws FileInUseError where another run took it over, as after a long sleep of this machine */
  append(entry: JournalEntry): void
  /** Returns when all that was appended is on the disk. */
  sync(): void
  [Symbol.asyncDispose](): Promise<void>
}

/** The entry of a run that has done nothing yet. */
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

/** What tells one version of a file from another without reading it whole. */
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

/** How a journal is opened. */
export interface JournalOptions {
  /** Forget what stands there. */
  restart: boolean
  note: (message: string) => void
}

/**
 * Opens the journal of a run, or begins one, and keeps other runs away from it. What stands after a line that is no entry,
 * such as a last one that a crash tore, is cut off. A journal of other work is replaced where that work is complete or
 * never came to a first row.
 * @throws FileInUseError where another run is at work; CliError where, without `restart`, it holds unfinished work of
 *   another kind or of another version of this program, or the file is no journal
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
    throw new CliError(`${path} holds an unfinished run ${difference}`, {
      code: 'JOURNAL_MISMATCH',
      details: { journal: path },
      // No command goes on over a file that is no more.
      hint: difference === OTHER_FILE ? ANEW : `go on with the command of that run, or ${ANEW}`,
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
 * The last point at which the written files held what they still hold: an earlier one after a power cut, none where
 * one was deleted. The files of a complete run may have been edited since, and are left alone.
 */
async function startOf(entries: JournalEntry[], head: JournalHead): Promise<JournalEntry> {
  const outBytes = await sizeOf(head.out)
  const failuresBytes = await sizeOf(head.failures)
  const last = entries.at(-1)
  if (last?.complete && outBytes > 0 && failuresBytes > 0) return last
  return entries.findLast((entry) => entry.outBytes <= outBytes && entry.failuresBytes <= failuresBytes) ?? atStart
}

/** Of a file that is not wanted, no size is too small. */
async function sizeOf(path: string | null): Promise<number> {
  if (path === null) return Number.POSITIVE_INFINITY
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

/** What stands in the journal of a run; undefined where it was never begun. */
function readRun(path: string) {
  const [first, ...rest] = readJournal(path) ?? []
  if (!first) return undefined
  const rejection = (what: string, hint: string) =>
    new CliError(`${path} ${what}`, { code: 'JOURNAL_MISMATCH', details: { journal: path }, hint })
  if (isJsonObject(first.value) && 'format' in first.value && first.value.format !== FORMAT) {
    if (rest.length === 0) return undefined
    throw rejection('was written by another version of passes, which kept less or more of each row', ANEW)
  }
  if (!isHead(first.value)) throw rejection('is no journal of passes', `move it away, or ${ANEW}`)
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

/** Whether what stands under these names are whole numbers, none of them negative. */
export function isWhole(record: Record<string, unknown>, names: readonly string[]): boolean {
  return names.every((name) => Number.isSafeInteger(record[name]) && (record[name] as number) >= 0)
}

/** Raised when entries change: one of another format says too little to go on from. */
const FORMAT: JournalHead['format'] = 2

const ANEW = 'start anew with --restart: what is done is not done twice.'
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

/** In words, which setting of the work that a journal is of is another now; undefined where all are the same. */
export function changedSetting(found: JournalHead['settings'], wanted: JournalHead['settings']): string | undefined {
  const changed = Object.keys({ ...found, ...wanted }).find((name) => found[name] !== wanted[name])
  return changed && `with another ${changed} (${found[changed] ?? 'none'})`
}
