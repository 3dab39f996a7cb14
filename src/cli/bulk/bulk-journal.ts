import { createHash } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { isJsonObject } from '../../core/json.ts'
import { type FileLock, openUnderLock } from '../../files/file-lock.ts'
import { beginJournal, continueJournal, type JournalFile, readJournal } from '../../files/journal.ts'
import { ifMissing } from '../../files/private-file.ts'
import { CliError, withName } from '../command/cli-error.ts'

/** The version of the entry format. Increase it when entries change, so that incompatible journals are not resumed. */
export const JOURNAL_FORMAT = 2 as const

/** The identity of a run. A journal can be resumed only by a run with the same identity. */
const JournalHead = z.object({
  format: z.literal(JOURNAL_FORMAT),
  file: z.object({ bytes: z.number(), modified: z.number(), start: z.string() }).optional(),
  server: z.string(),
  workspaceId: z.string(),
  command: z.string(),
  settings: z.record(z.string(), z.string()),
  out: z.string().nullish(),
  failures: z.string().nullish(),
})
export type JournalHead = z.output<typeof JournalHead>

const whole = z.int().nonnegative()

/** A checkpoint of a run. All rows before it are complete. A resumed run sends all later rows, some of them again. */
const JournalEntry = z.object({
  rows: whole,
  /** The offset of the end of the completed rows in the input, in bytes. */
  bytes: whole,
  counts: z.record(z.string(), whole),
  failing: whole,
  /** The outcomes of the rows since the previous entry, in order, run-length encoded. */
  outcomes: z.array(z.tuple([z.string(), whole])),
  outBytes: whole,
  failuresBytes: whole,
  complete: z.boolean(),
})
export type JournalEntry = z.output<typeof JournalEntry>

