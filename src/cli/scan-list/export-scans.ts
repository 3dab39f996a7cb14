import { open, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Interfaces } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import type { Page } from '../../core/contract/schemas/common.ts'
import { isJsonObject } from '../../core/json.ts'
import { type FileLock, openUnderLock } from '../../files/file-lock.ts'
import { beginJournal, continueJournal, type JournalFile, readJournal } from '../../files/journal.ts'
import { ifMissing, openPrivate } from '../../files/private-file.ts'
import type { PageFormat } from '../arguments/list-flags.ts'
import { changedSetting, isWhole } from '../bulk/bulk-journal.ts'
import { rejectPipe, writeAt } from '../bulk/output-file.ts'
import { CliError, withName } from '../command/cli-error.ts'
import { retryNotes } from '../command/client-command.ts'
import { writeOut } from '../command/output.ts'
import { type Progress, startProgress } from '../command/progress.ts'
import { listPages } from '../list/show-list.ts'
import { passIdsOf, type scanFilterFlags, type scanFormats, scanQuery, scansFormat, withHolders } from './formats.ts'

export interface ScanExportOptions {
  flags: Interfaces.InferredFlags<typeof scanFilterFlags> & {
    out?: string | undefined
    restart: boolean
    'raw-cells': boolean
    cursor?: string | undefined
  }
  format: (typeof scanFormats)[number]
  /** The origin of the server, which an incomplete file is bound to. */
  server: string
  /** The client for calls before the first page, with few retries. */
  client: Client
  /** Creates the client for pages, whose retries outlast a restart of the server. */
  sender: (onRetry: (reason: { error: Error; waitSeconds: number }) => void) => Client
  stop: AbortSignal
  note: (message: string) => void
}

export async function exportScans(options: ScanExportOptions): Promise<ExportResult> {
  const { flags, format, stop, note } = options
  // Keep the heap small: rows are short-lived, but by default V8's heap would grow far beyond a page.
  setFlagsFromString('--optimize-for-size')
  const query = scanQuery(flags, await passIdsOf(options.client, flags))
  await using file = flags.out === undefined ? undefined : await openFile(flags.out, query, options)
  if (file?.start) note(`Resuming after the first ${file.start.rows} scans, which an earlier run wrote`)
  const cursor = file?.start?.cursor ?? flags.cursor
  // Await here, so that the file is not closed earlier.
  return await exportPages({
    stop,
    note,
    pages: (logAboveProgress) => {
      const client = options.sender(retryNotes(logAboveProgress))
      const scans = listPages((call) => client.scans.list(call, { signal: stop }), query, { all: true, cursor })
      return withHolders(client, scans, logAboveProgress)
    },
    format: scansFormat(format, { isContinued: cursor !== undefined, rawCells: flags['raw-cells'] }),
    startRows: file?.start?.rows ?? 0,
    write: async (text, point) => {
      if (!file) return writeOut(text)
      await file.append(text, point)
      return true
    },
    // Show no progress if the rows themselves are printed on the terminal.
    showProgress: file !== undefined || !process.stdout.isTTY,
  })
}

async function openFile(path: string, query: object, options: ScanExportOptions): Promise<ExportFile> {
  rejectPipe(path, 'omit --out to write to stdout.')
  const { workspaceId } = await options.client.tokens.current()
  const filters = Object.entries(query).filter(([, value]) => value !== undefined)
  const settings = Object.fromEntries(filters.map(([name, value]) => [name, [value].flat().sort().join(', ')]))
  const head = {
    format: 2 as const,
    server: options.server,
    workspaceId,
    settings: { ...settings, format: options.format, ...(options.flags['raw-cells'] && { '--raw-cells': 'yes' }) },
  }
  return openExportFile(resolve(path), head, { restart: options.flags.restart, note: options.note })
}

/** An output file, written page by page. An interrupted export can be resumed. */
interface ExportFile {
  /** The point to resume from; `undefined` at the start. */
  readonly start: ExportPoint | undefined
  /** Appends a page. `point` has the total number of rows and the next cursor, `null` at the end. */
  append(text: string, point: { rows: number; cursor: string | null }): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The minimum interval between checkpoints. A crash loses the rows since the last one; a checkpoint per page would
 * cost more than the pages.
 */
const NOTE_EVERY_MS = 1_000

/**
 * Opens or creates the file of an export and locks it. While the file is incomplete, a journal next to it records the
 * progress. Resumes from the last point that the file still contains.
 * @throws FileInUseError if another run holds the lock; CliError if the file is part of another export and `restart`
 * is not set
 */
export async function openExportFile(
  path: string,
  head: ExportHead,
  options: { restart: boolean; note: (message: string) => void },
): Promise<ExportFile> {
  const { restart, note } = options
  return openUnderLock(journalPath(path), note, (lock) => openLocked(path, head, { restart, lock }))
}

async function openLocked(
  path: string,
  head: ExportHead,
  { restart, lock }: { restart: boolean; lock: FileLock },
): Promise<ExportFile> {
  const size = await stat(path).then((stats) => stats.size, ifMissing(-1))
  // Start again if the file was deleted or truncated.
  const found = restart ? undefined : readPoints(path, head).findLast(({ point }) => point.bytes <= size)
  if (!found) await removeJournal(path)
  const start = found?.point
  const file = start ? await open(path, 'r+') : await openPrivate(path, 'w')
  // Remove the rows after the recorded point, because they will be written again.
  if (start) await file.truncate(start.bytes)
  let journal: JournalFile<ExportHead | ExportPoint> | undefined =
    found && continueJournal(journalPath(path), found.end)
  let bytes = start?.bytes ?? 0
  let reached: ExportPoint | undefined
  let notedAt = Date.now()
  const note = async () => {
    if (!reached) return
    await file.datasync()
    lock.assertHeld()
    if (journal) journal.append(reached)
    else journal = beginJournal(journalPath(path), [head, reached])
    journal.sync()
    reached = undefined
    notedAt = Date.now()
  }
  return {
    start,
    append: async (text, { rows, cursor }) => {
      lock.assertHeld()
      bytes += await withName(path, () => writeAt(file, Buffer.from(text), bytes))
      reached = cursor === null ? undefined : { rows, bytes, cursor }
      if (cursor !== null && Date.now() - notedAt >= NOTE_EVERY_MS) await note()
      if (cursor !== null) return
      await file.datasync()
      await removeJournal(path)
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await note()
      } finally {
        journal?.close()
        await file.close()
        await lock.release()
      }
    },
  }
}

