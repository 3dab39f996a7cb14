import { readFile, rm } from 'node:fs/promises'
import { replacePrivateSync } from '../../files/private-file.ts'
import { CliError } from '../command/errors.ts'

/** What an export is of. Only an export of the very same goes on in a file that is half written. */
export interface ExportHead {
  format: 1
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
  const difference = found && differenceOf(found, head)
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
  replacePrivateSync(journalPath(file), `${JSON.stringify({ ...head, point })}\n`)
}

export async function removeJournal(file: string): Promise<void> {
  await rm(journalPath(file), { force: true })
}

type Journal = ExportHead & { point: ExportPoint }

async function readJournal(path: string): Promise<Journal | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const journal = parseJournal(text)
  if (journal) return journal
  throw new CliError(`${path} is no journal of an export`, { hint: 'move it away, or start anew with --restart.' })
}

function parseJournal(text: string): Journal | undefined {
  try {
    const value = JSON.parse(text) as Partial<Journal> | null
    return value?.format === 1 && value.settings && value.point ? (value as Journal) : undefined
  } catch {
    return undefined
  }
}

function differenceOf(found: ExportHead, wanted: ExportHead): string | undefined {
  if (found.server !== wanted.server) return `from another server (${found.server})`
  if (found.workspaceId !== wanted.workspaceId) return 'from another workspace'
  const names = Object.keys({ ...found.settings, ...wanted.settings })
  const changed = names.find((name) => found.settings[name] !== wanted.settings[name])
  return changed && `with another ${changed} (${found.settings[changed] ?? 'none'})`
}
