import { closeSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateFolder, openPrivateSync, replacePrivateSync } from '../../files/private-file.ts'

/** What an emulator must still know after a restart: one JSON value a line, each written before it is acknowledged. */
export interface Journal<Entry> {
  append(entry: Entry): void
  close(): void
}

/**
 * Reads the entries of earlier runs, and writes the file anew with what `condense` makes of them, so that it does not
 * grow for ever. Without a path nothing is kept.
 */
export function openJournal<Entry>(path: string | undefined, condense: (entries: Entry[]) => Entry[]): Journal<Entry> {
  if (path === undefined) {
    condense([])
    return { append: () => undefined, close: () => undefined }
  }
  makePrivateFolder(dirname(path))
  replacePrivateSync(path, condense(readEntries<Entry>(path)).map(toLine).join(''))
  const file = openPrivateSync(path, 'a')
  return {
    append: (entry) => {
      writeSync(file, toLine(entry))
    },
    close: () => closeSync(file),
  }
}

function readEntries<Entry>(path: string): Entry[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  // A line that a crash cut off has no end; what it said was never acknowledged.
  const lines = text.split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

function toLine(entry: unknown): string {
  return `${JSON.stringify(entry)}\n`
}