export interface ExportOptions<T> {
  /** Lists the pages. `note` writes a line above the progress bar. */
  pages: (note: (message: string) => void) => AsyncIterable<Page<T>>
  format: PageFormat<T>
  startRows: number
  /** Writes a page with its progress; returns `false` if the reader closed the pipe. */
  write: (text: string, point: ExportedPoint) => Promise<boolean>
  stop: AbortSignal
  showProgress: boolean
  note: (message: string) => void
}

export interface ExportedPoint {
  /** The number of written rows, including earlier runs. */
  rows: number
  /** The next cursor; `null` at the end. */
  cursor: string | null
}

interface ExportResult {
  rows: number
  /** The next cursor: `null` at the end, `undefined` if no page was written. */
  cursor: string | null | undefined
}

/** Writes pages until the list ends, the reader closes the pipe, or `stop` aborts. Keeps one page in memory. */
export async function exportPages<T>(options: ExportOptions<T>): Promise<ExportResult> {
  const { format, startRows, write, stop } = options
  const result: ExportResult = { rows: startRows, cursor: undefined }
  let progress: Progress | undefined
  const pages = options.pages((message) => (progress ?? options).note(message))
  try {
    for await (const page of pages) {
      const start = { done: startRows, rows: startRows, failed: 0 }
      if (options.showProgress) progress ??= await startProgress({ total: page.total, start })
      const point = { rows: result.rows + page.items.length, cursor: page.nextCursor }
      const isRead = await write(format(page.items), point)
      Object.assign(result, point)
      progress?.update({ done: point.rows, rows: point.rows, failed: 0 })
      if (!isRead || stop.aborted) break
    }
  } catch (error) {
    // Ignore the error of the request that the stop aborted.
    if (!stop.aborted) throw error
  } finally {
    progress?.[Symbol.dispose]()
  }
  return result
}

/** The identity of an export. An incomplete file can be resumed only by an export with the same identity. */
export interface ExportHead {
  format: 2
  server: string
  workspaceId: string
  settings: Readonly<Record<string, string>>
}

/** A checkpoint: the number of rows, their size in bytes, and the next cursor. */
interface ExportPoint {
  rows: number
  bytes: number
  cursor: string
}

function journalPath(file: string): string {
  return `${file}.journal`
}

/**
 * Reads the checkpoints of an incomplete export and their ends in the journal; none if there is no journal.
 * @throws CliError if the file is the journal of another export, or no journal
 */
function readPoints(file: string, wanted: ExportHead): { point: ExportPoint; end: number }[] {
  const path = journalPath(file)
  const lines = readJournal(path)
  if (!lines) return []
  const [head, ...rest] = lines
  const torn = rest.findIndex(({ value }) => !isPoint(value))
  const points = torn < 0 ? rest : rest.slice(0, torn)
  if (!isHead(head?.value) || points.length === 0) {
    throw new CliError(`${path} is not a journal of an export of this version of passes`, {
      hint: 'move it away, or start over with --restart.',
    })
  }
  const difference = differenceOf(head.value, wanted)
  if (difference) {
    throw new CliError(`${file} is an incomplete export ${difference}`, {
      code: 'JOURNAL_MISMATCH',
      details: { journal: path },
      hint: 'resume with the command of that export, or start over with --restart.',
    })
  }
  return points.map(({ value, end }) => ({ point: value as ExportPoint, end }))
}

function removeJournal(file: string): Promise<void> {
  return rm(journalPath(file), { force: true })
}

function isHead(value: unknown): value is ExportHead {
  return isJsonObject(value) && value.format === 2 && isJsonObject(value.settings)
}

function isPoint(value: unknown): value is ExportPoint {
  return isJsonObject(value) && isWhole(value, ['rows', 'bytes']) && typeof value.cursor === 'string'
}

function differenceOf(found: ExportHead, wanted: ExportHead): string | undefined {
  if (found.server !== wanted.server) return `from another server (${found.server})`
  if (found.workspaceId !== wanted.workspaceId) return 'from another workspace'
  return changedSetting(found.settings, wanted.settings)
}
