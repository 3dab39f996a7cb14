import { open, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Interfaces } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import type { Page } from '../../core/contract/common.ts'
import { isJsonObject } from '../../core/json.ts'
import { type FileLock, openUnderLock } from '../../files/file-lock.ts'
import { beginJournal, continueJournal, type JournalFile, readJournal } from '../../files/journal.ts'
import { openPrivate } from '../../files/private-file.ts'
import { listPages, type PageFormat } from '../arguments/list.ts'
import { changedSetting, isWhole } from '../bulk/journal.ts'
import { refusePipe, writeAt } from '../bulk/output-file.ts'
import { retryNotes } from '../command/client-command.ts'
import { CliError, withName } from '../command/errors.ts'
import { writeOut } from '../command/output.ts'
import { type Progress, startProgress } from '../command/progress.ts'
import { passIdsOf, type scanFilterFlags, scanQuery } from './filters.ts'
import { type scanFormats, scansFormat, withHolders } from './formats.ts'

/** What is exported, where to, and by whom. */
export interface ScanExportOptions {
  flags: Interfaces.InferredFlags<typeof scanFilterFlags> & {
    out?: string | undefined
    restart: boolean
    'raw-cells': boolean
    cursor?: string | undefined
  }
  format: (typeof scanFormats)[number]
  /** Origin of the server, which a half-written file is bound to. */
  server: string
  /** For what is asked before the first page: gives up soon. */
  client: Client
  /** For the pages: waits out a server that restarts. */
  sender: (onRetry: (reason: { error: Error; waitSeconds: number }) => void) => Client
  stop: AbortSignal
  note: (message: string) => void
}

/** Writes the ledger to a file or to stdout. */
export async function exportScans(options: ScanExportOptions): Promise<ExportResult> {
  const { flags, format, stop, note } = options
  // Rows are short-lived: left alone, V8 lets their garbage grow far beyond a page.
  setFlagsFromString('--optimize-for-size')
  const query = scanQuery(flags, await passIdsOf(options.client, flags))
  await using file = flags.out === undefined ? undefined : await openFile(flags.out, query, options)
  if (file?.start) note(`Going on after the first ${file.start.rows} scans, which an earlier run wrote`)
  const cursor = file?.start?.cursor ?? flags.cursor
  // Awaited here: the file must not be closed before.
  return await exportPages({
    stop,
    note,
    pages: (noteBeside) => {
      const client = options.sender(retryNotes(noteBeside))
      const scans = listPages((call) => client.scans.list(call, { signal: stop }), query, { all: true, cursor })
      return withHolders(client, scans, noteBeside)
    },
    format: scansFormat(format, { isContinued: cursor !== undefined, rawCells: flags['raw-cells'] }),
    startRows: file?.start?.rows ?? 0,
    write: async (text, point) => {
      if (!file) return writeOut(text)
      await file.append(text, point)
      return true
    },
    // On a terminal the rows themselves are what moves.
    showProgress: file !== undefined || !process.stdout.isTTY,
  })
}

async function openFile(path: string, query: object, options: ScanExportOptions): Promise<ExportFile> {
  refusePipe(path, 'leave out --out: then it goes to stdout.')
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

/** A file that an export is written to, page by page; one that was interrupted goes on where it stopped. */
interface ExportFile {
  /** Where to go on; undefined at the beginning. */
  readonly start: ExportPoint | undefined
  /** Adds a page: so many rows stand in the file then, and the rest begins at the cursor; null where nothing is left. */
  append(text: string, point: { rows: number; cursor: string | null }): Promise<void>
  /** Writes down how far the export has come, unless it is whole. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A crash throws away what was written since; noting every page would cost more than the pages. */
const NOTE_EVERY_MS = 1_000

/**
 * Opens the file of an export, or begins one, and keeps other exports away from it. How far it has come stands in the journal
 * beside it for as long as it is not whole; it goes on from the last point that it still holds.
 * @throws FileInUseError where another run writes to it; CliError where it holds half of another export and `restart` is
 *   not set
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
  const size = await sizeOf(path)
  // A file that was deleted or cut since is begun anew.
  const found = restart ? undefined : readPoints(path, head).findLast(({ point }) => point.bytes <= size)
  if (!found) await removeJournal(path)
  const start = found?.point
  const file = start ? await open(path, 'r+') : await openPrivate(path, 'w')
  // What stands after the noted point will come again.
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

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return -1
    throw error
  }
}

/** Pages, and what they are written to. */
export interface ExportOptions<T> {
  /** Lists what is exported; what it has to say meanwhile stands beside the progress. */
  pages: (note: (message: string) => void) => AsyncIterable<Page<T>>
  format: PageFormat<T>
  /** Rows that an earlier run wrote. */
  startRows: number
  /** Takes a page and what is known then; false where nobody reads any more. */
  write: (text: string, point: ExportedPoint) => Promise<boolean>
  stop: AbortSignal
  showProgress: boolean
  note: (message: string) => void
}

/** How far an export has come. */
export interface ExportedPoint {
  /** Rows written, those of earlier runs included. */
  rows: number
  /** Where the rest begins; null where nothing is left. */
  cursor: string | null
}

interface ExportResult {
  rows: number
  /** Where the rest begins: null where nothing is left, undefined where not even a first page came. */
  cursor: string | null | undefined
}

/** Writes page after page until the list ends, its reader has enough, or it is stopped: one page is held at a time. */
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
    // The request in flight was called off.
    if (!stop.aborted) throw error
  } finally {
    progress?.[Symbol.dispose]()
  }
  return result
}

/** What an export is of. Only an export of the very same goes on in a file that is half written. */
export interface ExportHead {
  format: 2
  server: string
  workspaceId: string
  /** The command of the program with its filters and format. */
  settings: Readonly<Record<string, string>>
}

/** How far an export has come: these rows stand in these bytes, and the rest begins at the cursor. */
interface ExportPoint {
  rows: number
  bytes: number
  cursor: string
}

/** The journal of an export lies beside its file for as long as the file is not whole. */
function journalPath(file: string): string {
  return `${file}.journal`
}

/**
 * How far the export that was begun in a file has come, and where each point ends in the journal; none where none was begun.
 * @throws CliError where it was of something else, or the file beside it is no journal
 */
function readPoints(file: string, wanted: ExportHead): { point: ExportPoint; end: number }[] {
  const path = journalPath(file)
  const lines = readJournal(path)
  if (!lines) return []
  const [head, ...rest] = lines
  const torn = rest.findIndex(({ value }) => !isPoint(value))
  const points = torn < 0 ? rest : rest.slice(0, torn)
  if (!isHead(head?.value) || points.length === 0) {
    throw new CliError(`${path} is no journal of an export that this version of passes wrote`, {
      hint: 'move it away, or start anew with --restart.',
    })
  }
  const difference = differenceOf(head.value, wanted)
  if (difference) {
    throw new CliError(`${file} is half an export ${difference}`, {
      code: 'JOURNAL_MISMATCH',
      details: { journal: path },
      hint: 'go on with the command of that export, or start anew with --restart.',
    })
  }
  return points.map(({ value, end }) => ({ point: value as ExportPoint, end }))
}

async function removeJournal(file: string): Promise<void> {
  await rm(journalPath(file), { force: true })
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
