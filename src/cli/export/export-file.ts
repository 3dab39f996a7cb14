import { open, stat } from 'node:fs/promises'
import { writeAt } from '../bulk/output-file.ts'
import { type ExportHead, type ExportPoint, readExportPoint, removeJournal, writeExportPoint } from './journal.ts'

/** A file that an export is written to, page by page; one that was interrupted goes on where it stopped. */
export interface ExportFile {
  /** Where to go on; undefined at the beginning. */
  readonly start: ExportPoint | undefined
  append(text: string): Promise<void>
  /** Remembers that everything appended so far is there, and where the rest begins. */
  remember(rows: number, cursor: string): Promise<void>
  /** Nothing is missing any more. */
  complete(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** @throws CliError where the file holds half of another export and `restart` is not set */
export async function openExportFile(
  path: string,
  head: ExportHead,
  { restart }: { restart: boolean },
): Promise<ExportFile> {
  const point = restart ? undefined : await readExportPoint(path, head)
  // A file that was deleted or cut since is begun anew.
  const start = point && (await sizeOf(path)) >= point.bytes ? point : undefined
  if (!start) await removeJournal(path)
  const file = await open(path, start ? 'r+' : 'w')
  let bytes = start?.bytes ?? 0
  // What stands behind the remembered point will come again.
  await file.truncate(bytes)
  return {
    start,
    append: async (text) => {
      bytes += await writeAt(file, Buffer.from(text), bytes)
    },
    remember: async (rows, cursor) => {
      await file.datasync()
      await writeExportPoint(path, head, { rows, bytes, cursor })
    },
    complete: async () => {
      await file.datasync()
      await removeJournal(path)
    },
    [Symbol.asyncDispose]: () => file.close(),
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
