import { dirname } from 'node:path'
import { beginJournal, type JournalFile, readJournal } from '../../files/journal.ts'
import { makePrivateFolder } from '../../files/private-file.ts'

/**
 * What an emulator must still know after a restart. Reads the entries of earlier runs, and writes the file anew with what
 * `condense` makes of them, so that it does not grow for ever. Without a path nothing is kept.
 */
export function openState<Entry>(
  path: string | undefined,
  condense: (entries: Entry[]) => Entry[],
): Pick<JournalFile<Entry>, 'append' | 'close'> {
  if (path === undefined) {
    condense([])
    return { append: () => undefined, close: () => undefined }
  }
  makePrivateFolder(dirname(path))
  const lines = readJournal(path) ?? []
  return beginJournal(path, condense(lines.flatMap(({ value }) => (value === undefined ? [] : [value as Entry]))))
}
