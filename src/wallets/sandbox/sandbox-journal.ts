import { dirname } from 'node:path'
import { beginJournal, type JournalFile, readJournal } from '../../files/journal.ts'
import { makePrivateFolder } from '../../files/private-file.ts'

/** Rewrites the file with the result of `condense`, so that it does not grow. Without a path, nothing is stored. */
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
