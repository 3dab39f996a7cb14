import { open, stat } from 'node:fs/promises'
import type { Page } from '../../core/contract/common.ts'
import { openPrivate } from '../../files/private-file.ts'
import type { PageFormat } from '../arguments/list.ts'
import { writeAt } from '../bulk/output-file.ts'
import { type Progress, startProgress } from '../command/progress.ts'
import { type ExportHead, type ExportPoint, readExportPoint, removeJournal, writeExportPoint } from './journal.ts'

/** A file that an export is written to, page by page; one that was interrupted goes on where it stopped. */
export interface ExportFile {
  /** Where to go on; undefined at the beginning. */
  readonly start: ExportPoint | undefined
  /** Adds a page: so many rows stand in the file then, and the rest begins at the cursor; null where nothing is left. */
  append(text: string, point: { rows: number; cursor: string | null }): Promise<void>
  /** Writes down how far the export has come, unless it is whole. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A crash throws away what was written since; noting every page would cost more than the pages. */
const NOTE_EVERY_MS = 1_000

/** @throws CliError where the file holds half of another export and `restart` is not set */
export async function openExportFile(
  path: string,
  head: ExportHead,
  { restart }: { restart: boolean },
): Promise<ExportFile> {
  const found = restart ? undefined : await readExportPoint(path, head)
  // A file that was deleted or cut since is begun anew.
  const start = found && (await sizeOf(path)) >= found.bytes ? found : undefined
  if (!start) await removeJournal(path)
  const file = start ? await open(path, 'r+') : await openPrivate(path, 'w')
  // What stands behind the noted point will come again.
  if (start) await file.truncate(start.bytes)
  let bytes = start?.bytes ?? 0
  let reached: ExportPoint | undefined
  let notedAt = Date.now()
  const note = async () => {
    if (!reached) return
    await file.datasync()
    writeExportPoint(path, head, reached)
    reached = undefined
    notedAt = Date.now()
  }
  return {
    start,
    append: async (text, { rows, cursor }) => {
      bytes += await writeAt(file, Buffer.from(text), bytes)
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
        await file.close()
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

export interface ExportedPoint {
  /** Rows written, those of earlier runs included. */
  rows: number
  /** Where the rest begins; null where nothing is left. */
  cursor: string | null
}

export interface ExportResult {
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