export interface Journal<Entry = JournalEntry> {
  /** The checkpoint from which the run resumes; `undefined` if the run begins with the first row. */
  readonly start: Entry | undefined
  /** @throws FileInUseError if another run took the journal over, for example after this machine slept */
  assertHeld(): void
  /** @throws FileInUseError if another run took the journal over */
  append(entry: Entry): void
  /** Flushes all appended entries to disk. */
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

/** Returns the size, the modification time, and a hash of the first 64 KiB of a file, to detect changes. */
export function fingerprint(path: string): Promise<NonNullable<JournalHead['file']>> {
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

interface JournalOptions<Entry> {
  restart: boolean
  note: (message: string) => void
  entry: z.ZodType<Entry>
  /** Returns the last checkpoint that the output files still contain. */
  findStart: (entries: Entry[]) => Promise<Entry | undefined>
}

/**
 * Opens or creates the journal of a run, and locks it. Removes an invalid line, such as one that a crash cut off, and
 * everything after it. Replaces the journal of another run if that run is complete or has no rows. With `restart`,
 * replaces any file.
 * @throws FileInUseError if another run holds the lock
 * @throws CliError if, without `restart`, the file is not a journal, or has an unfinished run of another command, file,
 * or version of this program, or a complete update of the same rows with other output files: a second update could undo
 * later changes of the passes
 */
export function openJournal<Entry extends { rows: number; complete?: boolean }>(
  path: string,
  head: JournalHead,
  { restart, note, entry, findStart }: JournalOptions<Entry>,
): Promise<Journal<Entry>> {
  return openUnderLock(path, note, async (lock) => {
    const found = restart ? undefined : readRun(path, entry, head)
    const difference = found && differenceOf(found.head, head)
    const last = found?.entries.at(-1)
    const isRepeat = difference?.kind === 'outputs' && head.command === 'update'
    if (difference && last && last.rows > 0 && (!last.complete || isRepeat)) {
      throw new CliError(`${path} contains ${last.complete ? 'a complete' : 'an unfinished'} run ${difference.text}`, {
        code: 'JOURNAL_MISMATCH',
        details: { journal: path },
        hint: hintFor(difference.kind, last, head),
      })
    }
    const start = found && !difference ? await findStart(found.entries) : undefined
    return journalOver(start ? continueJournal(path, found!.bytes) : beginJournal(path, [head]), start, lock)
  })
}

export function openFileJournal(
  path: string,
  head: JournalHead,
  options: Pick<JournalOptions<JournalEntry>, 'restart' | 'note'>,
) {
  return openJournal(path, head, { ...options, entry: JournalEntry, findStart: (entries) => startOf(entries, head) })
}

function journalOver<Entry>(
  file: JournalFile<JournalHead | Entry>,
  start: Entry | undefined,
  lock: FileLock,
): Journal<Entry> {
  return {
    start,
    assertHeld: () => lock.assertHeld(),
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
 * Returns the last checkpoint that the output files still contain: a power failure can shorten the files. If the run is
 * complete, returns its last checkpoint even if a user shortened a file. If a file is empty or missing, the run starts
 * again.
 */
async function startOf(entries: JournalEntry[], head: JournalHead): Promise<JournalEntry | undefined> {
  const outBytes = await sizeOf(head.out)
  const failuresBytes = await sizeOf(head.failures)
  const last = entries.at(-1)
  if (last?.complete && outBytes > 0 && failuresBytes > 0) return last
  return entries.findLast((entry) => entry.outBytes <= outBytes && entry.failuresBytes <= failuresBytes)
}

/** Returns the identity of the run in a journal; `undefined` if the file is missing or not such a journal. */
export function readHead(path: string): JournalHead | undefined {
  return JournalHead.safeParse(readJournal(path)?.[0]?.value).data
}

/** Returns the size of an output file; infinity, which contains every checkpoint, if no output is requested. */
async function sizeOf(path: string | null | undefined): Promise<number> {
  if (path == null) return Number.POSITIVE_INFINITY
  return stat(path).then(({ size }) => size, ifMissing(0))
}

/**
 * Reads the journal of a run. Returns `undefined` if the file is missing or empty, or if another version of this
 * program wrote it and it has no rows.
 * @throws CliError if the file is not a journal, or if another version of this program wrote its rows
 */
function readRun<Entry>(path: string, entry: z.ZodType<Entry>, wanted: JournalHead) {
  const [first, ...rest] = readJournal(path) ?? []
  if (!first) return undefined
  const rejection = (what: string, hint: string) =>
    new CliError(`${path} ${what}`, { code: 'JOURNAL_MISMATCH', details: { journal: path }, hint })
  if (isJsonObject(first.value) && 'format' in first.value && first.value.format !== JOURNAL_FORMAT) {
    if (rest.length === 0) return undefined
    throw rejection('was written by another version of passes, with other data for each row', startOver(wanted))
  }
  const head = JournalHead.safeParse(first.value).data
  if (!head) throw rejection('is not a journal of passes', `move it away, or ${startOver(wanted)}`)
  const entries: Entry[] = []
  let bytes = first.end
  for (const { value, end } of rest) {
    const { success, data } = entry.safeParse(value)
    if (!success) break
    entries.push(data)
    bytes = end
  }
  return { head, entries, bytes }
}

/** The advice to start over. Only an update changes passes that were changed again since the first run. */
function startOver({ command }: JournalHead): string {
  const effect = command === 'update' ? 'each pass gets the values of the file again' : 'nothing is done twice'
  return `start over with --restart: ${effect}.`
}

function hintFor(kind: Difference['kind'], { complete }: { complete?: boolean }, wanted: JournalHead): string {
  const restart = startOver(wanted)
  // If the input file was replaced, suggest only a new run: the unfinished run cannot continue with another file.
  if (kind === 'file') return restart
  return complete
    ? `all rows are already done. To send them again, ${restart}`
    : `resume with the command of that run, or ${restart}`
}

interface Difference {
  kind: 'file' | 'run' | 'outputs'
  text: string
}

function differenceOf(found: JournalHead, wanted: JournalHead): Difference | undefined {
  if (!isDeepStrictEqual(found.file, wanted.file)) return { kind: 'file', text: 'with another version of this file' }
  const text = otherRunOf(found, wanted)
  if (text !== undefined) return { kind: 'run', text }
  const { out, failures } = found
  if (out === wanted.out && failures === wanted.failures) return undefined
  return {
    kind: 'outputs',
    text: `with other files to write (--out ${out ?? 'none'}, --failures ${failures ?? 'none'})`,
  }
}

function otherRunOf(found: JournalHead, wanted: JournalHead): string | undefined {
  if (found.server !== wanted.server) return `against another server (${found.server})`
  if (found.workspaceId !== wanted.workspaceId) return 'in another workspace'
  if (found.command !== wanted.command) return `of another command (passes ${found.command})`
  const changed = Object.keys({ ...found.settings, ...wanted.settings }).find(
    (name) => found.settings[name] !== wanted.settings[name],
  )
  return changed && `with another ${changed} (${found.settings[changed] ?? 'none'})`
}
