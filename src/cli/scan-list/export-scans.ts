import { rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Interfaces } from '@oclif/core'
import { z } from 'zod'
import type { Client } from '../../client/client.ts'
import type { Page } from '../../core/contract/schemas/common.ts'
import { ifMissing } from '../../files/private-file.ts'
import type { PageFormat } from '../arguments/list-flags.ts'
import { JOURNAL_FORMAT, type JournalHead, openJournal, readHead } from '../bulk/bulk-journal.ts'
import { openFile, rejectPipe } from '../bulk/output-file.ts'
import { retryNotes } from '../command/client-command.ts'
import { requireReplaceable } from '../command/existing-file.ts'
import { writeOut } from '../command/output.ts'
import { type Progress, startProgress } from '../command/progress.ts'
import { listPages } from '../list/show-list.ts'
import {
  passIdsOf,
  scanColumns,
  type scanFilterFlags,
  type scanFormats,
  scanQuery,
  scansFormat,
  withHolders,
} from './formats.ts'

export interface ScanExportOptions {
  flags: Interfaces.InferredFlags<typeof scanFilterFlags> & {
    out?: string | undefined
    restart: boolean
    force: boolean
    'raw-cells': boolean
    cursor?: string | undefined
  }
  format: (typeof scanFormats)[number]
  /** The origin of the server. An export from another server cannot resume an incomplete file. */
  server: string
  /** A client with few retries, for calls before the first page. */
  client: Client
  /** Creates the client that reads pages. Its retries outlast a restart of the server. */
  sender: (onRetry: (reason: { error: Error; waitSeconds: number }) => void) => Client
  stop: AbortSignal
  note: (message: string) => void
}

export async function exportScans(options: ScanExportOptions): Promise<ExportResult> {
  const { flags, format, stop, note } = options
  // Keep the heap small. Otherwise, V8's heap would grow far beyond the size of a page, although rows are short-lived.
  setFlagsFromString('--optimize-for-size')
  const query = scanQuery(flags, await passIdsOf(options.client, flags))
  await using file = flags.out === undefined ? undefined : await openOutput(flags.out, query, options)
  if (file?.start) note(`Resuming after the first ${file.start.rows} scans, which an earlier run wrote`)
  const cursor = file?.start?.cursor ?? flags.cursor
  // Await here. Otherwise, `await using` would close the file before the export ends.
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
    // If the rows are printed on the terminal, show no progress bar, because the bar would overwrite rows.
    showProgress: file !== undefined || !process.stdout.isTTY,
  })
}

async function openOutput(path: string, query: object, options: ScanExportOptions) {
  rejectPipe(path, 'omit --out to write to stdout.')
  // A journal means that an interrupted export wrote the file.
  if (!readHead(`${path}.journal`)) requireReplaceable(path, options.flags.force)
  const { workspaceId } = await options.client.tokens.current()
  const filters = Object.entries(query).filter(([, value]) => value !== undefined)
  const settings = Object.fromEntries(filters.map(([name, value]) => [name, [value].flat().sort().join(', ')]))
  const head = {
    format: JOURNAL_FORMAT,
    server: options.server,
    workspaceId,
    command: 'scans export',
    settings: {
      ...settings,
      format: options.format,
      ...(options.flags['raw-cells'] && { '--raw-cells': 'yes' }),
      // Another version of this program can write other columns, which would not match the header of the file.
      ...(options.format === 'csv' && { header: scanColumns() }),
    },
  }
  return openExportFile(resolve(path), head, { restart: options.flags.restart, note: options.note })
}

/**
 * The minimum interval between checkpoints. A checkpoint for each page would take longer than the pages. After a crash,
 * the rows since the last checkpoint are exported again.
 */
const NOTE_EVERY_MS = 1_000

/**
 * Opens or creates the file of an export and locks it. While the file is incomplete, a journal next to it records the
 * progress. Resumes from the last point that the file still contains, and removes the rows after that point.
 * @throws FileInUseError if another run holds the lock
 * @throws CliError without `restart`, if the journal was not written by this program, or belongs to another export
 */
export async function openExportFile(
  path: string,
  head: JournalHead,
  options: { restart: boolean; note: (message: string) => void },
) {
  const journalPath = `${path}.journal`
  const journal = await openJournal(journalPath, head, {
    ...options,
    entry: ExportPoint,
    async findStart(points) {
      const size = await stat(path).then((stats) => stats.size, ifMissing(-1))
      return points.findLast(({ bytes }) => bytes <= size)
    },
  })
  const { start } = journal
  const file = await openFile(path, start?.bytes ?? 0).catch(async (error: unknown) => {
    await journal[Symbol.asyncDispose]()
    throw error
  })
  let reached: ExportPoint | undefined
  let notedAt = Date.now()
  const note = async () => {
    if (!reached) return
    await file.sync()
    journal.append(reached)
    journal.sync()
    reached = undefined
    notedAt = Date.now()
  }
  return {
    /** The point from which the export resumes; `undefined` if the export begins with the first row. */
    start,
    /** Appends a page, with the total number of rows and the next cursor, `null` at the end. */
    append: async (text: string, { rows, cursor }: ExportedPoint): Promise<void> => {
      journal.assertHeld()
      await file.write(text)
      reached = cursor === null ? undefined : { rows, bytes: file.bytes, cursor }
      if (cursor !== null && Date.now() - notedAt >= NOTE_EVERY_MS) await note()
      if (cursor !== null) return
      await file.sync()
      await rm(journalPath)
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await note()
      } finally {
        await file[Symbol.asyncDispose]()
        await journal[Symbol.asyncDispose]()
      }
    },
  }
}

export interface ExportOptions<T> {
  /** `note` writes a line above the progress bar. */
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
    // After a stop, ignore the error of the aborted request.
    if (!stop.aborted) throw error
  } finally {
    progress?.[Symbol.dispose]()
  }
  return result
}

/** A checkpoint of an export: the number of written rows, the size of the file in bytes, and the next cursor. */
const ExportPoint = z.object({ rows: z.int().nonnegative(), bytes: z.int().nonnegative(), cursor: z.string() })
type ExportPoint = z.output<typeof ExportPoint>
