import { closeSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { journalLine, readJournal } from '../../files/journal.ts'
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
  replacePrivateSync(path, condense(readEntries<Entry>(path)).map(journalLine).join(''))
  const file = openPrivateSync(path, 'a')
  return {
    append: (entry) => {
      writeSync(file, journalLine(entry))
    },
    close: () => closeSync(file),
  }
}

function readEntries<Entry>(path: string): Entry[] {
  return (readJournal(path) ?? []).flatMap(({ value }) => (value === undefined ? [] : [value as Entry]))
}
