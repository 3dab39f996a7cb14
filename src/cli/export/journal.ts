import { readFile, rm } from 'node:fs/promises'
import { journalLine, readJournalLines } from '../../files/journal-lines.ts'
import { replacePrivateSync } from '../../files/private-file.ts'
import { changedSetting } from '../bulk/journal.ts'
import { CliError } from '../command/errors.ts'

/** What an export is of. Only an export of the very same goes on in a file that is half written. */
export interface ExportHead {
  format: 2
  server: string
  workspaceId: string
  /** The command of the program with its filters and format. */
  settings: Readonly<Record<string, string>>
}

/** How far an export has come: these rows stand in these bytes, and the rest begins at the cursor. */
export interface ExportPoint {
  rows: number
  bytes: number
  cursor: string
}

/** The journal of an export lies beside its file for as long as the file is not whole. */
function journalPath(file: string): string {
  return `${file}.journal`
}

/**
 * Where the export that was begun in a file stopped; undefined where none was.
 * @throws CliError where it was of something else
 */
export async function readExportPoint(file: string, head: ExportHead): Promise<ExportPoint | undefined> {
  const path = journalPath(file)
  const found = await readJournal(path)
  const difference = found && differenceOf(found.head, head)
  if (difference) {
    throw new CliError(`${file} is half an export ${difference}`, {
      code: 'JOURNAL_MISMATCH',
      details: { journal: path },
      hint: 'go on with the command of that export, or start anew with --restart.',
    })
  }
  return found?.point
}

/** Replaces the journal in one step, so that a crash leaves the old one or the new one. */
export function writeExportPoint(file: string, head: ExportHead, point: ExportPoint): void {
  replacePrivateSync(journalPath(file), journalLine(head) + journalLine(point))
}

export async function removeJournal(file: string): Promise<void> {
  await rm(journalPath(file), { force: true })
}

async function readJournal(path: string): Promise<{ head: ExportHead; point: ExportPoint } | undefined> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const [head, point] = readJournalLines(bytes).map(({ value }) => value)
  if ((head as ExportHead | undefined)?.format === 2 && point)
    return { head: head as ExportHead, point: point as ExportPoint }
  throw new CliError(`${path} is no journal of an export that this version of passes wrote`, {
    hint: 'move it away, or start anew with --restart.',
  })
}

function differenceOf(found: ExportHead, wanted: ExportHead): string | undefined {
  if (found.server !== wanted.server) return `from another server (${found.server})`
  if (found.workspaceId !== wanted.workspaceId) return 'from another workspace'
  return changedSetting(found.settings, wanted.settings)
}
